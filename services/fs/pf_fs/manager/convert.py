"""Between the messages of FileManagerService and values."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import file_pb2
from paddleflow.problems import FolderNotAllowed, InvalidArgument, Violation
from pf_backends.entries import Entry, Kind, Part, Upload
from pf_fs.manager.domain import LARGEST_PART, LONGEST_PATTERN, MOST_BYTES
from pf_fs.manager.patterns import matcher
from pf_fs.paths import parts_of, sub_path_violations
from pf_fs.rules import SECRETS
from pf_kit.fields import one_line, require, shown, within
from pf_kit.wire import timestamp

KINDS = {
    Kind.FILE: file_pb2.FILE_KIND_REGULAR,
    Kind.FOLDER: file_pb2.FILE_KIND_FOLDER,
    Kind.LINK: file_pb2.FILE_KIND_LINK,
}
MOST_PARTS = 100_000
LONGEST_ID = 2048
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 12, 31, tzinfo=UTC)


def file_message(entry: Entry) -> pb.File:
    message = pb.File(
        path=entry.path, kind=KINDS[entry.kind], size=entry.size, version=entry.version, target=entry.target
    )
    if entry.modified > 0:
        message.modify_time.CopyFrom(timestamp(_time(entry.modified)))
    return message


def path_of(field: str, text: str) -> str:
    """A path in a filesystem, which may be itself. InvalidArgument if it is none, FolderNotAllowed if it is secret."""
    require(sub_path_violations(field, text))
    parts = parts_of(text)
    if secret := next((part for part in parts if part in SECRETS), None):
        raise FolderNotAllowed(f"{shown(text)} leads into {secret}, which is never shared")
    return "/".join(parts)


def inner_path_of(field: str, text: str) -> str:
    """The same of something in a filesystem."""
    if not (path := path_of(field, text)):
        raise InvalidArgument.of(Violation(field, "must name something in the filesystem, not the filesystem itself"))
    return path


def matcher_of(pattern: str) -> Callable[[str], bool]:
    """What a list is to be like. InvalidArgument if it cannot be."""
    require(one_line("pattern", pattern, LONGEST_PATTERN))
    try:
        return matcher(pattern)
    except ValueError as error:
        raise InvalidArgument.of(Violation("pattern", str(error))) from None


def read_of(request: pb.ReadFileRequest) -> tuple[str, int, int, str]:
    """The path, the offset, the length and the version of what is to be read."""
    require(
        within("offset", request.offset, 0, 2**63 - 1 - MOST_BYTES),
        within("length", request.length, 0, MOST_BYTES),
        one_line("version", request.version, LONGEST_ID),
    )
    return inner_path_of("path", request.path), request.offset, request.length, request.version


def data_of(data: bytes, crc32: int) -> bytes:
    """Bytes as they were sent. InvalidArgument if they are others, or too many."""
    if len(data) > MOST_BYTES:
        raise InvalidArgument.of(Violation("data", f"must have at most {MOST_BYTES} bytes, and has {len(data)}"))
    if zlib.crc32(data) != crc32:
        raise InvalidArgument.of(Violation("crc32", "is not that of the data: something changed them on the way"))
    return data


def upload_of(path: str, upload_id: str) -> Upload:
    """An upload, as a caller names it."""
    require(_upload_violations(upload_id))
    return Upload(inner_path_of("path", path), upload_id, 0)


def number_of(request: pb.SendChunkRequest) -> int:
    """The number of a part, of which a piece comes that can be one."""
    require(
        within("number", request.number, 1, MOST_PARTS),
        within("offset", request.offset, 0, LARGEST_PART - len(request.data)),
    )
    return request.number


def parts_in(parts: Sequence[pb.UploadedPart]) -> list[Part]:
    """The parts of an upload."""
    require(_parts_violations(parts))
    return [Part(each.number, each.size, each.tag) for each in parts]


def part_message(part: Part) -> pb.UploadedPart:
    return pb.UploadedPart(number=part.number, size=part.size, tag=part.tag)


def _upload_violations(upload_id: str) -> Iterator[Violation]:
    if not upload_id:
        yield Violation("upload_id", "must be given")
    yield from one_line("upload_id", upload_id, LONGEST_ID)


def _parts_violations(parts: Sequence[pb.UploadedPart]) -> Iterator[Violation]:
    yield from within("the number of parts", len(parts), 1, MOST_PARTS)
    for at, each in enumerate(parts[:MOST_PARTS], 1):
        if each.number != at:
            yield Violation(f"parts[{at - 1}].number", f"must be {at}: all parts, in their order")
        yield from within(f"parts[{at - 1}].size", each.size, 0, LARGEST_PART)
        yield from one_line(f"parts[{at - 1}].tag", each.tag, LONGEST_ID)


def _time(nanoseconds: int) -> datetime:
    """Files may claim to be of any year; a message holds four digits of one."""
    try:
        return min(_EPOCH + timedelta(microseconds=nanoseconds // 1000), _LATEST)
    except OverflowError:
        return _LATEST
