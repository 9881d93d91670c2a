"""Volumes of pods in a real cluster: the stock sidecars and the kubelet ask, and nobody else."""

from __future__ import annotations

import pytest

from kube.api import Thing
from kube.claims import claim, claimed, inline, user
from kube.driver import CLASS, DRIVER, KEY_PAIR, KEYS_SECRET, NAMESPACE, Driver, secret
from kube.kubectl import Kubectl
from kube.storage import Store
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]


@pytest.fixture
def own(driver: Driver, store: Store, kubectl: Kubectl) -> Kubectl:
    """A namespace with what opens the store."""
    kubectl.apply(secret(KEYS_SECRET, KEY_PAIR))
    return kubectl


def test_a_claim_becomes_a_volume_that_two_pods_share(own: Kubectl, store: Store) -> None:
    own.apply(claim("shared"))
    volume = bound("shared", own)
    own.apply(user("writer", claimed("shared")), user("reader", claimed("shared")))
    own.until_ready("writer", "reader")
    own.execute("writer", "sh", "-c", "echo of the writer > /data/word")
    assert own.execute("reader", "cat", "/data/word") == "of the writer\n"
    own.execute("reader", "sh", "-c", "echo of the reader >> /data/word")
    assert own.execute("writer", "cat", "/data/word") == "of the writer\nof the reader\n"
    (name,) = [name for name in store.names("made") if name.endswith("/word")]
    assert store.read(name) == "of the writer\nof the reader\n"

    own("patch", "pvc", "shared", "--patch", '{"spec": {"resources": {"requests": {"storage": "3Gi"}}}}')
    wait_until(lambda: size_of("shared", own) == "3Gi", patience=60, pause=0.1)

    own.delete("pod", "writer", "reader")
    own.delete("pvc", "shared")
    own.until_gone(f"/api/v1/persistentvolumes/{volume}")
    assert [name for name in store.names("made") if name.endswith("/word")] == []


def test_a_pod_brings_a_volume_of_its_own(own: Kubectl, store: Store) -> None:
    store.write("brought/here", "already")
    own.apply(user("bringer", inline("brought", KEYS_SECRET)))
    own.until_ready("bringer")
    assert own.execute("bringer", "cat", "/data/here") == "already"
    own.execute("bringer", "sh", "-c", "echo new > /data/there")
    assert store.read("brought/there") == "new\n"
    own.delete("pod", "bringer")
    assert store.names("brought") == ["brought/here", "brought/there"]


def test_a_sub_path_shows_only_a_folder(own: Kubectl, store: Store) -> None:
    store.write("parts/one/file", "1")
    store.write("parts/two/file", "2")
    own.apply(user("partial", inline("parts", KEYS_SECRET), mounting={"subPath": "one"}))
    own.until_ready("partial")
    assert own.execute("partial", "ls", "/data") == "file\n"
    assert own.execute("partial", "cat", "/data/file") == "1"


def test_nobody_writes_to_what_is_read_only(own: Kubectl, store: Store) -> None:
    store.write("fixed/file", "as it was")
    own.apply(user("looker", inline("fixed", KEYS_SECRET, readOnly=True)))
    own.until_ready("looker")
    refused = own.try_executing("looker", "sh", "-c", "echo other > /data/file")
    assert refused.returncode != 0
    assert "Read-only" in refused.stderr
    assert own.execute("looker", "cat", "/data/file") == "as it was"


def test_a_pod_that_is_not_root_writes_as_its_group(own: Kubectl, store: Store) -> None:
    store.write("grouped/file", "before")
    member = {"runAsUser": 4000, "runAsGroup": 4000, "fsGroup": 5000, "runAsNonRoot": True}
    own.apply(user("member", inline("grouped", KEYS_SECRET), security=member))
    own.until_ready("member")
    assert own.execute("member", "stat", "-c", "%g", "/data/file") == "5000\n"
    own.execute("member", "sh", "-c", "echo of the group > /data/mine && echo more >> /data/file")
    assert store.read("grouped/mine") == "of the group\n"


def test_wrong_keys_are_told_and_can_be_mended(own: Kubectl, store: Store) -> None:
    store.write("locked/file", "behind a door")
    own.apply(secret("wrong", {"accessKey": "tester", "secretKey": "canary-of-a-wrong-key"}))
    own.apply(user("stranger", inline("locked", "wrong")))
    told = own.until_told("stranger", ["cannot be mounted"], patience=60)
    assert "canary" not in told
    own.apply(secret("wrong", KEY_PAIR))
    own.until_ready("stranger")
    assert own.execute("stranger", "cat", "/data/file") == "behind a door"


def test_a_bucket_that_is_missing_is_told(own: Kubectl) -> None:
    own.apply(user("lost", inline("", KEYS_SECRET, bucket="nowhere")))
    own.until_told("lost", ["cannot be mounted", "nowhere"], patience=60)


def test_an_option_that_nobody_knows_is_named(own: Kubectl) -> None:
    volume: Thing = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{own.namespace}-odd"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "mountOptions": ["colour=blue"],
            "claimRef": {"namespace": own.namespace, "name": "odd"},
            "csi": inline("odd", KEYS_SECRET)["csi"]
            | {
                "volumeHandle": f"{own.namespace}-odd",
                "nodePublishSecretRef": {"name": KEYS_SECRET, "namespace": NAMESPACE},
            },
        },
    }
    own.apply(volume, claim("odd", class_name=""), user("painter", claimed("odd")))
    own.until_told("painter", ["'colour' is no option"], patience=60)
    own.delete("pod", "painter")
    # As long as it has a claim it stays.
    own.delete("pvc", "odd")
    own.delete("pv", f"{own.namespace}-odd")


def test_the_kubelet_knows_how_full_a_volume_is(own: Kubectl, driver: Driver) -> None:
    own.apply(claim("measured"))
    own.apply(user("measurer", claimed("measured")))
    own.until_ready("measurer")
    path = "/api/v1/nodes/node-1/proxy/stats/summary"

    def capacities() -> list[int]:
        pods = driver.cluster.api.get(path)["pods"]
        volumes = [volume for pod in pods if pod["podRef"]["name"] == "measurer" for volume in pod.get("volume", [])]
        return [volume.get("capacityBytes", 0) for volume in volumes if volume.get("pvcRef")]

    wait_until(lambda: capacities() == [1 << 30], patience=90, pause=1.0)
    own.delete("pod", "measurer")


def test_nothing_is_left_on_the_machine_when_all_pods_are_gone(own: Kubectl, driver: Driver) -> None:
    own.apply(user("passing", inline("passing", KEYS_SECRET)))
    own.until_ready("passing")
    assert mounts(driver) != []
    own.delete("pod", "passing")
    wait_until(lambda: mounts(driver) == [], patience=60, pause=0.2)


def test_one_controller_leads(driver: Driver) -> None:
    """Of two that are there."""
    leases = driver.cluster.api.items(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
    holders = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in leases}
    assert len(holders) == 2
    assert len(driver.pods("csi-controller")) == 2
    assert driver.cluster.api.get(f"/apis/storage.k8s.io/v1/storageclasses/{CLASS}")["provisioner"] == DRIVER


def mounts(driver: Driver) -> list[str]:
    """Of the driver, as the machine sees them."""
    lines = driver.cluster.machine.run(["cat", "/proc/self/mountinfo"]).splitlines()
    return [line for line in lines if "fuse.paddleflow" in line]


def bound(name: str, kubectl: Kubectl) -> str:
    """The volume of a claim, once it has one."""
    path = f"/api/v1/namespaces/{kubectl.namespace}/persistentvolumeclaims/{name}"
    try:
        wait_until(lambda: kubectl.api.get(path)["status"]["phase"] == "Bound", patience=120, pause=0.1)
    except AssertionError as error:
        raise AssertionError(f"not bound: {kubectl.messages(name)}") from error
    return str(kubectl.api.get(path)["spec"]["volumeName"])


def size_of(name: str, kubectl: Kubectl) -> str:
    claim = kubectl.api.get(f"/api/v1/namespaces/{kubectl.namespace}/persistentvolumeclaims/{name}")
    return str(claim["status"].get("capacity", {}).get("storage", ""))
