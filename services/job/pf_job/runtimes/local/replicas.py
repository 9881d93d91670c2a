"""All replicas that a runner knows: those that run, and those that are over and not forgotten."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pf_job.runtimes.local import files, groups, init, layout, records
from pf_job.runtimes.local.accelerators import Accelerators
from pf_job.runtimes.local.adoption import Found
from pf_job.runtimes.local.gauges import Gauge
from pf_job.runtimes.local.keeper import Keeper
from pf_job.runtimes.local.loop import Loop, now
from pf_job.runtimes.local.meter import Meter
from pf_job.runtimes.local.processes import children_of
from pf_job.runtimes.local.records import Ending, Forgotten, Order, Process, Record, Refusal, Seen, Stop, seen
from pf_job.runtimes.local.slots import Slots
from pf_job.runtimes.local.starting import Site, Starter, make_folder

LAST_WAIT = 2.0
"""Seconds an init has to kill its replica before it is killed itself."""


@dataclass(slots=True)
class Running:
    """A replica that has an init."""

    record: Record
    process: Process
    handle: int
    deadline: float | None = None
    """When it has to have ended."""
    forced: bool = False
    """Its init was killed, so that nobody writes down how it ended."""


class Replicas:
    """Starts, stops and forgets replicas; tells of each change."""

    def __init__(
        self,
        loop: Loop,
        site: Site,
        starter: Starter,
        keeper: Keeper,
        meter: Meter,
        devices: Accelerators,
        slots: Slots,
        tell: Callable[[Seen], None],
    ) -> None:
        self._loop = loop
        self._site = site
        self._starter = starter
        self._keeper = keeper
        self._meter = meter
        self._devices = devices
        self._slots = slots
        self._tell = tell
        self._running: dict[str, Running] = {}
        self._over: dict[str, Seen] = {}
        self._refused: dict[str, Refusal] = {}

    @property
    def are_over(self) -> bool:
        """True if none of them runs."""
        return not self._running

    def all(self) -> Iterator[Seen]:
        for name, replica in self._running.items():
            yield seen(name, replica.record, replica.process, None)
        yield from self._over.values()

    def adopt(self, found: Found) -> None:
        """Takes on what a runner before this one has left."""
        if found.record.refusal is not None:
            self._refused[found.name] = found.record.refusal
        elif found.ending is not None:
            self._over[found.name] = seen(found.name, found.record, found.process, found.ending)
        elif found.process is None or found.handle is None:
            self._lose(found.name, found.record, found.process)
        else:
            self._devices.claim(found.record.accelerators)
            self._slots.claim(found.record.slot)
            self._enter(found.name, Running(found.record, found.process, found.handle))
            if found.deadline is not None:
                self.stop(found.name, found.deadline)

    def start(self, order: Order) -> Refusal | None:
        """Starts what was never started; why not, if it never will be."""
        if order.name in self._running or order.name in self._over or self._is_forgotten(order.name):
            return None
        refusal = self._refused.get(order.name) or self._starter.refusal(order)
        if refusal is None:
            started = self._starter.start(order)
            if not isinstance(started, Refusal):
                replica = Running(started.record, started.process, started.handle)
                self._enter(order.name, replica)
                self._tell(seen(order.name, replica.record, replica.process, None))
                return None
            refusal = started
        self._refuse(order.name, refusal)
        return refusal

    def stop(self, name: str, deadline: float) -> bool:
        """Has it end until then, by the clock of the machine's life; False if it has not begun, and never will."""
        replica = self._running.get(name)
        if replica is not None:
            self._end_by(name, replica, deadline)
        elif name not in self._over and not self._is_forgotten(name):
            self._refuse(name, Refusal("FAILED_PRECONDITION", "it was stopped before it was started"))
        return name not in self._refused

    def _end_by(self, name: str, replica: Running, deadline: float) -> None:
        if replica.deadline is not None and replica.deadline <= deadline:
            return
        is_first, replica.deadline = replica.deadline is None, deadline
        # On a full disk it ends as well; only a runner that comes after this one would not know that it has to.
        with suppress(OSError):
            self._write_deadline(name, deadline)
        self._site.passed("stop written")
        if is_first and deadline > now():
            _signal(replica, signal.SIGTERM)
        self._loop.call_at(deadline, lambda: self._kill(name, replica))

    def forget(self, name: str) -> None:
        if name not in self._running and layout.decompose(name) is not None:
            self._over.pop(name, None)
            self._refused.pop(name, None)
            with suppress(FileNotFoundError):
                forget(self._site.path(name), self._site.passed)

    def drop_log(self, name: str) -> None:
        if name not in self._running and layout.decompose(name) is not None:
            with suppress(FileNotFoundError):
                drop_log(self._site.path(name))

    def _is_forgotten(self, name: str) -> bool:
        try:
            with open(f"{self._site.path(name)}/{layout.RECORD}", "rb") as file:
                return records.read(file.read()).forgotten
        except FileNotFoundError:
            return False

    def _refuse(self, name: str, refusal: Refusal) -> None:
        """Writes down that it will never be started."""
        if layout.decompose(name) is None or name in self._refused:
            return
        folder = make_folder(self._site, name)
        try:
            line = records.write(Record(boot=self._site.boot, refusal=refusal))
            files.add(folder, layout.RECORD, line, lasting=True)
        finally:
            os.close(folder)
        self._refused[name] = refusal

    def _write_deadline(self, name: str, deadline: float) -> None:
        folder = files.open_folder(self._site.path(name))
        try:
            files.add(folder, layout.RECORD, records.write(Stop(deadline)), lasting=False)
        finally:
            os.close(folder)

    def _enter(self, name: str, replica: Running) -> None:
        self._running[name] = replica
        self._loop.watch(replica.handle, lambda _: self._ended(name, replica))
        path, record, process = self._site.path(name), replica.record, replica.process
        self._keeper.begin(name, path, record.log)
        gauge = Gauge(process.pid, record.groups)
        self._meter.begin(name, path, gauge, record.accelerators, process.started)

    def _kill(self, name: str, replica: Running) -> None:
        if self._running.get(name) is replica and replica.deadline is not None and replica.deadline <= now():
            _signal(replica, init.KILL)
            self._loop.call_at(now() + LAST_WAIT, lambda: self._force(name, replica))

    def _force(self, name: str, replica: Running) -> None:
        if self._running.get(name) is replica:
            replica.forced = True
            _signal(replica, signal.SIGKILL)

    def _ended(self, name: str, replica: Running) -> None:
        del self._running[name]
        self._loop.unwatch(replica.handle)
        os.close(replica.handle)
        _reap()
        self._site.passed("end seen")
        self._keeper.end(name)
        self._meter.end(name)
        ending = self._ending(name, replica)
        self._devices.give_back(replica.record.accelerators)
        self._slots.give_back(replica.record.slot)
        if ending.lost or replica.forced:
            self._clear(replica.record.groups)
        self._over[name] = seen(name, replica.record, replica.process, ending)
        self._tell(self._over[name])

    def _ending(self, name: str, replica: Running) -> Ending:
        folder = files.open_folder(self._site.path(name))
        try:
            written = records.read(files.get(folder, layout.RECORD) or b"").ending
            if written is not None:
                return written
            return _close(folder, replica.record, replica.forced)
        finally:
            os.close(folder)

    def _lose(self, name: str, record: Record, process: Process | None) -> None:
        folder = files.open_folder(self._site.path(name))
        try:
            ending = _close(folder, record, forced=False)
        finally:
            os.close(folder)
        self._over[name] = seen(name, record, process, ending)

    def _clear(self, folders: Sequence[str]) -> None:
        """Kills what is left of a replica whose init was killed, and removes its groups and files.

        Its processes have become ours, if the init was; the groups know the others.
        """
        inits = {replica.process.pid for replica in self._running.values()}
        strays = {*children_of(os.getpid(), inits), *groups.members(folders)}
        for pid in strays:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        if strays:
            self._loop.call_at(now() + 0.1, lambda: self._clear(folders))
        else:
            groups.remove(folders)
            self._slots.clean()


def _signal(replica: Running, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(replica.handle, number)


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _close(folder: int, record: Record, forced: bool) -> Ending:
    """Writes the end of a replica whose init could not."""
    groups.remove(record.groups)
    ended = time.time_ns() // 1_000
    if forced:
        ending = Ending(ended=ended, signal=signal.SIGKILL, message="killed by force: its time was over")
    else:
        ending = Ending(
            ended=ended, lost=True, message="the process that looked after it is gone; how it ended is unknown"
        )
    # On a full disk the next runner finds the same.
    with suppress(OSError):
        files.add(folder, layout.RECORD, records.write(ending), lasting=True)
    return ending


def forget(path: str, passed: Callable[[str], None]) -> None:
    """Leaves nothing of a replica but its log, and a mark that it was there."""
    folder = files.open_folder(path)
    try:
        files.add(folder, layout.RECORD, records.write(Forgotten()), lasting=False)
        passed("forgotten")
        has_log = files.exists(folder, layout.LOG)
    finally:
        os.close(folder)
    if not has_log:
        remove_folder(path)


def drop_log(path: str) -> None:
    folder = files.open_folder(path)
    try:
        for name in (layout.LOG, layout.INDEX, layout.USAGE):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        is_forgotten = records.read(files.get(folder, layout.RECORD) or b"").forgotten
    finally:
        os.close(folder)
    if is_forgotten:
        remove_folder(path)


def remove_folder(path: str) -> None:
    """Removes the folder of a replica."""
    parent, _, name = path.rpartition("/")
    folder = files.open_folder(parent)
    files.remove_tree(folder, name)
    os.close(folder)
