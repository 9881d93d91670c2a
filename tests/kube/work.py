"""A pod that reads and writes all the while, and tells of all that is not as it should be."""

from __future__ import annotations

import re
from typing import Any

from kube.api import Thing
from kube.claims import user
from kube.kubectl import Kubectl
from support.waiting import wait_until

FILE, LOG = "file", "log"
WORK = """
exec 3>>/data/log
want=$(sha256sum < /data/file)
n=0
while :; do
    [ "$(sha256sum < /data/file)" = "$want" ] || echo "other bytes in round $n"
    echo "$n" > /data/written || echo "not written in round $n"
    [ "$(cat /data/written)" = "$n" ] || echo "not read in round $n"
    echo "$n" >&3 || echo "not appended in round $n"
    n=$((n + 1))
    [ $((n % 10)) -ne 0 ] || echo "$n rounds"
    sleep 0.05
done
"""
_ROUNDS = re.compile(r"(\d+) rounds")


def worker(name: str, volume: Thing, **more: Any) -> Thing:
    """It reads `file`, which must be there, and writes `written` and, by one descriptor, `log`."""
    made = user(name, volume, command=["sh", "-c", WORK], **more)
    # Its shell ends at once, since it is the first process and listens to nothing.
    made["spec"]["terminationGracePeriodSeconds"] = 0
    return made


def complaints(kubectl: Kubectl, pod: str) -> list[str]:
    """All that it said but for how far it is."""
    return [line for line in kubectl.logs(pod).splitlines() if not _ROUNDS.fullmatch(line)]


def rounds(kubectl: Kubectl, pod: str) -> int:
    found = _ROUNDS.findall(kubectl.logs(pod, "--tail=20"))
    return int(found[-1]) if found else 0


def until_it_goes_on(kubectl: Kubectl, pod: str) -> None:
    """It has done some more."""
    before = rounds(kubectl, pod)
    wait_until(lambda: rounds(kubectl, pod) > before, patience=120.0, pause=0.2)
