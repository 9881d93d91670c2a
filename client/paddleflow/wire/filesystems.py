"""Filesystems and grants on them to and from the wire."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.fs.v1 import fs_pb2
from paddleflow.models.filesystems import (
    Filesystem,
    FilesystemAccess,
    FilesystemGrant,
    FilesystemKind,
    FilesystemQuota,
    FilesystemQuotaChanges,
)
from paddleflow.wire.base import EnumCodec, build, time_from_wire, write_changes

KIND = EnumCodec(FilesystemKind, fs_pb2.FilesystemKind, "FILESYSTEM_KIND_")
ACCESS = EnumCodec(FilesystemAccess, fs_pb2.FilesystemAccess, "FILESYSTEM_ACCESS_")


def filesystem_to_wire(filesystem: Filesystem) -> fs_pb2.Filesystem:
    """The fields that a new filesystem has."""
    return build(
        fs_pb2.Filesystem,
        owner=filesystem.owner,
        name=filesystem.name,
        url=filesystem.url,
        properties=filesystem.properties,
        quota=quota_to_wire(filesystem.quota),
    )


def filesystem_changes_to_wire(
    name: str, owner: str, etag: str, properties: Mapping[str, str | None], quota: FilesystemQuotaChanges
) -> tuple[fs_pb2.Filesystem, FieldMask]:
    """New values of properties and of the quota, and the mask that names them; what is None goes away."""
    changed = build(fs_pb2.Filesystem, owner=owner, name=name, etag=etag, quota=quota_to_wire(FilesystemQuota(**quota)))
    mask = write_changes(changed, {"properties": properties}, {}) if properties or not quota else FieldMask()
    mask.paths.extend(f"quota.{field}" for field in quota)
    return changed, mask


def quota_to_wire(quota: FilesystemQuota) -> fs_pb2.FilesystemQuota:
    return build(fs_pb2.FilesystemQuota, bytes=quota.bytes, files=quota.files)


def quota_from_wire(quota: fs_pb2.FilesystemQuota) -> FilesystemQuota:
    return FilesystemQuota(quota.bytes, quota.files)


def filesystem_from_wire(filesystem: fs_pb2.Filesystem) -> Filesystem:
    return Filesystem(
        name=filesystem.name,
        url=filesystem.url,
        owner=filesystem.owner,
        properties=dict(sorted(filesystem.properties.items())),
        id=filesystem.id,
        kind=KIND.member(filesystem.kind),
        create_time=time_from_wire(filesystem, "create_time"),
        etag=filesystem.etag,
        secret_properties=tuple(filesystem.secret_properties),
        quota=quota_from_wire(filesystem.quota),
    )


def filesystem_key(name: str, owner: str) -> fs_pb2.FilesystemKey:
    return build(fs_pb2.FilesystemKey, name=name, owner=owner)


def filesystem_grant_from_wire(grant: fs_pb2.FilesystemGrant) -> FilesystemGrant:
    return FilesystemGrant(
        filesystem_id=grant.filesystem_id,
        user=grant.user,
        access=ACCESS.member(grant.access),
        create_time=time_from_wire(grant, "create_time"),
    )
