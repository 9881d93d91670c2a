"""How a log of rounds is written: by a thread, into segments, on disks that are full, slow or absent."""

from __future__ import annotations

import random
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pf_queue.admission.core.pool import SECOND, Tuning
from pf_queue.admission.domain import Patience
from pf_queue.admission.engine import Engine
from pf_queue.admission.journal import writer
from pf_queue.admission.journal.engines import RecordedEngines
from pf_queue.admission.journal.inputs import Opening, Turn
from pf_queue.admission.journal.recorded import RecordedEngine
from pf_queue.admission.journal.replay import Ended, Replayed, replay
from pf_queue.admission.journal.segments import Keeping, segments
from pf_queue.admission.journal.writer import Writer
from support.admission_trees import random_ground
from support.rounds import Life, layout_of, pool_layout
from support.waiting import until


def keeping(folder: Path, segment_bytes: int = 2**20, kept: int = 4) -> Keeping:
    return Keeping(folder, segment_bytes, kept)


class Lost:
    """Counts turns that are in no file."""

    def __init__(self) -> None:
        self.turns = 0

    def __call__(self) -> None:
        self.turns += 1


@pytest.fixture
def begun() -> Iterator[Callable[[Keeping], tuple[Life, Writer, Lost]]]:
    """A life that is logged by a thread."""
    writers: list[Writer] = []

    def begin(limits: Keeping) -> tuple[Life, Writer, Lost]:
        lost = Lost()
        writers.append(made := Writer(limits, lost))
        return Life(random.Random(1), made), made, lost

    yield begin
    for made in writers:
        made.close()


def whys(folder: Path) -> list[str]:
    return [step.why for path in segments(folder) for step in replay(path) if isinstance(step, Ended)]


Begin = Callable[[Keeping], tuple[Life, Writer, Lost]]


def test_only_the_owner_reads_what_a_thread_writes(tmp_path: Path, begun: Begin) -> None:
    folder = tmp_path / "made" / "rounds"
    life, made, lost = begun(keeping(folder))
    life.live(50)
    made.close()
    (path,) = segments(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert whys(folder) == [writer.End.STOPPED]
    assert lost.turns == 0


async def test_what_was_decided_stands_in_the_file_soon(tmp_path: Path, begun: Begin) -> None:
    life, _, _ = begun(keeping(tmp_path))
    life.live(50)
    await until(lambda: any(isinstance(step, Replayed) for path in segments(tmp_path) for step in replay(path)))
    assert whys(tmp_path) == [""]


async def test_only_so_many_segments_and_bytes_are_kept(
    tmp_path: Path, begun: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FLUSH", 0.001)
    monkeypatch.setattr(writer, "LOOK", 0.001)
    life, made, lost = begun(keeping(tmp_path, segment_bytes=20_000, kept=3))
    (tmp_path / "rounds-of-a-book.txt").touch()
    for _ in range(6):
        while made.fullness < 1:
            life.live(5)
            await until(lambda: made.backlog == 0)
        assert await life.engine.renew(life.now)
        await until(lambda: made.fullness < 1)
        assert len(segments(tmp_path)) <= 3
    made.close()
    assert lost.turns == 0
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= 3 * 20_000 + 10_000
    *before, last = whys(tmp_path)
    assert (set(before), last) == ({writer.End.LOADED}, writer.End.STOPPED)
    assert (tmp_path / "rounds-of-a-book.txt").exists()


async def test_a_segment_that_nobody_ends_does_not_grow_for_ever(tmp_path: Path, begun: Begin) -> None:
    life, made, lost = begun(keeping(tmp_path, segment_bytes=2000))

    def goes_on() -> bool:
        life.live(20)
        return not made.silent or lost.turns == 0

    await until(lambda: not goes_on())
    made.close()
    assert whys(tmp_path) == [writer.End.LARGE]
    assert segments(tmp_path)[0].stat().st_size < 2**19


async def test_a_folder_that_cannot_be_made_is_told_once_and_tried_again(
    tmp_path: Path, begun: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    life, made, lost = begun(keeping(tmp_path / "file" / "rounds"))
    await until(lambda: made.silent)
    life.live(50)
    for _ in range(3):
        assert await life.engine.renew(life.now)
        await until(lambda: made.silent)
    assert [record.getMessage() for record in caplog.records] == ["rounds are not logged for now; admission goes on"]
    assert lost.turns > 0
    (tmp_path / "file").unlink()
    assert await life.engine.renew(life.now)
    await until(lambda: not made.silent)
    life.live(50)
    made.close()
    assert whys(tmp_path / "file" / "rounds") == [writer.End.STOPPED]


def test_a_disk_that_is_too_slow_ends_the_segment_and_nobody_waits(
    tmp_path: Path, begun: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BACKLOG", 0)
    life, made, lost = begun(keeping(tmp_path))
    life.live(50)
    made.close()
    assert lost.turns > 1
    assert whys(tmp_path) == [writer.End.BEHIND]


class Sized:
    """A log that says how full it is."""

    def __init__(self) -> None:
        self.openings: list[Opening] = []
        self.fullness = 0.0
        self.silent = False

    def begin(self, opening: Opening) -> None:
        self.openings.append(opening)

    def put(self, turn: Turn) -> None:
        """Is of no interest."""

    def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
def leading() -> tuple[Sized, RecordedEngines, Engine]:
    """A leader that has loaded its state: one opening."""
    log = Sized()
    engines = RecordedEngines(Tuning(), Patience(), "1", log)
    engine = engines.new()
    engine.arrange(layout_of({"c": pool_layout(random_ground(random.Random(1)))}), 0)
    engine.restore([], 0)
    return log, engines, engine


def turn(engines: RecordedEngines, engine: Engine, now: int) -> None:
    engine.round(now)
    engine.effects()
    engines.stored()


async def test_the_next_segment_begins_in_a_quiet_moment(leading: tuple[Sized, RecordedEngines, Engine]) -> None:
    log, engines, engine = leading
    await engines.rest(1)
    log.fullness = 1.5
    turn(engines, engine, 1)
    await engines.rest(1)
    assert len(log.openings) == 1
    turn(engines, engine, 2)
    await engines.rest(2)
    assert len(log.openings) == 2


async def test_the_next_segment_begins_in_the_end_however_busy_it_is(
    leading: tuple[Sized, RecordedEngines, Engine],
) -> None:
    log, engines, engine = leading
    log.fullness = writer.LARGE_SEGMENT
    turn(engines, engine, 1)
    await engines.rest(1)
    assert len(log.openings) == 2


async def test_a_log_that_cannot_be_written_begins_anew_after_ten_minutes(
    leading: tuple[Sized, RecordedEngines, Engine],
) -> None:
    log, engines, engine = leading
    turn(engines, engine, 1)
    log.silent = True
    for minutes, openings in ((0, 1), (9, 1), (10, 2), (11, 2), (20, 2), (22, 3)):
        await engines.rest(minutes * 60 * SECOND)
        assert len(log.openings) == openings, minutes


async def test_nothing_begins_while_something_is_not_stored(leading: tuple[Sized, RecordedEngines, Engine]) -> None:
    log, engines, engine = leading
    log.fullness = writer.LARGE_SEGMENT
    engine.round(1)
    await engines.rest(1)
    engine.effects()
    await engines.rest(1)
    assert len(log.openings) == 1
    engines.stored()
    await engines.rest(1)
    assert len(log.openings) == 2


def test_machines_that_are_reported_as_they_were_are_not_logged(
    leading: tuple[Sized, RecordedEngines, Engine],
) -> None:
    _, engines, engine = leading
    turn(engines, engine, 1)
    engine.arrange(layout_of({"c": pool_layout(random_ground(random.Random(1)))}), 2)
    turn(engines, engine, 2)
    assert isinstance(engine, RecordedEngine)
    assert engine.idle
