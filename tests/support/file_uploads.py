"""Sends parts of files piece by piece, as clients do."""

from __future__ import annotations

import zlib

from paddleflow.fs.v1 import file_manager_pb2 as pb
from paddleflow.fs.v1 import fs_pb2
from support.callers import Caller

CHUNK = 2 << 20


async def send_part(
    call: Caller, filesystem: fs_pb2.FilesystemKey, upload: pb.Upload, path: str, number: int, body: bytes
) -> pb.UploadedPart:
    """A part, which has at least a byte."""
    offset, answer = 0, pb.SendChunkResponse()
    while offset < len(body):
        piece = body[offset : offset + CHUNK]
        request = pb.SendChunkRequest(
            filesystem=filesystem,
            path=path,
            upload_id=upload.id,
            number=number,
            offset=offset,
            data=piece,
            crc32=zlib.crc32(piece),
            last=offset + CHUNK >= len(body),
        )
        answer = await call(request)
        offset += len(piece)
        assert answer.next_offset == offset
    return answer.part
