"""What survives when something is killed, each by the number of its row in the table of docs/howto/csi.md."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from kube.claims import claim, claimed, inline, user
from kube.clients import Clients
from kube.driver import KEYS_SECRET, RUN, Driver
from kube.kubectl import Kubectl
from kube.machine import Machine
from kube.processes import kill, running
from kube.storage import Store
from kube.work import FILE, LOG, complaints, until_it_goes_on, worker
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(3600)]

ROLES = ("node", "holder", "client") if RUN == "pods" else ("node", "holder")
KILLS = int(os.environ.get("KUBE_KILLS", "50"))
CONTENT = "".join(f"{number:08}\n" for number in range(100_000))
PATIENCE = 180.0
READING = "cat /data/file; while :; do sleep 1; done"
SOCKETS = {"node": "csi.sock", "holder": "holder.sock"}
SEEN_AGAIN = {"mountPropagation": "HostToContainer"}


def test_rows_1_and_3_a_pod_does_not_notice_that_the_driver_is_killed_again_and_again(
    own: Kubectl, store: Store, driver: Driver
) -> None:
    store.write(f"kept/{FILE}", CONTENT)
    own.apply(worker("worker", inline("kept", KEYS_SECRET)))
    own.until_ready("worker")
    until_it_goes_on(own, "worker")
    before = driver.mounts()
    for _ in range(KILLS):
        for role in ROLES:
            kill_part(driver, role)
            assert complaints(own, "worker") == []
    until_it_goes_on(own, "worker")
    assert driver.mounts() == before
    own.delete("pod", "worker")
    assert whole(store.read(f"kept/{LOG}"))


def test_row_1_a_container_sees_its_volume_again_after_all_that_serve_it_were_killed(
    own: Kubectl, store: Store, driver: Driver
) -> None:
    """Only a container with HostToContainer can be helped."""
    store.write("again/file", "whole")
    store.write("again/part/file", "part")
    pod = user("looker", inline("again", KEYS_SECRET), mounting=SEEN_AGAIN)
    part = {"name": "volume", "mountPath": "/part", "subPath": "part", **SEEN_AGAIN}
    pod["spec"]["containers"][0]["volumeMounts"].append(part)
    own.apply(pod)
    own.until_ready("looker")
    container = container_of(own, "looker")
    for _ in range(3):
        end_all(driver)
        wait_until(lambda: own.try_executing("looker", "cat", "/data/file").stdout == "whole", PATIENCE, pause=0.2)
        wait_until(lambda: own.try_executing("looker", "cat", "/part/file").stdout == "part", PATIENCE, pause=0.2)
    own.execute("looker", "sh", "-c", "echo more > /part/more")
    assert store.read("again/part/more") == "more\n"
    assert container_of(own, "looker") == container
    own.delete("pod", "looker")
    wait_until(lambda: driver.mounts() == [], PATIENCE, pause=0.2)


def test_parts_that_hang_are_begun_again_and_mounts_go_on(own: Kubectl, store: Store, driver: Driver) -> None:
    store.write(f"hung/{FILE}", CONTENT)
    own.apply(worker("worker", inline("hung", KEYS_SECRET)))
    own.until_ready("worker")
    machine = driver.cluster.machine
    # Only in pods of its own may a client outlive a holder that is begun again.
    parts = ("node", "holder", "controller", "clients") if RUN == "pods" else ("node", "controller")
    hung = [pid for part in parts for pid in running(machine, "pf-csi", part)]
    machine.run(["kill", "-STOP", *map(str, hung)])
    wait_until(lambda: not any(is_ready(driver, part) for part in parts), PATIENCE, pause=0.2)
    wait_until(
        lambda: not set(hung) & {pid for part in parts for pid in running(machine, "pf-csi", part)}, 2 * PATIENCE
    )
    wait_until(lambda: all(is_ready(driver, part) for part in parts), PATIENCE, pause=0.5)
    until_it_goes_on(own, "worker")
    assert complaints(own, "worker") == []
    own.apply(user("next", inline("hung", KEYS_SECRET)))
    own.until_ready("next")
    own.delete("pod", "worker", "next")


def test_row_14_containers_and_clients_end_in_turn(own: Kubectl, store: Store, driver: Driver) -> None:
    store.write("turns/file", "whole")
    pod = user("turning", inline("turns", KEYS_SECRET), mounting=SEEN_AGAIN, command=["sh", "-c", READING])
    pod["spec"]["restartPolicy"] = "Always"
    own.apply(pod)
    own.until_ready("turning")
    for _ in range(3):
        end_all(driver)
        wait_until(lambda: own.try_executing("turning", "cat", "/data/file").stdout == "whole", PATIENCE, pause=0.2)
        container = container_of(own, "turning")
        kill(driver.cluster.machine, running(driver.cluster.machine, "-c", READING))
        wait_until(lambda before=container: container_of(own, "turning") not in ("", before), PATIENCE, pause=0.2)  # type: ignore[misc]
        wait_until(lambda: own.try_executing("turning", "cat", "/data/file").stdout == "whole", PATIENCE, pause=0.2)
    own.delete("pod", "turning")


def test_row_10_a_kubelet_that_is_restarted_mounts_nothing_twice(own: Kubectl, store: Store, driver: Driver) -> None:
    store.write(f"stable/{FILE}", CONTENT)
    own.apply(claim("shared"), worker("worker", inline("stable", KEYS_SECRET)), user("other", claimed("shared")))
    own.until_ready("worker", "other")
    before = driver.mounts()
    for _ in range(3):
        driver.cluster.restart_kubelet()
        driver.cluster.until_node_is_ready()
        published = driver.published()
        wait_until(lambda published=published: driver.published() >= published + 2, PATIENCE, pause=0.5)  # type: ignore[misc]
        assert driver.mounts() == before
    until_it_goes_on(own, "worker")
    assert complaints(own, "worker") == []
    own.delete("pod", "worker", "other")


def is_ready(driver: Driver, part: str) -> bool:
    """All pods of a part, for the kubelet."""
    found = [each for pod in driver.pods(f"csi-{part}") for each in pod["status"].get("conditions", ())]
    said = [each["status"] for each in found if each["type"] == "Ready"]
    return bool(said) and set(said) == {"True"}


def kill_part(driver: Driver, role: str) -> None:
    """Returns when another one serves, and two have the mount again: with the last one it would end."""
    machine = driver.cluster.machine
    if role == "client":
        Clients(driver).kill_client()
    else:
        before = running(machine, "pf-csi", role)
        assert len(before) == 1
        kill(machine, before)
        wait_until(lambda: serves(machine, role, before), PATIENCE, pause=0.1)
    for each in ("start-mounts", "stand-by") if RUN == "pods" else ("start-mounts",):
        wait_until(lambda each=each: has_device(machine, "pf-fuse", each), PATIENCE, pause=0.1)  # type: ignore[misc]


def serves(machine: Machine, role: str, before: Sequence[int]) -> bool:
    new = [pid for pid in running(machine, "pf-csi", role) if pid not in before]
    listing = machine.attempt(["grep", "--quiet", SOCKETS[role], f"/proc/{new[0]}/net/unix"]) if new else None
    return listing is not None and listing.returncode == 0


def has_device(machine: Machine, *words: str) -> bool:
    """One of the processes with these words in their command, to whom the kernel speaks of a mount."""
    open_there = [machine.attempt(["ls", "-l", f"/proc/{pid}/fd"]).stdout for pid in running(machine, *words)]
    return any(line.endswith("/fuse") for listing in open_there for line in listing.splitlines())


def end_all(driver: Driver) -> None:
    """With the first process of its container the holder ends, whoever keeps mounts, and clients that are no pods."""
    machine = driver.cluster.machine
    if RUN == "pods":
        kill(machine, [*running(machine, "pf-fuse", "stand-by"), *running(machine, "pf-csi", "holder")])
    else:
        kill(machine, running(machine, "pf-csi-keep", "pf-csi", "holder"))


def container_of(kubectl: Kubectl, pod: str) -> str:
    """Empty while none runs."""
    found = kubectl.pod(pod)
    statuses = found["status"].get("containerStatuses", []) if found else []
    return str(statuses[0]["containerID"]) if statuses and "running" in statuses[0]["state"] else ""


def whole(log: str) -> bool:
    """Nothing of it was lost or is there twice."""
    numbers = [int(line) for line in log.splitlines()]
    return bool(numbers) and numbers == list(range(len(numbers)))
