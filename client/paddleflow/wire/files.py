"""Files to and from the wire."""

from __future__ import annotations

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import file_pb2
from paddleflow.models.files import FileInfo, FileKind, FilePart
from paddleflow.wire.base import EnumCodec, build, time_from_wire

FILE_KIND = EnumCodec(FileKind, file_pb2.FileKind, "FILE_KIND_")


def file_from_wire(file: pb.File) -> FileInfo:
    return FileInfo(
        path=file.path,
        kind=FILE_KIND.member(file.kind),
        size=file.size,
        modify_time=time_from_wire(file, "modify_time"),
        version=file.version,
        target=file.target,
    )


def part_to_wire(part: FilePart) -> pb.UploadedPart:
    return build(pb.UploadedPart, number=part.number, size=part.size, tag=part.tag)


def part_from_wire(part: pb.UploadedPart) -> FilePart:
    return FilePart(part.number, part.size, part.tag)
