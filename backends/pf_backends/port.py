"""What everybody who reads and writes files needs of the place where they lie.

Calls block and may be made by many threads at once. They fail as `errors` says, within the deadline of the backend's
settings, and never because of what the caller did not ask for: short reads, retries and the paging of a server are
the adapter's business.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from pf_backends.entries import Capabilities, Condition, Entry, Facts, Page, Part, Space, Upload

ANYTHING = Condition()
NO_FACTS = Facts()


class Wholes(Protocol):
    """Small files of a backend, for one thread that asks for many at once over connections that it keeps itself."""

    def dialled(self) -> socket.socket:
        """A connection over which one request of HTTP/1.1 goes after another. Unreachable, or PermissionError."""

    def request(self, path: str) -> bytes:
        """What asks for a file now."""

    def entry(self, path: str, headers: Mapping[str, str], body: memoryview) -> Entry | None:
        """What an answer of 200 tells; None if what came is not what was stored."""


@runtime_checkable
class Swift(Protocol):
    """A backend that has such files."""

    def wholes(self) -> Wholes: ...


@runtime_checkable
class Hasty(Protocol):
    """A backend that must be asked once more to tell when that was written which it was just given."""

    def put_hastily(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        """Like `Backend.put`, but nobody is asked: the time is about the one that `stat` will tell."""


@runtime_checkable
class Manifold(Protocol):
    """A backend with places that can do different things. What it can do itself is what each of them can."""

    def capabilities_at(self, path: str) -> Capabilities:
        """What the place can do that a path leads into."""

    def require_renamable(self, source: str, target: str) -> None:
        """EXDEV if they lie in different places, EBUSY if a place begins at one of them or below."""


class Backend(Protocol):
    """A place where files lie."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def address(self) -> str:
        """What people call it, without secrets: for messages and as part of the keys of caches."""

    def check(self) -> None:
        """Fails with the backend's own words if it cannot be read as it is set."""

    def close(self) -> None:
        """Lets go of all connections; calls under way fail."""

    def stat(self, path: str) -> Entry:
        """What lies at a path; a link is not followed."""

    def list(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        """At most so many of what is in a folder, from where the page before ended.

        Where folders are no things of their own, the page is empty if there is nothing.
        """

    def walk(self, folder: str, *, rest: str = "", limit: int = 1000) -> Page:
        """At most so many of the files and links below a folder, and of its folders; links are not followed.

        Where folders are no things of their own, those are told that have a marker.
        """

    def read(self, path: str, offset: int, into: memoryview, *, version: str = "") -> int:
        """Fills memory with the bytes from an offset on; says how many there were, fewer only at the end of the file.

        With a version: Changed if the file is another one by now, even while it is read.
        """

    def fetch(self, path: str, *, limit: int) -> tuple[Entry, bytes]:
        """A small file as it is, in one round trip where that can be; EFBIG if it is larger than the limit."""

    def put(
        self, path: str, body: memoryview | bytes, *, facts: Facts = NO_FACTS, condition: Condition = ANYTHING
    ) -> Entry:
        """Writes a file at once: everybody sees what was there before, or all of it. Folders above must be there."""

    def begin(self, path: str, *, facts: Facts = NO_FACTS) -> Upload:
        """Begins an upload in parts."""

    def send(self, upload: Upload, number: int, body: memoryview | bytes) -> Part:
        """Sends a part; one that was sent before is replaced."""

    def finish(self, upload: Upload, parts: Sequence[Part], *, condition: Condition = ANYTHING) -> Entry:
        """The file appears, whole. An upload that was finished before is no error as long as the file is that one."""

    def drop(self, upload: Upload) -> None:
        """Forgets the parts; no error if there are none any more."""

    def uploads(self, folder: str) -> Sequence[Upload]:
        """Those under way below a folder, the oldest first."""

    def append(self, path: str, body: memoryview | bytes, *, offset: int) -> Entry:
        """Adds to the end of a file; Changed if that is not at the offset."""

    def make_folder(self, path: str, *, facts: Facts = NO_FACTS) -> Entry:
        """Makes a folder in one that is there; FileExistsError if something is there."""

    def make_link(self, path: str, target: str) -> Entry:
        """Makes a link; FileExistsError if something is there."""

    def set_facts(self, path: str, facts: Facts, *, condition: Condition = ANYTHING) -> Entry:
        """Changes what is kept of a file or folder beside its bytes; what is None stays, attributes are replaced.

        With a condition on a version, what is told bears the same bytes as that one.
        """

    def attributes(self, path: str) -> Facts:
        """All that is kept of a file beside its bytes."""

    def remove(self, path: str, *, condition: Condition = ANYTHING) -> None:
        """Removes a file or a link."""

    def remove_many(self, paths: Sequence[str]) -> Sequence[OSError | None]:
        """Removes files and links, and says of each what went wrong; where there is nothing, nothing went wrong."""

    def remove_folder(self, path: str) -> None:
        """Removes an empty folder; ENOTEMPTY if it is not."""

    def rename(self, source: str, target: str, *, replace: bool = True) -> None:
        """Renames what `Capabilities.renames` allows, Unsupported otherwise.

        Replaces a file by a file if it may, and an empty folder by a folder.
        """

    def copy(self, source: str, target: str, *, condition: Condition = ANYTHING) -> Entry:
        """Copies a file inside of the backend, and tells of the copy also if another writer came after it."""

    def space(self) -> Space | None:
        """How much room there is; None if there is no telling."""
