"""Nobody but the kubelet, the driver and the storage learns what a secret holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kube.api import Thing
from kube.claims import claim, claimed, inline, user, volume
from kube.driver import DRIVER, KEY_PAIR, KEYS_SECRET, RUN, Driver, secret
from kube.kubectl import Kubectl
from kube.layout import KUBELET
from kube.processes import processes
from kube.storage import Store
from support.s3_servers import KEYS
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1200)]

CANARY = "canary-5d1e"
PLANTED: Mapping[str, Mapping[str, str]] = {
    "wrong": {"accessKey": "tester", "secretKey": f"{CANARY}-key"},
    "passing": {"accessKey": "tester", "secretKey": f"{CANARY}-key", "sessionToken": f"{CANARY}-session"},
    "unknown": {**KEY_PAIR, "colour": f"{CANARY}-unknown"},
    "token": {"token": f"{CANARY}-token"},
    "password": {"user": "nobody", "password": f"{CANARY}-password"},
    "key": {"user": "nobody", "privateKey": f"{CANARY}-private"},
}
"""Secrets of pods that all fail, each in another way."""
SECRETS = f"/run/paddleflow-csi/{DRIVER}/secrets"
TOLD = f"/run/paddleflow-csi/{DRIVER}/clients"
"""What client pods are told."""
CLIENT = 10001
"""The user of client pods."""
PROGRAMS = ("apiserver", "containerd", "controller-manager", "kubelet", "scheduler")


def test_what_secrets_hold_is_in_no_object_event_log_argument_and_environment(
    driver: Driver, store: Store, kubectl: Kubectl
) -> None:
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR), *(secret(name, held) for name, held in PLANTED.items()))
    store.write("opened/file", "text")
    given = volume(f"{kubectl.namespace}-given", "given", "opened", kubectl)
    kubectl.apply(given, claim("given", class_name=""), claim("made"))
    kubectl.apply(*(user(f"with-{name}", each) for name, each in opened().items()))
    kubectl.apply(*(user(f"with-{name}", failing(name)) for name in PLANTED))
    kubectl.until_ready(*(f"with-{name}" for name in opened()))
    for name in PLANTED:
        kubectl.until_told(f"with-{name}", ["MountVolume.SetUp failed"])
    found = {where for where, text in everything(driver) if CANARY in text or KEYS.secret in text}
    assert (found, files(driver)) == (set(), [])
    held = driver.cluster.machine.run(["stat", "--format=%a", SECRETS, *kept(driver)]).split()
    assert (held[0], set(held[1:])) == ("700", {"600"})
    assert set(told(driver)) == ({f"400 {CLIENT}"} if RUN == "pods" else set())
    kubectl.delete("pod", *(f"with-{name}" for name in (*opened(), *PLANTED)))
    kubectl.delete("pvc", "given", "made")
    kubectl.delete("pv", f"{kubectl.namespace}-given")
    wait_until(lambda: kept(driver) + told(driver) == [], patience=60, pause=0.2)


def opened() -> Mapping[str, Thing]:
    """Volumes that secrets open."""
    return {"given": claimed("given"), "made": claimed("made"), "brought": inline("opened", KEYS_SECRET)}


def failing(name: str) -> Thing:
    brought = inline("opened", name)
    attributes = brought["csi"]["volumeAttributes"]
    match name:
        case "token":
            brought["csi"]["volumeAttributes"] = {"filesystem": "somebody/something"}
        case "password" | "key":
            brought["csi"]["volumeAttributes"] = {"url": "sftp://127.0.0.1:1/x"}
        case "unknown":
            attributes["region"] = "here"
    return brought


def everything(driver: Driver) -> Iterator[tuple[str, str]]:
    """All that somebody may read who may not read secrets, and what it says."""
    machine, kubectl = driver.cluster.machine, driver.cluster.kubectl
    for kind in kubectl("api-resources", "--verbs=list", "--output=name").split():
        if kind != "secrets":
            yield kind, kubectl("get", kind, "--all-namespaces", "--output=yaml", "--show-managed-fields")
    for name in PROGRAMS:
        yield f"the log of {name}", machine.log(name)
    for process in processes(machine):
        yield f"the command {process.words[:3]}", " ".join(process.words)
        yield f"the environment of {process.words[:3]}", process.variables


def files(driver: Driver) -> list[str]:
    """Those outside of memory that name one; secrets of pods themselves are mounted by the kubelet."""
    kept = ["--exclude-dir=kubernetes.io~secret", "--exclude-dir=at", "--include=*.json", "--include=*.log"]
    places = ["/var/log/pods", "/run/containerd", f"{KUBELET}/plugins", f"{KUBELET}/pods", "/var/cache/paddleflow"]
    command = ["grep", "--recursive", "--files-with-matches", "--fixed-strings", "--file=-", *kept, *places]
    return driver.cluster.machine.attempt(command, told=f"{CANARY}\n{KEYS.secret}\n").stdout.split()


def kept(driver: Driver) -> list[str]:
    """What is remembered of mounts, in memory."""
    return driver.cluster.machine.run(["find", SECRETS, "-type", "f"]).split()


def told(driver: Driver) -> list[str]:
    """Who may read each file, and whose it is."""
    found = driver.cluster.machine.attempt(["find", TOLD, "-name", "*.json", "-printf", "%m %U\n"])
    return found.stdout.splitlines()
