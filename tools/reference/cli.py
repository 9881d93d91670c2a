"""The reference of the commands, from their own help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from paddleflow.cli.app import cli as paddleflow
from paddleflow.cli.paddle import paddle
from pf_stack.cli import pf
from reference.rpc import cell

INTRODUCTION = """\
# Commands

`paddleflow` talks to an installation from anywhere; `pf` runs one on this machine; `paddle` is the job command of
PaddlePaddle's first client. Every command has `--help`.
"""


def page() -> str:
    programs = (("paddleflow", paddleflow), ("pf", pf), ("paddle", paddle))
    return "\n".join([INTRODUCTION, *(line for name, program in programs for line in chapter(name, program))])


def chapter(name: str, program: click.Group) -> Iterator[str]:
    yield from (f"## {name}", "")
    # A command keeps the option for help that it is first asked for, also for whoever runs it later in this process.
    names = program.context_settings.get("help_option_names")
    yield from body(click.Context(program, info_name=name, help_option_names=names), program)
    for path, command in commands(name, program):
        yield from (f"### {path}", "")
        yield from body(click.Context(command, info_name=path, help_option_names=names), command)


def commands(path: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """The commands below a group that do something, by their names; groups themselves only hold them."""
    for name in sorted(group.commands):
        command = group.commands[name]
        if command.hidden:
            continue
        if isinstance(command, click.Group):
            yield from commands(f"{path} {name}", command)
        else:
            yield f"{path} {name}", command


def body(context: click.Context, command: click.Command) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{context.info_name} {usage}", "```", "")
    yield from (inspect.cleandoc(command.help or "").split("\f")[0].replace("\b\n", ""), "")
    options = [
        record for each in command.params if isinstance(each, click.Option) if (record := described(context, each))
    ]
    if options:
        yield from ("| option | |", "|---|---|", *options, "")


def described(context: click.Context, option: click.Option) -> str | None:
    record = option.get_help_record(context)
    return None if record is None else f"| `{cell(record[0])}` | {cell(record[1])} |"
