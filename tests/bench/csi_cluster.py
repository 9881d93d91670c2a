"""How soon pods with volumes run in a real cluster, beside pods with a folder of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bench.sizes import goal, sized
from kube.api import Thing
from kube.build import build
from kube.claims import claim, claimed, inline, user
from kube.clients import Clients
from kube.cluster import running_cluster
from kube.driver import KEY_PAIR, KEYS_SECRET, Driver, secret
from kube.kubectl import Kubectl
from kube.parts import prepare
from kube.storage import Store
from support.figures import Figure, percentile
from support.waiting import wait_until

ROUNDS = 9
NAME = "measured"
FOLDER = [user(NAME, {"emptyDir": {}})]
BROUGHT = [user(NAME, inline("brought", KEYS_SECRET))]
PATIENCE = 120.0


@contextmanager
def driven() -> Iterator[Driver]:
    """The driver in a cluster of its own, as Helm installs it."""
    prepare()
    build()
    with running_cluster() as cluster:
        Store(cluster).start()
        driver = Driver(cluster, cluster.state)
        driver.load()
        driver.install("processes")
        yield driver


def starting() -> list[Figure]:
    """From `kubectl apply` until the pod runs, its volume mounted; all kinds in turn."""
    with driven() as driver:
        kubectl = driver.cluster.kubectl
        kubectl.apply(secret(KEYS_SECRET, KEY_PAIR), claim("shared"), user("first", claimed("shared")))
        kubectl.until_ready("first")
        kinds = {
            "folder": FOLDER,
            "shared": [user(NAME, claimed("shared"))],
            "brought": BROUGHT,
            "claimed": [claim(NAME), user(NAME, claimed(NAME))],
        }
        rounds = [{kind: _started(kubectl, things) for kind, things in kinds.items()} for _ in range(sized(ROUNDS))]
        kubectl.delete("Pod", "first", at_once=True)
        kubectl.delete("PersistentVolumeClaim", "shared")
        wait_until(lambda: not driver.mounts(), PATIENCE)
        pods = _of_pods(driver)
    took = {kind: [each[kind] for each in rounds] for kind in kinds}
    bare = statistics.median(took["folder"])
    return [
        Figure("apply until a pod with an emptyDir runs, p50", bare, "s"),
        *_beside(bare, "a pod whose volume another pod uses", took["shared"], 0.5),
        *_beside(bare, "a pod with a volume of its own, whose client is a process", took["brought"], 0.5),
        *_beside(bare, "a claim and its pod, with a new client", took["claimed"], 2.5),
        *pods,
    ]


def _of_pods(driver: Driver) -> list[Figure]:
    """With clients as pods: one that stands by, and one that is made for it."""
    driver.install_anew("pods")
    folders, spare = _in_turn(driver, Clients(driver).until_spare)
    driver.install("pods", clients={"spares": 0})
    wait_until(lambda: not driver.pods("csi-client"), PATIENCE)
    others, new = _in_turn(driver, lambda: None)
    bare = statistics.median([*folders, *others])
    return [
        *_beside(bare, "a pod with a volume of its own, whose client is a pod that stands by", spare, 0.5),
        *_beside(bare, "a pod with a volume of its own, whose client is a new pod", new, 2.5),
    ]


def _in_turn(driver: Driver, before: Callable[[], object]) -> tuple[list[float], list[float]]:
    """A pod with a folder of the machine, and one with a volume, again and again."""
    took: tuple[list[float], list[float]] = [], []
    for _ in range(sized(ROUNDS)):
        for times, things in zip(took, (FOLDER, BROUGHT), strict=True):
            before()
            times.append(_started(driver.cluster.kubectl, things))
        wait_until(lambda: not driver.mounts(), PATIENCE)
    return took


def _beside(bare: float, what: str, took: Sequence[float], most: float) -> list[Figure]:
    middle = statistics.median(took)
    return [
        Figure(f"apply until {what} runs, p50", middle, "s", bare),
        Figure(f"apply until {what} runs, p99", percentile(took, 0.99), "s"),
        Figure(f"{what}: longer than with an emptyDir, p50", middle - bare, "s", at_most=goal(most)),
    ]


def _started(kubectl: Kubectl, things: Sequence[Thing]) -> float:
    """Seconds; what was applied is gone afterwards."""
    begun = time.perf_counter()
    kubectl.apply(*things)
    kubectl.until_ready(NAME)
    took = time.perf_counter() - begun
    for thing in reversed(things):
        kubectl.delete(thing["kind"], thing["metadata"]["name"], at_once=thing["kind"] == "Pod")
    return took
