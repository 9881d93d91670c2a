"""Commands as a user types them, shown with what they print."""

from __future__ import annotations

import os
import queue
import shlex
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

PATIENCE = 20.0
"""Seconds to wait for a line of what runs beside the demo; most take milliseconds."""


def say(text: str) -> None:
    print(f"\n{textwrap.fill(' '.join(text.split()), 100)}", flush=True)


def command(*words: str) -> list[str]:
    """The client of this environment, whatever the PATH is."""
    return [sys.executable, "-m", "paddleflow.cli", *words]


def run(line: str, *, typed: str = "", refused: bool = False, **environment: str) -> None:
    """Shows a command, runs it, and sees that it succeeds, or is refused."""
    shown = "".join(f"{name}={value} " for name, value in environment.items() if name != "PADDLEFLOW_PASSWORD")
    print(f"\n$ {shown}paddleflow {line}", flush=True)
    done = subprocess.run(
        command(*shlex.split(line)),
        input=typed or None,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    if (done.returncode != 0) is not refused:
        sys.exit(f"this should have been {'refused' if refused else 'done'}")


def answer(line: str, *, typed: str = "") -> str:
    """Shows a command and its answer, without how far it was meanwhile. The answer is returned too."""
    print(f"\n$ paddleflow {line}", flush=True)
    done = subprocess.run(command(*shlex.split(line)), input=typed or None, capture_output=True, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(f"{done.stderr}this should have been done")
    return done.stdout


class Beside:
    """A command that runs beside the demo; its lines appear as they come, behind its name."""

    def __init__(self, name: str, output: TextIO) -> None:
        self._name = name
        self._output = output
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._output:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def tell(self, count: int) -> None:
        """Prints the next lines, as soon as they are there."""
        for _ in range(count):
            self._next()

    def until(self, text: str) -> None:
        """Prints lines up to the first with this text."""
        while text not in self._next():
            pass

    def _next(self) -> str:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            sys.exit(f"nothing came from {self._name} for {PATIENCE:.0f} s")
        if line is None:
            sys.exit(f"{self._name} ended too early")
        print(f"    {self._name} | {line}", flush=True)
        return line


@contextmanager
def beside(name: str, line: str) -> Iterator[Beside]:
    """Runs a command beside what is done meanwhile."""
    print(f"\n$ paddleflow {line} &", flush=True)
    with subprocess.Popen(command(*shlex.split(line)), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Beside(name, cast("TextIO", process.stdout))
        finally:
            process.terminate()
