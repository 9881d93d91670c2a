"""The original's calls about filesystems, their links and their caches, over the typed client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddleflow.compat.answers import answer
from paddleflow.compat.infos import FSInfo
from paddleflow.models.filesystems import Filesystem
from paddleflow.models.mounts import FilesystemLink
from paddleflow.original import HIDDEN, Json
from paddleflow.original_caches import cache_words, read_cache
from paddleflow.sync import PaddleFlow

Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LinkInfo:
    """A folder of a filesystem with the files of another place."""

    fsname: str
    fspath: str
    url: str
    fstype: str
    properties: Words


class FilesystemCalls:
    """What `Client` does with filesystems."""

    _paddleflow: PaddleFlow

    @answer
    def add_fs(self, fsname: str, url: str, username: str | None = None, properties: Words | None = None) -> None:
        """Adds a filesystem; only root names another user."""
        self._paddleflow.filesystems.create(Filesystem(fsname, url, username or "", properties or {}))

    @answer
    def list_fs(self, username: str | None = None, maxsize: int = 100) -> list[FSInfo]:
        """The filesystems that the caller may see, of all users or of one."""
        return [FSInfo.of(each) for each in self._paddleflow.filesystems.page(maxsize, owner=username or "").items]

    @answer
    def show_fs(self, fsname: str, username: str | None = None) -> list[FSInfo]:
        """The filesystem, alone in a list."""
        return [FSInfo.of(self._paddleflow.filesystems.get(fsname, owner=username or ""))]

    @answer
    def update_fs(self, fsname: str, properties: Mapping[str, str | None], username: str | None = None) -> None:
        """Changes these properties; None takes one away."""
        self._paddleflow.filesystems.update(fsname, properties, owner=username or "")

    @answer
    def delete_fs(self, fsname: str, username: str | None = None) -> None:
        self._paddleflow.filesystems.delete(fsname, owner=username or "")

    @answer
    def create_fs_cache(self, fsname: str, options: Words, username: str | None = None) -> None:
        """Says how a filesystem is cached, in place of what was said before."""
        self._paddleflow.mounts.set_cache(fsname, read_cache(options), owner=username or "")

    @answer
    def update_fs_cache(self, fsname: str, params: Words, username: str | None = None) -> None:
        """The same as `create_fs_cache`."""
        self._paddleflow.mounts.set_cache(fsname, read_cache(params), owner=username or "")

    @answer
    def get_fs_cache(self, fsname: str, username: str | None = None) -> dict[str, Json]:
        """What was said about the cache of a filesystem."""
        return {"fsname": fsname} | cache_words(self._paddleflow.mounts.get_cache(fsname, owner=username or ""))

    @answer
    def delete_fs_cache(self, fsname: str, username: str | None = None) -> None:
        self._paddleflow.mounts.delete_cache(fsname, owner=username or "")

    @answer
    def add_link(
        self, fsname: str, fspath: str, url: str, username: str | None = None, properties: Words | None = None
    ) -> None:
        """Lets the files of another place appear in a folder of a filesystem."""
        link = FilesystemLink(fspath.lstrip("/"), url, properties or {})
        self._paddleflow.links.create(fsname, link, owner=username or "")

    @answer
    def show_link(self, fsname: str, fspath: str, username: str | None = None) -> list[LinkInfo]:
        """The link, alone in a list."""
        found = self._paddleflow.links.get(fsname, fspath.lstrip("/"), owner=username or "")
        return [_link_info(fsname, found)]

    @answer
    def list_link(self, fsname: str, username: str | None = None) -> list[LinkInfo]:
        return [_link_info(fsname, each) for each in self._paddleflow.links.list(fsname, owner=username or "")]

    @answer
    def delete_link(self, fsname: str, fspath: str, username: str | None = None) -> None:
        self._paddleflow.links.delete(fsname, fspath.lstrip("/"), owner=username or "")


def _link_info(fsname: str, link: FilesystemLink) -> LinkInfo:
    hidden = dict.fromkeys(link.secret_properties, HIDDEN)
    return LinkInfo(fsname, f"/{link.path}", link.url, str(link.kind), dict(link.properties) | hidden)
