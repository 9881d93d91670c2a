"""Load on a stack, a watcher beside it, and a killer of its processes."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random

import psutil

from paddleflow.aio import AsyncPaddleFlow
from paddleflow.connection import Connection
from paddleflow.models.queues import Queue
from paddleflow.models.watches import Bookmark, Change, Reset
from paddleflow.problems import DeadlineExceeded, Unavailable
from pf_stack.layout import Layout
from pf_stack.state import running_state
from support.stacks import Stack

Told = tuple[str, int]
"""What happened to a queue, and how much cpu it has after it."""

BACKEND = "a backend of postgres"
TARGETS = ("postgres", BACKEND, "valkey", "queue", "queue", "supervisor")
PAUSE = (0.1, 1.2)
"""Shortest and longest seconds between two kills: some hit what is only just starting again."""


def connect(stack: Stack) -> AsyncPaddleFlow:
    """A client that finds the stack wherever it listens, as the socket stays where it is, and that never gives up."""
    entry = stack.entry
    socket = Layout(stack.data, is_default=False).socket("queue")
    return AsyncPaddleFlow(Connection(f"unix:{socket}", user=entry.name, password=entry.password, patience=math.inf))


@dataclass(slots=True)
class Ledger:
    """What was acknowledged, by queue, in order."""

    told: dict[str, list[Told]] = field(default_factory=lambda: defaultdict(list))
    retries: int = 0

    @property
    def present(self) -> dict[str, int]:
        """The queues that must be there, with their cpu."""
        return {name: told[-1][1] for name, told in self.told.items() if told[-1][0] != "deleted"}

    @property
    def changes(self) -> int:
        return sum(map(len, self.told.values()))


class Worker:
    """Makes, changes and removes queues of its own, one acknowledged change after the other."""

    def __init__(self, name: str, client: AsyncPaddleFlow, ledger: Ledger, chance: Random) -> None:
        self._name = name
        self._client = client
        self._ledger = ledger
        self._chance = chance

    async def run(self, stop: asyncio.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            await self._live(f"chaos-{self._name}-{number}")

    async def _live(self, name: str) -> None:
        """The life of one queue."""
        queues, cpu = self._client.queues, 1000
        await self._once(partial(queues.create, Queue(name, max={"cpu": cpu})))
        self._ledger.told[name].append(("created", cpu))
        for _ in range(self._chance.randrange(4)):
            cpu += 1000
            await self._once(partial(queues.update, name, max={"cpu": cpu}))
            self._ledger.told[name].append(("updated", cpu))
        if self._chance.random() < 0.5:
            await self._once(partial(queues.delete, name))
            self._ledger.told[name].append(("deleted", cpu))

    async def _once(self, call: Callable[..., Awaitable[object]]) -> None:
        """Repeats one and the same request until it is acknowledged, as a program does that must know."""
        request_id = str(uuid.uuid4())
        while True:
            try:
                await call(request_id=request_id)
                return
            except (Unavailable, DeadlineExceeded):
                self._ledger.retries += 1
                await asyncio.sleep(0.05)


class Watcher:
    """Writes down every change it is told of."""

    def __init__(self, client: AsyncPaddleFlow) -> None:
        self._client = client
        self.told: dict[str, list[Told]] = defaultdict(list)
        self.caught_up = asyncio.Event()

    async def run(self, last: str) -> None:
        """Watches until a queue of this name is made."""
        async for item in self._client.queues.watch():
            match item:
                case Bookmark(caught_up=True):
                    self.caught_up.set()
                case Reset():
                    raise AssertionError("the watch lost its place")
                case Change(kind=kind, value=queue) if queue.name == last:
                    assert kind == "created"
                    return
                case Change(kind=kind, value=queue) if queue.name.startswith("chaos-"):
                    self.told[queue.name].append((str(kind), queue.max["cpu"]))


class Killer:
    """Kills processes of a stack, and starts the stack again when it killed the supervisor."""

    def __init__(self, stack: Stack, chance: Random) -> None:
        self._stack = stack
        self._chance = chance
        self.killed: list[str] = []

    async def run(self, kills: int) -> None:
        while len(self.killed) < kills:
            await asyncio.sleep(self._chance.uniform(*PAUSE))
            target = self._chance.choice(TARGETS)
            pid = self._victim(target)
            if pid is None:
                continue
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed.append(target)
            if target == "supervisor":
                await asyncio.to_thread(self._stack.pf, "up")

    def _victim(self, target: str) -> int | None:
        """A process of this kind, if one runs."""
        state = running_state(self._stack.data / "state.json")
        if state is None:
            return None
        pids = {process.name: process.identity.pid for process in state.processes if process.identity is not None}
        pids["supervisor"] = state.supervisor.pid
        return self._backend(pids.get("postgres")) if target == BACKEND else pids.get(target)

    def _backend(self, postmaster: int | None) -> int | None:
        """One of the processes behind the main one of Postgres: those that serve, write, clean."""
        try:
            children = psutil.Process(postmaster).children() if postmaster is not None else []
        except psutil.NoSuchProcess:
            return None
        return self._chance.choice(children).pid if children else None
