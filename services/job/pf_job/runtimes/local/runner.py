"""The runner: the one process of a machine below which all replicas run.

Usage: python -m pf_job.runtimes.local.runner DATA_FOLDER [SETTINGS]

It returns when the runner can be spoken to, which then goes on behind it. It is small, has one thread and needs only
the standard library, since each replica begins as a fork of it. Whenever it dies, replicas go on, and the next one
takes them on.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pf_job.runtimes.local import adoption, containment, files, groups, layout, replicas
from pf_job.runtimes.local.accelerators import Accelerators, count_devices
from pf_job.runtimes.local.frames import Message
from pf_job.runtimes.local.keeper import Keeper
from pf_job.runtimes.local.kernel import become_subreaper
from pf_job.runtimes.local.loop import Loop, now
from pf_job.runtimes.local.meter import Meter
from pf_job.runtimes.local.nvml import Nvml
from pf_job.runtimes.local.processes import boot_id
from pf_job.runtimes.local.records import Order, Seen
from pf_job.runtimes.local.replicas import Replicas
from pf_job.runtimes.local.server import Connection, Server
from pf_job.runtimes.local.settings import VERSION, RunnerSettings
from pf_job.runtimes.local.slots import Slots
from pf_job.runtimes.local.starting import Site, Starter, raise_files_limit
from pf_job.runtimes.local.tenants import Tenants, UsersExhausted

LOCK_PATIENCE = 2.0
"""Seconds to wait for a runner that is just dying."""
BACKLOG = 128
MOST_TOLD = 500
"""Replicas in one message."""


class Runner:
    """What clients ask of the replicas of this machine."""

    def __init__(self, data: str, folder: int, settings: RunnerSettings, passed: Callable[[str], None]) -> None:
        self._settings = settings
        self._loop = Loop(self._flush)
        self._news: list[Seen] = []
        self._site = _site(data, folder, settings, passed)
        count = count_devices() if settings.accelerators is None else settings.accelerators
        devices = Accelerators(count)
        tenants = Tenants(folder, settings.first_uid, settings.uids) if os.geteuid() == 0 else None
        slots = Slots(f"{data}/{layout.SLOTS}")
        self._starter = starter = Starter(self._site, tenants, devices, slots)
        self._replicas = Replicas(
            self._loop,
            self._site,
            starter,
            Keeper(self._loop),
            Meter(self._loop, Nvml()),
            devices,
            slots,
            self._news.append,
        )
        self._devices = devices
        self._slots = slots
        self._server: Server | None = None

    def adopt(self) -> None:
        site, passed = self._site, self._site.passed
        for found in adoption.look(
            site.data, site.boot, replicas.remove_folder, lambda path: replicas.forget(path, passed)
        ):
            self._replicas.adopt(found)
            passed("adopted")
        self._slots.clean()

    def serve(self, listener: socket.socket) -> None:
        self._server = Server(self._loop, listener, self._heed)
        gc.collect()
        # What there is now stays as it is, so that forks can share it.
        gc.freeze()
        try:
            self._loop.run()
        finally:
            self._site.trees.close()

    def _heed(self, connection: Connection, message: Message) -> None:
        number = message.get("id")
        try:
            reply = self._do(message)
        except (OSError, KeyError, TypeError, ValueError) as problem:
            # Of the last three the client is to blame, and hears it; what was begun can be repeated.
            connection.tell({"id": number, "fault": f"the runner could not do it: {problem!r}"})
            return
        connection.tell({"id": number, "reply": reply})
        if message["do"] == "watch":
            connection.watch = number
            everything = [seen.told() for seen in self._replicas.all()]
            for start in range(0, len(everything), MOST_TOLD):
                connection.tell({"id": number, "seen": everything[start : start + MOST_TOLD]})
            connection.tell({"id": number, "seen": []})

    def _do(self, message: Message) -> Message:
        match message["do"]:
            case "hello":
                return self._hello()
            case "start":
                return {"refused": self._start([Order.of(order) for order in message["orders"]])}
            case "user":
                return {"user": self._user(message["tenant"])}
            case "stop":
                deadline = now() + message["grace"] / 1e6
                return {"unbegun": [name for name in message["names"] if not self._replicas.stop(name, deadline)]}
            case "forget":
                self._for_each(message, self._replicas.forget)
            case "drop":
                self._for_each(message, self._replicas.drop_log)
            case "watch":
                # What is told next includes it.
                self._flush()
            case "retire":
                self._loop.end()
            case "rest":
                return {"rests": self._rest()}
            case unknown:
                raise OSError(f"it does not know {unknown!r}")
        return {}

    def _user(self, tenant: str) -> int:
        try:
            return self._starter.user(tenant)
        except UsersExhausted as problem:
            raise OSError(str(problem)) from problem

    def _rest(self) -> bool:
        """Ends unless replicas run; whether it does."""
        if self._replicas.are_over:
            self._loop.end()
        return self._replicas.are_over

    def _hello(self) -> Message:
        site = self._site
        return {
            "version": VERSION,
            "settings": self._settings.encode(),
            "pid": os.getpid(),
            "accelerators": self._devices.count,
            "obstacle": site.containment.obstacle,
            "enforced": sorted(site.trees.enforced),
        }

    def _start(self, orders: Sequence[Order]) -> list[list[str]]:
        refused = []
        for order in orders:
            refusal = self._replicas.start(order)
            if refusal is not None:
                refused.append([order.name, refusal.reason, refusal.message])
        return refused

    def _for_each(self, message: Message, act: Callable[[str], None]) -> None:
        for name in message["names"]:
            act(name)

    def _flush(self) -> None:
        """Tells whoever watches what has changed since the last time."""
        if self._news and self._server is not None:
            told = [seen.told() for seen in self._news]
            for watcher in self._server.watchers():
                watcher.tell({"id": watcher.watch, "seen": told})
        self._news.clear()


def _site(data: str, folder: int, settings: RunnerSettings, passed: Callable[[str], None]) -> Site:
    containment.prepare(folder)
    found = containment.NONE_WANTED
    if settings.contained:
        found = containment.find(f"{data}/{layout.ROOT}", f"{data}/{layout.SLOTS}")
    return Site(
        data=data,
        folder=folder,
        boot=boot_id(),
        hidden=settings.hidden,
        containment=found,
        trees=groups.find(f"paddleflow-{os.stat(folder).st_ino:x}"),
        files_limit=raise_files_limit(),
        passed=passed,
    )


def _lock(folder: int) -> bool:
    """Whether this is the only runner of the folder, until it dies: children do not inherit this kind of lock."""
    handle = os.open(layout.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=folder)
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        with suppress(BlockingIOError, PermissionError):
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if _answers(folder) or time.monotonic() > deadline:
            return False
        time.sleep(0.01)


def _answers(folder: int) -> bool:
    """Whether a runner listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire, suppress(OSError):
        wire.connect(_address(folder))
        return True
    return False


def _address(folder: int) -> str:
    """The path through the handle is short, however long that of the folder is."""
    return f"/proc/self/fd/{folder}/{layout.SOCKET}"


def _listen(folder: int) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with suppress(FileNotFoundError):
        os.unlink(layout.SOCKET, dir_fd=folder)
    listener.bind(_address(folder))
    os.chmod(layout.SOCKET, 0o600, dir_fd=folder)
    listener.listen(BACKLOG)
    return listener


def main(arguments: Sequence[str], passed: Callable[[str], None]) -> None:
    """Runs until it is told to retire. `passed` is told of each step by its name."""
    data = os.path.realpath(arguments[0])
    settings = RunnerSettings.decode(arguments[1]) if len(arguments) > 1 else RunnerSettings()
    os.umask(0o077)
    os.makedirs(data, 0o700, exist_ok=True)
    folder = files.open_folder(data)
    hearing, telling = os.pipe()
    if os.fork():
        os.close(telling)
        told = files.read_all(hearing)
        sys.exit(None if told == b"ready" else told.decode() or "the runner died")
    os.close(hearing)
    os.setsid()
    # Told to end, it removes what it made for itself; replicas go on.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    become_subreaper()
    os.chdir("/")
    _run(data, folder, settings, passed, telling)


def _run(data: str, folder: int, settings: RunnerSettings, passed: Callable[[str], None], telling: int) -> None:
    if not _lock(folder):
        os.write(telling, f"another runner holds {data}".encode())
        return
    runner = Runner(data, folder, settings, passed)
    runner.adopt()
    listener = _listen(folder)
    os.write(telling, b"ready")
    os.close(telling)
    runner.serve(listener)


def nothing(_: str) -> None:
    """What is done at each step when nobody tests."""


if __name__ == "__main__":
    main(sys.argv[1:], nothing)
