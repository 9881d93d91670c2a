"""Asks the service about filesystems, in a process of its own.

Programs that read data fork, and gRPC does not go on in a process that was forked: so it is not in the program's.
Secrets go through a pipe.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paddleflow.mounting import MountOptions, source_of
from paddleflow.problems import NotFound, PermissionDenied, Problem, Unavailable, tree

COMMAND = (sys.executable, "-P", "-m", "paddleflow.direct.describing")
"""A program may stand in a folder of data, whose files are no modules."""


@dataclass(frozen=True, slots=True)
class Asks:
    """Which filesystem, for whom."""

    config: str
    """The path of a configuration; empty: the usual one."""
    name: str
    owner: str = ""
    sub_path: str = ""
    read_only: bool = False
    cache_folders: Sequence[str] = ()
    cache_size: int | None = None


def renewal(asks: Asks) -> Mapping[str, Any]:
    """What a mount is told of where keys come from when those that it has have expired."""
    return {"command": COMMAND, "told": asdict(asks)}


def asked(question: Mapping[str, Any]) -> Any:
    """The answer of the process. Raises problems as the service does."""
    done = subprocess.run(COMMAND, input=json.dumps(question).encode(), capture_output=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise Unavailable(f"nobody asked the service: {done.stderr.decode(errors='replace')[-500:]}") from None
    if "problem" in answer:
        kinds = {kind.__name__: kind for kind in tree()}
        raise kinds.get(answer["problem"], Problem)(answer["message"])
    return answer["answer"]


def main() -> None:
    """Reads a question from the standard input, and writes its answer to the standard output."""
    question = json.load(sys.stdin)
    try:
        answer = {"answer": _answer(question)}
    except Problem as problem:
        final = isinstance(problem, NotFound | PermissionDenied)
        answer = {"problem": type(problem).__name__, "message": problem.message, "final": final}
    json.dump(answer, sys.stdout)


def _answer(question: Mapping[str, Any]) -> Any:
    # It loads gRPC, which whoever asks does without.
    from paddleflow.sync import connect_configured  # noqa: PLC0415

    config = Path(question["config"]) if question["config"] else None
    with connect_configured(config) as client:
        if "name" not in question:
            return [[each.owner, each.name] for each in client.filesystems.list()]
        described = client.filesystems.describe_mount(
            question["name"],
            owner=question["owner"],
            sub_path=question["sub_path"],
            read_only=question["read_only"],
        )
    options = MountOptions(
        read_only=question["read_only"],
        cache_folders=[Path(folder) for folder in question["cache_folders"]],
        cache_size=question["cache_size"],
    )
    return source_of(described, options, os.environ)


if __name__ == "__main__":
    main()
