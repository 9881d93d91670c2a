"""``paddleflow schedule``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from paddleflow.cli.completion import complete_pipeline, complete_schedule, complete_user
from paddleflow.cli.parameters import LARGEST_COUNT, duration, moment, paging, states, words
from paddleflow.cli.run_finding import suggesting_pipeline, suggesting_schedule
from paddleflow.cli.run_options import LARGEST_VERSION, RUN_GROUPS, parameters_of
from paddleflow.cli.run_tables import run_table
from paddleflow.cli.schedule_tables import schedule_table, tick_table, time_table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.runs import RunState
from paddleflow.models.schedules import SCHEDULES_OVER, Catchup, ConcurrencyPolicy, Schedule, ScheduleState
from paddleflow.original_schedules import options_of

SCHEDULE = click.argument("id", metavar="SCHEDULEID", shell_complete=complete_schedule)
POLICIES = [str(each) for each in ConcurrencyPolicy if each]
CATCHUPS = [str(each) for each in Catchup if each]
GROUPS = {"active": (ScheduleState.RUNNING, ScheduleState.PAUSED), "final": SCHEDULES_OVER}
"""Words that stand for several states."""


@click.group(cls=Noun)
def schedule() -> None:
    """Let pipelines run by the clock."""


@schedule.command("create")
@click.argument("name")
@click.argument("pipeline", metavar="PIPELINEID", shell_complete=complete_pipeline)
@click.argument("version", type=click.IntRange(0, LARGEST_VERSION))
@click.argument("crontab")
@click.option("-d", "--desc", default="", help="What people should know of it.")
@click.option("-s", "--starttime", help="No tick before: 2026-05-01, 2026-05-01T12:00:00+02:00. Else from now on.")
@click.option("-e", "--endtime", help="No tick after. Else for ever.")
@click.option(
    "-c",
    "--concurrency",
    type=click.IntRange(0, LARGEST_COUNT),
    default=0,
    help="How many of its runs may be under way; 0: any number.",
)
@click.option(
    "-cp",
    "--concurrencypolicy",
    type=click.Choice(POLICIES),
    help="At a tick when as many are; else suspend.",
)
@click.option("-ei", "--expireinterval", default="0", help="Pass a missed tick over after this: 3600, 1h. 0: never.")
@click.option("--catchup", is_flag=True, help="The same as `--missed all`.")
@click.option("--missed", type=click.Choice(CATCHUPS), help="Which missed ticks get runs; else all.")
@click.option("--time-zone", default="", help="Of the crontab: Europe/Berlin. Else UTC.")
@click.option("-p", "--param", multiple=True, help="NAME=VALUE for its runs. Repeatable.")
@click.option("-u", "--username", default="", shell_complete=complete_user, help="Whose it is. For root.")
@pass_invocation
def create(
    invocation: Invocation,
    name: str,
    pipeline: str,
    version: int,
    crontab: str,
    desc: str,
    starttime: str | None,
    endtime: str | None,
    concurrency: int,
    concurrencypolicy: str | None,
    expireinterval: str,
    catchup: bool,
    missed: str | None,
    time_zone: str,
    param: tuple[str, ...],
    username: str,
) -> None:
    """Let a version of a pipeline (0: the newest) run whenever CRONTAB says: '0 3 * * *', @daily, '@every 90s'."""
    now, paddleflow = datetime.now(UTC), invocation.paddleflow()
    draft = Schedule(
        name=name,
        pipeline_id=pipeline,
        pipeline_version=version,
        crontab=crontab,
        time_zone=time_zone,
        description=desc,
        owner=username,
        start_time=moment("starttime", starttime, now) if starttime else None,
        end_time=moment("endtime", endtime, now) if endtime else None,
        concurrency=concurrency,
        concurrency_policy=ConcurrencyPolicy(concurrencypolicy or ""),
        expire_interval=_interval(expireinterval),
        catchup=Catchup.ALL if catchup and not missed else Catchup(missed or ""),
        parameters=parameters_of(param),
    )
    with suggesting_pipeline(paddleflow, pipeline):
        made = paddleflow.schedules.create(draft)
    invocation.printer.success(
        f"schedule [{name}] create success with schedule id[{made.id}]", [schedule_table([made])]
    )


@schedule.command("list")
@click.option("-u", "--userfilter", default="", shell_complete=complete_user, help="Only those of these users: a,b.")
@click.option("-n", "--namefilter", default="", help="Only those of these names: a,b.")
@click.option("-p", "--pplfilter", default="", shell_complete=complete_pipeline, help="Only those of these pipelines.")
@click.option("-pv", "--pplverfilter", default="", help="Only those of these versions: 1,2.")
@click.option("-s", "--statusfilter", default="", help="Only those in these states: running,paused; active, final.")
@paging
@pass_invocation
def list_schedules(
    invocation: Invocation,
    userfilter: str,
    namefilter: str,
    pplfilter: str,
    pplverfilter: str,
    statusfilter: str,
    maxsize: int,
    marker: str,
) -> None:
    """List schedules, the newest first: your own; for root all."""
    printer = invocation.printer
    page = invocation.paddleflow().schedules.page(
        maxsize,
        marker,
        owners=words(userfilter),
        names=words(namefilter),
        pipeline_ids=words(pplfilter),
        pipeline_versions=[_version(word) for word in words(pplverfilter)],
        states=states(ScheduleState, "statusfilter", statusfilter, GROUPS),
    )
    if page.items or printer.form.structured:
        printer.table(schedule_table(page.items))
    printer.list(time_table(page.items), "schedule", page.next_token)


@schedule.command("show")
@SCHEDULE
@click.option("-r", "--runfilter", default="", help="Only these of its runs: run-000001,run-000002.")
@click.option("-s", "--statusfilter", default="", help="Only those of its runs in these states; active, final.")
@paging
@pass_invocation
def show(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    runfilter: str,
    statusfilter: str,
    maxsize: int,
    marker: str,
) -> None:
    """Show a schedule, and its runs, the newest first."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_schedule(paddleflow, id):
        found = paddleflow.schedules.get(id)
    page = paddleflow.runs.page(
        maxsize,
        marker,
        schedule_id=id,
        ids=words(runfilter),
        states=states(RunState, "statusfilter", statusfilter, RUN_GROUPS),
    )
    printer.table(schedule_table([found]))
    printer.table(time_table([found]))
    printer.list(run_table(page.items), "run", page.next_token)


@schedule.command("pause")
@SCHEDULE
@pass_invocation
def pause(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Hold a schedule: no runs are made until it is resumed."""
    paddleflow = invocation.paddleflow()
    with suggesting_schedule(paddleflow, id):
        held = paddleflow.schedules.pause(id)
    invocation.printer.success(f"schedule with id [{id}] pause success", [schedule_table([held])])


@schedule.command("resume")
@SCHEDULE
@pass_invocation
def resume(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Let a schedule that is held go on."""
    paddleflow = invocation.paddleflow()
    with suggesting_schedule(paddleflow, id):
        going = paddleflow.schedules.resume(id)
    missed = options_of(going)["catchup"]
    said = f"schedule with id [{id}] resume success; of the ticks that were missed, {missed} get runs"
    invocation.printer.success(said, [schedule_table([going])])


@schedule.command("stop")
@SCHEDULE
@pass_invocation
def stop(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """End a schedule for good; its runs go on."""
    paddleflow = invocation.paddleflow()
    with suggesting_schedule(paddleflow, id):
        ended = paddleflow.schedules.stop(id)
    invocation.printer.success(f"schedule with id [{id}] stop success", [schedule_table([ended])])


@schedule.command("delete")
@SCHEDULE
@pass_invocation
def delete(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Forget a schedule that is over; its runs stay."""
    paddleflow = invocation.paddleflow()
    with suggesting_schedule(paddleflow, id):
        paddleflow.schedules.delete(id)
    invocation.printer.success(f"schedule with id [{id}] delete success")


@schedule.command("backfill")
@SCHEDULE
@click.option("--from", "since", required=True, help="From this time on: 2026-05-01, or so long ago: 7d.")
@click.option("--until", help="Until this time; else until now.")
@click.option("--reverse", is_flag=True, help="Make the newest first.")
@click.option("--again", is_flag=True, help="Also for ticks whose last run failed or was stopped.")
@click.option("--dry-run", is_flag=True, help="Only say which runs would be made.")
@pass_invocation
def backfill(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    since: str,
    until: str | None,
    reverse: bool,
    again: bool,
    dry_run: bool,
) -> None:
    """Make runs for ticks in the past. A tick that has a run gets none."""
    now, paddleflow, printer = datetime.now(UTC), invocation.paddleflow(), invocation.printer
    begin, end = moment("from", since, now), moment("until", until, now) if until else now
    with suggesting_schedule(paddleflow, id):
        ticks = paddleflow.schedules.backfill(id, begin, end, reverse=reverse, again=again, dry_run=dry_run)
    if ticks or printer.form.structured:
        printer.table(tick_table(ticks))
    new = sum(tick.new for tick in ticks)
    click.echo(
        f"{new} of {len(ticks)} ticks {'would get' if dry_run else 'got'} a new run", err=printer.form.structured
    )


def _interval(text: str) -> timedelta:
    """Seconds, or a time such as 1h."""
    return (
        timedelta(seconds=int(text))
        if text.isascii() and text.isdecimal() and len(text) < 10
        else duration("expireinterval", text)
    )


def _version(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        raise click.UsageError(f"{word!r} is no number of a version.")
    return int(word)
