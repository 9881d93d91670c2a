"""Mounts that are served by pods without rights, which may be killed, evicted, deleted and upgraded."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kube.api import Thing
from kube.claims import inline, user
from kube.clients import CLIENTS, LARGE, OWN, Application, Clients, mapper, worker
from kube.driver import DRIVER, KEY_PAIR, KEYS_SECRET, Driver, secret
from kube.identities import NODE
from kube.kubectl import Kubectl, is_ready
from kube.pods import pod
from kube.storage import Store
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

MIB = 1 << 20


@pytest.fixture
def application(own: Kubectl, store: Store, clients: Clients) -> Iterator[Application]:
    wait_until(lambda: clients.mounts() == [], 60.0, pause=0.1)
    store.write(f"{own.namespace}/{LARGE}", "words " * (4 * MIB // 6))
    yield Application.started(worker("application", inline(own.namespace, KEYS_SECRET)), own)
    own.delete("pod", "application", at_once=True)


def test_whoever_serves_has_no_rights_and_no_secrets(application: Application, clients: Clients) -> None:
    name = clients.until_other_than("")
    found = clients.kubectl.pod(name)
    assert found is not None
    assert KEY_PAIR["secretKey"] not in json.dumps(found)
    assert found["spec"]["nodeName"] == NODE
    status = clients.kubectl.execute(name, "cat", "/proc/self/status")
    assert re.search(r"^Uid:\s+10001\s+10001\s+10001\s+10001$", status, re.MULTILINE)
    for rights in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
        assert re.search(rf"^{rights}:\s+0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
    assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE)
    (mount,) = clients.mounts()
    assert KEY_PAIR["secretKey"] not in json.dumps(mount)
    assert KEY_PAIR["secretKey"] not in clients.kubectl.logs(name)


def test_a_client_that_is_killed_is_followed_in_its_pod(application: Application, clients: Clients) -> None:
    name = clients.until_other_than("")
    for _ in range(3):
        clients.kill_client()
        application.goes_on()
    assert clients.serving() == name
    assert application.faults == ""


def test_a_pod_that_is_killed_is_followed_by_the_one_that_waits(application: Application, clients: Clients) -> None:
    """With all of its processes, as when its memory is short."""
    for _ in range(2):
        clients.until_spare()
        name = clients.until_other_than("")
        first = f"grep -lz ^HOSTNAME={name}$ /proc/[0-9]*/environ | cut -d/ -f3 | xargs kill -9"
        clients.driver.cluster.machine.run(["sh", "-c", first])
        clients.until_other_than(name)
        application.goes_on()
    assert application.faults == ""


def test_a_pod_that_is_deleted_serves_until_another_follows(application: Application, clients: Clients) -> None:
    for _ in range(2):
        name = clients.until_other_than("")
        clients.kubectl("delete", "pod", name, "--wait=false")
        clients.until_other_than(name)
        clients.kubectl.until_gone(f"/api/v1/namespaces/{CLIENTS}/pods/{name}", patience=60)
        application.goes_on()
    assert application.faults == ""


def test_a_pod_that_is_deleted_by_force_is_replaced(application: Application, clients: Clients) -> None:
    name = clients.until_other_than("")
    clients.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
    clients.until_other_than(name)
    application.goes_on()
    assert application.faults == ""


def test_nobody_evicts_a_client(application: Application, clients: Clients) -> None:
    name = clients.until_other_than("")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": CLIENTS}}
    path = f"/api/v1/namespaces/{CLIENTS}/pods/{name}/eviction"
    refused = clients.kubectl.attempt("create", "--raw", path, "--filename=-", told=json.dumps(eviction))
    assert "disruption budget" in refused.stderr + refused.stdout
    application.goes_on()


def test_the_holder_is_replaced_and_nobody_notices(application: Application, clients: Clients) -> None:
    driver, name = clients.driver, clients.until_other_than("")
    for _ in range(2):
        (before,) = (each["metadata"]["name"] for each in driver.pods("csi-holder"))
        driver.kubectl("delete", "pod", before)
        wait_until(lambda before=before: other_is_ready(driver, before), 60.0, pause=0.1)  # type: ignore[misc]
        application.goes_on()
    wait_until(lambda: clients.serving() == name, 30.0, pause=0.1)
    assert application.faults == ""


def test_clients_are_upgraded_and_nobody_notices(application: Application, clients: Clients) -> None:
    before = clients.until_other_than("")
    clients.until_spare()
    known = {each["metadata"]["uid"] for each in clients.pods()}
    clients.driver.install("pods", clients={"podAnnotations": {"example.org/version": application.kubectl.namespace}})
    wait_until(lambda: not known & {each["metadata"]["uid"] for each in clients.pods()}, 120.0, pause=0.2)
    wait_until(lambda: clients.serving() not in ("", before), 60.0, pause=0.1)
    application.goes_on()
    assert application.faults == ""


def test_what_is_mapped_into_memory_stays_so_while_clients_follow_one_another(
    own: Kubectl, store: Store, clients: Clients
) -> None:
    wait_until(lambda: clients.mounts() == [], 60.0, pause=0.1)
    store.write(f"mapped/{LARGE}", "words " * (4 * MIB // 6))
    mapping = Application.started(mapper("mapping", inline("mapped", KEYS_SECRET)), own)
    before = clients.until_other_than("")
    clients.driver.install("pods", clients={"podAnnotations": {"example.org/version": own.namespace}})
    clients.until_other_than(before)
    mapping.goes_on()
    clients.kill_client()
    mapping.goes_on()
    clients.kubectl("delete", "pod", serving := clients.until_other_than(""), "--grace-period=0", "--force")
    clients.until_other_than(serving)
    mapping.goes_on()
    assert mapping.faults == ""
    own.delete("pod", "mapping", at_once=True)
    wait_until(lambda: store.read(f"mapped/{OWN}").strip("\0").isdigit(), 60.0, pause=0.2)


def test_nothing_is_left_of_a_mount_that_nobody_uses(own: Kubectl, store: Store, clients: Clients) -> None:
    wait_until(lambda: clients.mounts() == [], 60.0, pause=0.1)
    own.apply(user("passing", inline("passing", KEYS_SECRET)))
    own.until_ready("passing")
    name = clients.until_other_than("")
    own.execute("passing", "sh", "-c", "echo written > /data/file")
    own.delete("pod", "passing")
    wait_until(lambda: clients.mounts() == [], 60.0, pause=0.1)
    clients.kubectl.until_gone(f"/api/v1/namespaces/{CLIENTS}/pods/{name}", patience=60)
    wait_until(lambda: len(clients.pods()) == 1, 60.0, pause=0.1)
    assert store.read("passing/file") == "written\n"
    folder = f"/var/lib/kubelet/plugins/{DRIVER}"
    look = ["ls", f"/run/paddleflow-csi/{DRIVER}/clients", f"{folder}/clients", f"{folder}/mounts"]
    assert re.findall(r"[0-9a-f]{32}.*", clients.driver.cluster.machine.run(look)) == []


@pytest.mark.usefixtures("clients")
def test_wrong_keys_are_told_within_ten_seconds(own: Kubectl, store: Store) -> None:
    store.write("locked/file", "behind a door")
    own.apply(secret("wrong", {"accessKey": "tester", "secretKey": "canary-of-a-wrong-key"}))
    begun = time.monotonic()
    own.apply(user("stranger", inline("locked", "wrong")))
    told = own.until_told("stranger", ["cannot be mounted"], patience=10)
    assert "canary" not in told
    assert time.monotonic() - begun < 10


def client() -> Thing:
    """A pod as clients are."""
    made = pod("other")
    made["spec"] |= {
        "serviceAccountName": "test-paddleflow-csi-client",
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsUser": 10001,
            "runAsGroup": 10001,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    made["spec"]["containers"][0]["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return made


def changed(place: Thing, path: str, value: Any) -> Thing:
    """Of lists, the first one is meant."""
    name, _, rest = path.partition(".")
    if not rest:
        return {**place, name: value}
    below = place.get(name, {})
    return {**place, name: [changed(below[0], rest, value)] if isinstance(below, list) else changed(below, rest, value)}


FOLDERS, RIGHTS = "its own folders of the machine", "no privilege, no capability"
USER, GROUP, CONFINED = "the user whom the driver expects", "in no group but its own", "as the runtime confines"
NAMESPACES, LABEL, DEVICE = "no namespace of the machine", "no label and no profile", "no device"
POD, CONTAINER = "spec.securityContext", "spec.containers.securityContext"
FORBIDDEN: list[tuple[str, Any, str]] = [
    ("spec.volumes", [{"name": "all", "hostPath": {"path": "/"}}], FOLDERS),
    ("spec.volumes", [{"name": "secret", "secret": {"secretName": "any"}}], FOLDERS),
    ("spec.hostNetwork", True, NAMESPACES),
    ("spec.hostPID", True, NAMESPACES),
    (CONTAINER, {"privileged": True, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, RIGHTS),
    (f"{CONTAINER}.allowPrivilegeEscalation", True, RIGHTS),
    (f"{CONTAINER}.readOnlyRootFilesystem", False, RIGHTS),
    (f"{CONTAINER}.capabilities.drop", ["NET_RAW"], RIGHTS),
    (f"{CONTAINER}.capabilities.add", ["NET_RAW"], RIGHTS),
    (f"{POD}.runAsUser", 10002, USER),
    (f"{POD}.runAsNonRoot", False, USER),
    (f"{CONTAINER}.runAsUser", 0, USER),
    (f"{POD}.runAsGroup", 0, GROUP),
    (f"{CONTAINER}.runAsGroup", 0, GROUP),
    (f"{POD}.supplementalGroups", [0], GROUP),
    (f"{POD}.fsGroup", 0, GROUP),
    (f"{POD}.seccompProfile.type", "Unconfined", CONFINED),
    (f"{CONTAINER}.seccompProfile", {"type": "Unconfined"}, CONFINED),
    (f"{POD}.seLinuxOptions", {"type": "spc_t"}, LABEL),
    (f"{CONTAINER}.seLinuxOptions", {"type": "spc_t"}, LABEL),
    (f"{POD}.appArmorProfile", {"type": "Unconfined"}, LABEL),
    (f"{CONTAINER}.appArmorProfile", {"type": "Unconfined"}, LABEL),
    (f"{POD}.sysctls", [{"name": "kernel.msgmax", "value": "65536"}], "nothing of the kernel"),
    ("spec.containers.ports", [{"containerPort": 8080, "hostPort": 8080}], "no port of the machine"),
    ("spec.resourceClaims", [{"name": "any", "resourceClaimName": "any"}], DEVICE),
    ("spec.containers.resources", {"limits": {"example.org/fuse": "1"}}, DEVICE),
    ("spec.serviceAccountName", "default", "the service account of clients"),
    # The API adds the volume of the token before anybody judges.
    ("spec.automountServiceAccountToken", True, "its own folders of the machine"),
]


@pytest.mark.parametrize(("path", "value", "rule"), FORBIDDEN)
def test_no_other_pod_comes_where_clients_are(clients: Clients, path: str, value: Any, rule: str) -> None:
    tried = ("--validate=strict", "--dry-run=server")
    clients.kubectl.apply(client(), strictly=tried)
    with pytest.raises(AssertionError, match=rule):
        clients.kubectl.apply(changed(client(), path, value), strictly=tried)


def other_is_ready(driver: Driver, before: str) -> bool:
    holders = driver.pods("csi-holder")
    return any(is_ready(each) and each["metadata"]["name"] != before for each in holders)
