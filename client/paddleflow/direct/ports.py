"""What files are opened with: a part of the server's distribution, which is found when it is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib.metadata import entry_points
from typing import Any, Protocol

from paddleflow.problems import FailedPrecondition

GROUP, NAME = "paddleflow.files", "cached"


class NothingOpensFiles(FailedPrecondition):
    """What opens files is not installed: pip install 'paddleflow-server[fuse]' beside the client."""

    reason = "NOTHING_OPENS_FILES"


class Entry(Protocol):
    """What lies at a path."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str:
        """``file``, ``folder`` or ``link``."""

    @property
    def size(self) -> int: ...
    @property
    def modified(self) -> int:
        """In nanoseconds since 1970."""

    @property
    def version(self) -> str: ...
    @property
    def target(self) -> str:
        """Where a link leads."""


class Content(Protocol):
    """One version of a file."""

    @property
    def entry(self) -> Entry: ...
    def begin(self, offset: int, size: int) -> bytes | bytearray | memoryview | Future[Any]: ...
    def read(self, offset: int, size: int) -> bytes | bytearray | memoryview: ...
    def read_into(self, offset: int, into: memoryview) -> int: ...
    def close(self) -> None: ...


class NewFile(Protocol):
    """A file that is written, and there once it is committed."""

    def write(self, data: memoryview | bytes) -> None: ...
    def discard(self) -> None: ...


class Files(Protocol):
    """The files of one filesystem. Fails as Python's own functions for files do."""

    @property
    def known(self) -> Any: ...
    def stat(self, path: str) -> Entry: ...
    def stat_all(self, paths: Sequence[str]) -> Sequence[Entry | OSError]: ...
    def list(self, folder: str) -> Sequence[Entry]: ...
    def walk(self, folder: str) -> Iterator[Entry]: ...
    def open(self, entry: Any) -> Content: ...
    def write(self, path: str) -> NewFile: ...
    def put(self, path: str, body: bytes, *, only_new: bool = False) -> Entry: ...
    def commit(self, new: Any, path: str, *, only_new: bool = False) -> Entry: ...
    def append(self, path: str, body: bytes, offset: int) -> Entry: ...
    def make_folder(self, path: str) -> None: ...
    def make_folders(self, path: str) -> None: ...
    def remove(self, paths: Sequence[str]) -> None: ...
    def remove_folder(self, path: str) -> None: ...
    def remove_all(self, folder: str) -> None: ...
    def move(self, source: str, target: str) -> None: ...
    def copy(self, source: str, target: str) -> None: ...
    def end(self) -> None: ...


class Opening(Protocol):
    """Opens the files of a source; `renewal` says where keys come from when those of it have expired."""

    def __call__(
        self,
        source: Mapping[str, Any],
        *,
        memory: int,
        lasts: float,
        known: object = None,
        renewal: Mapping[str, Any] | None = None,
    ) -> Files: ...


def find_opening() -> Opening:
    """NothingOpensFiles if it is not installed."""
    for found in entry_points(group=GROUP, name=NAME):
        opening: Opening = found.load()
        return opening
    raise NothingOpensFiles
