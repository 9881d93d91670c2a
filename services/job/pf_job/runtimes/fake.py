"""A runtime in memory, for tests: it understands a few commands of a shell, and fails as often as it is told to."""

from __future__ import annotations

import asyncio
import random
import shlex
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddleflow.problems import FailedPrecondition, InvalidArgument, NotFound, ResourceExhausted, Unavailable
from pf_job.runtimes.port import Launch, LogRange, Machine, Phase, Refused, ReplicaKey, Sample, Sighting, Usage

MACHINE = "fake"
TERM, KILL = 15, 9
STEP = 1_000_000
"""Microseconds between two looks at what a replica uses."""
NETWORK = "networks are not measured: there are none"


@dataclass(slots=True)
class Faults:
    """How often calls fail: of each kind so many in a thousand, by chance."""

    chance: random.Random
    before: int = 0
    """Calls that fail and have no effect."""
    after: int = 0
    """Calls that fail although they had their effect."""
    broken: int = 0
    """Messages of a watch after which it breaks."""

    def strikes(self, rate: int) -> bool:
        return self.chance.randrange(1_000) < rate


@dataclass(slots=True)
class Running:
    """A replica, as it is now."""

    launch: Launch
    seen: Sighting
    stubborn: bool = False
    """It does not heed being told to end."""
    task: asyncio.Task[None] | None = None


@dataclass(slots=True)
class Log:
    """What a replica has written, and what is kept of it."""

    limit: int | None
    written: bytearray = field(default_factory=bytearray)
    marks: list[tuple[int, int]] = field(default_factory=list)

    @property
    def kept_from(self) -> int:
        return 0 if self.limit is None else max(0, len(self.written) - self.limit)


class FakeRuntime:
    """Runs nothing, and tells of it as if it did.

    It knows `sh -c` with the commands `exit`, `echo`, `sleep`, `true`, `trap '' TERM` and `kill -9 $$`, parted by
    semicolons; another program is not found.
    """

    def __init__(self, faults: Faults | None = None, accelerators: int = 0) -> None:
        self._faults = faults or Faults(random.Random(0))  # noqa: S311 - chance needs a seed here, not secrecy
        self._free = set(range(accelerators))
        self._accelerators = accelerators
        self._replicas: dict[ReplicaKey, Running] = {}
        self._refused: dict[ReplicaKey, Refused] = {}
        self._logs: dict[ReplicaKey, Log] = {}
        self._forgotten: set[ReplicaKey] = set()
        self._watches: set[asyncio.Queue[Sequence[Sighting] | None]] = set()
        self.begun: list[ReplicaKey] = []
        """All that were ever started, in order; none may be in it twice."""

    async def start(self, launches: Sequence[Launch]) -> Sequence[Refused]:
        self._fail(self._faults.before)
        refused = [refusal for launch in launches if (refusal := self._start(launch)) is not None]
        self._fail(self._faults.after)
        return refused

    async def stop(self, keys: Sequence[ReplicaKey], grace: int) -> Sequence[ReplicaKey]:
        self._fail(self._faults.before)
        for key in keys:
            self._stop(key, grace / 1e6)
        self._fail(self._faults.after)
        return [key for key in keys if key in self._refused]

    async def watch(self) -> AsyncIterator[Sequence[Sighting]]:
        self._fail(self._faults.before)
        queue: asyncio.Queue[Sequence[Sighting] | None] = asyncio.Queue()
        self._watches.add(queue)
        now = [replica.seen for replica in self._replicas.values()]
        try:
            if now:
                yield now
            yield []
            while (told := await queue.get()) is not None:
                yield told
                self._fail(self._faults.broken)
            raise Unavailable("the fake runtime is gone")
        finally:
            self._watches.discard(queue)

    async def forget(self, keys: Sequence[ReplicaKey]) -> None:
        self._fail(self._faults.before)
        for key in keys:
            self._refused.pop(key, None)
            if key in self._replicas and self._is_over(key):
                del self._replicas[key]
                if key in self._logs:
                    self._forgotten.add(key)
        self._fail(self._faults.after)

    async def read_log(self, key: ReplicaKey, offset: int, size: int) -> LogRange:
        log = self._log(key)
        start = max(0, log.kept_from, offset + len(log.written) if offset < 0 else offset)
        data = bytes(log.written[start : start + size])
        end = self._is_over(key) and start + len(data) >= len(log.written)
        return LogRange(offset=start, data=data, end=end, kept_from=log.kept_from)

    async def log_offset(self, key: ReplicaKey, time: int) -> int:
        log = self._log(key)
        return next((offset for written, offset in log.marks if written >= time), len(log.written))

    async def wait_log(self, key: ReplicaKey, offset: int, patience: int) -> None:
        deadline = time.monotonic() + patience / 1e6
        while time.monotonic() < deadline and not self._is_over(key):
            if key in self._logs and len(self._logs[key].written) > offset:
                return
            await asyncio.sleep(0.005)

    async def usage(self, key: ReplicaKey) -> Usage:
        self._log(key)
        replica = self._replicas.get(key)
        if replica is None or replica.seen.started is None:
            raise NotFound(f"nothing is known of what {key} used")
        last = replica.seen.ended or _now()
        samples = range(replica.seen.started, last, STEP)
        return Usage([_sample(replica.seen.started, time) for time in (*samples, last)], (NETWORK,))

    async def drop_logs(self, keys: Sequence[ReplicaKey]) -> None:
        self._fail(self._faults.before)
        for key in keys:
            if self._is_over(key):
                self._logs.pop(key, None)
                self._forgotten.discard(key)
        self._fail(self._faults.after)

    async def machines(self) -> Sequence[Machine]:
        self._fail(self._faults.before)
        capacity = {"cpu": 4_000, "memory": 2**33}
        devices = {"nvidia.com/gpu": self._accelerators} if self._accelerators else {}
        return [Machine(name=MACHINE, capacity={**capacity, **devices})]

    def lose(self, key: ReplicaKey) -> None:
        """Its machine is gone, and with it how it ended."""
        self._end(self._replicas[key], Phase.LOST, message="its machine is gone")

    def end(self, key: ReplicaKey, status: int) -> None:
        """It ends by itself."""
        self._end(self._replicas[key], Phase.ENDED, status=status)

    def break_watches(self) -> None:
        """Ends all watches, as a runtime does that is started anew."""
        for queue in self._watches:
            queue.put_nowait(None)

    def _fail(self, rate: int) -> None:
        if self._faults.strikes(rate):
            raise Unavailable("the fake runtime fails by chance")

    def _start(self, launch: Launch) -> Refused | None:
        key = launch.key
        if key in self._replicas or key in self._forgotten:
            return None
        if key not in self._refused:
            problem = self._fault(launch)
            if problem is None:
                self._begin(launch)
                return None
            self._refused[key] = Refused(key, problem)
        return self._refused[key]

    def _fault(self, launch: Launch) -> InvalidArgument | FailedPrecondition | ResourceExhausted | None:
        if not launch.argv or not launch.cwd.startswith("/"):
            return InvalidArgument("there is no program to run, or no place to run it in")
        if launch.accelerators > self._accelerators:
            return FailedPrecondition("there are not so many accelerators")
        if launch.accelerators > len(self._free):
            return ResourceExhausted("too few accelerators are free")
        return None

    def _begin(self, launch: Launch) -> None:
        devices = tuple(sorted(self._free)[: launch.accelerators])
        self._free.difference_update(devices)
        seen = Sighting(key=launch.key, phase=Phase.RUNNING, machine=MACHINE, accelerators=devices, started=_now())
        replica = self._replicas[launch.key] = Running(launch, seen)
        self._logs[launch.key] = Log(launch.ceiling.log)
        self.begun.append(launch.key)
        self._tell(replica)
        replica.task = asyncio.create_task(self._run(replica))

    async def _run(self, replica: Running) -> None:
        match list(replica.launch.argv):
            case ["sh", "-c", script]:
                status = 0
                for command in script.split("; "):
                    status = await self._command(replica, shlex.split(command))
                    if command.startswith("exit"):
                        break
                self._end(replica, Phase.ENDED, status=status)
            case [name, *_]:
                self._end(replica, Phase.ENDED, status=127, message=f"the program {name} was not found")

    async def _command(self, replica: Running, words: Sequence[str]) -> int:
        match words:
            case ["exit", status]:
                return int(status)
            case ["echo", *texts]:
                env = {**replica.launch.env, **replica.launch.private_env}
                self._write(replica, " ".join(_expanded(text, env) for text in texts))
            case ["sleep", seconds]:
                await asyncio.sleep(float(seconds))
            case ["trap", "", "TERM"]:
                replica.stubborn = True
            case ["kill", "-9", "$$"]:
                self._end(replica, Phase.ENDED, signal=KILL)
        return 0

    def _write(self, replica: Running, text: str) -> None:
        log = self._logs[replica.launch.key]
        log.marks.append((_now(), len(log.written)))
        log.written += text.encode() + b"\n"

    def _stop(self, key: ReplicaKey, grace: float) -> None:
        replica = self._replicas.get(key)
        if replica is None:
            if key not in self._forgotten:
                self._refused[key] = Refused(key, FailedPrecondition("it was stopped before it was started"))
        elif not self._is_over(key):
            if not replica.stubborn and grace > 0:
                self._end(replica, Phase.ENDED, signal=TERM)
            else:
                asyncio.get_running_loop().call_later(grace, self._kill, replica)

    def _kill(self, replica: Running) -> None:
        self._end(replica, Phase.ENDED, signal=KILL, message="killed: it had not ended when its time was over")

    def _end(
        self, replica: Running, phase: Phase, *, status: int | None = None, signal: int | None = None, message: str = ""
    ) -> None:
        if replica.seen.phase is not Phase.RUNNING:
            return
        replica.seen = replace(replica.seen, phase=phase, status=status, signal=signal, message=message, ended=_now())
        self._free.update(replica.seen.accelerators)
        if replica.task is not None and replica.task is not asyncio.current_task():
            replica.task.cancel()
        self._tell(replica)

    def _tell(self, replica: Running) -> None:
        for queue in self._watches:
            queue.put_nowait([replica.seen])

    def _is_over(self, key: ReplicaKey) -> bool:
        replica = self._replicas.get(key)
        return replica is None or replica.seen.phase in (Phase.ENDED, Phase.LOST)

    def _log(self, key: ReplicaKey) -> Log:
        if key not in self._logs:
            raise NotFound(f"there is no log of {key}")
        return self._logs[key]


def _expanded(text: str, env: Mapping[str, str]) -> str:
    return env.get(text[1:], "") if text.startswith("$") else text


def _sample(started: int, time: int) -> Sample:
    """Of a replica that always has half of a core."""
    return Sample(time=time, cpu=(time - started) // 2, memory=2**20 if time > started else None, read=0, written=0)


def _now() -> int:
    return time.time_ns() // 1_000
