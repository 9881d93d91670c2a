"""Volumes of pods in a real cluster: the stock sidecars and the kubelet ask, and nobody else."""

from __future__ import annotations

import pytest

from kube.claims import claim, claimed, inline, user, volume
from kube.driver import CLASS, DRIVER, KEYS_SECRET, NAMESPACE, RUN, Driver
from kube.kubectl import Kubectl
from kube.storage import Store
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]


def test_a_claim_becomes_a_volume_that_two_pods_share(own: Kubectl, store: Store) -> None:
    own.apply(claim("shared"))
    made = bound("shared", own)
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
    own.until_gone(f"/api/v1/persistentvolumes/{made}")
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


def test_an_administrator_gives_a_volume_that_is_there(own: Kubectl, store: Store) -> None:
    store.write("given/file", "given")
    given = volume(f"{own.namespace}-given", "given", "given", own)
    own.apply(given, claim("given", class_name=""), user("taker", claimed("given")))
    own.until_ready("taker")
    assert own.execute("taker", "cat", "/data/file") == "given"
    forget(own, "taker", "given")
    assert store.read("given/file") == "given"


def test_row_24_a_volume_with_the_handle_of_another_is_refused_and_told_why(own: Kubectl, store: Store) -> None:
    """The kubelet would take two of them in a pod for one, and show the files of one as those of both."""
    twin = volume(f"{own.namespace}-twin", "twin", "twin", own, handle="another")
    with pytest.raises(AssertionError, match="volumeHandle must be the name of the volume"):
        own.apply(twin)
    of_others = twin | {"spec": twin["spec"] | {"csi": {"driver": "other.example.org", "volumeHandle": "another"}}}
    own.apply(of_others)
    own.delete("pv", f"{own.namespace}-twin")
    for number in ("1", "2"):
        store.write(f"own-{number}/file", number)
        own.apply(volume(f"{own.namespace}-own-{number}", f"own-{number}", f"own-{number}", own))
        own.apply(claim(f"own-{number}", class_name=""))
    both = user("both", claimed("own-1"))
    both["spec"]["volumes"].append({"name": "other", **claimed("own-2")})
    both["spec"]["containers"][0]["volumeMounts"].append({"name": "other", "mountPath": "/other"})
    own.apply(both)
    own.until_ready("both")
    assert own.execute("both", "cat", "/data/file", "/other/file") == "12"
    forget(own, "both", "own-1", "own-2")


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


def test_the_kubelet_knows_how_full_a_volume_is(own: Kubectl, driver: Driver) -> None:
    own.apply(claim("measured"))
    own.apply(user("measurer", claimed("measured")))
    own.until_ready("measurer")
    path = "/api/v1/nodes/node-1/proxy/stats/summary"

    def capacities() -> list[int]:
        pods = driver.cluster.api.get(path)["pods"]
        volumes = [each for pod in pods if pod["podRef"]["name"] == "measurer" for each in pod.get("volume", [])]
        return [each.get("capacityBytes", 0) for each in volumes if each.get("pvcRef")]

    wait_until(lambda: capacities() == [1 << 30], patience=90, pause=1.0)
    own.delete("pod", "measurer")


def test_nothing_is_left_on_the_machine_when_all_pods_are_gone(own: Kubectl, driver: Driver) -> None:
    own.apply(user("passing", inline("passing", KEYS_SECRET)))
    own.until_ready("passing")
    assert driver.mounts() != []
    own.delete("pod", "passing")
    wait_until(lambda: driver.mounts() == [], patience=60, pause=0.2)


def test_one_controller_leads(driver: Driver) -> None:
    """Of two that are there."""
    leases = driver.cluster.api.items(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
    holders = {lease["metadata"]["name"]: lease["spec"]["holderIdentity"] for lease in leases}
    assert len(holders) == (3 if RUN == "pods" else 2)
    assert len(driver.pods("csi-controller")) == 2
    assert driver.cluster.api.get(f"/apis/storage.k8s.io/v1/storageclasses/{CLASS}")["provisioner"] == DRIVER


def forget(kubectl: Kubectl, pod: str, *claims: str) -> None:
    """With volumes that an administrator gave: they stay until their claims are gone."""
    kubectl.delete("pod", pod)
    kubectl.delete("pvc", *claims)
    kubectl.delete("pv", *(f"{kubectl.namespace}-{each}" for each in claims))


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
