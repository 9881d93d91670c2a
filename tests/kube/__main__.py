"""`python -m kube build | up | down`: what `make kube-up` and its like do.

The cluster that `up` starts belongs to `keep`, a program in the background, and ends with it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from kube.build import build
from kube.cluster import Cluster, new_cluster
from kube.layout import API
from kube.parts import CACHE, PROGRAMS, PartsMissing, prepare
from support.repository import ROOT
from support.waiting import wait_until

UP = CACHE / "up"
"""The state of the cluster of this checkout."""
KEEPER = CACHE / "keeper"
"""The process that keeps it."""
KUBECTL = CACHE / "kubectl"
PATIENCE = 300.0


def main(arguments: list[str]) -> int:
    orders: Mapping[str, Callable[[], None]] = {"build": ready, "down": down, "keep": keep, "up": up}
    if len(arguments) != 1 or arguments[0] not in orders:
        sys.stderr.write("usage: python -m kube build | up | down\n")
        return 2
    try:
        orders[arguments[0]]()
    except PartsMissing as missing:
        sys.stderr.write(f"kube: {missing}\n")
        return 1
    return 0


def ready() -> None:
    prepare()
    build()


def up() -> None:
    ready()
    if keeper() is None:
        begin_keeping()
    sys.stdout.write(f"A cluster runs. Try: {KUBECTL.relative_to(ROOT)} get nodes\n")


def begin_keeping() -> None:
    with (CACHE / "keeper.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kube", "keep"],
            env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    wait_until(lambda: KUBECTL.exists() or process.poll() is not None, PATIENCE)
    if process.poll() is not None:
        raise PartsMissing(f"the cluster did not start: {CACHE / 'keeper.log'} says why")


def keep() -> None:
    """Until it is told to end."""
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    KEEPER.write_text(str(os.getpid()))
    try:
        cluster = new_cluster(UP)
        try:
            cluster.start()
            write_kubectl(cluster)
            told.wait()
        finally:
            cluster.stop()
    finally:
        for path in (KUBECTL, KEEPER):
            path.unlink(missing_ok=True)
        shutil.rmtree(UP, ignore_errors=True)


def write_kubectl(cluster: Cluster) -> None:
    """A program that speaks to the cluster from outside of its network; it appears as a whole."""
    entering = f"nsenter --target {cluster.machine.first} --mount --net --"
    keys = f"--kubeconfig={shlex.quote(str(UP / 'pki' / 'admin.kubeconfig'))} --server={API}"
    written = KUBECTL.with_suffix(".new")
    written.write_text(f'#!/bin/sh\nexec {entering} {shlex.quote(str(PROGRAMS / "kubectl"))} {keys} "$@"\n')
    written.chmod(0o755)
    written.rename(KUBECTL)


def down() -> None:
    process = keeper()
    if process is None:
        sys.stdout.write("No cluster runs.\n")
        return
    os.kill(process, signal.SIGTERM)
    wait_until(lambda: not KEEPER.exists() and not Path(f"/proc/{process}").exists(), PATIENCE, pause=0.1)
    sys.stdout.write("The cluster is gone.\n")


def keeper() -> int | None:
    """Who keeps the cluster, if it lives: a number that is left of another one may be anybody's."""
    try:
        process = int(KEEPER.read_text())
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ValueError):
        return None
    return process if b"kube" in command and b"keep" in command else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
