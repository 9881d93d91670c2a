"""Mounts, caches and links to and from the wire."""

from __future__ import annotations

from paddleflow.fs.v1 import fs_pb2, link_pb2, mount_pb2
from paddleflow.models.mounts import (
    CacheUsage,
    FilesystemCache,
    FilesystemLink,
    LocalFolder,
    MetaDriver,
    MountDescription,
    MountReport,
    RemoteFolder,
)
from paddleflow.wire.base import EnumCodec, build, time_from_wire
from paddleflow.wire.filesystems import KIND, quota_from_wire

META_DRIVER = EnumCodec(MetaDriver, fs_pb2.MetaDriver, "META_DRIVER_")


def cache_to_wire(cache: FilesystemCache) -> fs_pb2.FilesystemCache:
    return build(
        fs_pb2.FilesystemCache,
        folders=cache.folders,
        meta_driver=META_DRIVER.number(cache.meta_driver),
        block_size=cache.block_size,
        size=cache.size,
        clean=cache.clean,
        debug=cache.debug,
        cpu=cache.cpu,
        memory=cache.memory,
        node_labels=cache.node_labels,
        extra=cache.extra,
    )


def cache_from_wire(cache: fs_pb2.FilesystemCache) -> FilesystemCache:
    return FilesystemCache(
        folders=tuple(cache.folders),
        meta_driver=META_DRIVER.member(cache.meta_driver),
        block_size=cache.block_size,
        size=cache.size,
        clean=cache.clean,
        debug=cache.debug,
        cpu=cache.cpu,
        memory=cache.memory,
        node_labels=dict(sorted(cache.node_labels.items())),
        extra=dict(sorted(cache.extra.items())),
        filesystem_id=cache.filesystem_id,
    )


def mount_from_wire(mount: fs_pb2.Mount) -> MountDescription:
    return MountDescription(
        filesystem_id=mount.filesystem_id,
        read_only=mount.read_only,
        source=_source(mount),
        etag=mount.etag,
        links={link.path: _source(link) for link in mount.links},
        cache=cache_from_wire(mount.cache),
        quota=quota_from_wire(mount.quota),
    )


def _source(place: fs_pb2.Mount | fs_pb2.MountedLink) -> LocalFolder | RemoteFolder:
    if place.HasField("local"):
        return LocalFolder(place.local.path, place.local.device, place.local.inode)
    return RemoteFolder(place.remote.url, dict(place.remote.properties), dict(place.remote.secrets))


def report_to_wire(report: MountReport) -> mount_pb2.FilesystemMount:
    usage = report.usage
    told = build(
        mount_pb2.CacheUsage,
        folders=usage.folders,
        used_bytes=usage.used_bytes,
        capacity_bytes=usage.capacity_bytes,
        files=usage.files,
        hit_bytes=usage.hit_bytes,
        missed_bytes=usage.missed_bytes,
        written_bytes=usage.written_bytes,
    )
    return build(
        mount_pb2.FilesystemMount,
        mount_id=report.mount_id,
        node=report.node,
        path=report.path,
        read_only=report.read_only,
        etag=report.etag,
        usage=told,
    )


def report_from_wire(mount: mount_pb2.FilesystemMount) -> MountReport:
    usage = mount.usage
    return MountReport(
        mount_id=mount.mount_id,
        node=mount.node,
        path=mount.path,
        read_only=mount.read_only,
        etag=mount.etag,
        usage=CacheUsage(
            tuple(usage.folders),
            usage.used_bytes,
            usage.capacity_bytes,
            usage.files,
            usage.hit_bytes,
            usage.missed_bytes,
            usage.written_bytes,
        ),
        filesystem_id=mount.filesystem_id,
        user=mount.user,
        create_time=time_from_wire(mount, "create_time"),
        report_time=time_from_wire(mount, "report_time"),
    )


def link_to_wire(link: FilesystemLink) -> link_pb2.Link:
    return build(link_pb2.Link, path=link.path, url=link.url, properties=link.properties)


def link_from_wire(link: link_pb2.Link) -> FilesystemLink:
    return FilesystemLink(
        path=link.path,
        url=link.url,
        properties=dict(sorted(link.properties.items())),
        filesystem_id=link.filesystem_id,
        kind=KIND.member(link.kind),
        create_time=time_from_wire(link, "create_time"),
        secret_properties=tuple(link.secret_properties),
    )
