"""Logs: JSON, the call they belong to, and no secret."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_kit.call import CURRENT, Call
from pf_kit.log import JsonFormatter, Ration, redact, set_up_logging
from pf_kit.principal import Principal, PrincipalKind
from pf_kit.setting_types import Secret
from pf_kit.tokens import Claims, Signer, new_private_key
from support.hand_clock import HandClock

KEY = new_private_key()
TOKEN = Signer(KEY).sign(Claims("here", "user/alice", "t1", 1, 2))


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What this process logs; pytest's own handlers are put back afterwards."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    set_up_logging("queue", "debug", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def line(written: io.StringIO) -> dict[str, Any]:
    (text,) = written.getvalue().splitlines()
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def test_a_line_is_an_object_with_the_extra_fields(written: io.StringIO) -> None:
    logging.getLogger("a.b").info("done", extra={"queue": "team-a", "count": 3, "names": ["x"]})
    told = line(written)
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "info",
        "service": "queue",
        "logger": "a.b",
        "message": "done",
        "queue": "team-a",
        "count": 3,
        "names": ["x"],
    }


def test_a_line_inside_of_a_call_names_it(written: io.StringIO) -> None:
    token = CURRENT.set(Call("/q/Get", Principal(PrincipalKind.USER, "alice"), "peer", "00-aa-bb-01", 0.0))
    logging.getLogger("a").warning("hm")
    CURRENT.reset(token)
    assert (line(written)["method"], line(written)["trace"]) == ("/q/Get", "00-aa-bb-01")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("sent Bearer TOKEN to it", "sent Bearer *** to it"),
        ("token TOKEN, end", "token ***, end"),
        ("postgresql://u:p4ss@host/db", "postgresql://u:***@host/db"),
        ("password=p4ss user=u", "password=*** user=u"),
        ('{"password": "p4ss word", "user": "u"}', '{"password": ***, "user": "u"}'),
        ("LoginRequest(user='u', password='p4ss')", "LoginRequest(user='u', password=***)"),
        ("secret_access_key: p4ss", "secret_access_key: ***"),
        ('user: "u"\npassword: "p4ss"\n', 'user: "u"\npassword: ***\n'),
        ("KEY", "***\n"),
        ("http://host:8080/path is no password", "http://host:8080/path is no password"),
        ("the token is good", "the token is good"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, kept: str) -> None:
    # Put in here: they are new in each process, and test runners compare the names of tests.
    assert redact(text.replace("TOKEN", TOKEN).replace("KEY", KEY.decode())) == kept


@given(st.text(max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


def fail_with(text: str) -> None:
    raise ValueError(text)


def test_secrets_are_masked_wherever_they_stand(written: io.StringIO) -> None:
    try:
        fail_with(f"cannot use password=p4ss and {TOKEN}")
    except ValueError:
        logging.getLogger("a").exception(
            "failed with %s",
            f"Bearer {TOKEN}",
            extra={
                "password": "p4ss",
                "new_password": "p4ss",
                "authorization": TOKEN,
                "dsn": "postgresql://u:p4ss@h/d",
                "nested": {"credential": "p4ss", "list": [f"Bearer {TOKEN}", {"secret": "p4ss"}]},
                "setting": Secret("p4ss"),
            },
        )
    assert "p4ss" not in written.getvalue()
    assert TOKEN[:20] not in written.getvalue()
    assert line(written)["nested"] == {"credential": "***", "list": ["Bearer ***", {"secret": "***"}]}
    assert "ValueError" in line(written)["exception"]


@given(st.dictionaries(st.from_regex("[a-z_]{1,12}", fullmatch=True), st.text() | st.integers() | st.none()))
def test_every_record_becomes_one_line_of_json(extra: dict[str, object]) -> None:
    record = logging.makeLogRecord({**extra, "name": "a", "levelname": "INFO", "msg": "text\nmore", "args": ()})
    record.exc_info = record.exc_text = record.stack_info = None
    record.created = 0.0
    text = JsonFormatter("queue").format(record)
    assert "\n" not in text
    assert json.loads(text)["message"] == "text\nmore"


@given(st.lists(st.floats(0, 5), max_size=60).map(sorted))
def test_of_too_many_lines_only_the_number_is_told(moments: list[float]) -> None:
    clock = HandClock()
    ration = Ration(3, clock)
    taken: list[tuple[int, int]] = []
    for clock.ticks in moments:
        left_out = ration.take()
        if left_out is not None:
            taken.append((int(clock.ticks), left_out))
    seconds = Counter(int(moment) for moment in moments)
    assert Counter(second for second, _ in taken) == {second: min(count, 3) for second, count in seconds.items()}
    untold = max(seconds[max(seconds)] - 3, 0) if seconds else 0
    assert sum(left_out for _, left_out in taken) + len(taken) + untold == len(moments)
