"""What becomes of mounts and their client pods when machines are tainted, drained and deleted."""

from __future__ import annotations

import pytest

from kube.api import Thing
from kube.claims import inline, user
from kube.clients import CLIENTS, Clients
from kube.cluster import Cluster
from kube.driver import DRIVER, KEYS_SECRET, NAMESPACE, Driver
from kube.identities import NODE
from kube.kubectl import Kubectl
from kube.layout import KUBELET
from kube.storage import Store
from kube.work import FILE, until_it_goes_on, worker
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1800)]

PATIENCE = 300.0
WRITING = "i=0; while [ $i -lt 20 ]; do echo $i >> /data/last; sleep 0.2; i=$((i + 1)); done"
ALL_BUT_THOSE_WITHOUT_A_PLACE = "app.kubernetes.io/component notin (csi-controller, csi-clients)"
"""There is no other machine to which they could go."""


def test_row_19_a_machine_is_drained_of_applications_first_and_of_their_clients_last(
    own: Kubectl, store: Store, clients: Clients
) -> None:
    wait_until(lambda: clients.mounts() == [], 60.0, pause=0.1)
    clients.until_spare()
    late = user("late", inline("drained", KEYS_SECRET))
    late["spec"]["terminationGracePeriodSeconds"] = 15
    late["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sh", "-c", WRITING]}}}
    own.apply(late)
    own.until_ready("late")
    serving = clients.until_other_than("")
    since = version(clients.driver.cluster)
    options = ("--ignore-daemonsets", "--delete-emptydir-data", "--force")
    try:
        own("drain", NODE, *options, f"--pod-selector={ALL_BUT_THOSE_WITHOUT_A_PLACE}", patience=PATIENCE)
        assert clients.driver.mounts() == []
        wait_until(lambda: left(clients) == [], 30.0, pause=0.2)
    finally:
        own("uncordon", NODE)
    order = ended(clients.driver.cluster, since)
    assert order.index(f"{own.namespace}/late") < order.index(f"{CLIENTS}/{serving}")
    assert store.read("drained/last").split() == [str(number) for number in range(20)]
    clients.until_spare()


def test_row_22_pods_wait_for_the_driver_before_a_machine_is_given_to_them(
    own: Kubectl, store: Store, driver: Driver
) -> None:
    """Administrators have machines begin with a taint, which they take away when the driver is there."""
    store.write("tainted/file", "text")
    own("taint", "node", NODE, "example.org/starting=driver:NoSchedule")
    try:
        driver.helm.uninstall(driver.cluster.machine, NAMESPACE)
        wait_until(lambda: DRIVER not in driver.registered(), PATIENCE, pause=0.2)
        own.apply(user("early", inline("tainted", KEYS_SECRET)))
        own.until_told("early", ["untolerated taint"])
        driver.install(controller={"tolerations": [{"operator": "Exists"}]})
        assert own.phase("early") == "Pending"
    finally:
        own("taint", "node", NODE, "example.org/starting-")
    own.until_ready("early", patience=PATIENCE)
    assert own.execute("early", "cat", "/data/file") == "text"
    assert [event["message"] for event in own.events("early") if event["reason"] == "FailedMount"] == []


def test_a_machine_that_is_deleted_takes_its_mounts_with_it_and_begins_anew(own_driver: Driver, here: Kubectl) -> None:
    cluster, store, clients = own_driver.cluster, Store(own_driver.cluster), Clients(own_driver)
    own_driver.install("pods")
    store.write(f"kept/{FILE}", "text")
    here.apply(worker("worker", inline("kept", KEYS_SECRET)))
    here.until_ready("worker")
    until_it_goes_on(here, "worker")
    before = {pod["metadata"]["uid"] for pod in clients.pods()}
    here("delete", "node", NODE)
    here.until_gone(f"/api/v1/namespaces/{here.namespace}/pods/worker", PATIENCE)
    cluster.restart_kubelet()
    cluster.until_node_is_ready()
    wait_until(lambda: DRIVER in own_driver.registered(), PATIENCE, pause=0.5)
    wait_until(lambda: own_driver.mounts() == [], PATIENCE, pause=0.5)
    wait_until(lambda: clients.mounts() == [], PATIENCE, pause=0.5)
    wait_until(lambda: bool(clients.spare()), PATIENCE, pause=0.5)
    assert not before & {pod["metadata"]["uid"] for pod in clients.pods()}
    here.apply(user("next", inline("kept", KEYS_SECRET)))
    here.until_ready("next", patience=PATIENCE)
    assert here.execute("next", "cat", f"/data/{FILE}") == "text"
    here.delete("pod", "next")
    wait_until(lambda: clients.mounts() == [] and kept(own_driver) == [], PATIENCE, pause=0.5)


def version(cluster: Cluster) -> str:
    """From which on happenings may be asked for."""
    return str(cluster.api.get("/api/v1/pods?limit=1")["metadata"]["resourceVersion"])


def ended(cluster: Cluster, since: str) -> list[str]:
    """Pods in the order in which their containers ended, as `namespace/name`.

    A pod is deleted only when its volumes are away, and so may be whoever has served them.
    """
    told = cluster.api.watch(f"/api/v1/pods?resourceVersion={since}&timeoutSeconds=2")
    over = [pod["metadata"] for kind, pod in told if kind == "DELETED" or has_ended(pod)]
    return list(dict.fromkeys(f"{each['namespace']}/{each['name']}" for each in over))


def has_ended(pod: Thing) -> bool:
    containers = pod["status"].get("containerStatuses", ())
    return bool(containers) and all("terminated" in each["state"] for each in containers)


def left(clients: Clients) -> list[str]:
    """Of mounts: pods, objects, and what lies on the machine."""
    things = [*clients.pods(), *clients.mounts()]
    return [*(each["metadata"]["name"] for each in things), *kept(clients.driver)]


def kept(driver: Driver) -> list[str]:
    """What lies on the machine of mounts."""
    folders = [f"{KUBELET}/plugins/{DRIVER}/{name}" for name in ("clients", "mounts")]
    return driver.cluster.machine.attempt(["find", *folders, "-mindepth", "1", "-maxdepth", "1"]).stdout.split()
