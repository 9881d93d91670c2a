"""Starts replicas: everything that is made for one, in the order that a crash between any two steps allows."""

from __future__ import annotations

import fcntl
import os
import resource
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from pf_job.runtimes.local import accelerators, files, groups, init, layout, limits, mounts, records
from pf_job.runtimes.local.accelerators import Accelerators
from pf_job.runtimes.local.accounts import HOME, Accounts, home_of
from pf_job.runtimes.local.containment import Containment
from pf_job.runtimes.local.groups import Trees
from pf_job.runtimes.local.init import Birth
from pf_job.runtimes.local.kernel import fork_into
from pf_job.runtimes.local.limits import Limits
from pf_job.runtimes.local.program import Program
from pf_job.runtimes.local.records import Order, Process, Record, Refusal
from pf_job.runtimes.local.slots import Slot, Slots
from pf_job.runtimes.local.tenants import Tenants, UsersExhausted

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The place in which replicas are started."""

    data: str
    """The data folder; `folder` is a handle on it."""
    folder: int
    boot: str
    hidden: tuple[str, ...]
    containment: Containment
    trees: Trees
    files_limit: tuple[int, int]
    passed: Callable[[str], None]
    """Told between any two steps."""

    def path(self, name: str) -> str:
        return f"{self.data}/{layout.folder_of(name)}"


@dataclass(frozen=True, slots=True)
class Started:
    """A replica that has a process."""

    record: Record
    process: Process
    handle: int


class Starter:
    """Starts replicas."""

    def __init__(self, site: Site, tenants: Tenants | None, devices: Accelerators, slots: Slots) -> None:
        self._site = site
        self._tenants = tenants
        """None where all run as the user of the runner."""
        self._accounts = Accounts(f"{site.data}/{layout.ACCOUNTS}")
        self._devices = devices
        self._slots = slots

    def refusal(self, order: Order) -> Refusal | None:
        """Why it cannot be started."""
        fault = _fault(order)
        if fault:
            return Refusal("INVALID_ARGUMENT", fault)
        containment = self._site.containment
        if order.mounts and not containment.namespaces:
            return Refusal("FAILED_PRECONDITION", f"nothing can be mounted for it: {containment.obstacle}")
        if order.accelerators > self._devices.count:
            wanted = f"it wants {order.accelerators} accelerators, and this machine has {self._devices.count}"
            return Refusal("FAILED_PRECONDITION", wanted)
        return None

    def user(self, tenant: str) -> int:
        """Whom replicas of a tenant run as. Raises UsersExhausted."""
        return os.geteuid() if self._tenants is None else self._tenants.uid(tenant)

    def start(self, order: Order) -> Started | Refusal:
        """Starts what was not started before. Raises OSError, after which it may be tried again."""
        devices = self._devices.take(order.accelerators)
        if devices is None:
            return Refusal("RESOURCE_EXHAUSTED", f"fewer than {order.accelerators} accelerators are free")
        try:
            uid = None if self._tenants is None else self._tenants.uid(order.tenant)
        except UsersExhausted as problem:
            self._devices.give_back(devices)
            return Refusal("RESOURCE_EXHAUSTED", str(problem))
        slot = self._slots.take(uid)
        try:
            return self._start(order, devices, uid, slot)
        except OSError:
            self._devices.give_back(devices)
            self._slots.give_back(slot.number)
            groups.remove([f"{place}/{layout.leaf_of(order.name)}" for place in self._site.trees.places])
            raise

    def _start(self, order: Order, devices: tuple[int, ...], uid: int | None, slot: Slot) -> Started:
        site = self._site
        with ExitStack() as stack:
            held = tuple(_held(path, stack) for path in order.holds)
            folder = make_folder(site, order.name)
            stack.callback(os.close, folder)
            site.passed("folder made")
            log = _make_log(folder, uid, stack)
            made, missing = self._groups(order)
            record = Record(
                boot=site.boot,
                uid=os.geteuid() if uid is None else uid,
                slot=slot.number,
                accelerators=devices,
                log=order.log,
                notes=missing,
                groups=made,
                holds=order.holds,
            )
            site.passed("contents made")
            files.add(folder, layout.RECORD, records.write(record), lasting=True)
            os.fsync(folder)
            site.passed("recorded")
            handles = {path: _opened(path, stack) for path in made}
            birth = Birth(
                order=order,
                program=self._program(order, uid, devices, slot),
                folder=folder,
                log=log,
                own=_opened(slot.path, stack),
                own_path=slot.path,
                group_folders=tuple(handles.values()),
                group_places=tuple(_opened(os.path.dirname(path), stack) for path in made),
                first_groups=tuple(handles[path] for path in self._limiting(order) if path in handles),
                held=held,
                leaf=layout.leaf_of(order.name),
                base=f"{site.data}/{layout.ROOT}",
                hidden=(site.data, *site.hidden),
                sealed=tuple(site.trees.mounts) if uid is None else (),
                users="" if uid is None else self._accounts.file(uid, order.tenant),
                namespaces=site.containment.namespaces,
                files_limit=site.files_limit,
                started=time.time_ns() // 1_000,
            )
            started = _fork(birth, record)
            site.passed("forked")
            return started

    def _groups(self, order: Order) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The groups made for it, and what to tell of limits that nobody enforces."""
        wanted = Limits(order.cpu, order.memory, order.processes, order.shares)
        enforced = self._site.trees.enforced
        if self._counts_by_user(order):
            enforced |= {"pids"}
        try:
            return self._site.trees.make(layout.leaf_of(order.name), wanted), limits.notes(wanted, enforced)
        except OSError:
            return (), limits.notes(wanted, frozenset())

    def _limiting(self, order: Order) -> set[str]:
        """The groups that hold it to its limits."""
        wanted, folders = Limits(order.cpu, order.memory, order.processes).wanted(), self._site.trees.folders
        return {f"{folders[name]}/{layout.leaf_of(order.name)}" for name in wanted if name in folders}

    def _counts_by_user(self, order: Order) -> bool:
        return order.processes is not None and self._tenants is not None and "pids" not in self._site.trees.enforced

    def _program(self, order: Order, uid: int | None, devices: tuple[int, ...], slot: Slot) -> Program:
        is_alone = uid is not None or self._site.containment.namespaces
        temporary = "/tmp" if is_alone else slot.path  # noqa: S108 - the replica's own
        home = HOME if uid is not None else home_of(os.geteuid())
        standard = {"PATH": PATH, "HOME": home or temporary, "LANG": "C.UTF-8", "TMPDIR": temporary}
        return Program(
            argv=order.argv,
            env={**standard, **order.env, **accelerators.environment(devices)},
            cwd=order.cwd,
            uid=uid,
            most_processes=order.processes if self._counts_by_user(order) else None,
        )


def make_folder(site: Site, name: str) -> int:
    """Makes the folder of a replica, locked; a handle on it. One without a record is as good as new."""
    path = site.path(name)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    folder = files.open_folder(path)
    # Held from now until the last process that has this handle is gone, and those are the runner and the init.
    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder


def _make_log(folder: int, uid: int | None, stack: ExitStack) -> int:
    """The log of a replica, open, which it may open once more."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    log = os.open(layout.LOG, flags, 0o600, dir_fd=folder)
    stack.callback(os.close, log)
    if uid is not None:
        os.fchown(log, uid, uid)
    return log


def _fork(birth: Birth, record: Record) -> Started:
    uid, gid = os.geteuid(), os.getegid()
    # So that there is room for a handle on the process: one that is started and not known could not be stopped.
    room = os.dup(birth.folder)
    try:
        pid = fork_into(birth.namespaces)
        if pid == 0:
            init.run(birth, uid, gid)
    finally:
        os.close(room)
    # The number is still its own: a child is gone only when the runner has looked.
    return Started(record, Process(pid, 0, birth.started), os.pidfd_open(pid))


def _opened(path: str, stack: ExitStack) -> int:
    handle = files.open_folder(path)
    stack.callback(os.close, handle)
    return handle


def _held(path: str, stack: ExitStack) -> int:
    """A file, open with a shared lock, which belongs to all who have this handle. Raises OSError if it is to go."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, handle)
    fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return handle


def _fault(order: Order) -> str:
    if layout.decompose(order.name) is None:
        return f"{order.name!r} cannot be the name of a folder"
    if not order.argv or not order.argv[0]:
        return "there is no program to run"
    texts = [*order.argv, *order.env, *order.env.values(), *order.secret_env, order.cwd]
    if any("\0" in text for text in texts) or any("=" in name for name in (*order.env, *order.secret_env)):
        return "a name of a variable holds an equals sign, or some text a zero byte"
    if not order.cwd.startswith("/"):
        return f"its working directory {order.cwd!r} is not absolute"
    return mounts.check([mounts.Wish(mount.source, mount.target, mount.read_only) for mount in order.mounts])


def raise_files_limit() -> tuple[int, int]:
    """How many files programs may have open; the runner itself takes all it can get."""
    found = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (found[1], found[1]))
    return found
