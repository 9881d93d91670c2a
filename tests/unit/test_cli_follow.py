"""Changes of queues, told as they come."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
import yaml

from paddleflow.cli.follow import differences, follow, matches
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form
from paddleflow.models import (
    Bookmark,
    Change,
    ChangeKind,
    OrderPolicy,
    PreemptionPolicy,
    Queue,
    QueueState,
    Reset,
    WatchItem,
)

A = Queue(
    "a",
    cluster="c",
    namespace="n",
    state=QueueState.OPEN,
    weight=100,
    preemption_policy=PreemptionPolicy.RECLAIM_AND_PRIORITY,
    order_policy=OrderPolicy.BEST_EFFORT,
    max={"cpu": 4000},
    labels={"x": "1"},
)
B = replace(A, weight=200, max={"cpu": 8000, "memory": 2**30}, state=QueueState.HELD, labels={})
ITEMS: Sequence[WatchItem[Queue]] = [
    Change(ChangeKind.EXISTING, A),
    Bookmark("t1", caught_up=True),
    Change(ChangeKind.UPDATED, B),
    Change(ChangeKind.CREATED, Queue("other")),
    Change(ChangeKind.DELETED, B),
    Reset(),
    Change(ChangeKind.EXISTING, A),
]


def told(form: Form, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    follow(ITEMS, lambda queue: queue.name == "a", ["nope", "a"], Printer(form, terminal=False))
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_people_are_told_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = told(Form.TABLE, capsys)
    lines = [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in out.splitlines()]
    assert lines == [
        "existing  a  state open, max cpu 4, label x 1",
        "updated   a  state open -> held, weight 100 -> 200, max cpu 4 -> 8, max memory - -> 1Gi, label x 1 -> -",
        "deleted   a",
        "existing  a  state open, max cpu 4, label x 1",
    ]
    assert "start over" in err
    assert err.count("there is no queue nope yet") == 1
    assert "queue a " not in err


def test_a_queue_that_is_no_longer_chosen_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    items = [Change(ChangeKind.EXISTING, B), *[Change(ChangeKind.UPDATED, A)] * 2, Change(ChangeKind.DELETED, A)]
    follow(items, lambda queue: queue.state is QueueState.HELD, (), Printer(Form.TEXT, terminal=False))
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("existing\ta\t")
    assert second.startswith("left\ta\tstate held -> open,")


def test_programs_get_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(Form.JSON, capsys)
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["event"] for event in events] == ["existing", "updated", "deleted", "existing"]
    assert events[1]["status"] == "held"
    assert events[1]["own max"] == {"cpu": "8", "memory": "1Gi"}


def test_yaml_has_a_document_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(Form.YAML, capsys)
    assert [document[0]["event"] for document in yaml.safe_load_all(out)] == [
        "existing",
        "updated",
        "deleted",
        "existing",
    ]


def test_text_is_apart_by_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = told(Form.TEXT, capsys)
    assert out.splitlines()[2] == "deleted\ta\t"


def test_nothing_differs_from_itself() -> None:
    assert list(differences(A, A)) == []


@pytest.mark.parametrize(
    ("chosen", "does"),
    [
        ({}, True),
        ({"cluster": "c", "namespace": "", "labels": {}}, True),
        ({"cluster": "d"}, False),
        ({"parent": "p"}, False),
        ({"states": [QueueState.HELD]}, False),
        ({"states": [QueueState.HELD, QueueState.OPEN]}, True),
        ({"name_prefix": "b"}, False),
        ({"labels": {"x": "1"}}, True),
        ({"labels": {"x": "2"}}, False),
    ],
)
def test_a_watch_chooses_as_a_list_does(chosen: dict[str, object], does: bool) -> None:
    assert matches(A, chosen) is does  # type: ignore[arg-type]
