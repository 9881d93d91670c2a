"""The cluster of the tests is a real one, and can be treated as badly as machines are."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from kube.cluster import Cluster
from kube.identities import NODE
from kube.images import BUSYBOX
from kube.kubectl import Kubectl
from kube.machine import Machine
from kube.parts import KUBERNETES
from kube.pods import pod
from support.mounts import new_mount
from support.servers import short_folder
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]


def test_the_node_is_ready_and_of_the_pinned_version(cluster: Cluster) -> None:
    node = cluster.api.get(f"/api/v1/nodes/{NODE}")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{KUBERNETES}"
    assert cluster.api.get("/version")["gitVersion"] == f"v{KUBERNETES}"


def test_a_pod_runs_and_is_spoken_with(kubectl: Kubectl) -> None:
    kubectl.apply(pod("speaker", ["sh", "-c", "echo here I am; sleep 1000"]))
    kubectl.until_ready("speaker")
    assert kubectl.logs("speaker") == "here I am\n"
    assert kubectl.execute("speaker", "cat", told="across") == "across"
    assert kubectl.try_executing("speaker", "false").returncode == 1


def test_a_pod_ends_as_its_program_does(kubectl: Kubectl) -> None:
    kubectl.apply(pod("well", ["true"]), pod("badly", ["false"]))
    assert (kubectl.until_ended("well"), kubectl.until_ended("badly")) == ("Succeeded", "Failed")


def test_a_pod_reaches_the_api_with_its_own_token(kubectl: Kubectl) -> None:
    """As controllers do: by the service's address, with the certificates and the token of their account."""
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    kubectl.apply(pod("caller"))
    kubectl.until_ready("caller")
    assert (
        kubectl.execute("caller", "sh", "-c", "nc -w 5 $KUBERNETES_SERVICE_HOST 443 </dev/null && echo open")
        == "open\n"
    )
    assert "BEGIN CERTIFICATE" in kubectl.execute("caller", "cat", f"{folder}/ca.crt")


def test_what_goes_wrong_is_told_in_events(kubectl: Kubectl) -> None:
    kubectl.apply(pod("nowhere", image="registry.invalid/nothing:1"))
    assert "ErrImageNeverPull" in kubectl.until_told("nowhere", ["registry.invalid/nothing:1"])


def test_fields_that_nobody_knows_are_refused(kubectl: Kubectl) -> None:
    with pytest.raises(AssertionError, match="colour"):
        kubectl.apply(pod("painted", colour="blue"))


def test_a_watch_tells_what_happens(kubectl: Kubectl, cluster: Cluster) -> None:
    seen: list[str] = []
    path = "/api/v1/pods?fieldSelector=metadata.name%3Dwatched"
    version = cluster.api.get(path)["metadata"]["resourceVersion"]

    def look() -> None:
        for kind, _ in cluster.api.watch(f"{path}&resourceVersion={version}"):
            seen.append(kind)
            if kind == "DELETED":
                return

    watcher = threading.Thread(target=look)
    watcher.start()
    kubectl.apply(pod("watched", ["true"]))
    kubectl.until_ended("watched")
    kubectl.delete("pod", "watched")
    watcher.join(60)
    assert (seen[0], seen[-1]) == ("ADDED", "DELETED")


def test_pods_outlive_the_kubelet_and_containerd(kubectl: Kubectl, cluster: Cluster) -> None:
    kubectl.apply(pod("survivor", ["sh", "-c", "while :; do date >> /data/times; sleep 1; done"]))
    kubectl.until_ready("survivor")
    before = identity_of("survivor", kubectl)
    cluster.stop_kubelet()
    cluster.stop_containerd()
    cluster.start_containerd()
    cluster.start_kubelet()
    cluster.until_node_is_ready()
    kubectl.until_ready("survivor")
    wait_until(lambda: kubectl.try_executing("survivor", "true").returncode == 0, patience=60)
    assert identity_of("survivor", kubectl) == before


def test_a_reboot_starts_containers_again_and_keeps_what_is_known(own_cluster: Cluster) -> None:
    cluster, kubectl = own_cluster, own_cluster.kubectl
    always = pod("returning")
    always["spec"]["restartPolicy"] = "Always"
    kubectl.apply(always)
    kubectl.until_ready("returning")
    before = cluster.api.get(f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]["bootID"]
    container = identity_of("returning", kubectl)
    cluster.reboot()
    wait_until(lambda: identity_of("returning", kubectl) not in {"", container}, patience=120)
    kubectl.until_ready("returning")
    assert cluster.api.get(f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]["bootID"] != before
    assert BUSYBOX in cluster.images()


def test_nothing_of_a_machine_is_seen_outside_of_it(kubectl: Kubectl, cluster: Cluster) -> None:
    kubectl.apply(pod("inside"))
    kubectl.until_ready("inside")
    assert "kubelet" in cluster.machine.run(["cat", "/proc/self/mountinfo"])
    assert str(cluster.state) not in Path("/proc/self/mountinfo").read_text()
    assert not Path("/var/lib/kubelet").exists()


def test_a_machine_keeps_no_mount_of_others(tmp_path: Path) -> None:
    """Whoever serves one lives as long as it is seen anywhere."""
    folder = short_folder()
    machine = Machine(folder)
    with new_mount() as mount:
        mount.begin(f"local://{tmp_path}", {})
        served = mount.server()
        machine.on()
        try:
            assert str(mount.place) not in machine.run(["cat", "/proc/self/mountinfo"])
            mount.end()
            wait_until(lambda: not Path(f"/proc/{served}").exists(), patience=30)
        finally:
            machine.off()
    shutil.rmtree(folder)


def identity_of(name: str, kubectl: Kubectl) -> str:
    """Of its container; empty while it has none that runs."""
    found = kubectl.pod(name)
    statuses = found["status"].get("containerStatuses", []) if found else []
    return str(statuses[0]["containerID"]) if statuses and "running" in statuses[0]["state"] else ""
