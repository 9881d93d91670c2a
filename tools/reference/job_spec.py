"""The reference of the documents that describe jobs: from the contract, and from what the services fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from paddleflow.jobs.documents import FRAMEWORKS, PRIORITIES, ROLE_WORDS, ROLES
from paddleflow.jobs.render import document
from pf_job.settings import JobSettings
from pf_job.specs.convert import spec_message
from pf_job.specs.defaults import filled
from pf_job.specs.domain import JobSpec, Member, Role
from pf_kit.settings import describe
from reference import contract
from reference.contract import Source
from reference.rpc import cell

SPEC = "paddleflow/job/v1/spec.proto"
INTRODUCTION = """\
# The documents of jobs

A job is described in YAML or in JSON, with the names of the contract in lowerCamelCase. What is empty (nothing, an
empty text, list or object) means the same as what is not there. A name that is not known is refused, and all that is
wrong is told at once, each with its place. `paddleflow job create FILE --dry-run -o yaml` shows a document with
everything filled in. [Jobs](../howto/jobs.md#describe-one) has examples, [Frameworks](../howto/frameworks.md) those of
distributed jobs.

A *time* is written as `90s`, `10m`, `1h30m`, or in seconds; a *quantity* as Kubernetes has it: `500m`, `2`, `1.5`,
`20Gi`. *By name* means an object whose names you choose. The default is what the service fills in where nothing is
said.
"""
ENDING = """\
## Settings among the variables

Some variables of `env` say what a field says, where the field itself is empty: `PF_JOB_TYPE`, `PF_JOB_FRAMEWORK` and
`PF_JOB_QUEUE_NAME` of the job; `PF_JOB_PRIORITY`, `PF_JOB_FLAVOUR` and `PF_JOB_LIMIT_FLAVOUR` of the job or of a
member. Others have no field:

| variable | of | |
|---|---|---|
| `PF_JOB_RESTART_POLICY` | job, member | `Never`, `OnFailure`, `Always`: whether what failed is started again |
| `PF_MOUNT_PATH` | job, member | `NONE`: replicas do not start in their filesystem |
| `PF_JOB_MODE` | job | `PS` or `Collective`; must be what the members make it |

So does an annotation of the job: `paddleflow/job-ttl-seconds` says in seconds what `limits.kept` says.

What every replica is told is in [Frameworks](frameworks.md#what-every-replica-is-told).
"""
SECTIONS: Sequence[tuple[str, str, str]] = (
    ("The job", "", "JobSpec"),
    ("members", "members", "Member"),
    ("schedulingPolicy", "schedulingPolicy", "SchedulingPolicy"),
    ("flavour", "flavour", "Flavour"),
    ("limitFlavour", "limitFlavour", "LimitFlavour"),
    ("fs, extraFS", "fs", "FilesystemMount"),
    ("secretEnv", "secretEnv", "SecretReference"),
    ("retry", "retry", "RetryPolicy"),
    ("limits", "limits", "TimeLimits"),
)
"""Headings, where the default stands, and the message that says the same."""
AMOUNTS: Sequence[tuple[str, str, str]] = (
    ("cpu", "quantity", "Cores: `500m`, `2`. More than 0."),
    ("mem", "quantity", "Bytes of memory: `512Mi`, `4Gi`. More than 0. `memory` is the same."),
    ("scalarResources", "quantities by name", "Whatever else machines have: `nvidia.com/gpu`."),
)
"""In place of the amounts of the contract."""
NAME = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
SECONDS = re.compile(r"([0-9]+)s")
REPLICAS = 1234
"""Of a member that is filled in, so that it is seen what is the same."""
KINDS = {
    FieldDescriptorProto.TYPE_STRING: "text",
    FieldDescriptorProto.TYPE_INT32: "number",
    FieldDescriptorProto.TYPE_BOOL: "true or false",
}
WORDS: Mapping[str, Mapping[str, int]] = {"Framework": FRAMEWORKS, "Role": ROLES, "Priority": PRIORITIES}
LINKS = {
    "Member": "members",
    "SchedulingPolicy": "schedulingPolicy",
    "Flavour": "flavour",
    "LimitFlavour": "limitFlavour",
    "FilesystemMount": "fs, extraFS",
    "SecretReference": "secretEnv",
    "RetryPolicy": "retry",
    "TimeLimits": "limits",
    **{word: word for word in WORDS},
}


def page(sources: Sequence[Source]) -> str:
    source = next(each for each in sources if each.file.name == SPEC)
    known = defaults()
    lines = [INTRODUCTION]
    for heading, place, name in SECTIONS:
        lines += section(source, heading, name, known.get(place, {}))
    for name in WORDS:
        lines += words(source, name)
    return "\n".join([*lines, ENDING])


def section(source: Source, heading: str, name: str, known: Mapping[str, str]) -> Iterator[str]:
    number, message = next(found for found in enumerate(source.file.message_type) if found[1].name == name)
    about = without_name(name, source.comment(contract.MESSAGE, number))
    yield from (f"## {heading}", "", as_documents(about), "", "| field | | default | |", "|---|---|---|---|")
    for field, kind, text in fields(source, number, message):
        yield f"| `{field}` | {kind} | {known.get(field, '')} | {as_documents(text)} |"
    yield ""


def without_name(name: str, comment: str) -> str:
    """What is said of a message or an enum, where its name stands above it."""
    rest = comment.removeprefix(f"{name} is ")
    return rest[0].upper() + rest[1:] if rest != comment else comment.replace(name, "It", 1)


def as_documents(text: str) -> str:
    """With fields by the names that documents have for them."""
    told = NAME.sub(lambda found: f"`{camel(found[1])}`", text)
    return told.replace("As in JobSpec", "As of [the job](#the-job)")


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return "extraFS" if name == "extra_fs" else first + "".join(part.capitalize() for part in rest)


def fields(source: Source, number: int, message: DescriptorProto) -> Iterator[tuple[str, str, str]]:
    """What a document may say in this place: names, kinds, and what it means."""
    for place, field in enumerate(message.field):
        text = cell(source.comment(contract.MESSAGE, number, contract.FIELD, place))
        match message.name, field.name:
            case "Flavour", "amounts":
                yield from AMOUNTS
            case "LimitFlavour", "none":
                yield ("name", "text", "A flavour that is kept by the queue service. `NONE`: there is no limit.")
            case "LimitFlavour", "flavour":
                yield from (
                    (amount, kind, "As of a flavour. No less than what a replica takes.") for amount, kind, _ in AMOUNTS
                )
            case _:
                yield (field.json_name, kind_of(message, field), text)


def kind_of(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    name = field.type_name.rpartition(".")[2]
    entry = next((each for each in message.nested_type if each.name == name), None)
    if entry is not None:
        value = entry.field[1]
        return "texts by name" if not value.type_name else f"{kind_of(entry, value)}, by name"
    several = "list of " if field.label == FieldDescriptorProto.LABEL_REPEATED else ""
    if name == "Duration":
        return "time"
    if name == "Struct":
        return "object"
    if name:
        return f"{several}[{LINKS[name]}](#{anchor(LINKS[name])})"
    return several + KINDS[field.type] + ("s" if several else "")


def words(source: Source, name: str) -> Iterator[str]:
    """The words of documents for the values of an enum."""
    number, enum = next(found for found in enumerate(source.file.enum_type) if found[1].name == name)
    about = cell(without_name(name, source.comment(contract.ENUM, number).partition(" In documents")[0]))
    yield from (f"## {name}", "", about, "", "| word | |", "|---|---|")
    said = ROLE_WORDS if name == "Role" else WORDS[name]
    for place, value in enumerate(enum.value):
        spelled = [f"`{word}`" for word, meaning in said.items() if meaning == value.number]
        if spelled:
            text = cell(source.comment(contract.ENUM, number, contract.VALUE, place))
            yield f"| {', '.join(spelled)} | {text} |"
    yield ""


def defaults() -> dict[str, dict[str, str]]:
    """What is filled in where nothing is said, by place and field."""
    spec = JobSpec(members=(Member(role=Role.WORKER, replicas=REPLICAS),))
    told = document(spec_message(filled(spec, kept_jobs())))
    (member,) = told.pop("members")
    places: dict[str, Mapping[str, Any]] = {name: value for name, value in told.items() if isinstance(value, dict)}
    places["members"] = {name: member[name] for name in ("maxReplicas", "replicaStep")}
    return {place: {name: written(value) for name, value in found.items()} for place, found in places.items()}


def written(value: Any) -> str:  # noqa: ANN401 -- whatever a document holds
    if value == REPLICAS:
        return "`replicas`"
    seconds = SECONDS.fullmatch(str(value))
    return f"`{hours(int(seconds[1])) if seconds else value}`"


def hours(seconds: int) -> str:
    """As documents have it, in the largest unit that it is a multiple of."""
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return next(f"{seconds // size}{unit}" for unit, size in units.items() if seconds % size == 0)


def kept_jobs() -> timedelta:
    days = next(each.default for each in describe(JobSettings, "PF_JOB") if each.variable == "PF_JOB_KEPT_JOBS_DAYS")
    return timedelta(days=float(days or 0))


def anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")
