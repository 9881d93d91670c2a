"""Large files are sent while they are still written, and what the backend has in the end is what was written."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from pf_fuse.operations import Changes
from pf_fuse.staging.ahead import AT_ONCE
from support.vfs_site import ME, Site, got
from support.waiting import wait_until

MIB = 1 << 20
PART = 8 * MIB
FIRST = 16 * MIB
"""So much is uploaded in one piece; what is larger, in parts."""


@dataclass
class Watched:
    """A backend, what it was asked, and whether it answers."""

    backend: MemoryBackend = field(default_factory=lambda: MemoryBackend(capabilities=LIKE_OBJECTS))
    asked: list[str] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)
    """Parts arrive as long as it is set."""
    under_way: int = 0
    fails: str = ""

    def __post_init__(self) -> None:
        self.open.set()
        self.backend.before = self.before

    def before(self, operation: str, path: str) -> None:
        self.asked.append(operation)
        if operation == self.fails:
            raise ConnectionResetError(errno.ECONNRESET, "hung up", path)
        if operation == "send":
            self.under_way += 1
            assert self.open.wait(20)
            self.under_way -= 1

    def sent(self) -> int:
        return self.asked.count("send")

    def has(self, path: str) -> bytes:
        return bytes(self.backend.fetch(path, limit=1 << 30)[1])


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def next_site(watched: Watched, tmp_path: Path) -> Iterator[Callable[[], Site]]:
    sites: list[Site] = []

    def make() -> Site:
        if sites:
            sites[-1].die()
        sites.append(Site(watched.backend, tmp_path))
        return sites[-1]

    yield make
    watched.open.set()
    sites[-1].die()


@pytest.fixture
def site(next_site: Callable[[], Site]) -> Site:
    return next_site()


def nothing_is_left(watched: Watched, folder: Path) -> bool:
    return not watched.backend.uploads("") and not list((folder / "uploads").iterdir())


def filled(site: Site, node: int, size: int, start: int = 0) -> bytes:
    """Random bytes, written a MiB at a time."""
    data = os.urandom(size)
    for offset in range(0, size, MIB):
        site.put(node, data[offset : offset + MIB], start + offset)
    return data


def test_parts_are_sent_while_a_file_is_written_and_the_rest_when_it_is_closed(
    site: Site, watched: Watched, tmp_path: Path
) -> None:
    node = site.create("f")
    data = filled(site, node, FIRST + PART + 5)
    wait_until(lambda: watched.sent() == 3)
    assert not watched.backend.list("").entries
    watched.asked.clear()
    site.close(node)
    assert watched.sent() == 1
    assert "begin" not in watched.asked
    assert watched.has("f") == data
    assert nothing_is_left(watched, tmp_path)


def test_small_files_are_put_at_once(site: Site, watched: Watched) -> None:
    node = site.create("f")
    data = filled(site, node, FIRST)
    site.close(node)
    assert "begin" not in watched.asked
    assert watched.has("f") == data


def test_what_is_written_again_is_sent_again(site: Site, watched: Watched, tmp_path: Path) -> None:
    node = site.create("f")
    data = bytearray(filled(site, node, FIRST + 2 * PART))
    wait_until(lambda: watched.sent() == 4 and not watched.under_way)
    for offset in (3, PART - 1, FIRST + PART + 7):
        site.put(node, b"again", offset)
        data[offset : offset + 5] = b"again"
    watched.asked.clear()
    site.close(node)
    assert watched.sent() == 3
    assert watched.has("f") == data
    assert nothing_is_left(watched, tmp_path)


def test_what_is_written_again_while_it_is_sent_is_sent_again_after_it(site: Site, watched: Watched) -> None:
    watched.open.clear()
    node = site.create("f")
    data = bytearray(filled(site, node, FIRST + PART))
    wait_until(lambda: watched.under_way > 1)
    site.put(node, b"again", 0)
    data[:5] = b"again"
    closing = threading.Thread(target=site.close, args=(node,))
    closing.start()
    watched.open.set()
    closing.join(20)
    assert watched.has("f") == data


def test_only_some_parts_of_a_file_are_under_way(site: Site, watched: Watched) -> None:
    watched.open.clear()
    node = site.create("f")
    data = filled(site, node, FIRST + 6 * PART)
    wait_until(lambda: watched.under_way == AT_ONCE)
    assert watched.sent() == AT_ONCE
    watched.open.set()
    site.close(node)
    assert watched.has("f") == data


@pytest.mark.parametrize("size", [0, 5, FIRST + 1, FIRST + PART - 1, FIRST + 3 * PART])
def test_what_is_cut_is_what_is_stored(site: Site, watched: Watched, tmp_path: Path, size: int) -> None:
    node = site.create("f")
    data = filled(site, node, FIRST + 2 * PART)
    site.truncate("f", size)
    site.close(node)
    assert watched.has("f") == data[:size].ljust(size, b"\0")
    wait_until(lambda: nothing_is_left(watched, tmp_path))


def test_a_file_that_is_begun_anew_is_another_one(site: Site, watched: Watched, tmp_path: Path) -> None:
    node = site.create("f")
    filled(site, node, FIRST + PART)
    site.open("f", os.O_WRONLY | os.O_TRUNC)
    data = filled(site, node, FIRST + PART + 9)
    site.close(node)
    site.close(node)
    assert watched.has("f") == data
    wait_until(lambda: nothing_is_left(watched, tmp_path))


def test_what_is_removed_while_it_is_written_leaves_nothing(site: Site, watched: Watched, tmp_path: Path) -> None:
    node = site.create("f")
    filled(site, node, FIRST + PART)
    site.remove("f")
    wait_until(lambda: nothing_is_left(watched, tmp_path))
    filled(site, node, PART, FIRST + PART)
    site.close(node)
    assert not watched.backend.list("").entries
    assert nothing_is_left(watched, tmp_path)


def test_what_is_renamed_while_it_is_written_is_stored_under_its_new_name(
    site: Site, watched: Watched, tmp_path: Path
) -> None:
    node = site.create("f")
    data = filled(site, node, FIRST + PART)
    site.rename("f", "g")
    data += filled(site, node, PART, FIRST + PART)
    site.close(node)
    assert [entry.path for entry in watched.backend.list("").entries] == ["g"]
    assert watched.has("g") == data
    wait_until(lambda: nothing_is_left(watched, tmp_path))


@pytest.mark.parametrize("what", ["begin", "send"])
def test_what_could_not_be_sent_ahead_is_sent_when_it_is_closed(
    site: Site, watched: Watched, tmp_path: Path, what: str
) -> None:
    watched.fails = what
    node = site.create("f")
    data = filled(site, node, FIRST + 2 * PART)
    wait_until(lambda: what in watched.asked)
    watched.fails = ""
    site.close(node)
    assert watched.has("f") == data
    wait_until(lambda: nothing_is_left(watched, tmp_path))


def test_who_writes_is_not_told_that_nothing_can_be_sent_ahead_just_now(
    site: Site, watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine has no descriptors left for a while."""

    def refuse(_descriptor: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    node = site.create("f")
    with monkeypatch.context() as patch:
        patch.setattr(os, "dup", refuse)
        data = filled(site, node, FIRST + PART)
    assert "begin" not in watched.asked
    data += filled(site, node, PART, len(data))
    wait_until(lambda: watched.sent() == 4)
    site.close(node)
    assert watched.has("f") == data
    assert nothing_is_left(watched, tmp_path)


def test_who_closes_it_is_told_what_cannot_be_sent(site: Site, watched: Watched, tmp_path: Path) -> None:
    watched.fails = "send"
    node = site.create("f")
    filled(site, node, FIRST + PART)
    with pytest.raises(ConnectionResetError):
        got(site.vfs.flush(node, 1))
    watched.fails = ""
    site.close(node)
    assert watched.has("f")
    wait_until(lambda: nothing_is_left(watched, tmp_path))


@pytest.mark.parametrize("size", [FIRST + 2 * PART, FIRST + 2 * PART + 5])
def test_what_the_store_has_dropped_meanwhile_is_sent_again(
    site: Site, watched: Watched, tmp_path: Path, size: int
) -> None:
    """Stores drop what is begun and old. The last bytes are sent at the end, or all were sent before."""
    node = site.create("f")
    data = filled(site, node, FIRST + 2 * PART)
    wait_until(lambda: watched.sent() == 4 and not watched.under_way)
    (upload,) = watched.backend.uploads("")
    watched.backend.drop(upload)
    data += filled(site, node, size - len(data), len(data))
    site.close(node)
    assert watched.has("f") == data
    assert nothing_is_left(watched, tmp_path)


def test_what_could_not_be_dropped_is_dropped_by_the_next_process(
    next_site: Callable[[], Site], watched: Watched, tmp_path: Path
) -> None:
    site = next_site()
    before = watched.before

    def answer_nothing(operation: str, path: str) -> None:
        if operation in {"finish", "drop"}:
            raise ConnectionResetError(errno.ECONNRESET, "hung up", path)

    node = site.create("f")
    filled(site, node, FIRST + 5)
    watched.backend.before = answer_nothing
    with pytest.raises(ConnectionResetError):
        site.close(node)
    watched.backend.before = before
    assert watched.backend.uploads("")
    next_site()
    wait_until(lambda: nothing_is_left(watched, tmp_path))


def test_its_time_is_the_stores_as_that_of_every_file(site: Site, watched: Watched) -> None:
    node = site.create("f")
    data = filled(site, node, FIRST + PART)
    wait_until(lambda: watched.sent() == 3)
    got(site.vfs.setattr(ME, node, Changes(modified=5)))
    watched.asked.clear()
    site.close(node)
    assert not watched.sent()
    assert watched.has("f") == data


def test_somebody_elses_file_is_not_replaced(site: Site, watched: Watched, tmp_path: Path) -> None:
    known, _ = got(site.vfs.create(ME, *site.place("f"), 0o644, os.O_WRONLY | os.O_EXCL))
    assert known.attributes
    data = filled(site, known.attributes.node, FIRST + PART)
    watched.backend.put("f", b"of somebody else")
    with pytest.raises(OSError, match=r"version|there"):
        site.close(known.attributes.node)
    assert watched.has("f") == b"of somebody else"
    (kept,) = (tmp_path / "aside").iterdir()
    assert kept.read_bytes() == data
    wait_until(lambda: nothing_is_left(watched, tmp_path))


def test_what_a_killed_process_had_sent_is_dropped_and_what_was_written_is_stored(
    next_site: Callable[[], Site], watched: Watched, tmp_path: Path
) -> None:
    site = next_site()
    node = site.create("f")
    data = filled(site, node, FIRST + PART)
    wait_until(lambda: watched.sent() == 3)
    site = next_site()
    wait_until(lambda: nothing_is_left(watched, tmp_path))
    data += filled(site, node, PART, FIRST + PART)
    site.close(node)
    assert watched.has("f") == data


def test_a_file_that_is_synced_again_and_again_is_whole(site: Site, watched: Watched, tmp_path: Path) -> None:
    node = site.create("f")
    data = b""
    for _ in range(3):
        data += filled(site, node, FIRST - 5, len(data))
        got(site.vfs.fsync(node, False))
        assert watched.has("f") == data
    site.close(node)
    assert nothing_is_left(watched, tmp_path)
