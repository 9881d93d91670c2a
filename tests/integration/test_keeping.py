"""What is kept on a machine: whether it is right, and what of it nobody can use any more."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paddleflow.cli.app import cli
from paddleflow.cli.fs_keeping import followed
from paddleflow.left_behind import clear_away, left_behind
from paddleflow.mounting import ABOUT, run_errand, state_folders
from paddleflow.problems import Unavailable
from pf_backends.local.backend import LocalBackend
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.evicting import found
from pf_fuse.pages.keys import PAGE
from pf_fuse.warming.warmer import Warmer
from support.command_line import CommandLine
from support.fs_process import FsProcess
from support.fs_site import FsSite
from support.queue_site import PASSWORD


def fill(pages: Path, place: Path) -> None:
    """Files come into the cache."""
    cache, backend = PageCache(CacheSettings([str(pages)])), LocalBackend(str(place))
    warmer = Warmer(backend, cache)
    warmer.begin([""])
    while not warmer.wait(10.0):
        pass
    warmer.stop()
    cache.end()
    backend.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "files"
    place.mkdir()
    for number in range(6):
        (place / f"f-{number}").write_bytes(os.urandom(PAGE + number))
    return place


@pytest.fixture
def pages(tmp_path: Path, place: Path) -> Path:
    pages = tmp_path / "home" / "paddleflow" / "pages"
    pages.mkdir(parents=True)
    fill(pages, place)
    return pages


def cached(pages: Path) -> list[Path]:
    (folder,) = PageCache(CacheSettings([str(pages)])).usable
    return sorted(Path(folder.file(each.name)) for each in found(folder))


def last_of(errand: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
    *_, last = run_errand(errand, told)
    assert last["over"]
    return last


def flip(file: Path) -> None:
    body = bytearray(file.read_bytes())
    body[PAGE // 2] ^= 4
    file.write_bytes(body)


def test_a_flipped_bit_is_found_and_told(pages: Path, tmp_path: Path) -> None:
    flip(cached(pages)[2])
    environ = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    told = CliRunner(env=environ).invoke(cli, ["fs", "fsck"])
    assert told.exit_code == 1, told.output
    assert "removed: local://" in told.stdout
    assert "5 files" in told.stdout
    again = CliRunner(env=environ).invoke(cli, ["fs", "fsck", "-o", "json"])
    assert again.exit_code == 0, again.output
    (row,) = json.loads(again.stdout)
    assert (row["files"], row["removed"], row["problems"]) == (5, 0, [])


def test_what_mounts_have_left_is_told_and_never_touched(pages: Path, tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    folder, empty = state_folders(environ) / "one", state_folders(environ) / "two"
    for each in (folder / "stage", folder / "aside", empty / "stage"):
        each.mkdir(parents=True)
    (folder / ABOUT).write_text(json.dumps({"place": "/mnt/a", "url": "s3://a/b", "source": "x"}))
    (folder / "stage" / "1").write_bytes(b"written")
    (folder / "aside" / "f.1").write_bytes(b"written too")
    told = CliRunner(env=environ).invoke(cli, ["fs", "fsck"])
    assert told.exit_code == 1
    assert "1 files were written and not uploaded" in told.stdout
    assert "mount s3://a/b at /mnt/a again" in told.stdout
    assert "aside/f.1" in told.stdout
    first, second = left_behind(environ)
    os.utime(folder, (0, 0))
    assert not clear_away(first)
    assert not clear_away(second), "somebody may just begin to mount"
    os.utime(empty, (0, 0))
    assert clear_away(left_behind(environ)[1])
    assert (folder.exists(), empty.exists()) == (True, False)


def test_only_what_nobody_can_use_goes(pages: Path, place: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "f").write_bytes(b"x" * 100)
    fill(pages, other)
    fill(pages, place.parent / "files")
    (place / "f-0").unlink()
    (place / "f-1").write_bytes(b"another version")
    source = {"url": f"local://{place}", "cache": {"folders": [str(pages)]}}
    told = {"cache": source["cache"], "sources": [source]}
    before = cached(pages)
    dry = last_of("collect", {**told, "dryRun": True})
    assert dry["removed"] == {"filesystem": 1, "version": 2, "unknown": 0}
    assert cached(pages) == before
    unsure = {**told, "sources": [source, {"url": "sftp://host/x", "cache": source["cache"]}], "dryRun": True}
    assert last_of("collect", unsure)["removed"]["filesystem"] == 0
    wet = last_of("collect", told)
    assert wet["removed"] == dry["removed"]
    assert len(cached(pages)) == 4
    assert last_of("collect", told)["freed"] == 0


def test_what_is_in_use_stays_and_the_oldest_go_first(pages: Path, place: Path, tmp_path: Path) -> None:
    cache, backend = PageCache(CacheSettings([str(pages)])), LocalBackend(str(place))
    from pf_fuse.pages.keys import Key  # noqa: PLC0415

    entry = backend.stat("f-3")
    held = cache.open(Key(backend.address, "f-3", entry.version), entry.size)
    assert held.complete
    folder = {"cache": {"folders": [str(pages)], "size": 3 * PAGE}, "sources": []}
    assert last_of("collect", folder)["busy"] == 1
    assert len(cached(pages)) == 1
    cache.close(held)
    cache.end()
    backend.close()
    fill(pages, place)
    source = {"url": f"local://{place}", "cache": folder["cache"]}
    assert last_of("collect", {**folder, "sources": [source]})["evicted"] >= 4


def test_uploads_that_nobody_finishes_are_dropped(tmp_path: Path, place: Path) -> None:
    backend = LocalBackend(str(place))
    upload = backend.begin("large")
    (tmp_path / "pages").mkdir()
    source = {"url": f"local://{place}", "cache": {"folders": [str(tmp_path / "pages")]}}
    told = {"cache": source["cache"], "sources": [source]}
    assert last_of("collect", {**told, "uploadsBefore": upload.begun - 10**9})["uploads"] == []
    gone = last_of("collect", {**told, "uploadsBefore": time.time_ns() + 10**9})["uploads"]
    assert [each["path"] for each in gone] == ["large"]
    assert backend.uploads("") == []
    backend.close()


async def test_the_service_says_which_filesystems_there_are(
    fs_process: FsProcess, fs_site: FsSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    (alice.folder / "data" / "f").write_bytes(b"x" * 1000)
    (tmp_path / "config").mkdir()
    line = CommandLine.configured(
        tmp_path / "config", fs_process.queue.address, user=alice.name, password=PASSWORD,
        services={"fs": fs_process.address},
    )  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert "1 of 1 files are here, 0 were before" in line.output("fs warmup data:")
    assert "1 were before" in line.output("fs warmup data:f")
    failed = line.run("fs warmup data:none -o json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)[0]["failures"][0]["path"] == "none"
    assert "0 with" in line.output("fs gc")
    (alice.folder / "data" / "f").write_bytes(b"y")
    assert "1 with" in line.output("fs gc --dry-run")
    assert "1 with" in line.output("fs gc")
    (row,) = json.loads(line.output("fs gc -o json"))
    assert row["files"] == 0


@pytest.mark.parametrize("told", [(), ({"over": False, "files": 3},)])
def test_a_program_that_ends_before_it_is_done_is_told(told: tuple[Mapping[str, Any], ...]) -> None:
    def reports() -> Generator[Mapping[str, Any], None, None]:
        yield from told

    with pytest.raises(Unavailable, match="has ended"):
        followed(reports(), "checked")
