"""What a program that measures an engine is told, and how it tells what it has measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

AT_ONCE = 16
"""Steps at once: the same for all engines."""
CHAIN = int(os.environ.get("BENCH_CHAIN", "40"))
FAN = int(os.environ.get("BENCH_FAN", "1000"))
POSTGRES = os.environ.get("BENCH_POSTGRES", "")
"""The folder with the socket of Postgres."""
VALKEY = os.environ.get("BENCH_VALKEY", "")
"""The socket of Valkey."""
DATABASE = "engine"
FOLDER = Path(os.environ.get("BENCH_FOLDER", "."))
"""Where an engine may write; it is empty at first."""


def postgres(scheme: str) -> str:
    """The empty database of an engine, as a URL."""
    return f"{scheme}://test@/{DATABASE}?host={POSTGRES}"


def tell(what: str, seconds: float, *, how: str = "", done: int = 0, processes: bool = False) -> None:
    """Tells of one measurement of the chain or of the fan-out.

    `done` is how many steps wide the fan-out was, if not as wide as was asked for; `processes`, whether steps run in
    processes of their own.
    """
    row = {"what": what, "seconds": seconds, "how": how, "done": done or FAN, "processes": processes}
    with (FOLDER / "results").open("a") as results:
        results.write(json.dumps(row) + "\n")


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def until(ready: Callable[[], bool], what: str, patience: float = 180.0, pause: float = 0.2) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + patience
    while not ready():
        if time.monotonic() > deadline:
            sys.exit(f"{what}: not after {patience:g} s")
        time.sleep(pause)


def server(module: str, *args: str, settings: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a part of an engine, which ends with the program."""
    return subprocess.Popen([sys.executable, "-m", module, *args], env=os.environ | (settings or {}), cwd=FOLDER)


def ended(servers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ends parts of an engine."""
    for each in servers:
        each.terminate()
    for each in servers:
        each.wait(30)
