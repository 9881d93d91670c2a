"""Digests tell whether files are the same, however large, and however often they are asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest

from paddleflow.problems import FileNotFound, FileUnusable, PathEscapes
from pf_fs.files.budget import Budget, Spent
from pf_fs.files.digesting import digest
from pf_fs.files.domain import MOST_LEVELS, DigestMode
from pf_fs.files.remembering import Memory
from support.folders_beneath import handles, opened

LONG_AGO = 1_000_000_000
MIB = 1024 * 1024


def later() -> int:
    """A time at which all files have settled."""
    return time.time_ns() + 60_000_000_000


def unlimited() -> Budget:
    return Budget(60, lambda: 0)


def steps(number: int) -> Budget:
    """Lets so many pieces be read."""
    times = iter([0.0] * (number + 1))
    budget = Budget(1, lambda: next(times, 2.0))
    budget.begin()
    return budget


def told(base: Path, path: str = "", mode: DigestMode = DigestMode.CONTENT, memory: Memory | None = None) -> str:
    with opened(base) as handle:
        return digest(handle, PurePosixPath(path), mode, memory or Memory(later), unlimited()).hex()


def in_calls(base: Path, path: str, pieces: int) -> tuple[str, int]:
    """The digest, and how many calls that read so many pieces it takes."""
    memory = Memory(later)
    with opened(base) as handle:
        for call in range(1, 100):
            with suppress(Spent):
                return digest(handle, PurePosixPath(path), DigestMode.CONTENT, memory, steps(pieces)).hex(), call
    raise AssertionError("it never ends")


def hashed(kind: bytes, what: bytes) -> bytes:
    return sha256(kind + b"\0" + what).digest()


def entry(name: str, of: bytes) -> bytes:
    data = os.fsencode(name)
    return len(data).to_bytes(4, "big") + data + of


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "a").write_bytes(b"alpha")
    (tmp_path / "tree" / "sub" / "b").write_bytes(b"beta")
    (tmp_path / "tree" / "sub" / "link").symlink_to("../../a")
    return tmp_path


def test_a_digest_is_what_the_contract_says(base: Path) -> None:
    (base / "tree" / "a").chmod(0o700)
    os.mkfifo(base / "tree" / "pipe")
    os.utime(base / "tree" / "a", ns=(LONG_AGO, LONG_AGO))
    a = hashed(b"file", b"x" + sha256(b"alpha").digest())
    b = hashed(b"file", b"-" + sha256(b"beta").digest())
    sub = hashed(b"tree", entry("b", b) + entry("link", hashed(b"link", b"../../a")))
    tree = hashed(b"tree", entry("a", a) + entry("pipe", hashed(b"else", b"")) + entry("sub", sub))
    assert told(base, "tree/a") == a.hex()
    assert told(base, "tree") == tree.hex()
    by_time = hashed(b"time", b"x" + (5).to_bytes(8, "big") + LONG_AGO.to_bytes(8, "big"))
    assert told(base, "tree/a", DigestMode.TIME) == by_time.hex()


@pytest.mark.parametrize(
    ("change", "content", "by_time"),
    [
        pytest.param(lambda tree: (tree / "a").write_bytes(b"alphb"), True, True, id="other bytes"),
        pytest.param(lambda tree: os.utime(tree / "a", ns=(1, 1)), False, True, id="only touched"),
        pytest.param(lambda tree: (tree / "a").rename(tree / "z"), True, True, id="renamed"),
        pytest.param(lambda tree: (tree / "a").chmod(0o777), True, True, id="executable"),
        pytest.param(lambda tree: (tree / "a").chmod(0o606), False, False, id="other permissions"),
        pytest.param(lambda tree: os.chown(tree / "a", 1, 1), False, False, id="another owner"),
        pytest.param(lambda tree: (tree / "sub" / "deep").mkdir(), True, True, id="an empty folder"),
        pytest.param(lambda tree: (tree / "sub" / "b").unlink(), True, True, id="one less"),
        pytest.param(lambda tree: relink(tree / "sub" / "link", "../a"), True, True, id="another link"),
        pytest.param(lambda tree: refolder(tree / "a"), True, True, id="a folder for a file"),
        pytest.param(lambda tree: (tree.parent / "a").write_bytes(b"what the link leads to"), False, False, id="else"),
    ],
)
def test_what_changes_a_digest(base: Path, change: Callable[[Path], object], *, content: bool, by_time: bool) -> None:
    memory = Memory(later)
    before = {mode: told(base, "tree", mode, memory) for mode in DigestMode}
    change(base / "tree")
    after = {mode: told(base, "tree", mode, memory) for mode in DigestMode}
    assert (before[DigestMode.CONTENT] != after[DigestMode.CONTENT]) is content
    assert (before[DigestMode.TIME] != after[DigestMode.TIME]) is by_time


def relink(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def refolder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def test_names_are_bytes(base: Path) -> None:
    strange = [b"\xff\xfe", b"new\nline", "ä".encode(), b" ", b"-rf", b"\x01"]
    before = told(base, "tree")
    for name in strange:
        Path(os.fsdecode(os.fsencode(base / "tree") + b"/" + name)).write_bytes(name)
    assert told(base, "tree") not in (before, told(base, "tree/sub"))


def test_a_link_that_is_asked_for_is_followed_within(base: Path) -> None:
    (base / "near").symlink_to("tree/sub")
    (base / "out").symlink_to("/etc")
    assert told(base, "near") == told(base, "tree/sub")
    with pytest.raises(PathEscapes):
        told(base, "out")
    with pytest.raises(FileNotFound):
        told(base, "nothing")


def test_a_large_file_is_read_on_by_the_next_call(base: Path) -> None:
    (base / "large").write_bytes(os.urandom(5 * MIB + 3))
    expected = hashed(b"file", b"-" + sha256((base / "large").read_bytes()).digest()).hex()
    found, calls = in_calls(base, "large", 2)
    assert (found, calls) == (expected, 3)


def test_a_tree_is_read_on_by_the_next_call(base: Path) -> None:
    for number in range(20):
        (base / "tree" / f"f{number}").write_text(str(number))
    found, calls = in_calls(base, "tree", 8)
    assert found == told(base, "tree")
    assert calls > 2


def test_nothing_is_remembered_of_a_file_that_may_change_without_a_sign(base: Path) -> None:
    """The clock of files ticks slowly: two changes may have the same time."""
    memory = Memory(time.time_ns)
    before = told(base, "tree/a", memory=memory)
    times = (base / "tree" / "a").stat()
    (base / "tree" / "a").write_bytes(b"other")
    os.utime(base / "tree" / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert told(base, "tree/a", memory=memory) != before
    assert memory.known(b"anything") is None


def test_a_file_that_is_remembered_is_not_read_again(base: Path) -> None:
    memory = Memory(later)
    before = told(base, "tree", memory=memory)
    with opened(base) as handle:
        assert digest(handle, PurePosixPath("tree"), DigestMode.CONTENT, memory, steps(0)).hex() == before


def test_too_deep_is_said_so_and_leaves_no_handle_open(base: Path) -> None:
    before, deepest = handles(), base / "deep" / "/".join(["d"] * (MOST_LEVELS - 1))
    deepest.mkdir(parents=True)
    told(base, "deep")
    (deepest / "d").mkdir()
    with pytest.raises(FileUnusable, match="folders in one another"):
        told(base, "deep")
    # Those of tests before may be closed meanwhile.
    assert handles() <= before


def test_too_many_is_said_so(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(digest.__globals__["MOST_THINGS"], DigestMode.CONTENT, 4)
    with pytest.raises(FileUnusable, match="more than 4 files"):
        told(base, "tree")
