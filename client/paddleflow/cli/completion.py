"""``paddleflow completion``, and the names that a shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from paddleflow.cli.verbs import Invocation, Verb
from paddleflow.problems import Problem

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_PADDLEFLOW_COMPLETE"
ENOUGH = 200
BUSY = 20
"""Queues whose jobs are asked for."""
PATIENCE = 1.0
"""Seconds after which whoever pressed the key gives up."""

Names = Callable[["PaddleFlow", str], Iterable[str]]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@click.command(cls=Verb)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options and names.

    \b
    bash:  echo 'eval "$(paddleflow completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(paddleflow completion zsh)"' >> ~/.zshrc
    fish:  paddleflow completion fish > ~/.config/fish/completions/paddleflow.fish
    """  # noqa: D301 -- a sign to click that lines stay as they are
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click completes nothing in {shell}")
    click.echo(kind(ctx.find_root().command, {}, "paddleflow", VARIABLE).source())


def completing(names: Names) -> Completer:
    """Completes names that the server knows; nothing if it does not answer, or refuses."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from paddleflow.configured import configured_connection  # noqa: PLC0415 -- loads gRPC
        from paddleflow.sync import PaddleFlow  # noqa: PLC0415 -- loads gRPC

        invocation = Invocation(config=ctx.find_root().params.get("pf_config"))
        try:
            connection = replace(configured_connection(invocation.configuration()), timeout=PATIENCE)
            with PaddleFlow(connection) as paddleflow:
                return [CompletionItem(name) for name in names(paddleflow, incomplete)]
        except Problem:
            return []

    return complete


def _queues(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [queue.name for queue in paddleflow.queues.page(ENOUGH, name_prefix=begin).items]


def _flavours(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [flavour.name for flavour in paddleflow.flavours.page(ENOUGH, name_prefix=begin).items]


def _clusters(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [each.name for each in paddleflow.clusters.page(ENOUGH).items if each.name.startswith(begin)]


def _users(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [user.name for user in paddleflow.users.page(ENOUGH).items if user.name.startswith(begin)]


def _jobs(paddleflow: PaddleFlow, begin: str) -> list[str]:
    """Jobs of the queues that are busy, as far as there is time to ask."""
    loads = paddleflow.workloads.load_page(ENOUGH).items
    busy = [load.queue for load in loads if load.waiting or load.admitted][:BUSY]
    found = (each.key.job_id for queue in busy for each in paddleflow.workloads.page(queue, ENOUGH).items)
    return sorted({job for job in found if job.startswith(begin)})


def _filesystems(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return sorted({each.name for each in paddleflow.filesystems.page(ENOUGH, name_prefix=begin).items})


def _known_jobs(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [each.id for each in paddleflow.jobs.page(ENOUGH).items if each.id.startswith(begin)]


def _runs(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [each.id for each in paddleflow.runs.page(ENOUGH).items if each.id.startswith(begin)]


def _pipelines(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [each.id for each in paddleflow.pipelines.page(ENOUGH).items if each.id.startswith(begin)]


def _schedules(paddleflow: PaddleFlow, begin: str) -> list[str]:
    return [each.id for each in paddleflow.schedules.page(ENOUGH).items if each.id.startswith(begin)]


complete_queue = completing(_queues)
complete_flavour = completing(_flavours)
complete_cluster = completing(_clusters)
complete_user = completing(_users)
complete_job = completing(_jobs)
complete_known_job = completing(_known_jobs)
complete_filesystem = completing(_filesystems)
complete_run = completing(_runs)
complete_pipeline = completing(_pipelines)
complete_schedule = completing(_schedules)
