"""What is to be done so that what is mounted is what was published: a function of what is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paddleflow.mountinfo import Mount, Mounts
from pf_csi.held import Held, State
from pf_csi.node.domain import Entry
from pf_csi.node.recalling import MOUNT, SUBPATHS, bound

MOST_LAYERS = 32
"""At a target. Those below are dead; but a container has only the one that it was started with, and sees what is bound
over that as long as it is there."""
MOST_PART_LAYERS = 3
"""Where a pod uses a folder only. The kubelet takes one off at a time, and waits longer each time."""
_AT_REST = (State.READY, State.FAILED, State.LOST)


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing of it is there any more, and nobody will ask for its end."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Rebind:
    """Shows the mount at the target again, over what is there."""

    entry: Entry
    source: str


@dataclass(frozen=True, slots=True)
class RebindWithin:
    """Shows a folder of the mount again, where a pod uses only that."""

    entry: Entry
    source: str
    inner: str
    place: str


@dataclass(frozen=True, slots=True)
class Peel:
    """Takes off what lies over the last layer but one."""

    entry: Entry
    place: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Writes down again what is bound at a target that the journal does not know of."""

    target: str


@dataclass(frozen=True, slots=True)
class Release:
    """Takes away a mount that nobody uses."""

    key: str


Step = Forget | Rebind | RebindWithin | Peel | Recall | Release


def steps(
    mounts: Mounts, entries: Sequence[Entry], held: Mapping[str, Held], boot: str, busy: Collection[str], pods: str
) -> list[Step]:
    """In the order in which they are to be done. Targets that are `busy` are left to whoever does something there.

    `pods`: the folder in which the kubelet has those of pods. What the kernel shows there is used, whatever is
    written down.
    """
    quiet = [entry for entry in entries if entry.target not in busy]
    found = [step for entry in quiet for step in _of_entry(entry, mounts, held.get(entry.key), boot)]
    seen = list(bound(mounts, held, pods))
    known = {entry.target for entry in entries} | set(busy)
    unknown = dict.fromkeys(each.mount.place for each in seen if each.is_target and each.mount.place not in known)
    found += [Recall(target) for target in unknown]
    used = {entry.key for entry in entries} | {each.held.key for each in seen}
    if not busy:
        found += [Release(key) for key, each in held.items() if key not in used and each.state in _AT_REST]
    return found


def _of_entry(entry: Entry, mounts: Mounts, held: Held | None, boot: str) -> Iterator[Step]:
    top = mounts.top(entry.target)
    if top is None and entry.boot != boot:
        # The machine was started anew: the kubelet publishes again what still has a pod.
        yield Forget(entry)
        return
    if held is None or held.state is not State.READY:
        return
    source = mounts.top(held.place)
    if source is None or not source.ours:
        return
    if top is None or top.device != source.device:
        yield from _excess(mounts, entry, entry.target, MOST_LAYERS)
        yield Rebind(entry, held.place)
    for dead in _subpaths(entry, mounts, source):
        yield from _excess(mounts, entry, dead.place, MOST_PART_LAYERS)
        yield RebindWithin(entry, held.place, dead.root.lstrip("/"), dead.place)


def _excess(mounts: Mounts, entry: Entry, place: str, most: int) -> Iterator[Step]:
    """Layers that are too many by one once another lies upon them."""
    yield from (Peel(entry, place) for _ in mounts.layers(place)[most - 1 :])


def _subpaths(entry: Entry, mounts: Mounts, source: Mount) -> Iterator[Mount]:
    """Folders of the volume that containers of the pod have, and that are of an earlier mount."""
    folder = subpaths_of(entry.target)
    if not folder:
        return
    places = dict.fromkeys(mount.place for mount in mounts.all if mount.place.startswith(folder))
    for place in places:
        top = mounts.top(place)
        if top is not None and top.ours and top.device != source.device:
            yield top


def subpaths_of(target: str) -> str:
    """Where the kubelet puts folders of a volume that is published at ``…/volumes/kubernetes.io~csi/NAME/mount``."""
    parts = target.split("/")
    if len(parts) < 5 or parts[-1] != MOUNT or parts[-4] != "volumes":
        return ""
    return "/".join([*parts[:-4], SUBPATHS, parts[-2], ""])
