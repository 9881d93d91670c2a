"""The control groups of a machine, as far as this process may use them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pf_job.runtimes.local.limits import CONTROLLERS, OPTIONAL, Limits, first_version, second_version

PATIENCE = 1.0
"""Seconds in which the kernel has let go of a group."""
COUNTING = ("io",)
"""Controllers that only count here what replicas use."""
MEMORY_EVENTS = ("memory.events", "memory.oom_control")
PROCESS_EVENTS = ("pids.events",)


@dataclass(frozen=True, slots=True)
class Trees:
    """Folders below which replicas get groups, by controller; with one tree for all, they are the same."""

    folders: Mapping[str, str]
    unified: bool

    @property
    def enforced(self) -> frozenset[str]:
        return frozenset(self.folders)

    @property
    def places(self) -> list[str]:
        return sorted(set(self.folders.values()))

    @property
    def mounts(self) -> list[str]:
        """The file systems of control groups in which those lie. Who may write elsewhere there can leave its group."""
        return sorted({_mount_of(place) for place in self.places})

    def make(self, leaf: str, limits: Limits) -> tuple[str, ...]:
        """Makes the groups of a replica; their folders. Raises OSError."""
        wanted = (second_version if self.unified else first_version)(limits)
        made = tuple(sorted({f"{self.folders[name]}/{leaf}" for name in wanted if name in self.folders}))
        try:
            for folder in made:
                Path(folder).mkdir(parents=True, exist_ok=True)
            for name, values in wanted.items():
                if name in self.folders:
                    _write(f"{self.folders[name]}/{leaf}", values)
        except OSError:
            remove(made)
            raise
        return made

    def close(self) -> None:
        """Removes the folders if no replica is left, in a process that outlives this one for a moment.

        The kernel takes some milliseconds to let go of the groups below, and nobody should wait for it.
        """
        if os.fork() == 0:
            try:
                os.closerange(3, 2**20)
                _remove_soon(self.places)
            finally:
                os._exit(0)


def _mount_of(path: str) -> str:
    while not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def _write(folder: str, values: Sequence[tuple[str, str]]) -> None:
    for name, value in values:
        try:
            Path(folder, name).write_text(value)
        except FileNotFoundError:
            if name not in OPTIONAL:
                raise


def remove(folders: Sequence[str]) -> None:
    for folder in folders:
        with suppress(OSError):
            Path(folder).rmdir()


def members(folders: Sequence[str]) -> Iterator[int]:
    """The processes in groups."""
    for folder in folders:
        with suppress(OSError):
            yield from map(int, Path(folder, "cgroup.procs").read_text().split())


def _remove_soon(folders: Sequence[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and any(map(os.path.exists, folders)):
        remove(folders)
        time.sleep(0.02)


def enter(handles: Sequence[int]) -> None:
    """Puts this process, which has one thread, into groups, whose folders are open."""
    for handle in handles:
        members = _members(handle)
        os.write(members, b"0")
        os.close(members)


def _members(folder: int) -> int:
    """The file of a group into which this thread can be written.

    The first version of control groups has one for threads. The kernel does that at once, while for a whole process it
    waits until no other one starts or ends anywhere, which takes some 10 ms.
    """
    with suppress(FileNotFoundError):
        return os.open("tasks", os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
    return os.open("cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)


def enter_all(handles: Sequence[int], members: Callable[[], Iterable[int]]) -> None:
    """Puts all of a family into groups; twice, since it may grow meanwhile."""
    for pid in (*members(), *members()):
        for handle in handles:
            with suppress(OSError):
                file = os.open("cgroup.procs", os.O_WRONLY | os.O_CLOEXEC, dir_fd=handle)
                try:
                    os.write(file, str(pid).encode())
                finally:
                    os.close(file)


def events(handles: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    """What happened in groups, whose folders are open, by the files of these names."""
    for handle in handles:
        for name in names:
            with suppress(OSError):
                found = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=handle)
                with os.fdopen(found) as file:
                    yield file.read()


def find(folder: str) -> Trees:
    """The trees in which this process may make groups, below a folder of this name. It tries."""
    mounts = [line.split()[1:4] for line in Path("/proc/mounts").read_text().splitlines()]
    own = dict(_membership(line) for line in Path("/proc/self/cgroup").read_text().splitlines())
    first = {
        name: _first(where, own.get(name, "/"), folder)
        for where, kind, options in mounts
        if kind == "cgroup"
        for name in options.split(",")
        if name in CONTROLLERS
    }
    found = {name: place for name, place in first.items() if place}
    if found:
        return Trees(found, unified=False)
    for where, kind, _ in mounts:
        if kind == "cgroup2":
            return Trees(_second(where, own.get("", "/"), folder), unified=True)
    return Trees({}, unified=True)


def _membership(line: str) -> tuple[str, str]:
    """A controller and the group this process is in; of several that share a tree, the first that counts."""
    _, controllers, path = line.split(":", 2)
    return next((name for name in controllers.split(",") if name in CONTROLLERS), controllers), path


def _first(where: str, own: str, folder: str) -> str:
    above = where + own.rstrip("/")
    place = f"{above if Path(above).is_dir() else where}/{folder}"
    try:
        Path(place).mkdir(exist_ok=True)
        os.close(os.open(f"{place}/cgroup.procs", os.O_WRONLY))
    except OSError:
        return ""
    return place


def _second(where: str, own: str, folder: str) -> Mapping[str, str]:
    """A group with processes cannot have children with limits, so ours lies beside our own, or at the top."""
    for above in (f"{where}{Path(own).parent}".rstrip("/"), where):
        place = f"{above}/{folder}"
        enabled = _enabled(place)
        if enabled:
            return dict.fromkeys(enabled, place)
    return {}


def _enabled(place: str) -> list[str]:
    above = Path(place).parent
    for name in (*CONTROLLERS, *COUNTING):
        with suppress(OSError):
            (above / "cgroup.subtree_control").write_text(f"+{name}")
    try:
        Path(place).mkdir(exist_ok=True)
        offered = Path(place, "cgroup.controllers").read_text().split()
    except OSError:
        return []
    enabled = []
    for name in CONTROLLERS:
        with suppress(OSError):
            Path(place, "cgroup.subtree_control").write_text(f"+{name}")
            enabled.append(name)
    for name in COUNTING:
        with suppress(OSError):
            Path(place, "cgroup.subtree_control").write_text(f"+{name}")
    if not set(enabled) & set(offered):
        remove([place])
        return []
    return enabled
