"""How an iteration of a step goes on: its turn, the cache, its job, its results, its next try."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

from pf_pipeline.documents.model import Retry
from pf_pipeline.engine.core import ending, opening
from pf_pipeline.engine.core.happening import (
    JobSeen,
    JobState,
    Judge,
    Judged,
    Launch,
    ReadResults,
    ResultsRead,
    Verdict,
)
from pf_pipeline.engine.core.noting import become, count, do, happen, keep
from pf_pipeline.engine.core.state import Live, Stage, State
from pf_pipeline.plans.domain import PlannedStep
from pf_pipeline.plans.values import blank_of
from pf_pipeline.runs.domain import Executor, Node, Waiting
from pf_pipeline.runs.states import NodeState, RunState, Stop

LONGEST_ID = 63


def take_turn(state: State, live: Live) -> str:
    """A step begins if its semaphores are free; a slot is. Returns the name of one that is not; empty: it has begun."""
    planned = opening.step_of(live)
    if taken := state.semaphores.take(state.run.owner, planned.semaphores, state.plan.semaphores):
        if live.node.waiting_on != (taken,):
            keep(state, live, waiting=Waiting.SEMAPHORE, waiting_on=(taken,))
        return taken
    state.used += 1
    live.slot = True
    if _asks_cache(state, live, planned):
        live.stage = Stage.CACHE
        keep(state, live, waiting=Waiting.CACHE, waiting_on=())
        do(state, Judge(*of_step(live)))
    else:
        launch(state, live)
    return ""


def _asks_cache(state: State, live: Live, planned: PlannedStep) -> bool:
    first = live.node.attempt == 0 and not live.judged
    return bool(planned.cache.enable) and bool(planned.command) and first and _runs_jobs(state)


def _runs_jobs(state: State) -> bool:
    return state.run.order.executor is Executor.JOBS


def judged(state: State, live: Live, told: Judged) -> None:
    """The cache has answered."""
    keep(state, live, cache=told.trace)
    match told.verdict:
        case Verdict.HIT:
            work = replace(live.node.work, outputs={**live.node.work.outputs, **told.outputs})
            keep(state, live, work=work, results=told.results, start_time=state.now)
            count(state, cached=1)
            begin_run(state)
            ending.end(state, live, NodeState.SUCCEEDED, told.trace.message)
        case Verdict.MISS if live.slot:
            launch(state, live)
        case Verdict.MISS:
            live.judged = True
            opening.line_up(state, live)
        case Verdict.WAIT:
            # The other one may need its slot: to be tried again.
            ending.put_back(state, live)
            keep(state, live, waiting=Waiting.CACHE, waiting_on=(told.waiting_on,))
        case Verdict.FAIL:
            ending.end(state, live, NodeState.FAILED, told.trace.message)


def launch(state: State, live: Live) -> None:
    """The next try of a step: its job is to be created, once this has been written down."""
    live.stage = Stage.JOB
    attempt = live.node.attempt + 1
    count(state, waiting=-1, running=1)
    begin_run(state)
    job = job_id(state.run.id, live.node.path, live.node.name, attempt) if _runs_jobs(state) else ""
    keep(
        state,
        live,
        attempt=attempt,
        job=job,
        waiting=Waiting.JOB,
        waiting_on=(job,) if job else (),
        start_time=live.node.start_time or state.now,
        message="",
    )
    happen(state, "launched", live.node)
    do(state, Launch(*of_step(live)))


def of_step(live: Live) -> tuple[Node, PlannedStep, str]:
    """What has to be known of a step by whoever does something for it."""
    return live.node, opening.step_of(live), live.member.runtime_name_of(live.node.iteration)


def begin_run(state: State) -> None:
    if state.run.life.state is RunState.PENDING:
        become(state, RunState.RUNNING)


def job_id(run: str, path: str, name: str, attempt: int) -> str:
    """The id of the job of a try: the same whoever asks."""
    digest = sha256(f"{run}/{path}/{attempt}".encode()).hexdigest()[:12]
    head = f"job-{run}-{name.lower()}"[: LONGEST_ID - len(digest) - 1].rstrip("-")
    return f"{head}-{digest}"


def seen(state: State, live: Live, told: JobSeen) -> None:
    """The job of a step has changed. What is told of another try, or too late, does not count."""
    if told.attempt != live.node.attempt or live.stage not in (Stage.JOB, Stage.STOPPING):
        return
    match told.state:
        case JobState.PENDING:
            pass
        case JobState.RUNNING:
            _running(state, live)
        case JobState.SUCCEEDED:
            _succeeded(state, live)
        case JobState.FAILED:
            _failed(state, live, told)
        case JobState.TERMINATED:
            _terminated(state, live, told)


def _running(state: State, live: Live) -> None:
    if live.stage is Stage.JOB and live.node.state is NodeState.PENDING:
        keep(state, live, state=NodeState.RUNNING, waiting=Waiting.NOTHING, waiting_on=())
        happen(state, "started", live.node)


def _succeeded(state: State, live: Live) -> None:
    planned = opening.step_of(live)
    cached = bool(planned.cache.enable) and bool(live.node.cache.key)
    if (planned.results or cached) and _runs_jobs(state):
        live.stage = Stage.RESULTS
        keep(state, live, waiting=Waiting.FILES, waiting_on=tuple(planned.results))
        do(state, ReadResults(*of_step(live)))
    else:
        keep(state, live, results={name: blank_of(result) for name, result in planned.results.items()})
        ending.end(state, live, NodeState.SUCCEEDED)


def results_read(state: State, live: Live, told: ResultsRead) -> None:
    """The small results of a step are known."""
    if told.problem:
        ending.end(state, live, NodeState.FAILED, told.problem)
        return
    keep(state, live, results=told.results)
    ending.end(state, live, NodeState.SUCCEEDED)


def _failed(state: State, live: Live, told: JobSeen) -> None:
    retry = opening.step_of(live).retry
    if live.stage is Stage.STOPPING and state.run.life.stop is not Stop.NO:
        # How a process ends that is told to is nobody's failure.
        ending.end(state, live, NodeState.TERMINATED, live.why)
        return
    if live.stage is Stage.STOPPING or not _is_tried_again(retry, live, told) or retry is None:
        ending.end(state, live, NodeState.FAILED, told.message)
        return
    wait = _pause(retry, live)
    live.due = state.now + wait
    ending.put_back(state, live)
    live.stage = Stage.BACKOFF
    count(state, running=-1, waiting=1)
    keep(
        state,
        live,
        state=NodeState.PENDING,
        waiting=Waiting.RETRY,
        waiting_on=(),
        not_before=live.due,
        message=f"try {live.node.attempt} of {retry.limit + 1} failed: {told.message}",
    )
    happen(state, "retried", live.node, live.node.message)


def _is_tried_again(retry: Retry | None, live: Live, told: JobSeen) -> bool:
    return retry is not None and live.node.attempt <= retry.limit and told.status not in retry.not_on


def _pause(retry: Retry, live: Live) -> timedelta:
    """How long to wait. What is left out of it by chance is the same whoever asks."""
    doubled = float(2 ** min(live.node.attempt - 1, 30))
    wait = min(retry.backoff.total_seconds() * doubled, retry.max_backoff.total_seconds())
    chance = sha256(f"{live.node.run}/{live.node.path}/{live.node.attempt}".encode()).digest()[0] / 255
    return timedelta(seconds=wait * (1 - retry.jitter * chance))


def _terminated(state: State, live: Live, told: JobSeen) -> None:
    """A job was stopped: because its run wanted it, or by somebody else, which counts as a failure."""
    message = live.why if live.stage is Stage.STOPPING else told.message or "its job was stopped"
    wanted = live.stage is Stage.STOPPING
    ending.end(state, live, NodeState.TERMINATED, message)
    if not wanted:
        ending.blame(state, live.member.frame, f"the job of {live.node.path} was stopped")


def due(state: State, now: datetime) -> None:
    """Whoever has waited long enough goes on."""
    late = [live for live in state.lives.values() if live.due is not None and live.due <= now]
    for live in late:
        if live.stage is Stage.BACKOFF:
            opening.line_up(state, live)
        elif live.stage is Stage.APPROVAL:
            ending.end(state, live, NodeState.FAILED, "nobody approved it in time")


def approve(state: State, live: Live, *, by: str, comment: str, agreed: bool) -> None:
    """Somebody has decided about a step that waits for it."""
    if live.stage is not Stage.APPROVAL:
        return
    said = f"{by}: {comment}" if comment else by
    if not agreed:
        ending.end(state, live, NodeState.FAILED, f"refused by {said}")
        return
    keep(state, live, approved_by=by)
    happen(state, "approved", live.node, f"approved by {said}")
    planned = opening.step_of(live)
    if planned.command or planned.job:
        opening.line_up(state, live)
    else:
        keep(state, live, start_time=state.now)
        begin_run(state)
        ending.end(state, live, NodeState.SUCCEEDED)
