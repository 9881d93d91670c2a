"""Writes the Python stubs of every .proto into client/paddleflow, or says (with --check) which are stale.

What others than PaddleFlow speak in Protocol Buffers has its stubs beside its .proto.
"""

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
BACKENDS = ROOT / "backends"
CSI = ROOT / "services" / "csi"
KUBERNETES = ("csi/v1", "pluginregistration/v1")
"""What is spoken with Kubernetes. Only the driver does, so the client does not have it."""
MYPY = ("mypy", "mypy_grpc")
STUB_PATTERNS = ("*_pb2.py", "*_pb2.pyi", "*_pb2_grpc.py", "*_pb2_grpc.pyi")


def generate(target: Path) -> None:
    sources = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "paddleflow").rglob("*.proto"))
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


def generate_foreign(target: Path) -> None:
    """The stubs of what backends speak."""
    sources = [str(path.relative_to(BACKENDS)) for path in sorted(BACKENDS.rglob("*.proto"))]
    mypy = f"--plugin=protoc-gen-mypy={Path(sys.executable).with_name('protoc-gen-mypy')}"
    outputs = [f"--python_out={target}", f"--mypy_out=quiet:{target}"]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={BACKENDS}"]
    subprocess.run([*protoc, mypy, *outputs, *sources], check=True, cwd=BACKENDS)


def generate_kubernetes(target: Path) -> None:
    """The stubs of what the driver of storage speaks, as modules of the driver."""
    mypy = [f"--plugin=protoc-gen-{each}={Path(sys.executable).with_name(f'protoc-gen-{each}')}" for each in MYPY]
    outputs = [f"--{each}={target}" for each in ("python_out", "grpc_python_out")]
    outputs += [f"--{each}=quiet:{target}" for each in ("mypy_out", "mypy_grpc_out")]
    places = [f"--proto_path=pf_csi/contract={PROTOS / folder}" for folder in KUBERNETES]
    sources = [f"pf_csi/contract/{path.name}" for folder in KUBERNETES for path in (PROTOS / folder).glob("*.proto")]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", *places]
    subprocess.run([*protoc, *mypy, *outputs, *sorted(sources)], check=True, cwd=PROTOS)


def stubs(root: Path) -> dict[Path, Path]:
    return {path.relative_to(root): path for pattern in STUB_PATTERNS for path in (root / "paddleflow").rglob(pattern)}


def stale_foreign(fresh: Path, kept: Path) -> list[Path]:
    names = sorted(path.relative_to(fresh) for pattern in STUB_PATTERNS for path in fresh.rglob(pattern))
    return [name for name in names if not _are_equal(fresh / name, kept / name)]


def stale(fresh: Path) -> list[Path]:
    wanted, present = stubs(fresh), stubs(CLIENT)
    changed = {
        name for name in wanted.keys() & present.keys() if not filecmp.cmp(wanted[name], present[name], shallow=False)
    }
    return sorted(changed | (wanted.keys() ^ present.keys()))


def _are_equal(one: Path, other: Path) -> bool:
    return other.exists() and filecmp.cmp(one, other, shallow=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is stale")
    if not parser.parse_args().check:
        for path in stubs(CLIENT).values():
            path.unlink()
        generate(CLIENT)
        generate_foreign(BACKENDS)
        generate_kubernetes(CSI)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        names = [f"client/{name}" for name in stale(Path(folder))]
    with tempfile.TemporaryDirectory() as folder:
        generate_foreign(Path(folder))
        names += [f"backends/{name}" for name in stale_foreign(Path(folder), BACKENDS)]
    with tempfile.TemporaryDirectory() as folder:
        generate_kubernetes(Path(folder))
        names += [f"services/csi/{name}" for name in stale_foreign(Path(folder), CSI)]
    for name in names:
        print(f"stale stub: {name} (run `make protos`)")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
