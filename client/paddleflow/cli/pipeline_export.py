"""``paddleflow pipeline``: pictures of graphs, and documents for other systems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from paddleflow.cli.document_problems import Document, telling_all
from paddleflow.cli.run_finding import suggesting_pipeline, suggesting_run
from paddleflow.cli.run_options import LARGEST_VERSION, parameters_of
from paddleflow.cli.table import Cell, Table
from paddleflow.cli.verbs import F, Invocation, Verb, pass_invocation
from paddleflow.models.pipelines import DrawingForm, Export, ExportTarget
from paddleflow.problems import InvalidArgument, NotExportable, Violation

TARGETS = [str(each) for each in ExportTarget if each]
RUN, PIPELINE = "run-", "ppl-"
"""What ids begin with."""


def what(function: F) -> F:
    """The options that say which version of a pipeline is meant, and which file is written."""
    version = click.option(
        "--version", type=click.IntRange(0, LARGEST_VERSION), default=0, help="Of the pipeline; else the newest."
    )
    target = click.option("--to", type=click.Path(dir_okay=False, path_type=Path), help="Write this file.")
    return version(target(function))


@click.command("graph", cls=Verb)
@click.argument("source", metavar="FILE|PIPELINEID|RUNID")
@what
@click.option(
    "--svg", "form", flag_value=DrawingForm.SVG.value, default=DrawingForm.SVG.value, help="A picture (the default)."
)
@click.option("--mermaid", "form", flag_value=DrawingForm.MERMAID.value, help="Text that Markdown pages show as one.")
@pass_invocation
def graph(invocation: Invocation, source: str, version: int, to: Path | None, form: str) -> None:
    """Draw the graph of a document of this machine, of a pipeline that is kept, or of a run with its states."""
    paddleflow, chosen = invocation.paddleflow(), DrawingForm(form)
    if _is_id(source, RUN):
        with suggesting_run(paddleflow, source):
            picture = paddleflow.runs.draw(source, chosen)
    else:
        document = _document(source, version)
        with suggesting_pipeline(paddleflow, source), telling_all(paddleflow, document):
            picture = paddleflow.pipelines.draw(document.source, chosen)
    if to is None:
        invocation.printer.line(picture.rstrip("\n"))
    else:
        _write(to, picture)
        invocation.printer.success(f"{to} written")


@click.command("export", cls=Verb)
@click.argument("system", type=click.Choice(TARGETS))
@click.argument("source", metavar="FILE|PIPELINEID")
@what
@click.option("--strict", is_flag=True, help="Refuse all that does not mean exactly the same there.")
@click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write what differs to this file, as JSON."
)
@click.option("-p", "--param", multiple=True, help="NAME=VALUE, as for `run create`. Repeatable.")
@pass_invocation
def export(
    invocation: Invocation,
    system: str,
    source: str,
    version: int,
    to: Path | None,
    strict: bool,
    report: Path | None,
    param: tuple[str, ...],
) -> None:
    """Write a document for another system, and say what does not mean exactly the same there."""
    paddleflow, printer, document = invocation.paddleflow(), invocation.printer, _document(source, version)
    with suggesting_pipeline(paddleflow, source), telling_all(paddleflow, document), _by_line():
        made = paddleflow.pipelines.export(
            document.source, ExportTarget(system), strict=strict, parameters=parameters_of(param)
        )
    if report is not None:
        _write(report, json.dumps(_findings(made), indent=2, ensure_ascii=False) + "\n")
    if to is not None:
        _write(to, made.text)
    if printer.form.structured:
        findings: Cell = _findings(made)
        printer.table(Table(["file name", "text", "findings"], [[made.file_name, made.text, findings]]))
        return
    for finding in made.findings:
        click.echo(f"{finding.fidelity}: {finding.path}: {finding.message}", err=True)
    if to is None:
        printer.line(made.text.rstrip("\n"))
    else:
        printer.success(f"{to} written, {len(made.findings)} things are not exactly the same")


@contextmanager
def _by_line() -> Iterator[None]:
    """Tells each of several things that have no counterpart in a line of its own."""
    try:
        yield
    except NotExportable as problem:
        if len(problem.violations) < 2:
            raise
        lines = [f"  {each.field}: {each.description}" for each in problem.violations]
        message = "\n".join(["not all of it means the same there:", *lines])
        raise NotExportable(message, violations=problem.violations) from problem


def _document(source: str, version: int) -> Document:
    return Document.kept(source, version) if _is_id(source, PIPELINE) else Document.local(source)


def _is_id(source: str, begin: str) -> bool:
    """True if it is an id and not the name of a file."""
    return source.startswith(begin) and not Path(source).exists()


def _findings(made: Export) -> Sequence[dict[str, str]]:
    return [{"path": each.path, "fidelity": str(each.fidelity), "message": each.message} for each in made.findings]


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidArgument.of(Violation("to", f"{path} cannot be written: {error.strerror}")) from error
