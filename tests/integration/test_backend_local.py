"""What folders of this machine can do to a backend, and what it does with them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pf_backends.entries import Condition, Facts
from pf_backends.errors import Changed, Unreachable, Unsupported
from pf_backends.local.backend import LocalBackend
from support.backend_places import content, listed, names, put_all, read, walked


def unable(*_: object) -> None:
    raise OSError(errno.EINVAL, "the disk knows no such rename")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    return folder


@pytest.fixture
def local(top: Path) -> Iterator[LocalBackend]:
    backend = LocalBackend(str(top))
    yield backend
    backend.close()


@pytest.mark.parametrize("target", ["../outside", "/etc", "..", "inner/../../outside", "/proc/self/root"])
def test_no_link_leads_out(local: LocalBackend, top: Path, target: str) -> None:
    (top / "inner").mkdir()
    (top / "way").symlink_to(target)
    for ask in (
        lambda: local.stat("way/secret"),
        lambda: local.list("way"),
        lambda: local.walk("way"),
        lambda: read(local, "way/secret", 0, 1),
        lambda: local.put("way/made", b""),
        lambda: local.make_folder("way/made"),
        lambda: local.remove("way/secret"),
        lambda: local.rename("way/secret", "stolen"),
        lambda: local.copy("way/secret", "stolen"),
    ):
        with pytest.raises(OSError, match="way") as refused:
            ask()
        assert refused.value.errno in (errno.EACCES, errno.ELOOP, errno.ENOTDIR)
    assert local.stat("way").target == target
    assert (top.parent / "outside" / "secret").read_text() == "secret"
    assert names(walked(local)) == ["inner", "way"]


def test_links_that_stay_inside_are_followed_on_the_way(local: LocalBackend, top: Path) -> None:
    (top / "inner").mkdir()
    (top / "way").symlink_to("inner")
    local.put("way/a", b"abc")
    assert content(local, "inner/a") == b"abc"


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(local: LocalBackend, top: Path) -> None:
    (top / "turning").mkdir()
    (top / "turning" / "secret").write_text("inside")
    (top / "link").symlink_to("../outside")
    stop = threading.Event()

    def turn() -> None:
        while not stop.is_set():
            for old, new in (("turning", "aside"), ("link", "turning"), ("turning", "link"), ("aside", "turning")):
                (top / old).rename(top / new)

    turner = threading.Thread(target=turn)
    turner.start()
    try:
        for _ in range(3000):
            with suppress(OSError):
                assert content(local, "turning/secret") == b"inside"
    finally:
        stop.set()
        turner.join()


def test_pipes_are_not_waited_for(local: LocalBackend, top: Path) -> None:
    os.mkfifo(top / "pipe")
    for ask in (lambda: read(local, "pipe", 0, 1), lambda: local.fetch("pipe", limit=1), lambda: local.stat("pipe")):
        with pytest.raises(Unsupported):
            ask()
    assert listed(local) == []


def test_what_is_not_whole_is_not_shown(local: LocalBackend, top: Path) -> None:
    local.begin("a")
    assert listed(local) == walked(local) == []
    hidden = [entry.name for entry in top.iterdir()]
    assert hidden
    for name in hidden:
        with pytest.raises(PermissionError):
            local.stat(name)
    with pytest.raises(PermissionError):
        local.put(".pf~mine", b"")


def test_a_write_that_is_refused_leaves_nothing(local: LocalBackend, top: Path) -> None:
    local.put("a", b"one")
    for condition in (Condition(absent=True), Condition(version="another")):
        with pytest.raises(Changed):
            local.put("a", b"two", condition=condition)
    local.make_folder("f")
    with pytest.raises(IsADirectoryError):
        local.put("f", b"")
    assert sorted(path.name for path in top.iterdir()) == ["a", "f"]


@pytest.mark.parametrize("renames", [True, False])
@pytest.mark.parametrize("condition", [Condition(), Condition(absent=True)])
def test_a_file_that_arrived_in_parts_has_one_name(
    local: LocalBackend, top: Path, condition: Condition, renames: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not renames:
        monkeypatch.setattr("pf_backends.local.writing.rename_new", unable)
    upload = local.begin("a")
    local.finish(upload, [local.send(upload, 1, b"abc")], condition=condition)
    assert (top / "a").stat().st_nlink == 1
    assert sorted(path.name for path in top.iterdir()) == [".pf~uploads", "a"]


def test_a_folder_with_only_hidden_things_is_empty(local: LocalBackend) -> None:
    local.make_folder("f")
    upload = local.begin("f/a")
    local.remove_folder("f")
    with pytest.raises(FileNotFoundError):
        local.finish(upload, [])


def test_uploads_outlive_the_process(local: LocalBackend, top: Path) -> None:
    local.make_folder("f")
    begun = local.begin("f/a", facts=Facts(modified=77))
    part = local.send(begun, 1, b"abc")
    local.close()
    again = LocalBackend(str(top))
    (found,) = again.uploads("f")
    assert found == begun
    assert again.finish(found, [part]).modified == 77
    assert content(again, "f/a") == b"abc"
    again.close()


def test_what_others_write_among_the_records_of_uploads_does_no_harm(local: LocalBackend, top: Path) -> None:
    upload = local.begin("a")
    records = top / ".pf~uploads"
    (records / "torn").write_text('{"path": "a"')
    (records / "list").write_text("[1]")
    (records / "out").write_text(json.dumps({"path": "../outside/secret", "begun": 1, "inode": 1}))
    (records / "link").symlink_to("/etc/passwd")
    (records / "folder").mkdir()
    os.mkfifo(records / "pipe")
    assert list(local.uploads("")) == [upload]


def test_a_list_goes_on_in_another_process(local: LocalBackend, top: Path) -> None:
    put_all(local, [f"{number:03}" for number in range(30)])
    first = local.list("", limit=10)
    other = LocalBackend(str(top))
    second = other.list("", rest=first.rest, limit=100)
    assert names([*first.entries, *second.entries]) == [f"{number:03}" for number in range(30)]
    other.remove(first.entries[-1].path)
    with pytest.raises(Changed):
        other.list("", rest=first.rest)
    other.close()


def test_a_large_folder_takes_little_memory(local: LocalBackend, top: Path) -> None:
    for number in range(20_000):
        (top / f"{number:05}").touch()
    tracemalloc.start()
    try:
        rest, count = "", 0
        while True:
            page = local.list("", rest=rest, limit=500)
            count, rest = count + len(page.entries), page.rest
            if not rest:
                break
        assert count == 20_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_lists_that_nobody_reads_on_are_closed(local: LocalBackend) -> None:
    put_all(local, ["a", "b", "c"])
    before = len(list(Path("/proc/self/fd").iterdir()))
    pages = [local.list("", limit=1) for _ in range(300)]
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 200
    assert len(local.list("", rest=pages[0].rest).entries) == 2


def test_a_folder_that_is_locked_is_not_waited_for_ever(top: Path) -> None:
    backend = LocalBackend(str(top), patience=0.2)
    handle = os.open(top, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(Unreachable, match="locked"):
            backend.put("a", b"")
    finally:
        os.close(handle)
    backend.put("a", b"")
    backend.close()


def test_what_is_no_folder_is_no_backend(top: Path) -> None:
    (top / "file").touch()
    with pytest.raises(FileNotFoundError):
        LocalBackend(str(top / "no"))
    with pytest.raises(NotADirectoryError):
        LocalBackend(str(top / "file"))


def test_names_that_are_no_text_are_told_and_found(local: LocalBackend, top: Path) -> None:
    (Path(os.fsdecode(os.fsencode(top) + b"/\xff\xfe"))).write_bytes(b"abc")
    (entry,) = listed(local)
    assert content(local, entry.path) == b"abc"
    local.remove(entry.path)
    assert listed(local) == []


def test_a_file_keeps_its_permissions_from_the_folder_not_from_a_hidden_place(local: LocalBackend, top: Path) -> None:
    if os.geteuid() != 0:
        return
    (top / "f").mkdir()
    os.chown(top / "f", 0, 4321)
    (top / "f").chmod(0o2775)
    local.put("f/a", b"")
    upload = local.begin("f/b")
    local.finish(upload, [local.send(upload, 1, b"x")])
    assert [(top / "f" / name).stat().st_gid for name in ("a", "b")] == [4321, 4321]
