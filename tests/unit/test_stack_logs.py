"""Log files: put aside when large, shown from the end, followed."""

from __future__ import annotations

import json
import os
import resource
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_kit.embedded.refusal import Refusal
from pf_stack import logs
from pf_stack.excerpt import excerpt
from pf_stack.layout import Layout
from pf_stack.logs import opened, rotate
from pf_stack.logview import BLOCK, follow, log_files, tail


def test_a_log_is_the_owners_alone_and_is_appended_to(tmp_path: Path) -> None:
    log = tmp_path / "queue.log"
    for line in (b"one\n", b"two\n"):
        with opened(log) as handle:
            os.write(handle, line)
    assert log.read_bytes() == b"one\ntwo\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_large_log_is_put_aside_while_its_process_goes_on_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 10)
    log = tmp_path / "queue.log"
    with opened(log) as handle:
        for number in range(6):
            os.write(handle, f"line {number} of it\n".encode())
            rotate(log)
        os.write(handle, b"short\n")
        rotate(log)
    assert log.read_text() == "short\n"
    assert [(tmp_path / f"queue.log.{age}").read_text() for age in (1, 2, 3)] == [
        "line 5 of it\n",
        "line 4 of it\n",
        "line 3 of it\n",
    ]
    assert len(list(tmp_path.iterdir())) == 1 + logs.KEPT


def test_a_log_that_there_is_no_room_to_copy_stays_as_it_is_with_the_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MAX_BYTES", 10)
    files = {"queue.log": "a long line of it\n", "queue.log.1": "before\n", "queue.log.2": "long before\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            rotate(tmp_path / "queue.log")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == files


def test_a_log_that_is_not_there_is_not_rotated(tmp_path: Path) -> None:
    rotate(tmp_path / "none.log")
    assert list(tmp_path.iterdir()) == []


LINES = st.lists(st.text("abä", max_size=BLOCK // 2), max_size=6)


@settings(deadline=None)
@given(LINES, st.integers(0, 8))
def test_tail_gives_the_last_lines(tmp_path_factory: pytest.TempPathFactory, lines: list[str], count: int) -> None:
    log = tmp_path_factory.mktemp("logs") / "queue.log"
    log.write_text("".join(f"{line}\n" for line in lines))
    assert tail(log, count) == (lines[-count:] if count else [])


def test_follow_gives_whole_lines_as_they_come_and_survives_an_emptied_file(tmp_path: Path) -> None:
    log = tmp_path / "queue.log"
    log.write_text("old\n")
    new = follow(log)
    assert next(new) is None
    with log.open("a") as writer:
        writer.write("half")
        writer.flush()
        assert next(new) is None
        writer.write(" line\nnext\n")
    assert [next(new), next(new), next(new)] == ["half line", "next", None]
    os.truncate(log, 0)
    log.write_text("anew\n")
    assert [next(new), next(new)] == ["anew", None]


def test_logs_are_chosen_by_process_and_unknown_ones_are_named(tmp_path: Path) -> None:
    layout = Layout(tmp_path, is_default=False)
    assert log_files(layout, []) == {}
    layout.logs.mkdir()
    for name in ("queue", "postgres"):
        layout.log(name).touch()
    assert list(log_files(layout, [])) == ["postgres", "queue"]
    assert log_files(layout, ["queue"]) == {"queue": layout.log("queue")}
    with pytest.raises(Refusal, match="no log of qeue"):
        log_files(layout, ["qeue"])


def test_an_excerpt_is_readable_and_leaves_out_what_is_old(tmp_path: Path) -> None:
    log = tmp_path / "queue.log"
    log.write_text("old\n")
    begin = log.stat().st_size
    crash = {
        "level": "critical",
        "message": "crashed",
        "exception": "Traceback (most recent call last):\n  File x\nValueError: bad\nHINT:  None.",
    }
    group = crash | {"exception": "  + Exception Group\n  +-+------- 1 ------\n    | a.b.KeyError: 'x'\n    +------\n"}
    refusal = {"level": "critical", "message": "cannot serve", "why": "no port"}
    with log.open("a") as writer:
        writer.write(f"FATAL:  no space\n{json.dumps(crash)}\n{json.dumps(group)}\n{json.dumps(refusal)}\n[1]\n")
    assert excerpt(log, begin).splitlines() == [
        "FATAL:  no space",
        "critical: crashed: ValueError: bad",
        "critical: crashed: a.b.KeyError: 'x'",
        "critical: cannot serve: no port",
        "[1]",
    ]
    os.truncate(log, 0)
    log.write_text("new\n" * 100)
    assert excerpt(log, 1_000_000).splitlines() == ["new"] * 8
