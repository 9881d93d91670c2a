"""What the runner writes down and says is read again as it was meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.problems import FailedPrecondition, InvalidArgument, ResourceExhausted
from pf_job.runtimes.local import frames, layout, records, timeindex, translate
from pf_job.runtimes.local.processes import Stat, parse
from pf_job.runtimes.local.records import Book, Ending, Forgotten, Order, Process, Record, Refusal, Seen, Stop
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.local.timeindex import Mark
from pf_job.runtimes.port import Ceiling, Launch, Mount, ReplicaKey

MESSAGES = st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text()))
NUMBERS = st.integers(0, 2**40)
RECORDS = st.builds(
    Record,
    boot=st.text(),
    uid=st.integers(),
    slot=st.integers(),
    accelerators=st.lists(NUMBERS).map(tuple),
    log=st.none() | NUMBERS,
    notes=st.lists(st.text()).map(tuple),
    groups=st.lists(st.text()).map(tuple),
    refusal=st.none() | st.builds(Refusal, st.text(), st.text()),
)
PROCESSES = st.builds(Process, NUMBERS, NUMBERS, NUMBERS)
ENDINGS = st.builds(
    Ending,
    ended=NUMBERS,
    status=st.none() | NUMBERS,
    signal=st.none() | NUMBERS,
    message=st.text(),
    lost=st.booleans(),
)


@given(st.lists(MESSAGES), st.data())
def test_messages_arrive_whole_in_whatever_pieces(messages: list[frames.Message], data: st.DataObject) -> None:
    wire = b"".join(map(frames.encode, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)))))
    inbox = frames.Inbox()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += inbox.feed(wire[start:end])
    assert found == messages


def test_a_message_that_is_too_long_is_refused_before_it_is_there() -> None:
    with pytest.raises(frames.FrameTooLong):
        frames.Inbox().feed((frames.LIMIT + 1).to_bytes(4, "big"))
    with pytest.raises(frames.FrameTooLong):
        frames.encode({"text": "x" * frames.LIMIT})


@given(RECORDS, PROCESSES, ENDINGS, st.floats(0, 1e9), st.data())
def test_the_lines_of_a_replica_are_read_as_far_as_they_were_written(
    record: Record, process: Process, ending: Ending, deadline: float, data: st.DataObject
) -> None:
    lines = [records.write(line) for line in (record, process, Stop(deadline), ending, Forgotten())]
    whole = Book(record=record, process=process, stop=Stop(deadline), ending=ending, forgotten=True)
    assert records.read(b"".join(lines)) == whole
    count = data.draw(st.integers(0, 4))
    torn = data.draw(st.integers(0, len(lines[count]) - 1))
    found = records.read(b"".join(lines[:count]) + lines[count][:torn])
    known = (found.record, found.process, found.stop, found.ending, found.forgotten or None)
    assert [part is not None for part in known] == [number < count for number in range(5)]


def test_what_a_loss_of_power_left_of_a_line_is_passed_over() -> None:
    good = records.write(Stop(1.5))
    assert records.read(b"\0\0\0\n" + good + b'{"ending": \n') == Book(stop=Stop(1.5))


def test_the_first_ending_counts() -> None:
    lines = records.write(Ending(ended=1, status=0)) + records.write(Ending(ended=2, lost=True))
    assert records.read(lines).ending == Ending(ended=1, status=0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS)), st.integers(0, 15))
def test_an_index_is_read_again_without_what_is_torn(pairs: list[tuple[int, int]], torn: int) -> None:
    marks = [Mark(*pair) for pair in pairs]
    assert timeindex.decode(timeindex.encode(marks) + b"x" * torn) == marks


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1), st.integers(0, 3_000))
def test_nothing_before_the_offset_was_written_at_or_after_the_time(steps: list[tuple[int, int]], time: int) -> None:
    marks, now, size = [], 0, 0
    for passed, written in steps:
        now, size = now + passed, size + written
        marks.append(Mark(now, size))
    for kept in (marks, timeindex.thinned(marks)):
        offset = timeindex.find(kept, time)
        assert all(mark.size <= offset for mark in kept if mark.time < time)
        assert offset == 0 or any(mark.size == offset and mark.time < time for mark in kept)
        assert kept[-1] == marks[-1]


def test_a_log_that_grew_after_silence_is_marked_at_both_ends() -> None:
    assert timeindex.growth(Mark(10, 5), Mark(11, 9), last=2) == [Mark(10, 5), Mark(11, 9)]
    assert timeindex.growth(Mark(10, 5), Mark(11, 9), last=10) == [Mark(11, 9)]


@given(
    st.from_regex(layout.WORD, fullmatch=True),
    st.integers(0, 10**9),
    st.from_regex(layout.WORD, fullmatch=True),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_a_name_leads_back_to_its_replica(job: str, attempt: int, role: str, index: int, restart: int) -> None:
    key = ReplicaKey(job, attempt, role, index, restart)
    name = translate.name_of(key)
    assert translate.key_of(name) == key
    assert all(len(part) < 200 and part not in (".", "..") for part in name.split("/"))


@pytest.mark.parametrize("word", ["", "..", ".hidden", "a/b", "a b", "ä", "a\n", "x" * 101, "-a", "a\0"])
def test_what_cannot_be_part_of_a_path_is_refused(word: str) -> None:
    for key in (ReplicaKey(word, 1, "main", 0), ReplicaKey("job", 1, word, 0)):
        with pytest.raises(InvalidArgument):
            translate.name_of(key)


def test_an_order_says_all_of_a_launch() -> None:
    launch = Launch(
        key=ReplicaKey("job-1", 2, "worker", 3, 4),
        tenant="ada",
        argv=["python", "x.py"],
        env={"A": "b"},
        secret_env={"S": "/keys/s"},
        cwd="/work",
        ceiling=Ceiling(cpu=500, memory=2**30, processes=10, log=2**20),
        accelerators=2,
        requests={"cpu": 250},
    )
    told = translate.order(launch, [Mount("/data", "/mnt/data", read_only=True)], ["/mounts/a/lock"])
    order = Order.of(frames.Inbox().feed(frames.encode(told))[0])
    assert (order.name, order.argv, order.env, order.secret_env) == (
        "job-1/2/worker-3-4",
        ("python", "x.py"),
        {"A": "b"},
        {"S": "/keys/s"},
    )
    assert [(mount.source, mount.target, mount.read_only) for mount in order.mounts] == [("/data", "/mnt/data", True)]
    assert (order.cpu, order.memory, order.processes, order.log, order.shares) == (500, 2**30, 10, 2**20, 250)
    assert (order.cwd, order.tenant, order.accelerators, order.holds) == ("/work", "ada", 2, ("/mounts/a/lock",))


@given(RECORDS, st.none() | PROCESSES, st.none() | ENDINGS)
def test_what_is_told_of_a_replica_is_heard(record: Record, process: Process | None, ending: Ending | None) -> None:
    seen = records.seen("job/1/main-0-0", record, process, ending)
    assert Seen.of(seen.told()) == seen
    sighting = translate.sighting(seen.told(), "here")
    assert (sighting.status, sighting.signal, sighting.message, sighting.notes) == (
        seen.status,
        seen.signal,
        seen.message,
        seen.notes,
    )


@pytest.mark.parametrize(
    ("reason", "problem"),
    [
        ("INVALID_ARGUMENT", InvalidArgument),
        ("FAILED_PRECONDITION", FailedPrecondition),
        ("RESOURCE_EXHAUSTED", ResourceExhausted),
    ],
)
def test_a_refusal_is_the_problem_it_names(reason: str, problem: type[Exception]) -> None:
    assert isinstance(translate.problem(reason, "why"), problem)


def test_settings_are_read_again() -> None:
    settings = RunnerSettings(hidden=("/keys",), first_uid=5, uids=6, accelerators=7, contained=False)
    assert RunnerSettings.decode(settings.encode()) == settings


def test_a_program_may_be_called_anything() -> None:
    text = "41 (a) S 9 (b) R 7 " + " ".join(str(number) for number in range(5, 30))
    assert parse(text) == Stat(41, 7, 22)
