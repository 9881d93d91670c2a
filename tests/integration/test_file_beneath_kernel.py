"""Paths lead where the kernel says they do, if it is told to stay beneath a folder."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path, PurePosixPath

from hypothesis import event, given, settings
from hypothesis import strategies as st

from paddleflow.problems import FileNotFound, FileUnusable, PathEscapes
from pf_fs.files.beneath import found
from support.folders_beneath import opened

OPENAT2 = 437
RESOLVE_BENEATH = 0x08
"""Any step out is an error, also one that comes back in."""
NAMES = ("a", "b", "c")
PARTS = st.sampled_from((*NAMES, "..", "."))
TARGETS = st.lists(PARTS, min_size=1, max_size=4).map("/".join) | st.just("/a")
TREES = st.dictionaries(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
    st.just("folder") | st.just("file") | TARGETS.map(lambda target: f"-> {target}"),
    min_size=2,
    max_size=8,
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
LIBC = ctypes.CDLL(None, use_errno=True)


def grow(base: Path, tree: dict[str, str]) -> None:
    """Makes what can be made: what would lie in a file or outside cannot."""
    for name, what in sorted(tree.items()):
        with suppress(OSError, RuntimeError):
            place(base / name, what, base)


def place(path: Path, what: str, base: Path) -> None:
    if not path.parent.resolve().is_relative_to(base):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    match what.split():
        case ["folder"]:
            path.mkdir(exist_ok=True)
        case ["file"]:
            path.touch()
        case [_, target]:
            path.symlink_to(target)


def by_kernel(base: int, path: str) -> tuple[int, int] | int:
    """What it finds, or its error."""
    how = struct.pack("QQQ", os.O_PATH, 0, RESOLVE_BENEATH)
    handle = LIBC.syscall(OPENAT2, base, path.encode(), how, len(how))
    if handle < 0:
        return ctypes.get_errno()
    try:
        return numbers(handle)
    finally:
        os.close(handle)


def by_us(base: int, path: str) -> tuple[int, int] | type[Exception]:
    try:
        with found(base, PurePosixPath(path)) as handle:
            return numbers(handle)
    except (FileNotFound, FileUnusable, PathEscapes) as problem:
        return type(problem)


def numbers(handle: int) -> tuple[int, int]:
    seen = os.fstat(handle)
    return seen.st_dev, seen.st_ino


@settings(max_examples=200, deadline=None)
@given(TREES, PATHS)
def test_paths_lead_where_the_kernel_says(tree: dict[str, str], path: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "base").resolve()
        base.mkdir()
        grow(base, tree)
        with opened(base) as handle:
            told, own = by_kernel(handle, path), by_us(handle, path)
    event(errno.errorcode.get(told, "") if isinstance(told, int) else "found")
    match told:
        case errno.EXDEV:
            assert own is PathEscapes
        case errno.ENOENT:
            assert own is FileNotFound
        case errno.ELOOP:
            assert own is FileUnusable
        case errno.ENOTDIR:
            # A file is no folder; only that of `file/..` the folder is found here, which is no harm.
            assert own is not PathEscapes
        case _:
            assert own == told
