"""A copy of objects follows them, whatever the API says for a moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import cast

import pytest

from pf_csi.clients import watching
from pf_csi.clients.watching import Watched
from pf_csi.kubernetes import Api, ApiFailed, Kind, Thing
from support.waiting import until


def thing(name: str) -> Thing:
    return {"metadata": {"name": name, "resourceVersion": "1"}}


class Faulty:
    """Lists more each time, and tells nonsense of what happens then."""

    def __init__(self, nonsense: Thing | None) -> None:
        self.nonsense = nonsense
        self.lists = 0
        self.over = threading.Event()

    def list(self, kind: Kind) -> tuple[list[Thing], str]:
        self.lists += 1
        return [thing(str(number)) for number in range(self.lists)], "1"

    def watch(self, kind: Kind, version: str, **chosen: str) -> Iterator[tuple[str, Thing | None]]:
        if self.lists > 1:
            self.over.wait(60)
            raise ApiFailed("over")
        yield "ADDED", self.nonsense


@pytest.mark.parametrize("nonsense", [{}, {"metadata": None}, {"metadata": {"resourceVersion": "1"}}, None])
async def test_a_fault_of_a_watch_leads_to_a_fresh_list(
    nonsense: Thing | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watching, "_AGAIN", 0.01)
    api = Faulty(nonsense)
    watched = Watched(cast("Api", api), Kind("v1", "pods"), lambda: None)
    watched.begin()
    try:
        await until(lambda: set(watched.things) == {"0", "1"})
    finally:
        api.over.set()
    assert "not watched" in caplog.text
