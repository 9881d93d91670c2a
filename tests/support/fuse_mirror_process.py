"""A process that serves a mirror of a folder; beside it, files that make trouble."""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from pf_fuse.kernel.backing import OwnRegistry
from pf_fuse.kernel.features import LINUX, LOCKS, USUAL, Feature
from pf_fuse.kernel.mounting import MountOptions, begin_mount
from pf_fuse.kernel.transport import Transport
from pf_fuse.operations import TOP, Answer, Attributes, Bytes, Caller, Kernel, Known, Named, Opened, Operations, Reach
from support.fuse_mirror import Manners, Mirror

T = TypeVar("T")

SLOWLY = 0.6
"""Seconds."""
MADE_UP = 1 << 40
"""Nodes above this one are those of files that are only listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounting:
    """What is mounted where and how."""

    root: str
    place: str
    linux: str = ""
    """An older kernel that is to be pretended."""
    without: int = 0
    """Features that are not wanted."""
    later: bool = False
    """Nothing is answered at once."""
    options: dict[str, object] = field(default_factory=dict)
    manners: dict[str, object] = field(default_factory=dict)

    def encode(self) -> str:
        return json.dumps(asdict(self))


class Troublesome(Mirror):
    """What names begin with says what happens."""

    def __init__(self, root: Path, manners: Manners) -> None:
        super().__init__(root, manners)
        self._threads = ThreadPoolExecutor(16)

    def lookup(self, caller: Caller, folder: int, name: bytes) -> Answer[Known]:
        if name == b"raises":
            raise ValueError("a fault")
        if name == b"raises-later":
            return failed(ValueError("a later fault"))
        if name == b"resolves-nothing":
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        if name == b"fails-without-number":
            raise TimeoutError
        if name.startswith(b"fails-"):
            raise OSError(int(name[6:]), "as asked for")
        if name.startswith(b"fails_later-"):
            return failed(OSError(int(name[12:]), "as asked for"))
        if name.startswith(b"ask-"):
            return self._ask(name)
        if name.startswith(b"slowly-"):
            return later(SLOWLY, self._told(self._path(folder, name)))
        return super().lookup(caller, folder, name)

    def open(self, caller: Caller, node: int, flags: int) -> Answer[Opened]:
        opened = super().open(caller, node, flags)
        if os.path.basename(self._paths[node]) == b"opens-slowly":
            assert not isinstance(opened, Future)
            return later(SLOWLY, opened)
        return opened

    def read(self, node: int, offset: int, size: int) -> Answer[Bytes]:
        name = os.path.basename(self._paths[node])
        if name == b"never":
            return Future()
        if name == b"too-much":
            return bytes(size + 1)
        data = super().read(node, offset, size)
        if name == b"scattered":
            return self._threads.submit(scattered, self._file(node), offset, size)
        if name == b"later":
            assert not isinstance(data, Future)
            return later(0.02, data)
        return data

    def readdir(self, node: int, place: int, count: int) -> Answer[Sequence[Named]]:
        name = os.path.basename(self._paths[node])
        if not name.startswith(b"made-up-"):
            return super().readdir(node, place, count)
        places = range(place + 1, min(place + count, int(name[8:])) + 1)
        self.told.update(MADE_UP + number for number in places)
        return [Named(b"file-%06d" % number, number, made_up(number)) for number in places]

    def mkdir(self, caller: Caller, folder: int, name: bytes, mode: int) -> Answer[Known]:
        if name.startswith(b"forgets-"):
            self.kernel.forget_data(folder)
            self.kernel.forget_name(folder, name)
        return super().mkdir(caller, folder, name, mode)

    def _ask(self, name: bytes) -> Known:
        """The test asks for something: what, which, and a number that is used once."""
        kernel = self.kernel
        assert isinstance(kernel, Transport)
        _, what, which, _ = os.fsdecode(name).split("-", 3)
        match what:
            case "statistics":
                self._write_statistics(kernel, which)
            case "forget_data":
                kernel.forget_data(self._nodes[os.stat(Path(os.fsdecode(self._root), which)).st_ino])
            case "forget_name":
                kernel.forget_name(TOP, os.fsencode(which))
            case "log":
                kernel.accesses.begin(f"{os.fsdecode(self._root)}.{which}") if which else kernel.accesses.end()
        return Known(None, 0, 0)

    def _write_statistics(self, kernel: Transport, name: str) -> None:
        found = {name: asdict(figure) for name, figure in kernel.figures.now().items()}
        told = {str(node): count for node, count in self.told.items()}
        opened = self._opened.total()
        text = json.dumps({"figures": found, "told": told, "opened": opened, "waiting": kernel.waiting})
        Path(os.fsdecode(self._root)).with_name(name).write_text(text)


class Later:
    """Operations that answer nothing at once, but from another thread."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._thread = ThreadPoolExecutor(1)

    def begin(self, kernel: Kernel) -> None:
        self._operations.begin(kernel)

    def end(self) -> None:
        self._thread.shutdown()
        self._operations.end()

    def write(self, node: int, offset: int, data: memoryview, flags: int) -> Future[object]:
        return self._soon("write", node, offset, bytes(data), flags)

    def __getattr__(self, name: str) -> Callable[..., Future[object]]:
        return partial(self._soon, name)

    def _soon(self, name: str, *arguments: object) -> Future[object]:
        future: Future[object] = Future()
        self._thread.submit(self._now, future, partial(getattr(self._operations, name), *arguments))
        return future

    def _now(self, future: Future[object], operation: Callable[[], object]) -> None:
        try:
            answer = operation()
        except Exception as failure:  # noqa: BLE001  # whatever it is, the future says it
            future.set_exception(failure)
            return
        if isinstance(answer, Future):
            answer.add_done_callback(partial(hand_on, future))
            future.add_done_callback(lambda given_up: given_up.cancelled() and answer.cancel())
        else:
            future.set_result(answer)


def hand_on(to: Future[object], answered: Future[object]) -> None:
    with suppress(InvalidStateError):
        if answered.cancelled():
            to.cancel()
        elif failure := answered.exception():
            to.set_exception(failure)
        else:
            to.set_result(answered.result())


def scattered(descriptor: int, offset: int, size: int) -> bytes:
    """Answers come in another order than they were asked for."""
    time.sleep(random.random() * 0.004)
    return os.pread(descriptor, size, offset)


def made_up(number: int) -> Known:
    return Known(Attributes(MADE_UP + number, 0o100644, 0, 0, 0, 0, 0, 0), 60, 60)


def failed(failure: Exception) -> Future[Known]:
    future: Future[Known] = Future()
    future.set_exception(failure)
    return future


def later(seconds: float, answer: T) -> Future[T]:
    future: Future[T] = Future()
    threading.Timer(seconds, future.set_result, (answer,)).start()
    return future


def main(text: str) -> None:
    told = Mounting(**json.loads(text))
    options = MountOptions(**told.options)  # type: ignore[arg-type]  # a test's own
    wanted = Feature(int(USUAL | LOCKS) & ~told.without)
    device, agreement = begin_mount(Path(told.place), options, wanted, LINUX.get(told.linux))
    manners = dict(told.manners)
    manners["reach"] = Reach(int(manners.get("reach", 0)))  # type: ignore[call-overload]  # a test's own
    mirror = Troublesome(Path(told.root), Manners(**manners))  # type: ignore[arg-type]  # as above
    operations: Operations = Later(mirror) if told.later else mirror  # type: ignore[assignment]  # by __getattr__
    transport = Transport(device, agreement, operations, OwnRegistry(device) if os.geteuid() == 0 else None)
    sys.stdout.write(json.dumps({"minor": agreement.minor, "features": int(agreement.features)}) + "\n")
    sys.stdout.flush()
    gc.freeze()
    transport.serve()
    assert mirror.ended


if __name__ == "__main__":
    main(sys.argv[1])
