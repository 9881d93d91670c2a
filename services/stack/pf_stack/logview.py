"""Shows the log files of a stack."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pf_kit.embedded.refusal import Refusal
from pf_stack.layout import Layout

POLL_SECONDS = 0.2
BLOCK = 65_536
"""Bytes read at once from the end of a file."""


def log_files(layout: Layout, names: Sequence[str]) -> Mapping[str, Path]:
    """The logs of these processes, or all there are."""
    known = {file.stem: file for file in sorted(layout.logs.glob("*.log"))} if layout.logs.exists() else {}
    unknown = [name for name in names if name not in known]
    if unknown:
        there = ", ".join(known) or "none yet"
        raise Refusal(f"there is no log of {', '.join(unknown)}", f"There are logs of: {there}")
    return {name: known[name] for name in (names or known)}


def tail(file: Path, count: int) -> list[str]:
    """The last lines of a file."""
    with file.open("rb") as log:
        position, text = log.seek(0, 2), b""
        while position > 0 and text.count(b"\n") <= count:
            step = min(BLOCK, position)
            position -= step
            log.seek(position)
            text = log.read(step) + text
    return text.decode(errors="replace").splitlines()[-count:] if count else []


def follow(file: Path) -> Iterator[str | None]:
    """Lines as they are written from now on; None while there is nothing new. Starts anew when the file is emptied."""
    with file.open("rb") as log:
        log.seek(0, 2)
        begun = b""
        while True:
            if file.stat().st_size < log.tell():
                log.seek(0)
            line = begun + log.readline()
            if line.endswith(b"\n"):
                begun = b""
                yield line.decode(errors="replace").rstrip("\n")
            else:
                begun = line
                yield None


def follow_all(files: Mapping[str, Path], show: Callable[[str, str], None]) -> None:
    """Shows what is written to any of the files, until it is interrupted."""
    readers = {name: follow(file) for name, file in files.items()}
    while True:
        lines = [(name, next(reader)) for name, reader in readers.items()]
        for name, line in lines:
            if line is not None:
                show(name, line)
        if all(line is None for _, line in lines):
            time.sleep(POLL_SECONDS)
