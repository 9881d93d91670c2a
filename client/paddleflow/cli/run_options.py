"""What is to be run, as commands take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import click

from paddleflow.cli.completion import complete_filesystem, complete_pipeline, complete_user
from paddleflow.cli.document_problems import Document
from paddleflow.cli.parameters import words
from paddleflow.cli.verbs import F
from paddleflow.models.runs import ACTIVE, OVER, Executor, FailureStrategy, RunOptions

STRATEGIES = [str(each) for each in FailureStrategy if each]
LARGEST_VERSION = 2**31 - 1
RUN_GROUPS = {"active": ACTIVE, "final": OVER}
"""Words that stand for several states."""


class Choice(TypedDict):
    """The options as they were given."""

    fsname: str
    name: str
    desc: str
    username: str
    param: tuple[str, ...]
    runyamlpath: str
    runyamlraw: str | None
    pipelineid: str
    pipelineversionid: int
    disabled: tuple[str, ...]
    dockerenv: str
    failure_strategy: str | None
    fresh: tuple[str, ...]
    no_jobs: bool


_OPTIONS = (
    click.option(
        "-f",
        "--fsname",
        default="",
        shell_complete=complete_filesystem,
        help="The main filesystem; else the document's.",
    ),
    click.option("-n", "--name", default="", help="What to call the run; else as the document."),
    click.option("-d", "--desc", default="", help="What people should know of it."),
    click.option("-u", "--username", default="", shell_complete=complete_user, help="Whose run it is. For root."),
    click.option("-p", "--param", multiple=True, help="NAME=VALUE, COMPONENT.NAME=VALUE. Repeatable."),
    click.option(
        "-yp", "--runyamlpath", default="", help="The file of the filesystem; if nothing is said: ./run.yaml."
    ),
    click.option("-yr", "--runyamlraw", help="A file of this machine; `-` is the input."),
    click.option(
        "-pplid", "--pipelineid", default="", shell_complete=complete_pipeline, help="A pipeline that is kept."
    ),
    click.option(
        "-pplver",
        "--pipelineversionid",
        type=click.IntRange(0, LARGEST_VERSION),
        default=0,
        help="Its version; if it is left out: the newest.",
    ),
    click.option("--disabled", multiple=True, help="A step or a DAG that is not to run: a,b.c. Repeatable."),
    click.option("-de", "--dockerenv", default="", help="The image of steps that have none of their own."),
    click.option(
        "--failure-strategy",
        type=click.Choice(STRATEGIES),
        help="What becomes of others when a step fails; else as the document says.",
    ),
    click.option(
        "--fresh", multiple=True, help="A step that is not to come from the cache; `*` means all. Repeatable."
    ),
    click.option("--no-jobs", is_flag=True, help="Run nothing: each step succeeds at once. To try a document out."),
)


def run_options(function: F) -> F:
    """The options of `Choice`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def document_of(choice: Choice) -> Document:
    """The document that is meant: of this machine, else a pipeline, else a file of the filesystem."""
    if choice["runyamlraw"] is not None:
        return Document.local(choice["runyamlraw"], choice["fsname"])
    if choice["pipelineid"]:
        kept = Document.kept(choice["pipelineid"], choice["pipelineversionid"])
        return kept.on(choice["fsname"])
    return Document.stored(choice["fsname"], choice["runyamlpath"])


def options_of(choice: Choice) -> RunOptions:
    """What is to be otherwise than the document says."""
    return {
        "name": choice["name"],
        "description": choice["desc"],
        "owner": choice["username"],
        "parameters": parameters_of(choice["param"]),
        "disabled": [word for text in choice["disabled"] for word in words(text)],
        "docker_env": choice["dockerenv"],
        "failure_strategy": FailureStrategy(choice["failure_strategy"] or ""),
        "executor": Executor.NOTHING if choice["no_jobs"] else Executor.UNSPECIFIED,
        "fresh": choice["fresh"],
    }


def parameters_of(texts: Sequence[str]) -> dict[str, object]:
    """Values by name, of texts such as NAME=VALUE. Values are texts; the service knows what they are to be."""
    values: dict[str, object] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not (name and separator):
            raise click.UsageError(f"{text!r} is not of the form NAME=VALUE.")
        values[name] = value
    return values
