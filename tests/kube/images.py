"""Images as archives that containerd imports, made without an engine and without a registry."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kube.settings import PAUSE

BUSYBOX = "registry.invalid/busybox:1"
APPLETS = """
    cat chmod cmp cp date dd df du echo env false find grep head id kill ls mkdir mount mv nc nslookup printf ps rm sed
    seq sh sha256sum sleep stat sync tail tee test timeout touch true umount wc wget
"""
FOLDERS = ("bin", "data", "dev", "etc", "proc", "root", "run", "sys", "tmp", "var")
ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}


@dataclass(frozen=True, slots=True)
class Image:
    """What a container is made of: one layer, and how its program is run."""

    names: Sequence[str]
    layer: Path
    """A tar of all files."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """As in the field `config` of the OCI's image configuration."""


def write(image: Image, archive: Path) -> None:
    """In the form that `docker save` has, which is the one that every engine loads."""
    with image.layer.open("rb") as file:
        layer = hashlib.file_digest(file, "sha256").hexdigest()
    configuration = encoded(
        {
            "architecture": ARCHITECTURES[platform.machine()],
            "os": "linux",
            "config": image.settings,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        }
    )
    named = f"{hashlib.sha256(configuration).hexdigest()}.json"
    manifest = [{"Config": named, "RepoTags": list(image.names), "Layers": [f"{layer}/layer.tar"]}]
    with tarfile.open(archive, "w") as tar:
        add(tar, named, configuration)
        tar.add(image.layer, f"{layer}/layer.tar")
        add(tar, "manifest.json", encoded(manifest))


def write_busybox(folder: Path) -> Path:
    """A small image with a shell; it is the one that holds the namespaces of pods, too."""
    layer, archive = folder / "busybox.layer", folder / "busybox.tar"
    with tarfile.open(layer, "w") as tar:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            tar.addfile(entry)
        add(tar, "bin/busybox", Path("/bin/busybox").read_bytes(), 0o755)
        add(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        for name in APPLETS.split():
            entry = tarfile.TarInfo(f"bin/{name}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
    settings = {"Env": ["PATH=/bin"], "Cmd": ["/bin/busybox", "sleep", "2147483647"]}
    write(Image((BUSYBOX, PAUSE), layer, settings), archive)
    layer.unlink()
    return archive


def write_program(folder: Path, name: str, program: Path) -> Path:
    """An image with nothing but one program that needs no libraries, as those of Kubernetes' sidecars are."""
    layer, archive = folder / f"{program.name}.layer", folder / f"{program.name}.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(program, program.name)
    write(Image((name,), layer, {"Entrypoint": [f"/{program.name}"], "User": "65532:65532"}), archive)
    layer.unlink()
    return archive


def add(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def encoded(document: object) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
