"""What a mount does just now is the difference of two answers; Prometheus gets the whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paddleflow.mount_rates import rates
from pf_fuse.metrics.exposition import exposition
from pf_fuse.metrics.port import parse_address

COUNTS = {"asked": 0, "waited": 0, "whole": 0, "fetched": 0, "fetched_ahead": 0, "requests": 0, "failures": 0}


def stats(up: float, spans: list[int], *, process: int = 1, **counts: int) -> Mapping[str, Any]:
    folder = {"path": '/a "b"', "bytes": 1, "files": 2, "most": 3, "free": 4, "removed": 5, "trouble": ""}
    read = {"count": sum(spans), "failed": {"2": 1}, "seconds": 0.5, "spans": spans}
    return {
        "up": up,
        "waiting": 0,
        "nodes": 7,
        "requests": {"read": read},
        "cache": {"folders": [folder]},
        "fetching": {"counts": COUNTS | counts, "memory": 0, "waiting": 0},
        "written": {"stage": {"files": 1, "bytes": 9}, "aside": {"files": 0, "bytes": 0}},
        "process": {"id": process, "memory": 1 << 20, "processor": up / 2},
    }


def test_rates_are_of_the_time_between() -> None:
    before = stats(10.0, [0] * 12 + [100], asked=1000, whole=500, fetched=10)
    now = stats(12.0, [0] * 12 + [100, 0, 98, 0, 0, 0, 0, 2], asked=3000, whole=2500, waited=1000, fetched=30)
    found = rates(before, now)
    assert (found.seconds, found.read, found.fetched, found.hit, found.processors) == (2.0, 2000.0, 10.0, 0.75, 0.5)
    (read,) = found.requests
    assert (read.count, read.failed, read.per_second) == (200, 1, 50.0)
    assert read.half == 2**14 / 1e9
    assert read.most == 2**19 / 1e9


def test_another_process_has_counted_from_the_beginning() -> None:
    before = stats(1000.0, [0] * 10 + [10_000], asked=10_000)
    found = rates(before, stats(1.0, [0] * 10 + [5], process=2, asked=100))
    assert found.read == 100.0
    assert found.requests[0].per_second == 5.0
    assert rates(None, stats(1.0, [])).hit is None


def test_prometheus_reads_what_is_told() -> None:
    text = exposition(stats(3.0, [0] * 11 + [4, 0, 6], asked=10, waited=4), '/mnt/"a"\n')
    families = {family.name: family for family in text_string_to_metric_families(text)}
    samples = {
        (sample.name, sample.labels.get("le") or sample.labels.get("from", "")): sample
        for family in families.values()
        for sample in family.samples
    }
    assert samples["paddleflow_mount_request_seconds_bucket", "+Inf"].value == 10
    assert samples["paddleflow_mount_request_seconds_bucket", f"{2**12 / 1e9:g}"].value == 4
    assert samples["paddleflow_mount_request_seconds_bucket", f"{2**10 / 1e9:g}"].value == 0
    assert samples["paddleflow_mount_request_seconds_sum", ""].value == 0.5
    assert samples["paddleflow_mount_read_bytes_total", "here"].value == 6
    assert {sample.labels["place"] for sample in samples.values()} == {'/mnt/"a"\n'}


@pytest.mark.parametrize(
    ("text", "found"), [("9567", ("127.0.0.1", 9567)), ("10.0.0.1:1", ("10.0.0.1", 1)), ("[::1]:7", ("::1", 7))]
)
def test_metrics_are_for_this_machine_unless_it_is_said(text: str, found: tuple[str, int]) -> None:
    assert parse_address(text) == found


@pytest.mark.parametrize("text", ["", "x", "1:2:3", "70000", "a b:1"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="PORT"):
        parse_address(text)
