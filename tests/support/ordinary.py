"""A Python that an ordinary user can run, also where the tests run as root below a home that is closed to others."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.servers import short_folder

OURS = (
    "paddleflow",
    "pf_backends",
    "pf_csi",
    "pf_fs",
    "pf_fuse",
    "pf_job",
    "pf_kit",
    "pf_pipeline",
    "pf_queue",
    "pf_stack",
)
LEFT_OUT = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib")


@dataclass(frozen=True, slots=True)
class OrdinaryPython:
    """How to run Python as somebody who is not root."""

    python: str
    account: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def ordinary_python() -> Iterator[OrdinaryPython]:
    """This Python, if we are an ordinary user; else one that nobody can run: this one, or a copy of it."""
    if os.geteuid() != 0:
        yield OrdinaryPython(sys.executable)
        return
    nobody = pwd.getpwnam("nobody")
    account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    if _runs(sys.executable, account):
        yield OrdinaryPython(sys.executable, account)
        return
    folder = short_folder()
    try:
        yield _copied(folder, account)
    finally:
        shutil.rmtree(folder)


def _runs(python: str, account: Mapping[str, Any]) -> bool:
    command = [python, "-P", "-c", "import pf_stack.cli, pf_queue.app"]
    try:
        return subprocess.run(command, cwd="/", capture_output=True, **account).returncode == 0
    except PermissionError:
        return False


def _copied(folder: Path, account: Mapping[str, Any]) -> OrdinaryPython:
    base, version = Path(sys.base_prefix), f"python{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "bin").mkdir()
    _place(str(Path(sys.executable).resolve()), str(folder / "bin" / version))
    _tree(base / "lib" / version, folder / "lib" / version)
    for library in (base / "lib").glob("libpython*"):
        _place(str(library), str(folder / "lib" / library.name))
    _tree(Path(sysconfig.get_path("purelib")), folder / "site")
    for name in OURS:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        _tree(Path(spec.submodule_search_locations[0]), folder / "site" / name)
    environment = {"PYTHONPATH": str(folder / "site"), "LD_LIBRARY_PATH": str(folder / "lib")}
    return OrdinaryPython(str(folder / "bin" / version), account, environment)


def _tree(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=LEFT_OUT, copy_function=_place)
    for path in (target, *target.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def _place(source: str, target: str) -> str:
    """Links a file that everybody may read, which takes no time and no space; copies it otherwise."""
    if Path(source).stat().st_mode & 0o044 == 0o044:
        try:
            os.link(source, target)
            return target
        except OSError:
            # Another disk.
            pass
    shutil.copyfile(source, target)
    Path(target).chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    return target
