"""How the commands show what they found."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from pf_stack.finding import bad
from pf_stack.footprint import NOTHING
from pf_stack.layout import Layout
from pf_stack.messages import Busy, Failed, Message, Ready, Starting, Up, decode, encode
from pf_stack.process import Phase
from pf_stack.status import Line, Status
from pf_stack.views import duration, show_findings, show_status


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0s"), (59.9, "59s"), (60, "1m00s"), (3599, "59m59s"), (3600, "1h00m"), (86399, "23h59m"), (90000, "1d01h")],
)
def test_a_time_is_shown_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "message",
    [Starting("queue"), Ready("queue", 0.25), Up(1.5, "päss", "hint"), Up(1.5, None, ""), Failed("a\nb", "c"), Busy()],
)
def test_messages_survive_the_way_from_supervisor_to_terminal(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=300, soft_wrap=True)


def said(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def line(phase: Phase, last_exit: str, restarts: int = 1) -> Line:
    return Line("queue", phase, None, 1.0, restarts, last_exit, NOTHING, None, 0.0)


def test_brackets_in_paths_are_shown_as_they_are(console: Console) -> None:
    status = Status(Layout(Path("/srv/[red]/[/]"), is_default=False), True, (line(Phase.READY, "no [/bold]"),))
    show_status(console, status)
    show_findings(console, [bad("[/x] is missing", "rm /[red]x")])
    for text in ("/srv/[red]/[/]", "no [/bold]", "[/x] is missing", "rm /[red]x"):
        assert text in said(console)


def test_what_waits_to_be_started_again_is_shown_with_its_reason(console: Console) -> None:
    reason = "port 8999 of queue is taken by another program. Stop that program."
    status = Status(Layout(Path("/srv"), is_default=False), False, (line(Phase.WAITING, reason, restarts=0),))
    show_status(console, status)
    assert f"queue is started again and again: {reason}\n" in said(console)
