"""The stubs of `echo.proto`. A real service's are made by `make protos` and lie in the client."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from grpc_tools import protoc  # type: ignore[import-untyped]  # ships no types

HERE = Path(__file__).parent
PROTOS = HERE.parents[2] / "protos"
WELL_KNOWN = Path(protoc.__file__).parent / "_proto"


def _echo_stubs() -> tuple[ModuleType, ModuleType]:
    """The modules echo_pb2 and echo_pb2_grpc, compiled into a folder that is gone once they are loaded."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [f"-I{HERE}", f"-I{PROTOS}", f"-I{WELL_KNOWN}", f"--python_out={folder}"]
        assert protoc.main(["protoc", *arguments, f"--grpc_python_out={folder}", "echo.proto"]) == 0
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("echo_pb2"), importlib.import_module("echo_pb2_grpc")
        finally:
            sys.path.remove(folder)


echo_pb2, echo_pb2_grpc = _echo_stubs()
