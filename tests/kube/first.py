"""The first process of a machine: makes its mounts and its network, and then buries whoever has nobody else.

It runs as pid 1 of new namespaces, `python -m kube.first FOLDER`, and says `ready`. When its standard input ends, so
does it, and with it everything on the machine: nothing outlives the program that began it, however that ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from kube.layout import BRIDGE, NODE_ADDRESS, OWN, PREFIX
from paddleflow.mountinfo import read_mounts


def main(state: Path) -> None:
    make_mounts(state)
    make_network()
    # The kernel reaps children of processes that ignore this, also those that were adopted.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


def make_mounts(state: Path) -> None:
    """What is written below /var and /run stays on this machine; what must outlive a reboot lies in its state."""
    drop_others()
    mount("--make-rshared", "/")
    changes, work = state / "var", state / "var.work"
    for folder in (changes, work):
        folder.mkdir(exist_ok=True)
    mount("-t", "overlay", "-o", f"lowerdir=/var,upperdir={changes},workdir={work}", "overlay", "/var")
    for place, name in OWN.items():
        (state / name).mkdir(exist_ok=True)
        Path(place).mkdir(parents=True, exist_ok=True)
        mount("--bind", str(state / name), place)
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    # A machine that booted anew says so.
    boot = Path("/run/boot_id")
    boot.write_text(f"{uuid.uuid4()}\n")
    mount("--bind", str(boot), "/proc/sys/kernel/random/boot_id")


def drop_others() -> None:
    """Mounts that programs of this computer serve, which do not end as long as they are seen anywhere."""
    for each in reversed(read_mounts().all):
        if each.kind.startswith("fuse."):
            # One that lies beneath another cannot be named; it goes with that.
            subprocess.run(["umount", "--lazy", "--quiet", each.place])


def make_network() -> None:
    """A bridge, since the kubelet refuses addresses of the loopback device."""
    for words in (
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"address add {NODE_ADDRESS}/{PREFIX} dev {BRIDGE}",
        f"link set {BRIDGE} up",
        f"route add default dev {BRIDGE}",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


if __name__ == "__main__":
    os.chdir("/")
    main(Path(sys.argv[1]))
