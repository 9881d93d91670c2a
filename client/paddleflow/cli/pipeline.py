"""``paddleflow pipeline``."""

from __future__ import annotations

from collections.abc import Iterable

import click

from paddleflow.cli.completion import complete_filesystem, complete_pipeline, complete_user
from paddleflow.cli.document_problems import Document, telling_all
from paddleflow.cli.parameters import paging, words
from paddleflow.cli.pipeline_export import export, graph
from paddleflow.cli.run_create import print_problems
from paddleflow.cli.run_finding import suggesting_pipeline
from paddleflow.cli.table import Table
from paddleflow.cli.verbs import Invocation, Noun, pass_invocation
from paddleflow.models.pipelines import Pipeline, PipelineVersion
from paddleflow.original import original_time

PIPELINE = click.argument("id", metavar="PIPELINEID", shell_complete=complete_pipeline)
VERSION = click.argument("version", type=click.IntRange(min=1))
USER = click.option("-u", "--username", default="", shell_complete=complete_user, help="Whose it is. For root.")
FILE = click.option("--file", "local", help="A file of this machine instead; `-` is the input.")


@click.group(cls=Noun)
def pipeline() -> None:
    """Keep pipelines with all their versions, draw them, write them for other systems."""


@pipeline.command("create")
@click.argument("fs", metavar="[FS]", default="", shell_complete=complete_filesystem)
@click.option("-yp", "--yamlpath", default="", help="The file in the filesystem; if nothing is said: ./run.yaml.")
@FILE
@click.option("-d", "--desc", default="", help="What people should know of it.")
@USER
@pass_invocation
def create(invocation: Invocation, fs: str, yamlpath: str, local: str | None, desc: str, username: str) -> None:
    """Keep a document as version 1 of a new pipeline, which has its name. FS is the filesystem that the file is in."""
    document, paddleflow = _document(fs, yamlpath, local), invocation.paddleflow()
    with telling_all(paddleflow, document):
        made = paddleflow.pipelines.create(document.source, description=desc, owner=username)
    kept, version = made.pipeline, made.version
    said = f"pipeline[{kept.name}] create success, id[{kept.id}], versionID[{version.number}]"
    invocation.printer.success(said, [_table([kept]), _versions([version])])


@pipeline.command("list")
@click.option("-u", "--userfilter", default="", shell_complete=complete_user, help="Only those of these users: a,b.")
@click.option("-n", "--namefilter", default="", help="Only those of these names: a,b.")
@paging
@pass_invocation
def list_pipelines(invocation: Invocation, userfilter: str, namefilter: str, maxsize: int, marker: str) -> None:
    """List pipelines, the newest first: your own; for root all."""
    page = invocation.paddleflow().pipelines.page(maxsize, marker, owners=words(userfilter), names=words(namefilter))
    invocation.printer.list(_table(page.items), "pipeline", page.next_token)


@pipeline.command("show")
@PIPELINE
@click.option("-f", "--fsfilter", default="", shell_complete=complete_filesystem, help="Only versions on these: a,b.")
@paging
@pass_invocation
def show(invocation: Invocation, id: str, fsfilter: str, maxsize: int, marker: str) -> None:  # noqa: A002 -- the word of the contract
    """Show a pipeline and its versions, the newest first."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_pipeline(paddleflow, id):
        found = paddleflow.pipelines.get(id)
    page = paddleflow.pipelines.version_page(id, maxsize, marker, filesystems=words(fsfilter))
    printer.table(_details(found))
    printer.list(_versions(page.items), "version", page.next_token)


@pipeline.command("update")
@PIPELINE
@click.argument("fs", metavar="[FS]", default="", shell_complete=complete_filesystem)
@click.argument("yamlpath", metavar="[YAMLPATH]", default="")
@FILE
@click.option("-d", "--desc", help="What people should know of it from now on.")
@click.option("-u", "--username", expose_value=False, help="Not needed: a pipeline stays its owner's.")
@pass_invocation
def update(
    invocation: Invocation,
    id: str,  # noqa: A002 -- the word of the contract
    fs: str,
    yamlpath: str,
    local: str | None,
    desc: str | None,
) -> None:
    """Add a version to a pipeline: a file of the filesystem FS, or one of this machine; or only describe it anew."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    if not (fs or local) and desc is None:
        raise click.UsageError("Name a file of a filesystem, or --file, or a new --desc.")
    document = _document(fs, yamlpath, local) if fs or local else None
    with suggesting_pipeline(paddleflow, id):
        if document is None:
            changed = paddleflow.pipelines.update(id, description=desc)
            printer.success(f"pipeline[{id}] update success", [_table([changed.pipeline])])
            return
        with telling_all(paddleflow, document):
            changed = paddleflow.pipelines.update(id, document.source, description=desc)
    said = f"pipeline[{id}] update success, new version id [{changed.version.number}]"
    printer.success(said, [_table([changed.pipeline]), _versions([changed.version])])


@pipeline.command("delete")
@PIPELINE
@pass_invocation
def delete(invocation: Invocation, id: str) -> None:  # noqa: A002 -- the word of the contract
    """Forget a pipeline with all its versions; its runs stay."""
    paddleflow = invocation.paddleflow()
    with suggesting_pipeline(paddleflow, id):
        paddleflow.pipelines.delete(id)
    invocation.printer.success(f"pipeline id [{id}] delete success")


@pipeline.command("showversion", failing="pipeline version show")
@PIPELINE
@VERSION
@pass_invocation
def showversion(invocation: Invocation, id: str, version: int) -> None:  # noqa: A002 -- the word of the contract
    """Show a version of a pipeline with its document."""
    paddleflow, printer = invocation.paddleflow(), invocation.printer
    with suggesting_pipeline(paddleflow, id):
        found = paddleflow.pipelines.version(id, version)
    printer.table(_details(paddleflow.pipelines.get(id)))
    printer.table(_versions([found]))
    printer.table(Table(["ppl ver id", "pipeline yaml"], [[str(found.number), found.document]]))


@pipeline.command("deleteversion", failing="pipeline version delete")
@PIPELINE
@VERSION
@pass_invocation
def deleteversion(invocation: Invocation, id: str, version: int) -> None:  # noqa: A002 -- the word of the contract
    """Forget a version of a pipeline. Its number is not given again."""
    paddleflow = invocation.paddleflow()
    with suggesting_pipeline(paddleflow, id):
        paddleflow.pipelines.delete_version(id, version)
    invocation.printer.success(f"pipeline version [{version}] of pipeline [{id}] delete success")


@pipeline.command("validate")
@click.argument("file")
@pass_invocation
def validate(invocation: Invocation, file: str) -> None:
    """Say all that is wrong with the document FILE of this machine, as `pipeline create` would; `-` reads the input."""
    document = Document.local(file)
    problems = invocation.paddleflow().pipelines.validate(document.source, pipeline_only=True)
    print_problems(document, problems, invocation.printer)


def _document(filesystem: str, path: str, local: str | None) -> Document:
    if local is not None:
        return Document.local(local, filesystem)
    if not filesystem:
        raise click.UsageError("Name the filesystem FS that the file is in, or a file of this machine by --file.")
    return Document.stored(filesystem, path)


def _table(pipelines: Iterable[Pipeline]) -> Table:
    return Table(["pipeline id", "name", "username", "desc", "create time", "update time"], _rows(pipelines))


def _details(pipeline: Pipeline) -> Table:
    headings = ["pipeline id", "name", "username", "pipeline desc", "create time", "update time"]
    return Table(headings, _rows([pipeline]))


def _rows(pipelines: Iterable[Pipeline]) -> list[list[str]]:
    return [
        [
            each.id,
            each.name,
            each.owner,
            each.description,
            original_time(each.create_time),
            original_time(each.update_time),
        ]
        for each in pipelines
    ]


def _versions(versions: Iterable[PipelineVersion]) -> Table:
    headings = ["ppl ver id", "fs name", "yaml path", "username", "create time", "update time"]
    rows = [
        [str(each.number), each.filesystem, each.path, each.author, *2 * [original_time(each.create_time)]]
        for each in versions
    ]
    return Table(headings, rows)


for command in (export, graph):
    pipeline.add_command(command)
