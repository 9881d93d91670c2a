"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import FilesystemKindNotServed, InvalidArgument, Violation
from pf_fs.domain import (
    Access,
    Filesystem,
    FilesystemChanged,
    FilesystemFilter,
    Grant,
    GrantChanged,
    GrantFilter,
    Key,
    Kind,
    Opened,
    Quota,
)
from pf_fs.fields import (
    filter_violations,
    is_id,
    key_violations,
    name_violations,
    quota_violations,
)
from pf_fs.mounts.domain import Cache, MetaDriver
from pf_fs.ports import Folder
from pf_fs.properties import property_violations
from pf_fs.service import Mount
from pf_fs.service.filesystems import Draft
from pf_fs.service.naming import own_id, user_of
from pf_fs.service.updating import Edit
from pf_fs.urls import is_served, place_of, scheme_of, url_violations
from pf_kit.events import Fact
from pf_kit.fields import MOST_VIOLATIONS, require, shown
from pf_kit.principal import Principal
from pf_kit.wire import CHANGE_KINDS, timestamp

FILESYSTEM_EVENT = fs_pb2.FilesystemEvent.DESCRIPTOR.full_name
GRANT_EVENT = fs_pb2.FilesystemGrantEvent.DESCRIPTOR.full_name
KINDS = {kind: fs_pb2.FilesystemKind.Value(f"FILESYSTEM_KIND_{kind.name}") for kind in Kind}
DRIVERS = {
    MetaDriver.ANY: fs_pb2.META_DRIVER_UNSPECIFIED,
    MetaDriver.MEMORY: fs_pb2.META_DRIVER_MEMORY,
    MetaDriver.DISK: fs_pb2.META_DRIVER_DISK,
}
PROPERTIES = "properties"
"""How they are called in a mask."""
QUOTA = {"quota": ("bytes", "files"), "quota.bytes": ("bytes",), "quota.files": ("files",)}
"""The amounts that a path of a mask names."""
MOST_PATHS = 64
"""In a mask."""
ACCESSES = {
    Access.READ: fs_pb2.FILESYSTEM_ACCESS_READ,
    Access.READ_WRITE: fs_pb2.FILESYSTEM_ACCESS_READ_WRITE,
}


def filesystem_message(filesystem: Filesystem) -> fs_pb2.Filesystem:
    return fs_pb2.Filesystem(
        id=filesystem.id,
        owner=filesystem.owner,
        name=filesystem.name,
        url=filesystem.url,
        properties=filesystem.properties,
        kind=KINDS[filesystem.kind],
        create_time=timestamp(filesystem.create_time),
        etag=filesystem.etag,
        secret_properties=filesystem.secrets.names,
        quota=quota_message(filesystem.quota),
    )


def quota_message(quota: Quota) -> fs_pb2.FilesystemQuota | None:
    """None if there is no limit."""
    return fs_pb2.FilesystemQuota(bytes=quota.bytes, files=quota.files) if quota.bytes or quota.files else None


def grant_message(grant: Grant) -> fs_pb2.FilesystemGrant:
    return fs_pb2.FilesystemGrant(
        filesystem_id=grant.key.filesystem_id,
        user=grant.key.user,
        access=ACCESSES[grant.access],
        create_time=timestamp(grant.create_time),
    )


def mount_message(mount: Mount) -> fs_pb2.Mount:
    filesystem = mount.filesystem
    message = fs_pb2.Mount(
        filesystem_id=filesystem.id,
        read_only=mount.read_only,
        etag=filesystem.etag,
        quota=quota_message(filesystem.quota),
    )
    _fill(message, mount.source)
    for path, source in mount.links:
        _fill(message.links.add(path=str(path)), source)
    if mount.cache is not None:
        message.cache.CopyFrom(cache_message(filesystem.id, mount.cache))
    return message


def _fill(message: fs_pb2.Mount | fs_pb2.MountedLink, source: Folder | Opened) -> None:
    match source:
        case Folder(path, device, inode):
            message.local.CopyFrom(fs_pb2.LocalFolder(path=str(path), device=device, inode=inode))
        case Opened(url, properties, secrets):
            message.remote.CopyFrom(fs_pb2.RemoteFolder(url=url, properties=properties, secrets=secrets))


def cache_message(filesystem_id: str, cache: Cache) -> fs_pb2.FilesystemCache:
    return fs_pb2.FilesystemCache(
        filesystem_id=filesystem_id,
        folders=cache.folders,
        meta_driver=DRIVERS[cache.meta_driver],
        block_size=cache.block_size,
        size=cache.size,
        clean=cache.clean,
        debug=cache.debug,
        cpu=cache.cpu,
        memory=cache.memory,
        node_labels=cache.node_labels,
        extra=cache.extra,
    )


def draft_of(caller: Principal, message: fs_pb2.Filesystem) -> Draft:
    """The filesystem to be made. InvalidArgument names each field that cannot be; FilesystemKindNotServed too."""
    owner = message.owner or user_of(caller, "filesystem.owner")
    if found := tuple(_violations(owner, message))[:MOST_VIOLATIONS]:
        raise place_problem(message.url).of(*found)
    properties, quota = dict(message.properties), _quota_of(message)
    return Draft(owner=owner, name=message.name, place=place_of(message.url), properties=properties, quota=quota)


def _violations(owner: str, message: fs_pb2.Filesystem) -> Iterator[Violation]:
    yield from name_violations(owner, message.name)
    yield from url_violations("filesystem.url", message.url)
    yield from quota_violations(_quota_of(message))
    # Those of a kind that is not served are nobody's to judge.
    if is_served(scheme := scheme_of(message.url)):
        yield from property_violations(Kind(scheme), message.properties)


def edit_of(message: fs_pb2.Filesystem, mask: Sequence[str]) -> Edit:
    """What a caller wants changed. InvalidArgument names each field that cannot be."""
    require(_mask_violations(mask), quota_violations(_quota_of(message)))
    whole = PROPERTIES in mask
    named = {path.removeprefix(f"{PROPERTIES}.") for path in mask if path.startswith(f"{PROPERTIES}.")}
    given = dict(message.properties) if whole else _among(message.properties, named)
    amounts = {name: getattr(message.quota, name) for path in mask for name in QUOTA.get(path, ())}
    return Edit(given, frozenset(named - set(given)), whole, amounts)


def _quota_of(message: fs_pb2.Filesystem) -> Quota:
    return Quota(message.quota.bytes, message.quota.files)


def _among(properties: Mapping[str, str], names: set[str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name in names}


def _mask_violations(mask: Sequence[str]) -> Iterator[Violation]:
    if not mask:
        yield Violation("update_mask", "names no field: nothing to change is given")
    if len(mask) > MOST_PATHS:
        yield Violation("update_mask", f"must name at most {MOST_PATHS} fields, not {len(mask)}")
    for path in mask[:MOST_PATHS]:
        name, dot, key = path.partition(".")
        if path not in QUOTA and (name != PROPERTIES or (dot and not key)):
            yield Violation("update_mask", f"{shown(path)} is not a field that can be changed")


def updated_of(caller: Principal, message: fs_pb2.Filesystem) -> str:
    """The id of the filesystem that is to be changed, as the message names it."""
    key = Key(id=message.id) if message.id else Key(owner=message.owner, name=message.name)
    require(key_violations(key))
    return own_id(caller, key)


def place_problem(url: str) -> type[InvalidArgument]:
    """What is wrong with a URL that has violations."""
    scheme = scheme_of(url)
    return FilesystemKindNotServed if scheme and not is_served(scheme) else InvalidArgument


def key_of(message: fs_pb2.FilesystemKey) -> Key:
    """How the caller names a filesystem. InvalidArgument if it names none."""
    key = Key(message.id, message.owner, message.name)
    require(key_violations(key))
    return key


def target_of(caller: Principal, message: fs_pb2.FilesystemKey) -> str:
    """The id of the filesystem that is to be changed."""
    return own_id(caller, key_of(message))


def access_of(value: fs_pb2.FilesystemAccess.ValueType) -> Access:
    """What is granted. InvalidArgument if it is not given, or not defined."""
    known = {number: access for access, number in ACCESSES.items()}
    if value not in known:
        raise InvalidArgument.of(Violation("access", "must be READ or READ_WRITE"))
    return known[value]


def given_user(user: str) -> str:
    """The user that a grant is about. InvalidArgument if none is."""
    if not user:
        raise InvalidArgument.of(Violation("user", "must be given"))
    return user


def filesystem_filter(request: fs_pb2.ListFilesystemsRequest) -> FilesystemFilter:
    require(filter_violations("owner", request.owner), filter_violations("name_prefix", request.name_prefix))
    return FilesystemFilter(owner=request.owner, name_prefix=request.name_prefix)


def grant_filter(caller: Principal, request: fs_pb2.ListFilesystemGrantsRequest) -> GrantFilter:
    require(filter_violations("user", request.user))
    filesystem_id = target_of(caller, request.filesystem) if request.HasField("filesystem") else ""
    if filesystem_id and not is_id(filesystem_id):
        raise InvalidArgument.of(Violation("filesystem", "is named as none can be"))
    return GrantFilter(filesystem_id, request.user)


def existing(filesystem: Filesystem) -> fs_pb2.FilesystemEvent:
    """Tells a watcher of a filesystem that is there as the watch begins."""
    return fs_pb2.FilesystemEvent(kind=event_pb2.CHANGE_KIND_EXISTING, filesystem=filesystem_message(filesystem))


def encode(event: object) -> Fact:
    """The event, ready to be stored; TypeError if it is none of this service."""
    match event:
        case FilesystemChanged(kind, filesystem, version):
            told = fs_pb2.FilesystemEvent(kind=CHANGE_KINDS[kind], filesystem=filesystem_message(filesystem))
            payload = told.SerializeToString(deterministic=True)
            return Fact(FILESYSTEM_EVENT, f"filesystem/{filesystem.id}", version, payload)
        case GrantChanged(kind, grant, filesystem, version):
            shared = fs_pb2.FilesystemGrantEvent(
                kind=CHANGE_KINDS[kind], grant=grant_message(grant), filesystem=filesystem_message(filesystem)
            )
            payload = shared.SerializeToString(deterministic=True)
            return Fact(GRANT_EVENT, f"filesystem-grant/{grant.key}", version, payload)
        case _:
            raise TypeError(f"{type(event).__name__} is no event of this service")
