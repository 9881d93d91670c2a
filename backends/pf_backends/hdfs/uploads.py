"""Files that arrive in parts: each is a file in a hidden folder beside the one that it is for.

The name of the folder tells of the upload; in it lies a folder with the name that the file is to have.
"""

from __future__ import annotations

import errno
import re
import secrets
from collections.abc import Iterator, Sequence

from pf_backends.entries import Condition, Entry, Facts, Part, Parts, Upload
from pf_backends.errors import failure
from pf_backends.hdfs import hadoop_pb2 as hadoop
from pf_backends.hdfs.files import Files, entry_of, is_folder, name_of
from pf_backends.hdfs.writing import Writer, keep, place, refuse_attributes, require_condition
from pf_backends.hidden import OWN, own_name
from pf_backends.paths import joined, parent

PARTS = Parts(least=64 << 20, most=64 << 20, count=10_000)
"""A part is a block: of many small ones name nodes would have to know."""
_ID = re.compile(re.escape(OWN) + r"[0-9a-f]{32}-([0-9a-f]+)-([0-9a-f]+|n)-([0-7]+|n)")
_NAME = "name"
_FOLDER = 0o755


def begin(files: Files, path: str, facts: Facts, begun: int) -> Upload:
    refuse_attributes(path, facts)
    files.where(path)
    modified = "n" if facts.modified is None else f"{max(0, facts.modified):x}"
    mode = "n" if facts.mode is None else f"{facts.mode & 0o1777:o}"
    upload = Upload(path, f"{OWN}{secrets.token_hex(16)}-{begun:x}-{modified}-{mode}", begun)
    folder = _folder(upload)
    _make(files, upload, folder, above=False)
    _make(files, upload, joined(folder, f"{_NAME}/{path.rpartition('/')[2]}"), above=True)
    return upload


def send(files: Files, writer: Writer, upload: Upload, number: int, body: memoryview) -> Part:
    if not 1 <= number <= PARTS.count or len(body) > PARTS.most:
        raise failure(errno.EINVAL, upload.path, f"part {number} of {len(body)} bytes is none of an upload")
    folder = _folder(upload)
    draft = joined(folder, own_name())
    status = writer.draft(files, upload.path, draft, body, Facts())
    files.rename(draft, _part(folder, number), replace=True, shown=upload.path)
    return Part(number, len(body), f"{status.id:x}")


def finish(files: Files, upload: Upload, parts: Sequence[Part], condition: Condition) -> Entry:
    ordered = sorted(parts, key=lambda part: part.number)
    if not ordered or [part.number for part in ordered] != list(range(1, len(ordered) + 1)):
        raise failure(errno.EINVAL, upload.path, "parts are missing")
    if any(part.size != PARTS.least for part in ordered[:-1]):
        raise failure(errno.EINVAL, upload.path, f"all parts but the last have {PARTS.least} bytes")
    folder, size = _folder(upload), sum(part.size for part in ordered)
    if _look(files, upload, folder) is None:
        return _finished_before(files, upload, ordered[0], size)
    require_condition(files, upload.path, condition)
    _join(files, upload, ordered, size)
    first = _part(folder, 1)
    keep(files, first, _facts(upload), shown=upload.path)
    status = _look(files, upload, first)
    place(files, first, upload.path, absent=condition.absent)
    drop(files, upload)
    return entry_of(upload.path, status or hadoop.Status())


def drop(files: Files, upload: Upload) -> None:
    files.delete(_folder(upload), shown=upload.path, whole=True)


def left(files: Files, folder: str) -> Sequence[Upload]:
    """Those below a folder that were neither finished nor dropped, the oldest first."""
    return sorted(_below(files, folder), key=lambda upload: (upload.begun, upload.id))


def _join(files: Files, upload: Upload, parts: Sequence[Part], size: int) -> None:
    """The first part becomes all of the file, unless it is that already."""
    folder = _folder(upload)
    first = _part(folder, 1)
    status = _look(files, upload, first)
    if status is None or f"{status.id:x}" != parts[0].tag:
        raise failure(errno.ENOENT, upload.path, "its first part is there no more")
    others = [files.own(_part(folder, part.number)) for part in parts[1:] if part.size]
    if status.size != size and others:
        files.ask(upload.path, "concat", hadoop.Concat(target=files.own(first), sources=others), hadoop.Done)
        status = _look(files, upload, first)
    if status is None or status.size != size:
        raise failure(errno.EIO, upload.path, f"its parts do not come to {size} bytes")


def _finished_before(files: Files, upload: Upload, first: Part, size: int) -> Entry:
    status = files.look(upload.path)
    if status is None or (f"{status.id:x}", status.size) != (first.tag, size):
        raise failure(errno.ENOENT, upload.path, "the upload is there no more, and the file is another one")
    return entry_of(upload.path, status)


def _below(files: Files, folder: str) -> Iterator[Upload]:
    waiting = [folder]
    while waiting:
        above = waiting.pop()
        for name, inner in _all(files, above):
            matched = _ID.fullmatch(name)
            if matched:
                inside = _all(files, joined(joined(above, name), _NAME))
                yield from (Upload(joined(above, target), name, int(matched[1], 16)) for target, _ in inside)
            elif inner and not name.startswith(OWN):
                waiting.append(joined(above, name))


def _all(files: Files, folder: str) -> Iterator[tuple[str, bool]]:
    """All names in a folder, also in one of PaddleFlow's own, and which are folders; nothing if it has gone."""
    try:
        for listing in files.pages(folder, b""):
            named = ((name_of(status), is_folder(status)) for status in listing.entries)
            yield from ((name, inner) for name, inner in named if name is not None)
    except (FileNotFoundError, NotADirectoryError):
        return


def _make(files: Files, upload: Upload, folder: str, *, above: bool) -> None:
    ask = hadoop.MakeFolders(path=files.own(folder), mode=hadoop.Mode(bits=_FOLDER), above=above)
    files.ask(upload.path, "mkdirs", ask, hadoop.Done)


def _look(files: Files, upload: Upload, path: str) -> hadoop.Status | None:
    ask = hadoop.GetFileInfo(path=files.own(path))
    reply = files.ask(upload.path, "getFileInfo", ask, hadoop.GetFileInfo.Reply)
    return reply.status if reply.HasField("status") else None


def _folder(upload: Upload) -> str:
    if _ID.fullmatch(upload.id) is None:
        raise failure(errno.EINVAL, upload.path, "that is no upload to a Hadoop file system")
    return joined(parent(upload.path), upload.id)


def _part(folder: str, number: int) -> str:
    return joined(folder, f"{number:06}")


def _facts(upload: Upload) -> Facts:
    matched = _ID.fullmatch(upload.id)
    _, modified, mode = matched.groups() if matched else ("", "n", "n")
    return Facts(None if modified == "n" else int(modified, 16), None if mode == "n" else int(mode, 8))
