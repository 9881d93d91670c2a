"""How a mount is doing, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_FIRST = 10
"""The span of the first bound of times: 1 µs. Below that nothing is answered."""
_LAST = 36
"""That of the last: 69 s."""

Labels = Mapping[str, str]


class Sample(NamedTuple):
    """One value of a metric."""

    labels: Labels
    value: float
    suffix: str = ""


class Metric(NamedTuple):
    """One metric and all its samples."""

    name: str
    kind: str
    says: str
    samples: Iterable[Sample]


def exposition(stats: Mapping[str, Any], place: str) -> str:
    """All metrics of the mount at a place."""
    return "".join(_text(metric, {"place": place}) for metric in (*_mount(stats), *_fetching(stats), *_requests(stats)))


def _mount(stats: Mapping[str, Any]) -> Iterator[Metric]:
    process, folders = stats["process"], stats["cache"]["folders"]
    yield _one("up_seconds", "gauge", "Since this process serves the mount.", stats["up"])
    yield _one("memory_bytes", "gauge", "Memory of the process.", process["memory"])
    yield _one("processor_seconds_total", "counter", "Processor time of the process.", process["processor"])
    yield _one("requests_waiting", "gauge", "Requests of the kernel without an answer.", stats["waiting"])
    yield _one("nodes", "gauge", "Files and folders that the mount knows.", stats["nodes"])
    for name, kind, says, field in _FOLDERS:
        samples = [Sample({"folder": each["path"]}, each[field]) for each in folders]
        yield Metric(f"cache_{name}", kind, says, samples)
    for name in ("files", "bytes"):
        samples = [Sample({"kind": kind}, each[name]) for kind, each in stats["written"].items()]
        says = "Written here: stage is to be uploaded, or open; aside could not be."
        yield Metric(f"written_{name}", "gauge", says, samples)


_FOLDERS = (
    ("bytes", "gauge", "What a folder of the cache holds.", "bytes"),
    ("files", "gauge", "Files that a folder of the cache holds.", "files"),
    ("limit_bytes", "gauge", "What a folder of the cache may hold.", "most"),
    ("free_bytes", "gauge", "What is free on the disk of a folder of the cache.", "free"),
    ("evicted_files_total", "counter", "Files that had to go.", "removed"),
)


def _fetching(stats: Mapping[str, Any]) -> Iterator[Metric]:
    counts, fetching = stats["fetching"]["counts"], stats["fetching"]
    read = {"whole": counts["whole"], "waited": counts["waited"], "here": counts["asked"] - counts["waited"]}
    says = "Read by asking: of files that were whole, of others what was here, and what had to be waited for."
    yield Metric("read_bytes_total", "counter", says, [Sample({"from": name}, value) for name, value in read.items()])
    yield _one("fetched_bytes_total", "counter", "Bytes that came from the backend.", counts["fetched"])
    yield _one("fetched_ahead_bytes_total", "counter", "Of these, before they were asked for.", counts["fetched_ahead"])
    yield _one("backend_requests_total", "counter", "Requests for bytes to the backend.", counts["requests"])
    yield _one("backend_failures_total", "counter", "Requests for bytes that failed.", counts["failures"])
    yield _one("fetching_memory_bytes", "gauge", "Memory for what is fetched.", fetching["memory"])
    yield _one("fetching_waiting", "gauge", "Requests to the backend that are to come.", fetching["waiting"])


def _requests(stats: Mapping[str, Any]) -> Iterator[Metric]:
    requests = stats["requests"]
    seconds = [sample for name, each in requests.items() for sample in _histogram(name, each)]
    yield Metric("request_seconds", "histogram", "How long the kernel waited for answers.", seconds)
    failed = [
        Sample({"request": name, "errno": number}, count)
        for name, each in requests.items()
        for number, count in each["failed"].items()
    ]
    yield Metric("request_failures_total", "counter", "Answers that were errors.", failed)


def _histogram(name: str, request: Mapping[str, Any]) -> Iterator[Sample]:
    """Span n holds what took less than 2 ** n nanoseconds."""
    spans: Sequence[int] = request["spans"]
    sums = list(accumulate(spans)) or [0]
    for span in range(_FIRST, _LAST + 1, 2):
        count = sums[min(span, len(sums) - 1)]
        yield Sample({"request": name, "le": f"{2**span / 1e9:g}"}, count, "_bucket")
    yield Sample({"request": name, "le": "+Inf"}, sums[-1], "_bucket")
    yield Sample({"request": name}, request["seconds"], "_sum")
    yield Sample({"request": name}, sums[-1], "_count")


def _one(name: str, kind: str, says: str, value: float) -> Metric:
    return Metric(name, kind, says, [Sample({}, value)])


def _text(metric: Metric, common: Labels) -> str:
    name = f"paddleflow_mount_{metric.name}"
    lines = [f"# HELP {name} {metric.says}", f"# TYPE {name} {metric.kind}"]
    for labels, value, suffix in metric.samples:
        words = ",".join(f'{key}="{_escaped(word)}"' for key, word in {**common, **labels}.items())
        lines.append(f"{name}{suffix}{{{words}}} {value!r}")
    return "\n".join(lines) + "\n"


def _escaped(word: str) -> str:
    # Paths may hold bytes that are no text.
    plain = word.encode(errors="replace").decode()
    return plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
