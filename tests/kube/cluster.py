"""A Kubernetes of one node: its programs on a machine of namespaces, and what tests do with them."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from kube import identities, images, programs, settings
from kube.api import Api, Thing
from kube.identities import NODE
from kube.kubectl import Kubectl
from kube.layout import API, API_HOSTS, CONTAINERD
from kube.machine import PATIENCE, Machine
from support.servers import short_folder
from support.waiting import wait_until


class Cluster:
    """It runs from `start` until `stop`; after a `reboot` it has the same state on a machine that has just started."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.api = Api(state / "api.sock")
        self.machine = Machine(state)

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.machine, self.api)

    def start(self) -> None:
        """Switches the machine on, with all programs; returns when the node takes pods."""
        self.machine.on()
        self.start_control_plane()
        self.start_node()

    def start_node(self) -> None:
        """What runs pods, once the machine is on and the API answers."""
        self.start_containerd()
        if not self.images():
            self.load(images.write_busybox(self.state))
        self.start_kubelet()
        self.machine.start("kube-proxy", programs.proxy(self.state))
        self.until_node_is_ready()
        wait_until(lambda: self.api.find("/api/v1/namespaces/default/serviceaccounts/default") is not None, PATIENCE)

    def start_control_plane(self) -> None:
        start = self.machine.start
        start("etcd", programs.etcd(self.state))
        start("apiserver", programs.apiserver(self.state))
        (self.state / "api.sock").unlink(missing_ok=True)
        start("door", programs.door(self.state))
        self.until(self.api.answers, "apiserver")
        start("controller-manager", programs.controller_manager(self.state))
        start("scheduler", programs.scheduler(self.state))

    def start_containerd(self) -> None:
        self.machine.start("containerd", programs.containerd(self.state))
        self.until(self._takes_pods, "containerd")

    def _takes_pods(self) -> bool:
        """What the kubelet asks for is there a moment after the rest, and the kubelet asks only once."""
        with grpc.insecure_channel(f"unix:/proc/{self.machine.first}/root{CONTAINERD}") as channel:
            version: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
                "/runtime.v1.RuntimeService/Version"
            )
            try:
                version(b"", timeout=PATIENCE)
            except grpc.RpcError:
                return False
            return True

    def stop_containerd(self) -> None:
        """Containers go on."""
        self.machine.stop("containerd")

    def start_kubelet(self) -> None:
        self.machine.start("kubelet", programs.kubelet(self.state))

    def stop_kubelet(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Pods go on, and nobody looks after them."""
        self.machine.stop("kubelet", how)

    def restart_kubelet(self) -> None:
        self.stop_kubelet()
        self.start_kubelet()

    def until_node_is_ready(self) -> None:
        """Since the machine was switched on last: what was known before says nothing."""
        boot = self.machine.run(["cat", "/proc/sys/kernel/random/boot_id"]).strip()
        self.until(lambda: node_is_ready(self.api.find(f"/api/v1/nodes/{NODE}"), boot), "kubelet")

    def reboot(self) -> None:
        """As after a power failure: no process, no mount and nothing below /run outlives it."""
        self.machine.off()
        self.start()

    def load(self, archive: Path) -> None:
        """Has the node know the images of an archive. No registry has them, so pods say `imagePullPolicy: Never`."""
        self.machine.run(ctr("--namespace=k8s.io", "images", "import", str(archive)), patience=600.0)

    def images(self) -> list[str]:
        return self.machine.run(ctr("--namespace=k8s.io", "images", "list", "--quiet")).split()

    def until(self, holds: Callable[[], bool], program: str) -> None:
        """Waits for a program, and shows the end of its log if that was in vain."""
        try:
            wait_until(lambda: holds() or not self.machine.runs(program), PATIENCE, pause=0.05)
        except AssertionError as error:
            raise AssertionError(f"{program} does not get ready:\n{self.machine.log(program)[-4000:]}") from error
        assert self.machine.runs(program), f"{program} has ended:\n{self.machine.log(program)[-4000:]}"

    def stop(self) -> None:
        self.machine.off()


def ctr(*arguments: str) -> list[str]:
    return ["/usr/bin/ctr", f"--address={CONTAINERD}", *arguments]


def node_is_ready(node: Thing | None, boot: str) -> bool:
    if node is None or node["status"]["nodeInfo"]["bootID"] != boot:
        return False
    return any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", ()))


def new_cluster(state: Path) -> Cluster:
    """In a new folder; it still has to be started."""
    identities.write(state / "pki", API, API_HOSTS)
    cluster = Cluster(state)
    settings.write(state, cluster.machine.cgroup)
    return cluster


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """One of its own; nothing of it is left behind, whatever happens."""
    state = short_folder()
    try:
        cluster = new_cluster(state)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(state)
