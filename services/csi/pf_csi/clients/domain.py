"""Which client pods there should be: a function of machines, mounts and the pods that there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pf_csi.mount_objects import MountObject

PAUSE = 10.0
"""Seconds for which a pod that has failed keeps its place: the next one might fail at once, too."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A node of the cluster."""

    name: str
    uid: str
    spares: bool = True
    """The driver is there, and pods may come: a client may wait here for the next mount."""


@dataclass(frozen=True, slots=True)
class ClientPod:
    """A pod in which a client serves, or waits."""

    name: str
    machine: str
    template: str
    """The digest of what it was made of."""
    ready: bool = False
    finished: bool = False
    failed_for: float | None = None
    """Seconds since it failed; None: it has not."""
    ending: bool = False
    """Somebody has deleted it, and it may go on until another one follows."""
    uid: str = ""
    """What tells it from one that has its name later."""


@dataclass(frozen=True, slots=True)
class Create:
    """A pod is to be made."""

    name: str
    machine: Machine


@dataclass(frozen=True, slots=True)
class Remove:
    """A pod is to be deleted, unless another has its name by now."""

    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Forget:
    """A mount is gone with its machine."""

    key: str


Step = Create | Remove | Forget


def steps(
    machines: Mapping[str, Machine],
    mounts: Sequence[MountObject],
    pods: Sequence[ClientPod],
    template: str,
    spares: int,
) -> list[Step]:
    """In the order in which they are to be done. Done, they lead to what needs no more of them but for replacing."""
    found: list[Step] = [Forget(mount.key) for mount in mounts if mount.machine not in machines]
    found += [Remove(pod.name, pod.uid) for pod in pods if pod.machine not in machines and not pod.ending]
    for machine in machines.values():
        there = [pod for pod in pods if pod.machine == machine.name]
        serving = {mount.pod for mount in mounts if mount.machine == machine.name and mount.pod}
        needed = sum(mount.machine == machine.name for mount in mounts) + (spares if machine.spares else 0)
        found += _of_machine(machine, there, serving, needed, template)
    return found


def _of_machine(
    machine: Machine, pods: Sequence[ClientPod], serving: Collection[str], needed: int, template: str
) -> Iterator[Step]:
    yield from (Remove(pod.name, pod.uid) for pod in pods if pod.finished and not pod.ending and not _rests(pod))
    alive = [pod for pod in pods if not pod.ending and (not pod.finished or _rests(pod))]
    # Of an old version, they may never be ready.
    hopeless = [pod for pod in alive if pod.template != template and not pod.ready and pod.name not in serving]
    yield from (Remove(pod.name, pod.uid) for pod in hopeless)
    alive = [pod for pod in alive if pod not in hopeless]
    missing = needed - len(alive)
    if missing > 0:
        yield from (Create(name, machine) for name in _names(machine, pods, missing))
        return
    # Who waits goes first, of an old version before all others.
    order = sorted(alive, key=lambda pod: (pod.name in serving, pod.template == template, pod.ready, pod.name))
    if missing < 0:
        yield from (Remove(pod.name, pod.uid) for pod in order[:-missing] if pod.name not in serving)
        return
    if not hopeless:
        yield from _replaced(order, pods, template)


def _replaced(alive: Sequence[ClientPod], pods: Sequence[ClientPod], template: str) -> Iterator[Step]:
    """One at a time, once whoever came for the one before is ready."""
    outdated = [pod for pod in alive if pod.template != template]
    newest_ready = all(pod.ready for pod in alive if pod.template == template)
    if outdated and newest_ready and not any(pod.ending for pod in pods):
        yield Remove(outdated[0].name, outdated[0].uid)


def _rests(pod: ClientPod) -> bool:
    return pod.failed_for is not None and pod.failed_for < PAUSE


def _names(machine: Machine, pods: Sequence[ClientPod], count: int) -> Iterator[str]:
    """Whoever makes a pod twice makes it once."""
    taken = {pod.name for pod in pods}
    stem = f"client-{blake2b(machine.name.encode(), digest_size=5).hexdigest()}"
    free = (name for number in range(len(pods) + count) if (name := f"{stem}-{number}") not in taken)
    return (name for name, _ in zip(free, range(count), strict=False))
