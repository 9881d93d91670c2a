"""Whether this machine lets a runner put replicas into namespaces: found out by doing so once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pf_job.runtimes.local import files, layout
from pf_job.runtimes.local.kernel import Namespace, fork_into
from pf_job.runtimes.local.sandbox import build
from pf_job.runtimes.local.users import map_user

SEPARATE = Namespace.MOUNTS | Namespace.IPC | Namespace.PROCESSES
RESTRICTIONS = (
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user.max_user_namespaces", "0", "15000"),
)
"""Settings of kernels, the value that forbids namespaces to ordinary users, and one that does not."""


@dataclass(frozen=True, slots=True)
class Containment:
    """What new processes can be put into."""

    namespaces: Namespace
    obstacle: str = ""
    """Why there are none, and what would help."""


NONE_WANTED = Containment(Namespace.NONE, "namespaces are switched off in the settings of the runner")


def find(base: str, temporary: str) -> Containment:
    """Tries: makes the namespaces, and mounts what every replica has."""
    namespaces = SEPARATE if os.geteuid() == 0 else SEPARATE | Namespace.USERS
    failure = _try(namespaces, base, temporary)
    return Containment(Namespace.NONE, f"{failure}; {_remedy(namespaces)}") if failure else Containment(namespaces)


def _try(namespaces: Namespace, base: str, temporary: str) -> str:
    """Why it failed; empty if it did not."""
    hearing, telling = os.pipe()
    uid, gid = os.geteuid(), os.getegid()
    try:
        try:
            child = fork_into(namespaces)
        except OSError as problem:
            os.close(telling)
            return f"this machine does not let the runner make namespaces ({problem.strerror})"
        if child == 0:
            _child(namespaces, base, temporary, uid, gid, telling)
        os.close(telling)
        told = files.read_all(hearing)
        os.waitpid(child, 0)
    finally:
        os.close(hearing)
    return "" if told == b"done" else f"this machine does not let the runner mount ({told.decode()})"


def _child(namespaces: Namespace, base: str, temporary: str, uid: int, gid: int, telling: int) -> None:
    try:
        if namespaces & Namespace.USERS:
            map_user(uid, gid)
        build(base, temporary, (), (), ())
        os.write(telling, b"done")
    except BaseException as problem:  # noqa: BLE001 - whatever it is, this process must not go on as a second runner
        os.write(telling, str(problem).encode())
    finally:
        os._exit(0)


def _remedy(namespaces: Namespace) -> str:
    # They are of the kernel, so that they also stand in containers, whose root they do not concern.
    for name, forbidding, allowing in RESTRICTIONS if namespaces & Namespace.USERS else ():
        path = Path("/proc/sys") / name.replace(".", "/")
        if path.exists() and path.read_text().strip() == forbidding:
            return f"allow it with: sysctl -w {name}={allowing}"
    return "in a container, run it privileged; else see docs/howto/local-runtime.md"


def prepare(folder: int) -> None:
    """Makes what a trial needs, in the data folder."""
    for name in (layout.REPLICAS, layout.ROOT, layout.SLOTS):
        if not files.exists(folder, name):
            os.mkdir(name, 0o700, dir_fd=folder)
