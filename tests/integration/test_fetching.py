"""Reading through the fetcher, with places that are slow, broken or untrue."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest

from pf_backends.entries import Entry
from pf_backends.errors import Changed, Unreachable, unreachable
from pf_backends.memory.backend import MemoryBackend
from pf_fuse.fetching.fetcher import Fetcher, OpenFile
from pf_fuse.fetching.settings import MIB, FetchSettings
from pf_fuse.operations import Answer, Bytes
from pf_fuse.pages.cache import CacheSettings, PageCache
from pf_fuse.pages.keys import PAGE
from support.fake_place import FakeNeighbours, FakePlace, Request, content
from support.waiting import wait_until

SETTINGS = FetchSettings(memory=32 * MIB, workers=4, ahead=16 * MIB)
BIG = content("big", 24 * MIB + 12345)
SMALL = content("small", 100 * 1024)
PATIENCE = 20.0


@pytest.fixture
def place() -> FakePlace:
    return FakePlace()


@pytest.fixture(params=["disk", "memory"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PageCache]:
    made = PageCache(CacheSettings([str(tmp_path / "cache")] if request.param == "disk" else []))
    yield made
    made.end()


Make = Callable[..., Fetcher]


@pytest.fixture
def make(place: FakePlace, cache: PageCache) -> Iterator[Make]:
    made: list[Fetcher] = []

    def fetcher(settings: FetchSettings = SETTINGS, **others: object) -> Fetcher:
        made.append(Fetcher(place, cache, settings, **others))  # type: ignore[arg-type]  # names of its own
        return made[-1]

    yield fetcher
    place.gate.set()
    for each in made:
        each.end(PATIENCE)


def got(answer: Answer[Bytes]) -> bytes:
    return bytes(answer.result(PATIENCE) if isinstance(answer, Future) else answer)


def read(file: OpenFile, offset: int, size: int) -> bytes:
    return got(file.read(offset, size))


def test_a_file_is_read_from_one_end_to_the_other(place: FakePlace, make: Make) -> None:
    file = make().open(place.put("big", BIG))
    found = b"".join(read(file, at, MIB) for at in range(0, len(BIG), MIB))
    assert found == BIG
    assert read(file, len(BIG), 10) == b""
    assert sum(request.size for request in place.requests) == len(BIG)
    assert len(place.requests) < 14
    file.close()


def test_what_was_read_once_is_not_asked_for_again(place: FakePlace, make: Make) -> None:
    entry = place.put("small", SMALL)
    fetcher = make()
    for _ in range(3):
        file = fetcher.open(entry)
        assert read(file, 10, 50) == SMALL[10:60]
        assert read(file, 0, MIB) == SMALL
        file.close()
    assert len(place.requests) == 1


def test_random_reads_ask_for_little_more_than_they_need(place: FakePlace, make: Make) -> None:
    file = make().open(place.put("big", BIG))
    chance = random.Random(3)
    for _ in range(12):
        at = chance.randrange(MIB, len(BIG) - 5000)
        assert read(file, at, 4096) == BIG[at : at + 4096]
    assert sum(request.size for request in place.requests) <= 12 * 2 * PAGE + 3 * MIB
    file.close()


def test_readers_of_the_same_bytes_share_one_request(place: FakePlace, make: Make) -> None:
    file = make().open(place.put("small", SMALL))
    place.gate.clear()
    answers = [file.read(each * 100, 100) for each in range(20)]
    place.gate.set()
    assert [got(answer) for answer in answers] == [SMALL[each * 100 : each * 100 + 100] for each in range(20)]
    assert len(place.requests) == 1
    file.close()


def test_many_readers_of_many_places_all_get_their_bytes(place: FakePlace, make: Make) -> None:
    file = make().open(place.put("big", BIG))
    wrong: list[int] = []

    def reader(number: int) -> None:
        chance = random.Random(number)
        for _ in range(25):
            at, size = chance.randrange(len(BIG)), chance.randrange(1, 2 * MIB)
            if read(file, at, size) != BIG[at : at + size]:
                wrong.append(at)

    threads = [threading.Thread(target=reader, args=(each,)) for each in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not wrong
    file.close()


def test_no_more_memory_is_taken_than_allowed(place: FakePlace, make: Make) -> None:
    settings = FetchSettings(memory=16 * MIB, workers=8, ahead=64 * MIB)
    fetcher = make(settings)
    files = [fetcher.open(place.put(f"big{each}", BIG)) for each in range(6)]
    for at in range(0, len(BIG), MIB):
        for file in files:
            assert read(file, at, MIB) == BIG[at : at + MIB]
    assert fetcher.stats().memory_peak <= settings.memory
    assert place.most_under_way <= 2
    for file in files:
        file.close()


def test_answers_that_nobody_has_read_yet_stay_right(place: FakePlace, make: Make) -> None:
    settings = FetchSettings(memory=8 * MIB, workers=2, ahead=4 * MIB)
    file = make(settings).open(place.put("big", BIG))
    held = file.read(0, MIB)
    first = held.result(PATIENCE) if isinstance(held, Future) else held
    for at in range(MIB, len(BIG), MIB):
        assert read(file, at, MIB) == BIG[at : at + MIB]
    assert bytes(first) == BIG[:MIB]
    file.close()


def test_who_waits_goes_before_what_is_fetched_ahead(place: FakePlace, make: Make) -> None:
    fetcher = make(FetchSettings(memory=32 * MIB, workers=1, ahead=16 * MIB))
    file = fetcher.open(place.put("big", BIG))
    other = fetcher.open(place.put("small", SMALL))
    assert read(file, 0, MIB) == BIG[:MIB]
    place.gate.clear()
    waiting = [file.read(at, MIB) for at in (MIB, 2 * MIB)]
    wait_until(lambda: place.under_way == 1)
    answer = other.read(0, 100)
    place.gate.set()
    assert got(answer) == SMALL[:100]
    assert [got(each) for each in waiting] == [BIG[MIB : 2 * MIB], BIG[2 * MIB : 3 * MIB]]
    wait_until(lambda: any(request.offset >= 4 * MIB for request in place.requests))
    asked = [(request.path, request.offset) for request in place.requests]
    assert asked.index(("small", 0)) < asked.index(("big", 4 * MIB))
    file.close()
    other.close()


def test_what_nobody_wants_any_more_is_not_fetched(place: FakePlace, make: Make) -> None:
    fetcher = make(FetchSettings(memory=32 * MIB, workers=1, ahead=16 * MIB))
    file = fetcher.open(place.put("big", BIG))
    for at in range(0, 4 * MIB, MIB):
        read(file, at, MIB)
    place.gate.clear()
    answer = file.read(20 * MIB, 100)
    wait_until(lambda: place.under_way == 1)
    file.close()
    place.gate.set()
    assert got(answer) == BIG[20 * MIB : 20 * MIB + 100]
    wait_until(lambda: fetcher.stats().waiting == 0 and place.under_way == 0)
    assert sum(request.size for request in place.requests) < 16 * MIB


def test_a_failure_is_told_to_everybody_who_waits_and_is_tried_again(place: FakePlace, make: Make) -> None:
    def fail(request: Request) -> None:
        raise unreachable(request.path, "no route")

    file = make().open(place.put("small", SMALL))
    place.gate.clear()
    place.before = fail
    answers = [file.read(0, 10), file.read(50, 10)]
    place.gate.set()
    for answer in answers:
        with pytest.raises(Unreachable, match="no route"):
            got(answer)
    place.before = lambda request: None
    assert read(file, 0, 10) == SMALL[:10]
    file.close()


@pytest.mark.parametrize("name", ["small", "big"])
def test_another_version_is_an_error_and_never_a_mix(place: FakePlace, make: Make, name: str) -> None:
    old, new = content("old", 10 * MIB if name == "big" else 1000), content("new", 10 * MIB if name == "big" else 1000)
    file = make().open(place.put(name, old))
    if name == "big":
        assert read(file, 0, MIB) == old[:MIB]
    place.put(name, new)
    for at in range(0, len(old), MIB):
        try:
            assert read(file, at, MIB) == old[at : at + MIB]
        except Changed:
            break
    else:
        pytest.fail("nobody was told")
    file.close()
    later = make().open(place.entry(name))
    assert b"".join(read(later, at, MIB) for at in range(0, len(new), MIB)) == new
    later.close()


@pytest.mark.parametrize("data", [SMALL, BIG], ids=["small", "big"])
def test_what_was_elsewhere_for_a_while_is_read_by_who_finds_it_back(place: FakePlace, make: Make, data: bytes) -> None:
    place.inner = MemoryBackend()
    fetcher, entry = make(), place.put("file", data)
    before = fetcher.open(entry)
    place.inner.rename("file", "other")
    with pytest.raises(Changed):
        read(before, 0, len(data))
    place.inner.rename("other", "file")
    assert place.entry("file") == entry
    file = fetcher.open(entry)
    assert read(file, 0, len(data)) == data
    before.close()
    file.close()


@pytest.mark.parametrize("data", [SMALL, BIG], ids=["small", "big"])
def test_a_place_that_gives_less_than_it_says_is_found_out(place: FakePlace, make: Make, data: bytes) -> None:
    file = make().open(place.put("file", data))
    place.short = 5
    with pytest.raises(Changed):
        read(file, 0, len(data))
    file.close()


def test_a_small_file_that_has_grown_is_another_one(place: FakePlace, make: Make) -> None:
    entry = place.put("small", SMALL)
    place.put("small", SMALL + b"more")
    file = make().open(entry)
    with pytest.raises(Changed):
        read(file, 0, 10)
    file.close()


def test_whoever_waits_too_long_is_told(place: FakePlace, make: Make) -> None:
    file = make(FetchSettings(memory=32 * MIB, deadline=0.2)).open(place.put("small", SMALL))
    place.gate.clear()
    answer = file.read(0, 10)
    assert isinstance(answer, Future)
    with pytest.raises(Unreachable, match="not answered in time"):
        answer.result(PATIENCE)
    place.gate.set()
    wait_until(lambda: place.under_way == 0)
    assert read(file, 0, 10) == SMALL[:10]
    file.close()


def test_a_fault_in_the_place_is_told_and_work_goes_on(
    place: FakePlace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(request: Request) -> None:
        raise KeyError(request.path)

    faults: list[object] = []
    monkeypatch.setattr(threading, "excepthook", faults.append)
    file = make(FetchSettings(workers=2)).open(place.put("small", SMALL))
    place.before = fault
    for _ in range(5):
        with pytest.raises(Unreachable, match="fault of this program"):
            read(file, 0, 10)
    wait_until(lambda: len(faults) == 5)
    place.before = lambda request: None
    assert read(file, 0, 10) == SMALL[:10]
    file.close()


def test_a_read_that_was_given_up_harms_nobody(place: FakePlace, make: Make) -> None:
    file = make().open(place.put("small", SMALL))
    place.gate.clear()
    answers = [file.read(0, 10), file.read(10, 10)]
    assert isinstance(answers[0], Future)
    answers[0].cancel()
    place.gate.set()
    assert got(answers[1]) == SMALL[10:20]
    file.close()


def test_who_waits_at_the_end_is_told_soon(place: FakePlace, make: Make) -> None:
    fetcher = make()
    file = fetcher.open(place.put("big", BIG))
    place.gate.clear()
    answer = file.read(0, 10)
    fetcher.end(patience=0.0)
    with pytest.raises(Unreachable, match="ends"):
        got(answer)
    with pytest.raises(Unreachable, match="ends"):
        got(file.read(10 * MIB, 10))


def test_files_of_a_folder_are_fetched_before_they_are_opened(place: FakePlace, make: Make) -> None:
    entries = [place.put(f"folder/{each:03}", content(each, 5000)) for each in range(60)]
    fetcher = make(neighbours=FakeNeighbours(entries))
    for entry in entries[:3]:
        file = fetcher.open(entry)
        assert read(file, 0, 5000) == content(int(entry.name), 5000)
        file.close()
    wait_until(lambda: len({request.path for request in place.requests}) >= 18)
    wait_until(lambda: fetcher.stats().waiting == 0 and place.under_way == 0)
    asked = len(place.requests)
    file = fetcher.open(entries[5])
    wait_until(lambda: not isinstance(file.read(0, 5000), Future))
    assert read(file, 0, 5000) == content(5, 5000)
    file.close()
    for entry in entries[3:]:
        file = fetcher.open(entry)
        assert read(file, 0, 5000) == content(int(entry.name), 5000)
        file.close()
    assert len(place.requests) == 60 >= asked


def test_files_opened_in_no_order_are_fetched_alone(place: FakePlace, make: Make) -> None:
    entries = [place.put(f"folder/{each:03}", content(each, 5000)) for each in range(100)]
    fetcher = make(neighbours=FakeNeighbours(entries))
    for place_of in (90, 10, 50, 30, 70):
        file = fetcher.open(entries[place_of])
        assert read(file, 0, 5000) == content(place_of, 5000)
        file.close()
    assert len(place.requests) == 5


def test_a_folder_that_is_read_in_no_order_is_here_before_all_of_it_was_asked_for(
    place: FakePlace, make: Make, cache: PageCache
) -> None:
    entries = [place.put(f"folder/{each:03}", content(each, 5000)) for each in range(400)]
    fetcher = make(neighbours=FakeNeighbours(entries))
    waited = 0
    for entry in random.Random(5).sample(entries, len(entries)):
        file = fetcher.open(entry)
        answer = file.read(0, 5000)
        waited += isinstance(answer, Future)
        assert got(answer) == content(int(entry.name), 5000)
        file.close()
        wait_until(lambda: fetcher.stats().waiting == 0 and place.under_way == 0)
    assert len(place.requests) == 400
    assert waited < 150 or not cache.keeps


def test_an_entry_of_another_file_is_no_answer(place: FakePlace, make: Make) -> None:
    entry = place.put("small", SMALL)
    shorter = Entry("small", entry.kind, size=len(SMALL) - 1, version=entry.version)
    file = make().open(shorter)
    with pytest.raises(Changed):
        read(file, 0, 10)
    file.close()


@pytest.mark.parametrize("size", [5000, 2 * MIB])
def test_what_has_no_version_is_not_kept(place: FakePlace, make: Make, size: int) -> None:
    fetcher = make()
    for each in range(3):
        entry = place.put("file", content(each, size))
        file = fetcher.open(replace(entry, version=""))
        assert read(file, 0, 100) == content(each, size)[:100]
        assert file.whole() is None
        file.close()
        wait_until(lambda: fetcher.stats().open == 0)


def test_memory_is_given_back_at_the_end_of_a_file(place: FakePlace, make: Make, cache: PageCache) -> None:
    fetcher = make()
    file = fetcher.open(place.put("big", BIG))
    for at in range(0, len(BIG), MIB):
        read(file, at, MIB)
    file.close()
    # Where nothing is kept on disks, what is in memory stays for who opens the file again.
    left = 0 if cache.keeps else 1
    wait_until(lambda: place.under_way == 0 and fetcher.stats().open == left)
