"""The processes of a cluster's machine, those of its containers too, as its root sees them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath

from kube.machine import Machine
from support.repository import ROOT


@dataclass(frozen=True, slots=True)
class Process:
    """One that lives."""

    pid: int
    """On the machine."""
    words: Sequence[str]
    """Of its command."""
    variables: str
    """Of its environment."""

    def runs(self, *words: str) -> bool:
        """Whether these follow its program, which an interpreter may run: its path does not count."""
        told = [PurePath(word).name if number == 1 else word for number, word in enumerate(self.words)]
        return tuple(told[1 : len(words) + 1]) == words


def processes(machine: Machine) -> list[Process]:
    """All of them. They are looked at from within: outside they have other numbers."""
    command = ["env", f"PYTHONPATH={ROOT / 'tests'}", sys.executable, "-m", "kube.processes"]
    return [Process(**each) for each in json.loads(machine.run(command))]


def running(machine: Machine, *words: str) -> list[int]:
    """The numbers of those whose command has these words."""
    return [each.pid for each in processes(machine) if each.runs(*words)]


def kill(machine: Machine, pids: Sequence[int], how: str = "KILL") -> None:
    machine.run(["kill", f"-{how}", *map(str, pids)])


def found() -> list[Process]:
    every = []
    for folder in Path("/proc").iterdir():
        # They end while they are looked at.
        with suppress(OSError):
            if folder.name.isdigit():
                words = (folder / "cmdline").read_text(errors="replace").split("\0")
                every.append(Process(int(folder.name), words, (folder / "environ").read_text(errors="replace")))
    return every


if __name__ == "__main__":
    sys.stdout.write(json.dumps([asdict(each) for each in found()]))
