"""What can be run as a part of a stack, and how to run one part for a while."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from pf_kit.embedded.child import Child, Program
from pf_kit.embedded.refusal import Refusal


class Component(Protocol):
    """A part of a stack."""

    @property
    def name(self) -> str:
        """Names it to the user."""

    @property
    def start_seconds(self) -> float:
        """How long it may take to be ready before it counts as stuck."""

    async def prepare(self) -> None:
        """Makes ready what a start needs, before each start. Raises Refusal if that is up to the user."""

    def program(self) -> Program:
        """What to run."""

    async def wait_ready(self, child: Child, /) -> None:
        """Waits, without end, until the started child serves."""


@asynccontextmanager
async def running(component: Component, log: Path) -> AsyncIterator[Child]:
    """Runs a component within the block. Raises Refusal if it dies before it is ready."""
    await component.prepare()
    with log.open("ab") as output:
        child = Child(component.program(), log=output.fileno())
    try:
        if not await serves(component, child):
            raise Refusal(f"{component.name} does not start:\n{last_lines(log)}", f"The whole log: {log}")
        yield child
    finally:
        await child.stop()


async def serves(component: Component, child: Child) -> bool:
    """True once a started child is ready, False if it dies instead or takes too long."""
    ready = asyncio.ensure_future(component.wait_ready(child))
    dead = asyncio.ensure_future(child.wait())
    try:
        patience = component.start_seconds
        await asyncio.wait({ready, dead}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            ready.result()
        return ready.done() and not dead.done()
    finally:
        ready.cancel()
        dead.cancel()


async def complete(program: Program, *, said: str) -> None:
    """Runs a program to its end, with something said on its input. Raises Refusal with what it answered if it fails."""
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(said.encode())
        question.seek(0)
        status = await _run(program, question.fileno(), answer.fileno())
        answer.seek(0)
        answered = answer.read().decode(errors="replace").strip()
    if status != 0:
        raise Refusal(f"{Path(program.argv[0]).name} failed with status {status}:\n{answered}", "Mend what it says.")


async def _run(program: Program, question: int, answer: int) -> int:
    child = Child(program, log=answer, stdin=question)
    try:
        return await child.wait()
    except asyncio.CancelledError:
        await child.stop()
        raise


def last_lines(log: Path, lines: int = 10) -> str:
    """The end of a log file."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 16_384))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
