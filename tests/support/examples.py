"""Commands and their outputs in the pages of the documentation.

In a block that begins with ```console, a line `$ command` is a command; it goes on in lines `> …`, as shells have it.
The lines up to the next command are what it prints. `…` stands for anything within a line; a line of nothing but `…`
stands for any number of lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from subprocess import STDOUT, run

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """One command."""

    command: str
    output: str
    """What it prints, as the page has it."""

    def matches(self, printed: str) -> bool:
        return re.fullmatch(pattern(self.output), tidy(printed)) is not None


def examples(page: Path) -> Iterator[Example]:
    for block in BLOCK.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, output = split(part)
            yield Example(command, tidy(output))


def split(part: str) -> tuple[str, str]:
    """The command and its output."""
    first, *rest = part.splitlines(keepends=True)
    more = list(takewhile(lambda line: line.startswith(">"), rest))
    lines = [first, *(line.removeprefix("> ").removeprefix(">") for line in more)]
    return "".join(lines).rstrip("\n"), "".join(rest[len(more) :])


def tidy(text: str) -> str:
    """The text without what nobody sees: spaces at ends of lines, empty lines around."""
    return "".join(f"{line.rstrip()}\n" for line in text.strip().splitlines())


def pattern(output: str) -> str:
    anything, rest = r"(?:[^\n]*\n)*", r"[^\n]*"
    return "".join(
        anything if line == "…" else re.escape(line).replace("…", rest) + "\n" for line in output.splitlines()
    )


def perform(example: Example, folder: Path, environment: Mapping[str, str]) -> str:
    """What the command really prints."""
    command = ["bash", "-c", example.command]
    result = run(command, cwd=folder, env=environment, stdout=-1, stderr=STDOUT, text=True, timeout=60, check=False)
    return result.stdout
