"""What the driver does on machines that start anew, are full, are emptied or have no room, each by its row."""

from __future__ import annotations

import pytest

from kube.api import Thing
from kube.claims import claim, claimed, inline, user
from kube.driver import DRIVER, KEY_PAIR, KEYS_SECRET, Driver, secret
from kube.identities import NODE
from kube.kubectl import Kubectl
from kube.layout import KUBELET
from kube.pods import pod
from kube.storage import Store
from kube.work import FILE, LOG, complaints, until_it_goes_on, worker
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1800)]

CONTENT = "".join(f"{number:08}\n" for number in range(10_000))
PATIENCE = 300.0
CACHE = "/var/cache/paddleflow"
JOURNAL = f"{KUBELET}/plugins/{DRIVER}/state/journal"


def test_row_11_after_a_power_failure_all_comes_back_and_nothing_is_left_of_who_is_gone(
    own_driver: Driver, here: Kubectl
) -> None:
    cluster, store = own_driver.cluster, Store(own_driver.cluster)
    own_driver.install()
    store.write(f"kept/{FILE}", CONTENT)
    kept = worker("kept", inline("kept", KEYS_SECRET))
    kept["spec"]["restartPolicy"] = "Always"
    here.apply(kept, claim("made"), user("gone", claimed("made")))
    here.until_ready("kept", "gone")
    gone, own = folder_of(here, "gone"), folder_of(here, "kept")
    until_it_goes_on(here, "kept")
    cluster.machine.off()
    cluster.machine.on()
    cluster.start_control_plane()
    here("delete", "pod", "gone", "--force", "--grace-period=0")
    store.start()
    cluster.start_node()
    wait_until(lambda: runs_anew(here, "kept"), PATIENCE, pause=0.5)
    until_it_goes_on(here, "kept")
    assert complaints(here, "kept") == []
    wait_until(lambda: cluster.machine.attempt(["test", "-e", gone]).returncode == 1, PATIENCE, pause=0.5)
    wait_until(lambda: len(own_driver.mounts()) == 2, PATIENCE, pause=0.5)
    assert [place for place in own_driver.mounts() if place.startswith(f"{own}/")] != []
    assert len(cluster.machine.run(["ls", JOURNAL]).split()) == 1
    here.delete("pod", "kept")
    wait_until(lambda: own_driver.mounts() == [], PATIENCE, pause=0.5)
    before, _, after = store.read(f"kept/{LOG}").rpartition("\n0\n")
    assert lines(before) > 0
    assert lines(f"0\n{after}") > 0


def test_row_18_little_memory_and_a_full_disk_are_noticed_by_nobody(own_driver: Driver, here: Kubectl) -> None:
    """The cache has room for a third of the file, and whoever holds mounts or serves them has 320 MiB of memory."""
    store = Store(own_driver.cluster)
    own_driver.cluster.machine.run(["mkdir", "--parents", CACHE])
    own_driver.cluster.machine.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", CACHE])
    little = {"resources": {"requests": {"memory": "128Mi"}, "limits": {"memory": "320Mi"}}}
    own_driver.install(holder=little, clients=little)
    store.write(f"large/{FILE}", CONTENT * 800)
    here.apply(*(worker(f"worker-{each}", inline("large", KEYS_SECRET)) for each in range(1)))
    here.until_ready("worker-0")
    for _ in range(3):
        until_it_goes_on(here, "worker-0")
    here.execute("worker-0", "dd", "if=/dev/zero", "of=/data/zeros", "bs=1M", "count=96")
    assert here.execute("worker-0", "wc", "-c", "/data/zeros").split()[0] == str(96 << 20)
    until_it_goes_on(here, "worker-0")
    assert complaints(here, "worker-0") == []
    assert (
        "No space left"
        in own_driver.cluster.machine.attempt(["dd", "if=/dev/zero", f"of={CACHE}/rest", "bs=1M"]).stderr
    )
    until_it_goes_on(here, "worker-0")
    assert complaints(here, "worker-0") == []
    here.delete("pod", "worker-0")
    assert own_driver.restarts() == 0


def test_row_19_who_writes_until_its_end_is_waited_for_when_a_machine_is_drained(
    driver: Driver, store: Store, kubectl: Kubectl
) -> None:
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    writing = "i=0; while [ $i -lt 20 ]; do echo $i >> /data/last; sleep 0.2; i=$((i + 1)); done"
    late = user("late", inline("late", KEYS_SECRET))
    late["metadata"]["labels"] = {"app": "drained"}
    late["spec"]["terminationGracePeriodSeconds"] = 15
    late["spec"]["containers"][0]["lifecycle"] = {"preStop": {"exec": {"command": ["sh", "-c", writing]}}}
    kubectl.apply(late)
    kubectl.until_ready("late")
    try:
        kubectl("drain", NODE, "--ignore-daemonsets", "--force", "--pod-selector=app=drained", patience=PATIENCE)
    finally:
        kubectl("uncordon", NODE)
    assert lines(store.read("late/last")) == 20
    assert [len(driver.pods(part)) for part in ("csi-node", "csi-holder")] == [1, 1]


def test_rows_20_and_22_a_pod_waits_for_the_driver_which_finds_room_on_a_full_machine(
    own_driver: Driver, here: Kubectl
) -> None:
    Store(own_driver.cluster).write("early/file", "text")
    free = own_driver.cluster.api.get(f"/api/v1/nodes/{NODE}")["status"]["allocatable"]["cpu"]
    greedy = pod("greedy", resources={"requests": {"cpu": free}})
    here.apply(greedy, user("early", inline("early", KEYS_SECRET)))
    here.until_ready("greedy")
    here.until_told("early", [DRIVER, "not found in the list of registered CSI drivers"])
    own_driver.install()
    here.until_ready("early", patience=PATIENCE)
    assert here.execute("early", "cat", "/data/file") == "text"
    assert "Preempted" in here.until_told("greedy", ["Preempted"])


def folder_of(kubectl: Kubectl, name: str) -> str:
    """The kubelet's, of a pod."""
    return f"{KUBELET}/pods/{found(kubectl, name)['metadata']['uid']}"


def runs_anew(kubectl: Kubectl, name: str) -> bool:
    status = found(kubectl, name)["status"]["containerStatuses"][0]
    return bool(status["ready"]) and status["restartCount"] > 0


def found(kubectl: Kubectl, name: str) -> Thing:
    there = kubectl.pod(name)
    assert there is not None
    return there


def lines(text: str) -> int:
    """How many there are, numbered from 0."""
    numbers = [int(line) for line in text.splitlines()]
    assert numbers == list(range(len(numbers)))
    return len(numbers)
