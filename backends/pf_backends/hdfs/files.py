"""What name nodes say of files, and do with them."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from pf_backends.entries import Entry, Kind
from pf_backends.errors import failure, unreachable, unsupported
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.names import NameNodes
from pf_backends.hidden import require_foreign
from pf_backends.paths import encoded, is_path, joined

M = TypeVar("M", bound=Message)
_KINDS = {1: Kind.FOLDER, 2: Kind.FILE, 3: Kind.LINK}
_LONGEST = 255
"""Bytes of a name, unless the cluster says otherwise."""
_LONGEST_PATH = 7999
"""Letters."""
_MILLISECOND = 1_000_000
_LEFT_AS_IT_IS = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Files:
    """The files below a folder, asked for with a deadline. What fails names the path below that folder."""

    names: NameNodes
    top: str
    deadline: float

    def look(self, path: str) -> hadoop.Status | None:
        """What lies at a path."""
        reply = self.ask(path, "getFileInfo", hadoop.GetFileInfo(path=self.where(path)), hadoop.GetFileInfo.Reply)
        return reply.status if reply.HasField("status") else None

    def found(self, path: str) -> hadoop.Status:
        status = self.look(path)
        if status is None:
            raise failure(errno.ENOENT, path, "there is nothing")
        return status

    def pages(self, path: str, after: bytes) -> Iterator[hadoop.GetListing.Listing]:
        """All that is in a folder after a name, also in one of PaddleFlow's own. Unreachable if it does not get on."""
        left = True
        while left:
            listing = self.listing(path, after)
            yield listing
            last = listing.entries[-1].name if listing.entries else after
            left = bool(listing.left)
            if left and last == after:
                raise unreachable(path, "the name node says that more is in the folder, and does not tell what")
            after = last

    def listing(self, path: str, after: bytes) -> hadoop.GetListing.Listing:
        """What is in a folder after a name, or some of it."""
        ask = hadoop.GetListing(path=self.own(path), after=after, located=False)
        reply = self.ask(path, "getListing", ask, hadoop.GetListing.Reply)
        if not reply.HasField("listing"):
            raise failure(errno.ENOENT, path, "there is nothing")
        if any(not status.name for status in reply.listing.entries):
            raise failure(errno.ENOTDIR, path, "is no folder")
        return reply.listing

    def blocks(self, path: str, offset: int, size: int, number: int = 0) -> hadoop.LocatedBlocks:
        """The blocks with bytes of a file. With a number: of the file that has it, and ENOENT if there is none."""
        where = f"/.reserved/.inodes/{number}" if number else self.where(path)
        ask = hadoop.GetBlockLocations(path=where, offset=offset, size=size)
        reply = self.ask(path, "getBlockLocations", ask, hadoop.GetBlockLocations.Reply)
        if not reply.HasField("blocks"):
            raise failure(errno.ENOENT, path, "there is nothing")
        if reply.blocks.HasField("encryption"):
            raise unsupported(path, "is encrypted by Hadoop, which cannot be read here")
        if reply.blocks.HasField("erasure_code"):
            raise unsupported(path, "is kept with erasure coding, which cannot be read here")
        return reply.blocks

    def rename(self, source: str, target: str, *, replace: bool, shown: str) -> None:
        ask = hadoop.Rename(source=self.own(source), target=self.own(target), replace=replace)
        self.ask(shown, "rename2", ask, hadoop.Done)

    def delete(self, path: str, *, shown: str, whole: bool = False) -> bool:
        """A file, or a folder, which must be empty or goes with all that is in it. False if there was nothing."""
        return self.ask(shown, "delete", hadoop.Delete(path=self.own(path), recursive=whole), hadoop.Done).done

    def set_mode(self, path: str, mode: int, *, shown: str) -> None:
        ask = hadoop.SetMode(path=self.own(path), mode=hadoop.Mode(bits=mode & 0o1777))
        self.ask(shown, "setPermission", ask, hadoop.Done)

    def set_modified(self, path: str, modified: int, *, shown: str) -> None:
        milliseconds = max(0, modified // _MILLISECOND)
        ask = hadoop.SetTimes(path=self.own(path), modified=milliseconds, read=_LEFT_AS_IT_IS)
        self.ask(shown, "setTimes", ask, hadoop.Done)

    def ask(self, path: str, method: str, ask: Message, reply: type[M]) -> M:
        return self.names.call(path, method, ask, reply, self.deadline)

    def where(self, path: str) -> str:
        """What name nodes call a path that is not PaddleFlow's own."""
        require_foreign(path)
        return self.own(path)

    def own(self, path: str) -> str:
        _require_short(path)
        return f"/{joined(self.top, path)}".rstrip("/") or "/"


def entry_of(path: str, status: hadoop.Status) -> Entry:
    kind = _KINDS.get(status.kind)
    if kind is None:
        raise unsupported(path, "is neither a file nor a folder nor a link")
    return Entry(
        path,
        kind,
        status.size if kind is Kind.FILE else 0,
        status.modified * _MILLISECOND,
        version_of(status) if kind is Kind.FILE else "",
        status.mode.bits & 0o1777,
        None,
        status.target.decode("utf-8", "surrogateescape"),
    )


def version_of(status: hadoop.Status) -> str:
    """What replaces a file has another number; what is added to one changes its size."""
    return f"{status.id:x}-{status.modified:x}-{status.size:x}"


def require_file(path: str, status: hadoop.Status) -> None:
    match _KINDS.get(status.kind):
        case Kind.FILE:
            return
        case Kind.FOLDER:
            raise failure(errno.EISDIR, path, "is a folder")
        case _:
            raise failure(errno.ELOOP, path, "is a link")


def is_folder(status: hadoop.Status) -> bool:
    return _KINDS.get(status.kind) is Kind.FOLDER


def entries_of(folder: str, listing: Sequence[hadoop.Status]) -> list[Entry]:
    """What is told of the things in a folder, the drafts of PaddleFlow among them.

    Nothing is told of what is of an unknown kind, or has a name that nothing can have: it hides no other things.
    """
    named = [(name_of(status), status) for status in listing if status.kind in _KINDS]
    return [entry_of(joined(folder, name), status) for name, status in named if name is not None]


def name_of(status: hadoop.Status) -> str | None:
    """What something is called in its folder; None if it is nothing that could be in one."""
    try:
        name = status.name.decode()
    except UnicodeDecodeError:
        return None
    return name if is_path(name) and "/" not in name else None


def _require_short(path: str) -> None:
    raw = encoded(path)
    if max(map(len, raw.split(b"/"))) > _LONGEST:
        raise failure(errno.ENAMETOOLONG, path, f"has a name of more than {_LONGEST} bytes")
    if len(path) > _LONGEST_PATH:
        raise failure(errno.ENAMETOOLONG, path, f"has more than {_LONGEST_PATH} letters")
