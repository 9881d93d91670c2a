"""Between the messages of FileService and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddleflow.fs.v1 import errors_pb2
from paddleflow.fs.v1 import file_pb2 as pb
from paddleflow.problems import InvalidArgument, Violation
from pf_fs.files.domain import (
    MOST_PATHS,
    MOST_READ,
    Digest,
    DigestMode,
    Done,
    Fault,
    FileKind,
    Pending,
    Piece,
    Range,
    Stat,
)
from pf_fs.paths import sub_path, sub_path_violations
from pf_kit.fields import require, within
from pf_kit.wire import timestamp

KINDS = {
    FileKind.REGULAR: pb.FILE_KIND_REGULAR,
    FileKind.FOLDER: pb.FILE_KIND_FOLDER,
    FileKind.LINK: pb.FILE_KIND_LINK,
    FileKind.OTHER: pb.FILE_KIND_OTHER,
}
MODES = {
    pb.DIGEST_MODE_UNSPECIFIED: DigestMode.CONTENT,
    pb.DIGEST_MODE_CONTENT: DigestMode.CONTENT,
    pb.DIGEST_MODE_TIME: DigestMode.TIME,
}


def paths_of(paths: Sequence[str]) -> Sequence[str]:
    """The paths of a request. InvalidArgument names each that cannot be one."""
    require(_number_violations("paths", len(paths)), _path_violations(paths))
    return paths


def inner_paths_of(paths: Sequence[str]) -> Sequence[str]:
    """The same, where none may be the filesystem itself."""
    require(_outer_violations(paths_of(paths)))
    return paths


def ranges_of(ranges: Sequence[pb.FileRange]) -> Sequence[Range]:
    """The pieces of a request. InvalidArgument names each that cannot be one."""
    require(_number_violations("ranges", len(ranges)), _range_violations(ranges))
    return [Range(each.path, each.offset, each.length) for each in ranges]


def mode_of(mode: pb.DigestMode.ValueType) -> DigestMode:
    """By what files are told apart. InvalidArgument if it is not defined."""
    if mode not in MODES:
        raise InvalidArgument.of(Violation("mode", "must be CONTENT or TIME"))
    return MODES[mode]


def stat_message(path: str, found: Stat | Fault) -> pb.FileStat:
    match found:
        case Stat(kind, size, modify_time):
            return pb.FileStat(path=path, kind=KINDS[kind], size=size, modify_time=timestamp(modify_time))
        case fault:
            return pb.FileStat(path=path, fault=_fault(fault))


def piece_message(path: str, found: Piece | Fault) -> pb.FilePiece:
    match found:
        case Piece(data, size):
            return pb.FilePiece(path=path, data=data, size=size)
        case fault:
            return pb.FilePiece(path=path, fault=_fault(fault))


def digest_message(path: str, found: Digest | Pending | Fault) -> pb.FileDigest:
    match found:
        case Digest(hexadecimal):
            return pb.FileDigest(path=path, digest=hexadecimal)
        case Pending():
            return pb.FileDigest(path=path, pending=True)
        case fault:
            return pb.FileDigest(path=path, fault=_fault(fault))


def change_message(path: str, found: Done | Pending | Fault) -> pb.FileChange:
    match found:
        case Done():
            return pb.FileChange(path=path)
        case Pending():
            return pb.FileChange(path=path, pending=True)
        case fault:
            return pb.FileChange(path=path, fault=_fault(fault))


def _fault(fault: Fault) -> pb.FileFault:
    reason = errors_pb2.FilesystemReason.Value(f"FILESYSTEM_REASON_{fault.problem.reason}")
    return pb.FileFault(reason=reason, message=fault.problem.message)


def _number_violations(field: str, number: int) -> Iterator[Violation]:
    yield from within(f"the number of {field}", number, 0, MOST_PATHS)


def _path_violations(paths: Sequence[str]) -> Iterator[Violation]:
    for number, path in enumerate(paths):
        yield from sub_path_violations(f"paths[{number}]", path)


def _outer_violations(paths: Sequence[str]) -> Iterator[Violation]:
    for number, path in enumerate(paths):
        if not sub_path(path).parts:
            yield Violation(f"paths[{number}]", "must name something in the filesystem, not the filesystem itself")


def _range_violations(ranges: Sequence[pb.FileRange]) -> Iterator[Violation]:
    for number, each in enumerate(ranges):
        yield from sub_path_violations(f"ranges[{number}].path", each.path)
        yield from within(f"ranges[{number}].offset", each.offset, 0, 2**63 - 1 - MOST_READ)
        yield from within(f"ranges[{number}].length", each.length, 0, MOST_READ)
    yield from within("the length of all ranges", sum(each.length for each in ranges), 0, MOST_READ)
