"""Shows the quota tree: two teams share machines, while a watch prints what changes.

It types what a user would type. The stack must run, and PADDLEFLOW_CONFIG must name its configuration, as `demo/run.sh`
sees to. It can be run again: it first removes what it made before.
"""

from __future__ import annotations

import secrets
import sys

import paddleflow
from paddleflow.problems import UserNotFound
from shown import beside, run, say

CLUSTER = "default-cluster"
TREE = ("vision-train", "vision", "speech", "research")
"""Each before the one it stands below."""
USER = "alice"

MACHINES = """\
cluster: default-cluster
nodes:
  - {name: node-1, allocatable: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 4}, labels: {rack: a}}
  - {name: node-2, allocatable: {cpu: 16, memory: 64Gi, nvidia.com/gpu: 4}, labels: {rack: b}}
"""


def clear() -> None:
    """Removes what an earlier run made."""
    with paddleflow.connect_configured() as client:
        there = {each.name for each in client.queues.list()}
        for name in (name for name in TREE if name in there):
            client.queues.delete(name)
        try:
            client.users.delete(USER)
        except UserNotFound:
            return


def machines() -> None:
    say("1. A cluster is a set of machines. A runtime reports them; here we say that there are two.")
    print(f"\n{MACHINES}", end="", flush=True)
    run("cluster report -", typed=MACHINES)
    run("cluster nodes")


def tree() -> None:
    say("""2. Two teams share them. `research` is guaranteed everything (min) and can have no more (max). Of that,
        `vision` is guaranteed 20 cores and 6 GPUs, `speech` 12 and 2; what one leaves idle, the other may borrow,
        `speech` up to 24 cores. A dash stands for the ceiling of the queue above.""")
    run("queue create research default 32 128Gi --maxscalar nvidia.com/gpu=8 "
        "--mincpu 32 --minmem 128Gi --minscalar nvidia.com/gpu=8")  # fmt: skip
    run("queue create vision default - - --parent research --mincpu 20 --minmem 80Gi --minscalar nvidia.com/gpu=6")
    run("queue create speech default 24 - --parent research --mincpu 12 --minmem 48Gi --minscalar nvidia.com/gpu=2")
    run("queue create vision-train default - - --parent vision --mincpu 16 --minscalar nvidia.com/gpu=6 --weight 300")
    run("queue tree research")


def changes() -> None:
    say("3. Somebody watches while the tree changes: first what there is, then each change, exactly once and in order.")
    with beside("watch", "queue watch research speech vision vision-train") as watcher:
        watcher.tell(len(TREE))
        run("queue update speech --weight 200 --maxcpu 28")
        watcher.tell(1)
        run("queue update vision-train --mincpu 18 --location stage=prod")
        watcher.tell(1)
        run("queue hold vision-train")
        watcher.tell(1)
        run("queue open vision-train")
        watcher.tell(1)


def refusals() -> None:
    say("4. A change that would break a promise made to others is refused as a whole, and says why.")
    run("queue update speech --mincpu 13", refused=True)
    run("queue update research --maxcpu 24", refused=True)
    run("queue update research --parent vision", refused=True)


def grants() -> None:
    say("5. Users see, and may use, what is granted to them.")
    secret = f"a1{secrets.token_hex(8)}"
    run(f"user add {USER} -", typed=f"{secret}\n")
    run(f"queue grant {USER} speech")
    run("queue list", PADDLEFLOW_USER=USER, PADDLEFLOW_PASSWORD=secret)
    run("queue show vision", refused=True, PADDLEFLOW_USER=USER, PADDLEFLOW_PASSWORD=secret)


def main() -> None:
    print("\n== The quota tree: two teams share machines ==", flush=True)
    clear()
    machines()
    tree()
    changes()
    refusals()
    grants()
    say("6. This is the tree now.")
    run("queue tree research")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # As a shell says it; nobody needs to see where it was.
        sys.exit(130)
