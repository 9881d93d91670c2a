"""Writes the Python stubs of every .proto into client/paddleflow, or says (with --check) which are stale."""

from __future__ import annotations

import argparse
import filecmp
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTOS = ROOT / "protos"
CLIENT = ROOT / "client"
STUB_PATTERNS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


def generate(target: Path) -> None:
    sources = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "grpc_tools.protoc",
            f"--proto_path={PROTOS}",
            f"--plugin=protoc-gen-mypy={Path(sys.executable).with_name('protoc-gen-mypy')}",
            f"--plugin=protoc-gen-mypy_grpc={Path(sys.executable).with_name('protoc-gen-mypy_grpc')}",
            f"--python_out={target}",
            f"--grpc_python_out={target}",
            f"--mypy_out=quiet:{target}",
            f"--mypy_grpc_out=quiet:{target}",
            *sources,
        ],
        check=True,
        cwd=PROTOS,
    )
    for folder in {path.parent for path in target.rglob("*_pb2.py")}:
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()


def stubs(root: Path) -> dict[Path, Path]:
    return {path.relative_to(root): path for pattern in STUB_PATTERNS for path in (root / "paddleflow").rglob(pattern)}


def stale(fresh: Path) -> list[Path]:
    wanted, present = stubs(fresh), stubs(CLIENT)
    changed = {
        name for name in wanted.keys() & present.keys() if not filecmp.cmp(wanted[name], present[name], shallow=False)
    }
    return sorted(changed | (wanted.keys() ^ present.keys()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is stale")
    if not parser.parse_args().check:
        for path in stubs(CLIENT).values():
            path.unlink()
        generate(CLIENT)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        names = stale(Path(folder))
    for name in names:
        print(f"stale stub: client/{name} (run `make protos`)")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
