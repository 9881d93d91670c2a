"""Volumes that are folders of the machine, where its administrator allows them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kube.api import Thing
from kube.claims import claim, claimed, user, volume
from kube.driver import KEYS_SECRET, Driver
from kube.kubectl import Kubectl
from support.waiting import wait_until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(900)]

FOLDER = "/var/shared"
CLIENT = "10001"
"""The user of client pods, who has no other rights in the folder than the machine gives it."""


@pytest.fixture(scope="module")
def allowed(driver: Driver) -> Iterator[Driver]:
    driver.cluster.machine.run(["mkdir", "--parents", f"{FOLDER}/later"])
    driver.cluster.machine.run(["chown", CLIENT, FOLDER])
    driver.install_anew(node={"allowed": {"folders": [FOLDER]}})
    yield driver
    driver.install_anew()


def test_pods_and_the_machine_share_a_folder(own: Kubectl, allowed: Driver) -> None:
    machine = allowed.cluster.machine
    give(own, "shared", FOLDER)
    own.apply(user("writer", claimed("shared")), user("reader", claimed("shared")))
    own.until_ready("writer", "reader")
    own.execute("writer", "sh", "-c", "echo of the writer > /data/word")
    assert own.execute("reader", "cat", "/data/word") == "of the writer\n"
    assert machine.run(["cat", f"{FOLDER}/word"]) == "of the writer\n"
    machine.run(["sh", "-c", f"echo of the machine > {FOLDER}/other"])
    wait_until(lambda: own.try_executing("reader", "cat", "/data/other").stdout == "of the machine\n", 60.0, pause=0.2)
    forget(own, "shared", "writer", "reader")
    wait_until(lambda: allowed.mounts() == [], 60.0, pause=0.2)
    assert machine.run(["cat", f"{FOLDER}/word"]) == "of the writer\n"


def test_what_is_mounted_there_later_is_seen(own: Kubectl, allowed: Driver) -> None:
    machine = allowed.cluster.machine
    give(own, "grown", FOLDER)
    own.apply(user("looker", claimed("grown")))
    own.until_ready("looker")
    machine.run(["mount", "-t", "tmpfs", "tmpfs", f"{FOLDER}/later"])
    try:
        machine.run(["sh", "-c", f"echo of the disk > {FOLDER}/later/file"])
        seen = ["cat", "/data/later/file"]
        wait_until(lambda: own.try_executing("looker", *seen).stdout == "of the disk\n", 60.0, pause=0.2)
    finally:
        forget(own, "grown", "looker")
        machine.run(["umount", "--lazy", f"{FOLDER}/later"])


def test_another_folder_is_refused_and_named(own: Kubectl, allowed: Driver) -> None:
    give(own, "other", "/var/lib")
    own.apply(user("stranger", claimed("other")))
    own.until_told("stranger", ["/var/lib is no volume on this machine", "its administrator may allow it"], 10.0)
    forget(own, "other", "stranger")


def give(kubectl: Kubectl, name: str, folder: str) -> None:
    """A claim that has the folder."""
    made: Thing = volume(f"{kubectl.namespace}-{name}", name, "", kubectl, secret=KEYS_SECRET)
    made["spec"]["csi"]["volumeAttributes"] = {"url": f"local://{folder}"}
    del made["spec"]["csi"]["nodePublishSecretRef"]
    kubectl.apply(made, claim(name, class_name=""))


def forget(kubectl: Kubectl, name: str, *pods: str) -> None:
    kubectl.delete("pod", *pods)
    kubectl.delete("pvc", name)
    kubectl.delete("pv", f"{kubectl.namespace}-{name}")
