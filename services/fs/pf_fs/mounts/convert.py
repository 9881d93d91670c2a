"""Between the messages of MountService and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from paddleflow.fs.v1 import fs_pb2
from paddleflow.fs.v1 import mount_pb2 as pb
from paddleflow.problems import InvalidArgument, Violation
from pf_fs.convert import DRIVERS, target_of
from pf_fs.fields import is_id
from pf_fs.mounts.domain import Cache, MountFilter, Report, Usage
from pf_fs.mounts.service import Told
from pf_fs.paths import path_violations
from pf_kit.fields import one_line, require, within
from pf_kit.principal import Principal
from pf_kit.wire import timestamp

MOST_FOLDERS = 16
MOST_PAIRS = 64
LONGEST_WORD = 253
LONGEST_TEXT = 4096
SMALLEST_BLOCK, LARGEST_BLOCK = 64 * 1024, 64 * 1024 * 1024
LEAST_MEMORY = 128 * 1024 * 1024
MOST = 2**53
"""Of any amount."""
_MOUNT_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NODE = re.compile(r"[A-Za-z0-9.-]{1,253}")
AMOUNTS = ("used_bytes", "capacity_bytes", "files", "hit_bytes", "missed_bytes", "written_bytes")


def told_of(mount: pb.FilesystemMount) -> Told:
    """What whoever mounted a filesystem tells. InvalidArgument names each field that cannot be."""
    require(_mount_violations(mount))
    amounts = {name: getattr(mount.usage, name) for name in AMOUNTS}
    return Told(
        mount_id=mount.mount_id,
        node=mount.node,
        path=mount.path,
        read_only=mount.read_only,
        etag=mount.etag,
        usage=Usage(folders=tuple(mount.usage.folders), **amounts),
    )


def mount_message(report: Report) -> pb.FilesystemMount:
    usage = report.usage
    return pb.FilesystemMount(
        filesystem_id=report.filesystem_id,
        mount_id=report.mount_id,
        user=report.user,
        node=report.node,
        path=report.path,
        read_only=report.read_only,
        etag=report.etag,
        usage=pb.CacheUsage(folders=usage.folders, **{name: getattr(usage, name) for name in AMOUNTS}),
        create_time=timestamp(report.create_time),
        report_time=timestamp(report.report_time),
    )


def ended_of(request: pb.EndMountRequest) -> tuple[str, str]:
    """The filesystem and the mount that has ended. InvalidArgument if they can be none."""
    require(_id_violations(request.filesystem_id), _mount_id_violations("mount_id", request.mount_id))
    return request.filesystem_id, request.mount_id


def mount_filter(caller: Principal, request: pb.ListMountsRequest) -> MountFilter:
    filesystem_id = target_of(caller, request.filesystem) if request.HasField("filesystem") else ""
    if filesystem_id and not is_id(filesystem_id):
        raise InvalidArgument.of(Violation("filesystem", "is named as none can be"))
    if request.node:
        require(_node_violations("node", request.node))
    return MountFilter(filesystem_id, request.node)


def cache_of(message: fs_pb2.FilesystemCache) -> Cache:
    """How files are to be kept. InvalidArgument names each field that cannot be."""
    require(_cache_violations(message))
    drivers = {number: driver for driver, number in DRIVERS.items()}
    return Cache(
        folders=tuple(message.folders),
        meta_driver=drivers[message.meta_driver],
        block_size=message.block_size,
        size=message.size,
        clean=message.clean,
        debug=message.debug,
        cpu=message.cpu,
        memory=message.memory,
        node_labels=dict(message.node_labels),
        extra=dict(message.extra),
    )


def _mount_violations(mount: pb.FilesystemMount) -> Iterator[Violation]:
    yield from _mount_id_violations("mount.mount_id", mount.mount_id)
    yield from _node_violations("mount.node", mount.node)
    yield from _folder_violations("mount.path", mount.path)
    yield from one_line("mount.etag", mount.etag, 64)
    yield from _folders_violations("mount.usage.folders", mount.usage.folders)
    for name in AMOUNTS:
        yield from within(f"mount.usage.{name}", getattr(mount.usage, name), 0, MOST)


def _cache_violations(message: fs_pb2.FilesystemCache) -> Iterator[Violation]:
    yield from _folders_violations("cache.folders", message.folders)
    if message.meta_driver not in DRIVERS.values():
        yield Violation("cache.meta_driver", "must be MEMORY or DISK")
    size = message.block_size
    if size and not (SMALLEST_BLOCK <= size <= LARGEST_BLOCK and size & (size - 1) == 0):
        yield Violation("cache.block_size", f"must be 0 or a power of two from {SMALLEST_BLOCK} to {LARGEST_BLOCK}")
    yield from within("cache.size", message.size, 0, MOST)
    yield from within("cache.cpu", message.cpu, 0, 1_000_000)
    if message.memory:
        yield from within("cache.memory", message.memory, LEAST_MEMORY, MOST)
    yield from _pair_violations("cache.node_labels", message.node_labels)
    yield from _pair_violations("cache.extra", message.extra)


def _id_violations(filesystem_id: str) -> Iterator[Violation]:
    if not is_id(filesystem_id):
        yield Violation("filesystem_id", "must be the id of a filesystem")


def _mount_id_violations(field: str, text: str) -> Iterator[Violation]:
    if not _MOUNT_ID.fullmatch(text):
        yield Violation(field, "must be 1 to 64 letters, digits, '.', '_' and '-'")


def _node_violations(field: str, text: str) -> Iterator[Violation]:
    if not _NODE.fullmatch(text):
        yield Violation(field, "must be 1 to 253 letters, digits, '.' and '-'")


def _folders_violations(field: str, folders: Sequence[str]) -> Iterator[Violation]:
    yield from within(f"the number of {field}", len(folders), 0, MOST_FOLDERS)
    for number, folder in enumerate(folders[:MOST_FOLDERS]):
        yield from _folder_violations(f"{field}[{number}]", folder)


def _folder_violations(field: str, path: str) -> Iterator[Violation]:
    if not path.startswith("/"):
        yield Violation(field, "must be an absolute path")
    yield from path_violations(field, path)


def _pair_violations(field: str, pairs: Mapping[str, str]) -> Iterator[Violation]:
    yield from within(f"the number of {field}", len(pairs), 0, MOST_PAIRS)
    for name, value in pairs.items():
        yield from one_line(f"{field}.{name[:80]}", name, LONGEST_WORD)
        yield from one_line(f"{field}.{name[:80]}", value, LONGEST_TEXT)
