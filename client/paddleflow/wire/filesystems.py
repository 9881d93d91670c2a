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
    )


def filesystem_changes_to_wire(
    name: str, owner: str, etag: str, properties: Mapping[str, str | None]
) -> tuple[fs_pb2.Filesystem, FieldMask]:
    """New values of properties, and the mask that names them; what is None goes away."""
    changed = build(fs_pb2.Filesystem, owner=owner, name=name, etag=etag)
    return changed, write_changes(changed, {"properties": properties}, {})


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
