"""What the driver costs on one machine, without a cluster; its volumes are folders of the local disk."""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import psutil

from bench.sizes import goal, sized
from paddleflow.mountinfo import read_mounts
from pf_csi.contract import csi_pb2 as pb
from support.csi_site import Site, capability, new_site
from support.figures import Figure, percentile
from support.mounts import new_mount
from support.waiting import wait_until

CALLS = 200
NEW = 40
VOLUMES = 100
HANGING = 16
ASKED = 200
CYCLES = 500
WARM = 500
"""Mounts after which a process has taken from the system what it goes on with."""
ROLES = ("node", "holder", "controller")
PATIENCE = 180.0
MIB = 1 << 20


@contextmanager
def machine() -> Iterator[Site]:
    with new_site() as site:
        site.start()
        yield site


def publishing() -> list[Figure]:
    """One call after the other: what a pod waits for, beside all that the kubelet does."""
    with machine() as site:
        bare = statistics.median(_bare(site) for _ in range(sized(NEW)))
        new = [_passing(site, number) for number in range(sized(NEW))]
        site.publish(site.target("first"))
        there = [_passing(site, 0, f"pod-{number}") for number in range(sized(CALLS))]
    return [
        *times("publish, with a new client", [each for each, _ in new], bare),
        *times("unpublish, with the end of the client", [each for _, each in new]),
        *times("publish, with a client that is there", [each for each, _ in there]),
        *times("unpublish, with a client that stays", [each for _, each in there]),
    ]


def many_volumes() -> list[Figure]:
    """Volumes of which none shares its mount with another."""
    count = sized(VOLUMES)
    with machine() as site:
        before = memory(site)
        first = [_published(site, number) for number in range(count)]
        again = [_published(site, number) for number in range(count)]
        after = memory(site)
        clients = sum(psutil.Process(pid).memory_full_info().pss for pid in site.clients()) / count
    return [
        *times(f"publish, each of {count} volumes on a machine", first),
        *times(f"publish again, with {count} volumes on a machine", again),
        *(Figure(f"memory of the {role} with {count} volumes", after[role], "MiB", before[role]) for role in ROLES),
        Figure("memory of the clients of a mount, their share of what is common", clients / MIB, "MiB"),
    ]


def hanging() -> list[Figure]:
    """A store takes connections and says nothing; how soon the driver says that it is well meanwhile."""
    with machine() as site, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(4 * HANGING)
        told = {"url": "s3://bucket/x", "endpoint": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        asked = [
            site.request(site.target(f"pod-{each}"), f"vol-{each}", volume_context=told) for each in range(HANGING)
        ]
        calls = [site.node.NodePublishVolume.future(request, timeout=PATIENCE) for request in asked]
        wait_until(lambda: len(site.clients()) >= HANGING, PATIENCE)
        probes = [timed(lambda: site.identity.Probe(pb.ProbeRequest())) for _ in range(sized(ASKED))]
        able = [
            timed(lambda: site.node.NodeGetCapabilities(pb.NodeGetCapabilitiesRequest())) for _ in range(sized(ASKED))
        ]
        still = sum(not call.done() for call in calls)
        for call in calls:
            call.cancel()
    return [
        Figure("publishes that hang meanwhile", still, "", at_least=HANGING),
        Figure(f"Probe, with {HANGING} publishes that hang, longest", max(probes), "ms", at_most=100.0),
        Figure(f"NodeGetCapabilities, with {HANGING} publishes that hang, longest", max(able), "ms", at_most=100.0),
    ]


def cycles() -> list[Figure]:
    """Pods that come and go, each with a client of its own."""
    count = sized(CYCLES)
    with machine() as site:
        _come_and_go(site, sized(WARM))
        before = left(site)
        _come_and_go(site, count)
        after = left(site)
    return [
        Figure(f"{what} more after {count} mounts and ends", after[what] - before[what], unit, at_most=goal(0.0))
        for what, unit in UNITS.items()
    ]


UNITS: Mapping[str, str] = {
    "mounts": "",
    "descriptors": "",
    "processes": "",
    "zombies": "",
    "threads": "",
    "memory": "MiB",
}


def left(site: Site) -> Mapping[str, float]:
    """What there is of all that may be left behind, once the last client has ended."""
    wait_until(lambda: not site.clients(), PATIENCE)
    # Whoever holds mounts buries orphans when it sees them for the second time.
    wait_until(lambda: not zombies(site), PATIENCE, pause=0.2)
    parts = [psutil.Process(site.processes[role].pid) for role in ROLES]
    return {
        "mounts": sum(str(site.folder) in mount.place for mount in read_mounts().all),
        "descriptors": sum(part.num_fds() for part in parts),
        "processes": sum(len(part.children(recursive=True)) for part in parts),
        "zombies": zombies(site),
        "threads": sum(part.num_threads() for part in parts),
        "memory": sum(memory(site).values()),
    }


def zombies(site: Site) -> int:
    below = [child for each in site.processes.values() for child in psutil.Process(each.pid).children(recursive=True)]
    return sum(is_zombie(child) for child in below)


def is_zombie(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def memory(site: Site) -> Mapping[str, float]:
    """Resident, in MiB."""
    return {role: psutil.Process(site.processes[role].pid).memory_info().rss / MIB for role in ROLES}


def times(what: str, milliseconds: Sequence[float], reference: float | None = None) -> list[Figure]:
    return [
        Figure(f"{what}, p50", statistics.median(milliseconds), "ms", reference),
        Figure(f"{what}, p99", percentile(milliseconds, 0.99), "ms"),
    ]


def timed(do: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


def _bare(site: Site) -> float:
    """A mount that nobody but its user began."""
    with new_mount() as mount:
        took = timed(lambda: mount.begin(f"local://{site.data}", {}))
        mount.end()
    return took


def _passing(site: Site, client: int, pod: str = "passing") -> tuple[float, float]:
    """How long a volume takes to appear, and to be gone; those of one client share a mount."""
    target = site.target(pod)
    wish = capability(flags=[f"uid={client}"] if client else [])
    return timed(lambda: site.publish(target, volume_capability=wish)), timed(lambda: site.unpublish(target))


def _published(site: Site, number: int) -> float:
    folder = site.data / f"volume-{number}"
    folder.mkdir(exist_ok=True)
    target = site.target(f"pod-{number}")
    return timed(lambda: site.publish(target, f"vol-{number}", volume_context={"url": f"local://{folder}"}))


def _come_and_go(site: Site, count: int) -> None:
    for number in range(count):
        target = site.target(f"pod-{number % 7}")
        site.publish(target, volume_capability=capability(flags=[f"uid={number % 5}"]))
        (target / "file").write_text(str(number))
        site.unpublish(target)
