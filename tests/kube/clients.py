"""Client pods of the driver, and a program that notices whatever happens to them."""

from __future__ import annotations

from dataclasses import dataclass

from kube.api import Thing
from kube.claims import user
from kube.driver import NAMESPACE, REPOSITORY, TAG, Driver
from kube.kubectl import Kubectl
from support.waiting import wait_until

CLIENTS = f"{NAMESPACE}-clients"
LARGE, OWN = "large", "own"
_CLIENT = """
for each in /proc/[0-9]*; do
    grep -qs '[s]tand-by' $each/cmdline && echo ${each#/proc/}
done | sort -n | tail -n 1
"""
"""Who serves was begun after who stands by."""
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


_MAPPED = f"""
import hashlib, mmap, os

def fault(words):
    with open("/root/faults", "a") as file:
        print(n, words, file=file)

large = os.open("/data/{LARGE}", os.O_RDONLY)
seen = mmap.mmap(large, 0, prot=mmap.PROT_READ)
whole = hashlib.sha256(seen).digest()
own = os.open("/data/{OWN}", os.O_RDWR | os.O_CREAT)
os.truncate(own, mmap.PAGESIZE)
kept = mmap.mmap(own, mmap.PAGESIZE)
n = 0
while True:
    n += 1
    # Whatever the kernel has of it is read again.
    seen.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(large, 0, 0, os.POSIX_FADV_DONTNEED)
    if hashlib.sha256(seen).digest() != whole:
        fault("other bytes")
    text = b"%08d" % n
    kept[:8] = text
    kept.flush()
    if os.pread(own, 8, 0) != text:
        fault("not what was written")
    with open("/root/rounds.new", "w") as file:
        file.write(str(n))
    os.rename("/root/rounds.new", "/root/rounds")
"""


def worker(name: str, volume: Thing) -> Thing:
    """It keeps a file open from the beginning on."""
    return user(name, volume, command=["sh", "-c", _WORK])


def mapper(name: str, volume: Thing) -> Thing:
    """It keeps two files mapped into memory, and writes to one of them, its own."""
    made = user(name, volume, command=["python3", "-c", _MAPPED], security={"runAsUser": 0})
    made["spec"]["containers"][0]["image"] = f"{REPOSITORY}:{TAG}"
    return made


@dataclass(frozen=True, slots=True)
class Application:
    """Reads and writes in a volume without an end."""

    name: str
    kubectl: Kubectl

    @classmethod
    def started(cls, pod: Thing, kubectl: Kubectl) -> Application:
        name = pod["metadata"]["name"]
        kubectl.apply(pod)
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
        return self.driver.pods("csi-client")

    def mounts(self) -> list[Thing]:
        return self.driver.cluster.api.items(f"/apis/csi.paddleflow.org/v1alpha1/namespaces/{CLIENTS}/mounts")

    def serving(self) -> str:
        """The pod that serves the only mount; empty if none does."""
        pods = [mount.get("status", {}).get("pod", "") for mount in self.mounts()]
        assert len(pods) <= 1, pods
        return pods[0] if pods else ""

    def kill_client(self) -> None:
        """The process that serves the only mount; returns when its pod has another one."""
        name = self.until_other_than("")
        before = self._client(name)
        self.kubectl.execute(name, "sh", "-c", f"kill -9 {before}")
        wait_until(lambda: self._client(name) > before, 60.0, pause=0.1)

    def _client(self, pod: str) -> int:
        return int(self.kubectl.execute(pod, "sh", "-c", _CLIENT))

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
