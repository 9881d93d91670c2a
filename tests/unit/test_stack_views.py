"""How the commands show what they found."""

from __future__ import annotations

import pytest

from pf_stack.messages import Busy, Failed, Message, Ready, Starting, Up, decode, encode
from pf_stack.views import duration


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
