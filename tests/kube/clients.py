"""Client pods of the driver, and a program that notices whatever happens to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kube.api import Thing
from kube.claims import user
from kube.driver import NAMESPACE, Driver, values
from kube.kubectl import Kubectl
from support.waiting import wait_until

CLIENTS = f"{NAMESPACE}-clients"
LARGE = "large"
_WORK = """
sha256sum /data/large > /root/sum
exec 3</data/large
n=0
while :; do
    n=$((n + 1))
    echo $n > /data/now || echo "writing $n" >> /root/faults
    [ "$(cat /data/now)" = $n ] || echo "reading $n: $(cat /data/now)" >> /root/faults
    said=$(sha256sum -c /root/sum 2>&1) || echo "sum $n: $said" >> /root/faults
    said=$(head -c 1 2>&1 <&3 | wc -c) || echo "descriptor $n: $said" >> /root/faults
    said=$(ls /data 2>&1) || echo "listing $n: $said" >> /root/faults
    echo $n > /root/rounds.new && mv /root/rounds.new /root/rounds
done
"""


def with_pods(**clients: Any) -> dict[str, Any]:
    """Values of a release whose clients are pods."""
    found = values()
    found["csi"]["clients"] = {"run": "pods", **clients}
    return found


@dataclass(frozen=True, slots=True)
class Application:
    """Reads and writes in a volume without an end; it keeps a file open from the beginning on."""

    name: str
    kubectl: Kubectl

    @classmethod
    def started(cls, name: str, volume: Thing, kubectl: Kubectl) -> Application:
        kubectl.apply(user(name, volume, command=["sh", "-c", _WORK]))
        kubectl.until_ready(name)
        application = cls(name, kubectl)
        application.goes_on()
        return application

    @property
    def rounds(self) -> int:
        return int(self.kubectl.execute(self.name, "sh", "-c", "cat /root/rounds 2>/dev/null || echo 0"))

    @property
    def faults(self) -> str:
        """What it has noticed."""
        return self.kubectl.execute(self.name, "sh", "-c", "cat /root/faults 2>/dev/null || true")

    def goes_on(self, patience: float = 60.0) -> None:
        """Two rounds more, of which one has begun by now."""
        before = self.rounds
        wait_until(lambda: self.rounds >= before + 2, patience, pause=0.1)


@dataclass(frozen=True, slots=True)
class Clients:
    """Those that serve mounts of a driver."""

    driver: Driver

    @property
    def kubectl(self) -> Kubectl:
        return self.driver.kubectl.within(CLIENTS)

    def pods(self) -> list[Thing]:
        """All that live."""
        found = self.driver.cluster.api.items(f"/api/v1/namespaces/{CLIENTS}/pods")
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def mounts(self) -> list[Thing]:
        return self.driver.cluster.api.items(f"/apis/csi.paddleflow.org/v1alpha1/namespaces/{CLIENTS}/mounts")

    def serving(self) -> str:
        """The pod that serves the only mount; empty if none does."""
        pods = [mount.get("status", {}).get("pod", "") for mount in self.mounts()]
        assert len(pods) <= 1, pods
        return pods[0] if pods else ""

    def spare(self) -> str:
        """A pod that waits and runs; empty if there is none."""
        serving = self.serving()
        running = [pod["metadata"]["name"] for pod in self.pods() if pod["status"].get("phase") == "Running"]
        return next((name for name in running if name != serving), "")

    def until_spare(self) -> str:
        wait_until(lambda: bool(self.spare()), 60.0, pause=0.1)
        return self.spare()

    def until_other_than(self, pod: str) -> str:
        wait_until(lambda: self.serving() not in ("", pod), 60.0, pause=0.1)
        return self.serving()
