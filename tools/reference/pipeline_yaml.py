"""The reference of documents of pipelines: from the keys that the reader knows, and the limits it goes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pf_pipeline.documents import checks, keys, scopes, sizes
from pf_pipeline.documents.findings import MOST_FOUND
from pf_pipeline.documents.model import CacheMode, CacheShare, HandlerWhen, ParameterKind, ResultKind, Retry, Strategy
from pf_pipeline.documents.reading import LIMITS, PARALLELISM
from pf_pipeline.documents.templates import SYSTEM
from pf_pipeline.plans.paths import MOUNTS
from pf_pipeline.plans.resolving import LONGEST
from pf_pipeline.plans.values import text_of


class Key(NamedTuple):
    """One key of a place."""

    kind: str
    usual: str
    """What holds if it is not there."""
    text: str


def words(enum: type[ParameterKind | ResultKind | Strategy | CacheMode | CacheShare | HandlerWhen]) -> str:
    return ", ".join(f"`{word}`" for word in enum)


RETRY = Retry(0)
VARIABLES = ", ".join(f"`{name}`" for name in SYSTEM)
A_LIST = text_of((1, 2, (3, "x")))
TIME = "time"
COMMON: Mapping[str, Key] = {
    "type": Key("`step` or `dag`", "by its keys", "What it is. Only needed by those who like to say it."),
    "deps": Key("names", "none", "Siblings that must be over before it begins: succeeded or skipped."),
    "parameters": Key("[parameters](#parameters)", "none", "Values by name."),
    "artifacts": Key("object", "none", "See [artifacts](#artifacts)."),
    "condition": Key("text", "none", "It is skipped where this does not hold. See [conditions](#conditions)."),
    "loop_argument": Key("list or text", "none", "It is repeated for each item. See [loops](#loops)."),
    "max_parallel": Key("number", "`parallelism`", "How many of its iterations may run at once."),
}
STEP: Mapping[str, Key] = {
    **COMMON,
    "command": Key("text", "empty", "What it runs, by a shell, in the folder of the main filesystem."),
    "docker_env": Key("text", "that of the document", "Its image; none that ends with `.tar`."),
    "env": Key("texts by name", "none", "Variables, which go before those of the document. Numbers are as written."),
    "cache": Key("[cache](#cache)", "that of the document", "Goes before the document's, field by field."),
    "extra_fs": Key("list of [filesystems](#filesystems)", "none", "Those of the document come after them."),
    "retry": Key("[retry](#retry)", "none", "How it is tried again."),
    "timeout": Key(TIME, "none", "From the start of a try to its end."),
    "pending_timeout": Key(TIME, "none", "From when a try could start until it does."),
    "approval": Key("[approval](#approval)", "none", "Somebody has to agree first. Without a command, that is all."),
    "semaphores": Key("name or names", "none", "Which of the document's it needs while its job runs."),
    "results": Key("by name", "none", "Small values that it writes. See [results](#results)."),
    "job": Key(
        "object",
        "none",
        "Fields of [the document of a job](job-spec.md), in its own words: "
        f"{', '.join(f'`{name}`' for name in keys.JOB_FIELDS)}. Templates in it are as in `command`; "
        "one that stands alone keeps its type.",
    ),
    "distributed_job": Key("object", "none", "The same as `job`."),
    "distributed_jobs": Key("object", "none", "The same as `job`."),
    "flavour": Key("text", "none", "The same as `env: {PF_JOB_FLAVOUR: …}`."),
    "queue": Key("text", "none", "The same as `env: {PF_JOB_QUEUE_NAME: …}`."),
    "job_type": Key("text", "none", "The same as `env: {PF_JOB_TYPE: …}`."),
    "reference": Key("object", "none", "`{component: NAME}`: see [references](#references)."),
}
PLACES: Sequence[tuple[str, str, Mapping[str, str], Mapping[str, Key]]] = (
    ("The document", "", keys.DOCUMENT, {
        "name": Key("text", "must be said", "A letter or `_`, then up to 127 letters, digits, `_` and `-`."),
        "entry_points": Key("by name", "must be said", "Steps, DAGs and references that a run consists of."),
        "components": Key("by name", "none", "Steps and DAGs to be copied by references. They have no `deps`."),
        "docker_env": Key("text", "empty", "The image of steps that have none of their own."),
        "env": Key("texts by name", "none", "Variables of all steps; templates name variables of the system only."),
        "cache": Key("[cache](#cache)", "off", "How results of all steps are used again; not of what comes last."),
        "parallelism": Key("number", f"`{PARALLELISM}`", "How many steps may run at once. No more than that, no less."),
        "disabled": Key("names", "none", "Paths of nodes that are skipped: `a,d.b`. Nothing that runs may use them."),
        "failure_options": Key("object", "`{strategy: fail_fast}`", f"`strategy`: {words(Strategy)}. What becomes "
                               "of others when a node fails: all is stopped, or only what depends on it is left out."),
        "post_process": Key("by name", "none", "One step that runs when the others are over. See [the end](#the-end)."),
        "on_exit": Key("by name", "none", "Steps that run when a run is over. See [the end](#the-end)."),
        "fs_options": Key("object", "none", "`main_fs`, `extra_fs`: see [filesystems](#filesystems)."),
        "semaphores": Key("numbers by name", "none", "How many steps of all runs of the owner may hold each at once."),
        "notify": Key("list", "none", "Who is told: `{webhook: URL, secret: {file: F}}`, `{command: TEXT}`."),
        "flavour": Key("text", "none", "The same as `env: {PF_JOB_FLAVOUR: …}`."),
        "queue": Key("text", "none", "The same as `env: {PF_JOB_QUEUE_NAME: …}`."),
        "job_type": Key("text", "none", "The same as `env: {PF_JOB_TYPE: …}`."),
        "fs_name": Key("text", "none", "The same as `fs_options: {main_fs: {name: …}}`."),
        "username": Key("text", "the caller", "Whose run it is. Only root may name another."),
        "desc": Key("text", "empty", "What people should know of it."),
    }),
    ("Steps", "A step runs a command as a job.", keys.STEP, STEP),
    ("DAGs", "A DAG consists of other components.", keys.DAG, {
        **COMMON,
        "entry_points": Key("by name", "must be said", "What it consists of, at least one component."),
    }),
    ("Cache", "[Use results again](../howto/cache.md) says what it means.", keys.CACHE, {
        "enable": Key("true or false", "`false`", "Whether results are used again."),
        "max_expired_time": Key("number", "`-1`", "Seconds after which a result counts no more; -1: never."),
        "fs_scope": Key("list of `{name, path}`", "none", "Files that decide whether a step is the same: a filesystem "
                        "that is mounted, and paths in it with commas between them (`/` if none). Those of the step "
                        "come first, then those of the document."),
        "version": Key("text", "empty", "Part of the key: change it, and old results are not used."),
        "ignore": Key("names", "none", "Parameters and variables that are not part of the key."),
        "mode": Key(words(CacheMode), f"`{CacheMode.CONTENT}`", "How it is told whether files are the same."),
        "share": Key(words(CacheShare), f"`{CacheShare.SOURCE}`", "Whose results count: of runs of the same source, "
                     "of documents of this name, or of all runs of the owner."),
    }),
    ("Retry", "Each try is a job of its own.", keys.RETRY, {
        "limit": Key("number", "must be said", "How often at most it is tried again."),
        "backoff": Key(TIME, f"`{RETRY.backoff.seconds}s`", "Before the first; twice as long before each later one."),
        "max_backoff": Key(TIME, f"`{RETRY.max_backoff.seconds // 60}m`", "No wait is longer."),
        "jitter": Key("number from 0 to 1", "`0`", "Up to this part of a wait is left out by chance."),
        "not_on": Key("list of numbers", "none", "Exit statuses after which it is not tried again."),
    }),
    ("Approval", "`approval: true` is one with all fields as they are here.", keys.APPROVAL, {
        "users": Key(
            "names", "the owner", "Who may agree, if they were there already when the run was made. Root always may."
        ),
        "message": Key("text", "empty", "What they are asked."),
        "timeout": Key(TIME, "none", "After this time without a decision the step fails."),
    }),
    ("Filesystems", "`main_fs` is one, `extra_fs` is a list of them. Artifacts and results need a main filesystem.",
     keys.MOUNT, {
        "name": Key("text", "must be said", "A filesystem; one of another owner as `owner/name`."),
        "mount_path": Key("text", f"`{MOUNTS}/<id>`", "Where steps see it; not `/`."),
        "sub_path": Key("text", "all of it", "Which folder of it they see; without `/` before it."),
        "read_only": Key("true or false", "`false`", "Whether they can only read it; `main_fs` must be writable."),
    }),
)  # fmt: skip
INTRODUCTION = f"""\
# Documents of pipelines

A pipeline is written in YAML, with keys in `snake_case`, or in JSON, with the same keys in `camelCase`; both are read
in both. A key that is not known is refused, and all that is wrong is told at once, each with its path, line and
column. `paddleflow pipeline` and `paddleflow run` have commands that only look at a document, or draw it.

A document has at most {LIMITS.bytes // 2**20} MiB, {LIMITS.values:,} values and {LIMITS.depth} levels; with all
copies of components {sizes.MOST_COMPONENTS:,} steps and DAGs, {sizes.LONGEST // 2**20} MiB of texts, and
{sizes.DEEPEST} DAGs in one another. What the templates of one node become has at most {LONGEST // 2**20} MiB. No more
than {MOST_FOUND} problems are looked for at once.

Words are those of YAML 1.2: `yes` and `on` are texts, and so is `010`. *Names* are a list, or a text with commas. A
*time* is written as `90s`, `10m`, `1h30m`, or in seconds. Empty means the same as not there, but for the items of a
loop and the values of parameters.

```yaml
name: harvest
docker_env: python:3.12
fs_options: {{main_fs: {{name: ppl}}}}
entry_points:
  pick:
    command: python3 pick.py --rows {{{{rows}}}} --out {{{{fruit}}}}
    parameters: {{rows: 5}}
    artifacts: {{output: [fruit]}}
    results: {{crates: list}}
  press:
    deps: pick
    command: python3 press.py {{{{fruit}}}} {{{{PF_LOOP_ARGUMENT}}}} > {{{{juice}}}}
    parameters: {{crates: "{{{{pick.crates}}}}"}}
    loop_argument: "{{{{crates}}}}"
    artifacts:
      input: {{fruit: "{{{{pick.fruit}}}}"}}
      output: [juice]
    retry: {{limit: 2, backoff: 5s}}
post_process:
  tell: {{command: echo over}}
```
"""
NAMES = f"""\
## Names

| of | |
|---|---|
| components | {checks.COMPONENT_RULE.removeprefix("must be ")} |
| parameters, artifacts, results | {checks.VALUE_RULE.removeprefix("must be ")} |
| variables | {checks.VARIABLE_RULE.removeprefix("must be ")} |

The parameters, artifacts and results of one component have different names, even if capitals count for nothing: they
become variables. The path of a node is the names of the DAGs it is in and its own, with dots between them.
"""
RULES = f"""\
## Parameters

A parameter is a number, a text, true or false, a list of such, or `{{type: TYPE, default: VALUE}}` with one of the
types {words(ParameterKind)}. A value that is not of its type is refused, by a request and while a run goes on as
well. A `path` has letters, digits and `. / _ -` only. In `components` a parameter may be left open, with no value:
then whoever refers to the component must set it.

A request sets `name` of every component that has it, `component.name` or `dag.component.name` of one; or objects in
place of dots. The more exact goes before. A parameter that nobody has is refused.

## Templates

`{{{{name}}}}` and `{{{{component.name}}}}`, with blanks inside the braces if you like, stand for values. What stands
in double braces and is neither is text. Values are put in once: what they hold is not looked at again.

{{scopes}}

The variables of the system are {VARIABLES}; the last only in a component with a `loop_argument`. They are those of
the component itself, in its parameters too. `{{{{PF_PARENT.name}}}}` is a parameter or an input artifact of the DAG
that a component is in, `{{{{PF_PARENT.PF_LOOP_ARGUMENT}}}}` the item that this iteration of it is about.

A parameter that is one template and nothing else keeps the type of what it refers to. Else values become texts:
numbers without exponent, as `{text_of(1e21)}` and `{text_of(1.5e-7)}`; lists as `{A_LIST}`. Of a component that was
repeated, the parameters and results of its first iteration are seen. Input artifacts stand for paths, in `condition`
and `loop_argument` for the content of their file.

## Conditions

An expression of numbers, texts and the operators `== != < <= > >= =~ !~ && || ! in + - * / % **` and `?:`. A bare
word is a text, so `abc < abd` holds; `'9' > '10'` compares texts, `9 < 10` numbers. It must come to true or false,
else the component fails. An input artifact in it must be a file of less than 1 KiB. A component is skipped if the
condition does not hold, and counts as done for those that depend on it; nobody may use its artifacts. A condition is
looked at in each iteration.

## Loops

`loop_argument` is a list of numbers, texts and lists, the JSON of one, or one template: an own parameter that is such
a list, or an own input artifact whose file, of less than 1 MiB, holds the JSON of one. An empty list is no mistake:
nothing runs, and the component has succeeded. Iterations run at once, as far as `max_parallel` and `parallelism`
allow. Whoever uses an artifact of it gets the paths of all iterations, in their order, with commas between them.

## Artifacts

`input` names what a component takes: exactly one template each. `output` of a step is a list of names; of a DAG it
says from which child each comes. They are files or folders of the main filesystem, at
`[sub_path/].pipeline/<run>/<pipeline>/<step>-<iteration>-<md5>/<name>`. The folder is there when the step begins, the
artifact is not. A step finds their paths in the variables `PF_INPUT_ARTIFACT_<NAME>` and `PF_OUTPUT_ARTIFACT_<NAME>`
as well, with the name in capitals.

## Results

`results: {{name: TYPE}}` or `{{name: {{type: TYPE, default: VALUE}}}}` with one of {words(ResultKind)}. The step
writes the value to the file that `$PF_RESULT_<NAME>` names, a list as JSON. Parameters of those that depend on it
refer to it as to a parameter. If there is none, because the step was skipped or wrote none, the default holds;
without one, who refers to it fails.

Of a step that is repeated, it is the list of what all its iterations wrote, in their order, also if there is only one;
of no iterations it is empty. For an iteration that wrote none the default stands there, and without one nothing does.

## References

`reference: {{component: NAME}}` makes a copy of a component. It has `deps`, `parameters` and `artifacts.input` beside
it and nothing else: parameters that the component has, of the same type, and exactly its input artifacts. A component
may itself be a reference, but not lead back to itself.

## The end

The step of `post_process` runs when all others are over, however they ended, also after a stop without force; if it
fails, the run has failed. The steps of `on_exit` run after it, each with `when`: {words(HandlerWhen)}. Neither has
`deps`, input artifacts, `condition`, `loop_argument`, `approval` or `cache`, and their parameters see variables of
the system only.
"""


def page() -> str:
    lines = [INTRODUCTION]
    for heading, text, known, told in PLACES:
        lines += section(heading, text, known, told)
    return "\n".join([*lines, NAMES, RULES.replace("{scopes}", table_of_scopes())])


def section(heading: str, text: str, known: Mapping[str, str], told: Mapping[str, Key]) -> Iterator[str]:
    """The keys of a place, in the order in which they are told; it must be all that the reader knows."""
    missing = set(known.values()) ^ told.keys()
    if missing:
        raise LookupError(f"{heading}: {', '.join(sorted(missing))} must be told here, and known by the reader")
    yield from (f"## {heading}", "", *([text, ""] if text else []))
    yield from ("| key | in JSON | | default | |", "|---|---|---|---|---|")
    for name, key in told.items():
        spelled = keys.written(name)
        yield f"| `{name}` | {f'`{spelled[1]}`' if len(spelled) > 1 else ''} | {key.kind} | {key.usual} | {key.text} |"
    yield ""


def table_of_scopes() -> str:
    """The table that the checks go by."""
    rows = [line for line in (scopes.__doc__ or "").splitlines() if line.startswith("|")]
    return "\n".join(rows)
