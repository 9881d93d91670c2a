"""What is told of long tests, besides that they passed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import run
from typing import NamedTuple

SHARE = float(os.environ.get("SOAK_SHARE", "1"))
"""How much is tried: all of it, or a share to see that the tests work (`SOAK_SHARE=0.05`)."""


class Where(NamedTuple):
    """What is mounted."""

    url: str
    properties: Mapping[str, str]


def sized(count: int, at_least: int = 1) -> int:
    """So many, or the share of it."""
    return max(at_least, round(count * SHARE))


def told(figure: str) -> None:
    """A figure for people, whether the test passes or not."""
    print(f"\n{figure}", file=sys.__stderr__, flush=True)


def ran(*command: str | Path, cwd: Path, seconds: float = 600.0) -> str:
    """What a program said; AssertionError with its last words if it failed."""
    done = run([str(each) for each in command], cwd=cwd, capture_output=True, text=True, timeout=seconds, check=False)
    assert not done.returncode, f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout
