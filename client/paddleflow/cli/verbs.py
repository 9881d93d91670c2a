"""Groups and commands of this command line: suggestions, --output anywhere, failures told in one way."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from paddleflow.cli.failure import INTERRUPTED, advice, exit_status, sentence
from paddleflow.cli.output import Printer
from paddleflow.cli.table import Form
from paddleflow.config import Config, load_config
from paddleflow.problems import Problem, TokenMissing, Unavailable

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

F = TypeVar("F", bound=Callable[..., Any])

OUTPUT = ("-o", "--output")
SENTENCE = 400
"""Characters of the longest sentence in a list of commands."""


@dataclass(slots=True)
class Invocation:
    """What holds for one call of the command line."""

    config: Path | None = None
    form: Form = Form.TABLE
    closing: list[PaddleFlow] = field(default_factory=list)

    @property
    def printer(self) -> Printer:
        return Printer.standard(self.form)

    def configuration(self) -> Config:
        return load_config(self.config, os.environ)

    def paddleflow(self) -> PaddleFlow:
        """The client by the user's configuration; it is closed when the command ends."""
        return self.paddleflow_of(self.configuration())

    def paddleflow_of(self, config: Config) -> PaddleFlow:
        """The client by this configuration; it is closed when the command ends."""
        from paddleflow.configured import configured_connection  # noqa: PLC0415 -- loads gRPC
        from paddleflow.sync import PaddleFlow  # noqa: PLC0415 -- loads gRPC

        opened = PaddleFlow(configured_connection(config))
        self.closing.append(opened)
        return opened


class Verb(click.Command):
    """A command that may fail with a problem."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 -- click's own
        failing: str = "",
        output: Sequence[str] = OUTPUT,
        **settings: Any,  # noqa: ANN401 -- click's own
    ) -> None:
        """`output` names the option --output, for commands that have another use for -o."""
        super().__init__(*arguments, **settings)
        self.failing = failing
        self.params.append(output_option(output))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        left = super().parse_args(ctx, args)
        for name, value in ctx.params.items():
            texts = value if isinstance(value, tuple) else (value,)
            # Bytes that are no text come as lone surrogates.
            if any(isinstance(text, str) and not _is_text(text) for text in texts):
                ctx.fail(f"The value of {name} is not in UTF-8.")
        return left

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 -- click's own
        invocation = ctx.ensure_object(Invocation)
        try:
            return super().invoke(ctx)
        except Problem as problem:
            self._fail(ctx, problem)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        finally:
            while invocation.closing:
                invocation.closing.pop().close()

    def _fail(self, ctx: click.Context, problem: Problem) -> NoReturn:
        what = self.failing.format(**ctx.params) if self.failing else " ".join(ctx.command_path.split()[1:])
        click.echo(sentence(what, problem), err=True)
        for line in filter(None, (advice(problem), _unconfigured(ctx, problem))):
            click.echo(line, err=True)
        ctx.exit(exit_status(problem))


class Noun(click.Group):
    """A group that suggests what an unknown command may have meant, and takes --output for its commands."""

    command_class = Verb
    group_class = type

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 -- click's own
        output: Sequence[str] = OUTPUT,
        **settings: Any,  # noqa: ANN401 -- click's own
    ) -> None:
        """`output` as of a verb."""
        super().__init__(*arguments, **settings)
        self.params.append(output_option(output))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], known, n=3, cutoff=0.5)
            meant = f" Did you mean {' or '.join(near)}?" if near else f" There are {', '.join(known)}."
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with its whole first sentence, in as many lines as it takes."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(SENTENCE)) for name, each in found if each])


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unconfigured(ctx: click.Context, problem: Problem) -> str:
    """Says so if there is no configuration to take an address and a name from."""
    if not isinstance(problem, TokenMissing | Unavailable):
        return ""
    path = ctx.ensure_object(Invocation).configuration().path
    return "" if path.exists() else f"there is no configuration {path}"


def output_option(names: Sequence[str] = OUTPUT) -> click.Option:
    """--output, which may stand before or after the command; the last one counts."""

    def choose(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.ensure_object(Invocation).form = Form(value)

    return click.Option(
        list(names),
        type=click.Choice([form.value for form in Form]),
        callback=choose,
        expose_value=False,
        is_eager=True,
        help="How to print: a table, JSON, text apart by tabs, or YAML.",
    )


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
