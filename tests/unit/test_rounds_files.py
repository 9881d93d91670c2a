"""Files of a log of rounds: whole, cut off, damaged, hostile."""

from __future__ import annotations

import gzip
import json
import random
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_queue.admission.domain import Record
from pf_queue.admission.journal import reader
from pf_queue.admission.journal.decode import Malformed, inputs_of, opening_of, parsed, records_of
from pf_queue.admission.journal.encode import DECIDED, STANDING, VERSION, input_row, opening_lines
from pf_queue.admission.journal.reader import Damaged, SegmentFile
from pf_queue.admission.journal.replay import Ended, Replayed, replay
from pf_queue.admission.journal.segments import segments
from support.rounds import Life, file_log

READ = (Damaged, Malformed)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of several members."""
    folder = tmp_path_factory.mktemp("life")
    with file_log(folder) as log:
        played = Life(random.Random(3), log)
        for _ in range(6):
            played.live(15)
            assert log.segment is not None
            log.segment.flush()
    return segments(folder)[0]


def texts(path: Path) -> tuple[list[bytes], bool]:
    file = SegmentFile(path)
    return [line.text for line in file.lines()], file.torn


def members(path: Path) -> list[int]:
    """Where they end."""
    return sorted({line.read for line in SegmentFile(path).lines()})


def test_lines_name_all_there_is_of_a_workload_and_of_a_decision() -> None:
    """Who adds a field adds it to the log, with another version. What is set aside is in no engine."""
    assert sorted(STANDING) == sorted({each.name for each in fields(Record)} - {"spec", "fault"})
    assert DECIDED == ("time", "key", "queue", "kind", "replicas", "why", "beneficiary")
    assert VERSION == 2


def test_a_file_is_lines_of_json_that_gunzip_reads(life: Path) -> None:
    lines = gzip.decompress(life.read_bytes()).splitlines()
    assert texts(life) == (lines, False)
    assert json.loads(lines[0])["format"] == "paddleflow rounds"


def test_what_is_read_back_is_equal(life: Path) -> None:
    lines = texts(life)[0]
    head = parsed(lines[0])
    rows = [parsed(line) for line in lines[1:]]
    records = [record for row in rows if "workloads" in row for record in records_of(row["workloads"])]
    opening = opening_of(head, records)
    assert [line.encode() for line in opening_lines(opening)] == lines[: 1 + any("workloads" in row for row in rows)]
    for row in rows:
        if "turn" in row:
            again = [json.loads(json.dumps(input_row(told))) for told in inputs_of(row["inputs"])]
            assert again == row["inputs"]


def test_a_file_cut_off_anywhere_is_good_up_to_its_last_whole_member(life: Path, tmp_path: Path) -> None:
    whole, ends = life.read_bytes(), members(life)
    assert len(ends) == 6
    lines = {end: len([1 for line in SegmentFile(life).lines() if line.read <= end]) for end in (0, *ends)}
    cut = tmp_path / "cut"
    for size in range(0, len(whole), 7):
        cut.write_bytes(whole[:size])
        last = max(end for end in (0, *ends) if end <= size)
        found, torn = texts(cut)
        assert (len(found), torn) == (lines[last], size > last)


def test_a_torn_file_is_replayed_as_far_as_it_goes(life: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(life.read_bytes()[:-5])
    *turns, end = list(replay(cut))[1:]
    assert turns
    assert all(isinstance(turn, Replayed) and turn.difference is None for turn in turns)
    assert end == Ended("", torn=True)


def test_a_changed_byte_is_noticed(life: Path, tmp_path: Path) -> None:
    whole, changed = life.read_bytes(), tmp_path / "changed"
    expected = texts(life)
    for place in random.Random(0).sample(range(len(whole)), 300):
        changed.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            found = texts(changed)
        except Damaged:
            continue
        # The time and the system in the header of gzip are nothing to anybody, and a member may seem to be longer.
        assert found == expected or found[1]


@pytest.mark.parametrize(
    "content",
    [
        b"root:x:0:0",
        # Without the time, so that all who collect the tests call them the same.
        gzip.compress(b"root:x:0:0\n", mtime=0),
        gzip.compress(b"[]\n", mtime=0),
        gzip.compress(b'{"format":"paddleflow rounds","version":1}\n', mtime=0),
        gzip.compress(b'{"format":"paddleflow rounds","version":2}\n', mtime=0),
        gzip.compress(b"[" * 100_000, mtime=0),
        gzip.compress(b"9" * 100_000, mtime=0),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(READ):
        list(replay(tmp_path / "file"))


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert list(replay(tmp_path / "file")) == [Ended("", torn=False)]


def test_a_few_bytes_that_unpack_to_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_MEMBER", 2**22)
    (tmp_path / "file").write_bytes(gzip.compress(bytes(2**26)))
    with pytest.raises(Damaged, match="unpacks to more than"):
        list(replay(tmp_path / "file"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(["c", "a/1", "open", "round"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def spoiled(value: Any, chance: random.Random, odd: Any) -> Any:
    """The same with another value somewhere."""
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], spoiled(value[place], chance, odd), *value[place + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.95:
        key = chance.choice(list(value))
        return {**value, key: spoiled(value[key], chance, odd)}
    return odd


@settings(max_examples=150, deadline=None)
@given(chance=st.randoms(use_true_random=False), odd=JSON)
def test_whatever_a_file_says_it_is_replayed_or_refused(life: Path, chance: random.Random, odd: Any) -> None:
    lines = texts(life)[0]
    place = chance.randrange(len(lines))
    lines[place] = json.dumps(spoiled(json.loads(lines[place]), chance, odd)).encode()
    hostile = life.with_name("hostile")
    hostile.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    with suppress(*READ):
        list(replay(hostile))
