"""Events of a replay as lines: for people, for scripts, for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import click

from paddleflow.cli.table import Form, Table, as_text, as_yaml, cell_text

Event: TypeAlias = Mapping[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SIGNS: Mapping[str, str] = {"admit": "green", "grow": "green", "evict": "yellow", "hold": "red"}


def told_event(event: Event, form: Form) -> str:
    match form:
        case Form.JSON:
            return json.dumps({**event, **_when(event)})
        case Form.YAML:
            told = {**event, **_when(event)}
            return as_yaml(Table(list(told), [list(told.values())]))
        case Form.TEXT:
            return as_text(Table([], [[_plain(cell) for cell in _cells(event)]]))
        case Form.TABLE:
            return "\n".join(_lines(event))


def _when(event: Event) -> Event:
    return {"time": _moment(event["time"])} if "time" in event else {}


def _cells(event: Event) -> Sequence[str]:
    """The columns of a script: what it is, where, when, what came in, what was decided, and how it came out."""
    match event["event"]:
        case "turn":
            told = ", ".join(_input(each) for each in event["inputs"])
            decided = ", ".join(_decision(each) for each in event["decisions"])
            return ("turn", event["file"], str(event["turn"]), _moment(event["time"]), told, decided, _outcome(event))
        case "segment":
            return ("segment", event["file"], event["written by"], _moment(event["time"]), str(event["workloads"]))
        case "summary":
            return ("summary", summary(event))
        case _:
            return tuple(str(value) for value in event.values())


def _lines(event: Event) -> Iterator[str]:
    match event["event"]:
        case "turn":
            yield from _turn_lines(event)
        case "segment":
            began = f"{_moment(event['time'])} with {event['workloads']} workloads, by {event['written by']}"
            yield click.style(_plain(f"{event['file']}  began {began}"), bold=True)
        case "end":
            why = event["why"] or "it does not say why; its writer was killed, or writes still"
            torn = "; the last part is torn, and left out" if event["torn"] else ""
            yield _plain(f"{event['file']}  ends: {why}{torn}")
        case "unreadable":
            yield click.style(_plain(f"{event['file']}  {event['message']}"), fg="red")
        case _:
            yield summary(event)


def _turn_lines(event: Event) -> Iterator[str]:
    yield _plain(f"{_moment(event['time'])}  turn {event['turn']}  {_outcome(event)}".rstrip())
    for told in event["inputs"]:
        yield _plain(f"    {_input(told)}")
    for decided in event["decisions"]:
        yield "    " + click.style(_plain(_decision(decided)), fg=_SIGNS.get(decided["kind"]))


def _input(told: Event) -> str:
    words = " ".join(f"{name}={value}" for name, value in told["told"].items())
    return " ".join(filter(None, (told["kind"], told["job"], told["queue"] and f"in {told['queue']}", words)))


def _decision(decided: Event) -> str:
    words = [decided["kind"], decided["job"], f"in {decided['queue']}", cell_text(decided["replicas"])]
    words += [decided["reason"], decided["for"] and f"for {decided['for']}"]
    return " ".join(filter(None, words))


def _outcome(event: Event) -> str:
    """How a turn came out; empty if all is as it should be."""
    told = [] if event["stored"] else ["not stored"]
    if event["fault"]:
        told.append(f"fails: {event['fault']}")
    if event["difference"]:
        told.append(f"DIFFERS in {_differs(event['difference'])}")
    return ", ".join(told)


def _differs(difference: Event) -> str:
    return f"{difference['field']}: logged {difference['logged']!r}, replayed {difference['replayed']!r}"


def summary(event: Event) -> str:
    """The sentence at the end."""
    counted = [f"{what} {event[what]}" for what in ("segments", "turns", "inputs", "decisions")]
    counted += [f"{what} {event[what]}" for what in ("not stored", "torn", "unreadable") if event[what]]
    if event["written by others"]:
        counted.append(f"written by {', '.join(event['written by others'])}, which may have decided otherwise")
    if event["difference"]:
        first = event["difference"]
        came = f"the first difference is in turn {first['turn']} of {first['file']}, {_differs(first)}"
    else:
        came = "what could be read came to the same bytes" if event["unreadable"] else "the same bytes"
    return _plain(f"{', '.join(counted)}: {came}")


def _moment(micros: int) -> str:
    try:
        return (EPOCH + timedelta(microseconds=micros)).astimezone().isoformat(timespec="microseconds")
    except (OverflowError, ValueError):
        return f"{micros} µs"


def _plain(text: str) -> str:
    """Nothing of a file that anybody may have made reaches the terminal as a command."""
    return text if text.isprintable() else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
