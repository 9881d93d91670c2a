"""Shows jobs: programs of `examples` run, talk to one another, make room for others, and go on.

It types what a user would type, below the quota tree of `queues.py` and with the filesystems of `pipelines.py`, which
must be there. It can be run again.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from shown import answer, beside, run, say

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"

MINE = """\
name: mine
schedulingPolicy: {queue: vision}
framework: paddle
flavour: {cpu: 10, mem: 64Mi}
fs: {name: examples, readOnly: true}
command: python3 ring.py
members: [{role: worker, replicas: 2}]
"""


def create(line: str, typed: str = "") -> str:
    """The id of a new job."""
    found = re.search(r"id\[(.+)]", answer(line, typed=typed))
    if not found:
        sys.exit("this should have told the id of the job")
    return found[1]


def single() -> None:
    say("1. A job of one process. What it writes is seen as it is written.")
    job = create(f"job create {EXAMPLES / 'pi.yaml'}")
    run(f"job logs -f {job}")
    answer(f"job wait {job}")


def together() -> None:
    say("2. Two workers train one model: each has a part of the data, and around a ring all get the sum of gradients.")
    job = create(f"job create {EXAMPLES / 'ring.yaml'}")
    run(f"job logs -f {job}")
    answer(f"job wait {job}")


def servers() -> None:
    say("3. Two servers keep the weights, two workers compute. When these are done, the servers are stopped.")
    job = create(f"job create {EXAMPLES / 'servers.yaml'}")
    run(f"job logs -f {job}")
    answer(f"job wait {job}")


def preemption() -> None:
    say("""4. A long job of `speech` borrows 4 cores that are guaranteed to `vision`. Two workers of `vision` take them
        back: the borrower is told to make room, keeps where it is, waits again, and goes on there.""")
    long = create(
        "job submit --name long -q speech --cpu 16 --mem 64Mi -e STEPS=1000 "
        "--fs examples:/examples:ro --fs scratch:/scratch -- python3 checkpoint.py /scratch"
    )
    with beside("long", f"job logs -f --later {long}") as log:
        log.until("step 25 ")
        print(f"\n{MINE}", end="", flush=True)
        mine = create("job create -", MINE)
        log.until("told to make room")
        run(f"job explain {long}")
        answer(f"job wait {mine}")
        log.until("goes on behind step")
        log.tell(1)
    run(f"job events {long} -o text")
    say("That is all there is to see of it. It would go on for a minute, so it is stopped.")
    run(f"job stop {long} --now")


def main() -> None:
    print("\n== Jobs: programs run, talk, make room and go on ==", flush=True)
    single()
    together()
    servers()
    preemption()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        # As a shell says it; nobody needs to see where it was.
        sys.exit(130)
