"""What protos/paddleflow says, comments included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

PROTOS = Path(__file__).resolve().parents[2] / "protos"

# Numbers of the fields of descriptor.proto that a comment's path is made of.
PACKAGE, MESSAGE, ENUM, SERVICE = 2, 4, 5, 6
FIELD, VALUE, METHOD = 2, 2, 2


@dataclass(frozen=True, slots=True)
class Source:
    """One .proto file and its comments."""

    file: FileDescriptorProto
    comments: Mapping[tuple[int, ...], str]

    def comment(self, *path: int) -> str:
        return self.comments.get(path, "")


def read() -> list[Source]:
    """Every file of the contract, by name; files that it includes from elsewhere are left out."""
    names = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "paddleflow").rglob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "contract.binpb"
        options = [f"--proto_path={PROTOS}", "--include_source_info", f"--descriptor_set_out={target}"]
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *options, *names], check=True)
        described = FileDescriptorSet.FromString(target.read_bytes())
    return [Source(file, dict(_comments(file))) for file in described.file]


def _comments(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    for location in file.source_code_info.location:
        text = "\n".join(line.removeprefix(" ") for line in location.leading_comments.splitlines())
        yield tuple(location.path), text.strip()
