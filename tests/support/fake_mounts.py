"""What the small server of `fake_paddleflow` answers about mounts, caches and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddleflow.fs.v1 import fs_pb2, link_pb2, mount_pb2
from paddleflow.problems import FilesystemCacheNotFound, FilesystemNotFound, LinkNotFound
from support.fake_filesystems import hide
from support.fake_services import BEGAN, World, page


def filesystem_of(world: World, key: fs_pb2.FilesystemKey) -> str:
    """The id of a filesystem that there is."""
    found = f"fs-{key.owner or world.caller}-{key.name}"
    if found not in world.filesystems:
        raise FilesystemNotFound(f"no filesystem {found!r}")
    return found


@dataclass
class Links:
    world: World

    def CreateLink(self, request: Any) -> Any:  # noqa: N802
        made = link_pb2.Link()
        made.CopyFrom(request.link)
        made.filesystem_id = filesystem_of(self.world, request.filesystem)
        made.kind = fs_pb2.FilesystemKind.Value(f"FILESYSTEM_KIND_{made.url.partition('://')[0].upper()}")
        made.create_time.CopyFrom(BEGAN)
        hide(made)
        self.world.links[made.filesystem_id, made.path] = made
        return link_pb2.CreateLinkResponse(link=made)

    def GetLink(self, request: Any) -> Any:  # noqa: N802
        return link_pb2.GetLinkResponse(link=self._found(request))

    def ListLinks(self, request: Any) -> Any:  # noqa: N802
        wanted = filesystem_of(self.world, request.filesystem)
        found = [link for (key, _), link in sorted(self.world.links.items()) if key == wanted]
        return link_pb2.ListLinksResponse(links=found)

    def DeleteLink(self, request: Any) -> Any:  # noqa: N802
        found = self._found(request)
        del self.world.links[found.filesystem_id, found.path]
        return link_pb2.DeleteLinkResponse()

    def _found(self, request: Any) -> link_pb2.Link:
        key = (filesystem_of(self.world, request.filesystem), request.path)
        if key not in self.world.links:
            raise LinkNotFound(f"there is no link at {request.path!r}")
        return self.world.links[key]


@dataclass
class Mounts:
    world: World

    def ReportMount(self, request: Any) -> Any:  # noqa: N802
        told = mount_pb2.FilesystemMount()
        told.CopyFrom(request.mount)
        told.filesystem_id = filesystem_of(self.world, request.filesystem)
        told.MergeFrom(mount_pb2.FilesystemMount(user=self.world.caller, create_time=BEGAN, report_time=BEGAN))
        self.world.mounts[told.filesystem_id, told.mount_id] = told
        return mount_pb2.ReportMountResponse(next_report_seconds=30, etag="1")

    def EndMount(self, request: Any) -> Any:  # noqa: N802
        self.world.mounts.pop((request.filesystem_id, request.mount_id), None)
        return mount_pb2.EndMountResponse()

    def ListMounts(self, request: Any) -> Any:  # noqa: N802
        wanted = filesystem_of(self.world, request.filesystem) if request.HasField("filesystem") else ""
        chosen = [
            each
            for _, each in sorted(self.world.mounts.items())
            if wanted in ("", each.filesystem_id) and request.node in ("", each.node)
        ]
        items, token = page(chosen, request, lambda each: f"{each.filesystem_id}/{each.mount_id}")
        return mount_pb2.ListMountsResponse(mounts=items, next_page_token=token)

    def SetFilesystemCache(self, request: Any) -> Any:  # noqa: N802
        cache = fs_pb2.FilesystemCache()
        cache.CopyFrom(request.cache)
        cache.filesystem_id = filesystem_of(self.world, request.filesystem)
        self.world.caches[cache.filesystem_id] = cache
        return mount_pb2.SetFilesystemCacheResponse(cache=cache)

    def GetFilesystemCache(self, request: Any) -> Any:  # noqa: N802
        return mount_pb2.GetFilesystemCacheResponse(cache=self._cache(request))

    def DeleteFilesystemCache(self, request: Any) -> Any:  # noqa: N802
        del self.world.caches[self._cache(request).filesystem_id]
        return mount_pb2.DeleteFilesystemCacheResponse()

    def _cache(self, request: Any) -> fs_pb2.FilesystemCache:
        wanted = filesystem_of(self.world, request.filesystem)
        if wanted not in self.world.caches:
            raise FilesystemCacheNotFound(f"nothing was said about the cache of {wanted}")
        return self.world.caches[wanted]
