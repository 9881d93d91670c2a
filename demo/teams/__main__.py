"""Four teams compete for a cluster: borrowing, taking back, fair shares, gangs and elastic jobs.

The stack must run, and PADDLEFLOW_CONFIG must name its configuration, as `demo/run.sh` sees to. It can be run again: it
first removes what it made before. It fails if it did not see what it promises.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

from paddleflow.aio import connect_configured
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form
from paddleflow.problems import Problem
from teams.screen import Screen
from teams.service import JobService
from teams.setting import CORES, CORES_EACH, MACHINES, TEAMS, build
from teams.stage import Stage
from teams.story import play
from teams.summary import LEGEND, Findings, promises, table, totals

RESET = "\x1b[0m"
INTERRUPTED = 130
"""The exit status of what Ctrl-C ended."""


async def perform() -> bool:
    """Plays it all; true if everything was seen."""
    screen = Screen(TEAMS)
    async with connect_configured() as client:
        await build(client)
        screen.line("\n== Admission: four teams compete for a cluster ==")
        screen.say(
            f"Four teams share {MACHINES} machines with {CORES_EACH} cores each, {CORES} in all. "
            "What one is guaranteed and does not use, others may borrow. The demo plays the part of the job service: "
            "it starts what is admitted, and stops what is told to leave. What it shows is what the queue service says."
        )
        screen.begin()
        service = JobService(client)
        stage = Stage(client, service, screen)
        found = await _beside(service, stage)
    return _sum_up(stage, found)


async def _beside(service: JobService, stage: Stage) -> Findings:
    """The story, while the job service works."""
    async with asyncio.TaskGroup() as group:
        work = [group.create_task(service.watch([team.name for team in TEAMS])), group.create_task(service.work())]
        await service.ready.wait()
        found = await play(stage)
        for task in work:
            task.cancel()
    return found


def _sum_up(stage: Stage, found: Findings) -> bool:
    service, screen = stage.service, stage.screen
    screen.line(f"\n{totals(found, service.ledger, service.submitted)}")
    screen.table(table(found, service.ledger, service.submitted))
    for line in LEGEND:
        screen.line(line)
    screen.line()
    promised = promises(found, service.ledger, service.submitted, stage.looks)
    for promise in promised:
        screen.promise(promise.what, seen=promise.seen)
    return all(promise.seen for promise in promised)


def main() -> int:
    status = 1
    try:
        status = 0 if asyncio.run(perform()) else 1
    except* KeyboardInterrupt:
        if Printer.standard(Form.TABLE).colours:
            # With Ctrl-C a terminal throws away what it has not shown yet, perhaps the end of a colour.
            print(RESET, end="", flush=True)
        print("\nInterrupted.", file=sys.stderr)
        status = INTERRUPTED
    except* Problem as group:
        for problem in _leaves(group):
            print(f"\nThe demo ended early: {problem}", file=sys.stderr)
    return status


def _leaves(group: BaseExceptionGroup[Problem]) -> Iterator[Problem]:
    for each in group.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each


if __name__ == "__main__":
    sys.exit(main())
