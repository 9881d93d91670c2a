"""Reads the document of a job into the message that says the same.

Documents have the names of the contract in lowerCamelCase, which are those that documents of jobs always had. Whatever
is empty (null, an empty text, list or object) means the same as what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.struct_pb2 import Struct

from paddleflow.common.v1 import resources_pb2
from paddleflow.documents.nodes import Node, Scalar, parse
from paddleflow.job.v1 import spec_pb2
from paddleflow.jobs.reader import Reader
from paddleflow.problems import InvalidArgument, Violation

MOST_VIOLATIONS = 100
"""More are not told: nobody reads them."""
NO_LIMIT = "NONE"

PRIORITIES = {name.removeprefix("PRIORITY_"): value for name, value in spec_pb2.Priority.items() if value}
FRAMEWORKS = {name.removeprefix("FRAMEWORK_").lower(): value for name, value in spec_pb2.Framework.items() if value}
ROLES = {
    "master": spec_pb2.ROLE_MASTER,
    "worker": spec_pb2.ROLE_WORKER,
    "pserver": spec_pb2.ROLE_PSERVER,
    "driver": spec_pb2.ROLE_DRIVER,
    "executor": spec_pb2.ROLE_EXECUTOR,
    "scheduler": spec_pb2.ROLE_SCHEDULER,
    "evaluator": spec_pb2.ROLE_EVALUATOR,
}
ROLE_WORDS = ROLES | {
    "pworker": spec_pb2.ROLE_WORKER,
    "chief": spec_pb2.ROLE_MASTER,
    "ps": spec_pb2.ROLE_PSERVER,
    "server": spec_pb2.ROLE_PSERVER,
}
"""Also what roles are called elsewhere."""

_WORK = (
    *("labels", "annotations", "schedulingPolicy", "flavour", "limitFlavour", "fs", "extraFS", "image", "env"),
    *("secretEnv", "command", "args", "port", "extensionTemplate", "fileSystem", "extraFileSystems"),
)
_JOB = ("id", "name", "framework", "members", "retry", "limits", *_WORK)
_MEMBER = ("role", "replicas", "maxReplicas", "replicaStep", *_WORK)
_FLAVOUR = ("name", "cpu", "mem", "memory", "scalarResources")
_GPU = "write scalarResources: {nvidia.com/gpu: 1}"
_ACCELERATORS = {"gpu": _GPU, "gpus": _GPU, "nvidia.com/gpu": _GPU}
"""What people write into a flavour."""
# What kind of filesystem it is, and where it lies, is the filesystem service's to say.
_MOUNT = ("id", "name", "mountPath", "subPath", "readOnly", "type", "hostPath")


@dataclass(frozen=True, slots=True)
class Read:
    """What a document says, as far as it makes sense, and all that is wrong with it, in its order."""

    spec: spec_pb2.JobSpec
    wrong: Sequence[Violation]
    """Each with its path, line and column."""


def read_spec(text: bytes | str) -> spec_pb2.JobSpec:
    """The job of a document; raises InvalidArgument with all that is wrong."""
    read = read_all(text)
    if read.wrong:
        raise InvalidArgument.of(*read.wrong)
    return read.spec


def read_all(text: bytes | str) -> Read:
    """The document; raises InvalidArgument if it is no YAML."""
    reader = Reader()
    spec = _spec(reader, parse(text))
    return Read(spec, _first(reader.wrong))


def _first(wrong: list[Violation]) -> list[Violation]:
    if len(wrong) <= MOST_VIOLATIONS:
        return wrong
    return [*wrong[:MOST_VIOLATIONS], Violation("file", f"has {len(wrong) - MOST_VIOLATIONS} more problems")]


def _spec(reader: Reader, node: Node) -> spec_pb2.JobSpec:
    if isinstance(node, Scalar) and node.value is None:
        reader.refuse("file", node.spot, "says nothing; a job needs a command, args or an image")
    told = reader.fields(node, "", _JOB)
    return spec_pb2.JobSpec(
        id=reader.text(told.get("id"), "id"),
        name=reader.text(told.get("name"), "name"),
        framework=reader.word(told.get("framework"), "framework", FRAMEWORKS, spec_pb2.FRAMEWORK_UNSPECIFIED),
        members=[_member(reader, item, path) for path, item in reader.items(told.get("members"), "members")],
        retry=_retry(reader, told.get("retry")),
        limits=_limits(reader, told.get("limits")),
        **_work(reader, told, ""),
    )


def _member(reader: Reader, node: Node, path: str) -> spec_pb2.Member:
    told = reader.fields(node, path, _MEMBER)
    if "role" not in told:
        reader.refuse(f"{path}.role", node.spot, f"must be said: one of {', '.join(ROLES)}")
    return spec_pb2.Member(
        role=reader.word(told.get("role"), f"{path}.role", ROLE_WORDS, spec_pb2.ROLE_UNSPECIFIED),
        replicas=reader.integer(told.get("replicas"), f"{path}.replicas"),
        max_replicas=reader.integer(told.get("maxReplicas"), f"{path}.maxReplicas"),
        replica_step=reader.integer(told.get("replicaStep"), f"{path}.replicaStep"),
        **_work(reader, told, f"{path}."),
    )


def _work(reader: Reader, told: Mapping[str, Node], place: str) -> dict[str, Any]:
    """What a job and a member have in common."""
    fs, extra = (
        _word(reader, told, place, "fs", "fileSystem"),
        _word(reader, told, place, "extraFS", "extraFileSystems"),
    )
    extra_fs = [_mount(reader, item, path) for path, item in reader.items(told.get(extra), f"{place}{extra}")]
    return {
        "labels": reader.texts(told.get("labels"), f"{place}labels"),
        "annotations": reader.texts(told.get("annotations"), f"{place}annotations"),
        "scheduling_policy": _policy(reader, told.get("schedulingPolicy"), f"{place}schedulingPolicy"),
        "flavour": _flavour(reader, told.get("flavour"), f"{place}flavour"),
        "limit_flavour": _limit(reader, told.get("limitFlavour"), f"{place}limitFlavour"),
        "fs": _mount(reader, told.get(fs), f"{place}{fs}"),
        "extra_fs": [mount for mount in extra_fs if mount],
        "image": reader.text(told.get("image"), f"{place}image"),
        "env": reader.texts(told.get("env"), f"{place}env"),
        "secret_env": _secrets(reader, told.get("secretEnv"), f"{place}secretEnv"),
        "command": reader.text(told.get("command"), f"{place}command"),
        "args": [reader.text(item, path) for path, item in reader.items(told.get("args"), f"{place}args")],
        "port": reader.integer(told.get("port"), f"{place}port"),
        "extension_template": _template(reader, told.get("extensionTemplate"), f"{place}extensionTemplate"),
    }


def _word(reader: Reader, told: Mapping[str, Node], place: str, name: str, older: str) -> str:
    """The one of two names that a document has for the same."""
    if name in told and older in told:
        reader.refuse(f"{place}{older}", told[older].spot, f"is the same as {name}, which is there too")
    return older if older in told else name


def _policy(reader: Reader, node: Node | None, path: str) -> spec_pb2.SchedulingPolicy | None:
    told = reader.fields(node, path, ("queue", "priority"))
    if not told:
        return None
    priority = reader.word(told.get("priority"), f"{path}.priority", PRIORITIES, spec_pb2.PRIORITY_UNSPECIFIED)
    return spec_pb2.SchedulingPolicy(queue=reader.text(told.get("queue"), f"{path}.queue"), priority=priority)


def _flavour(reader: Reader, node: Node | None, path: str) -> spec_pb2.Flavour | None:
    told = reader.fields(node, path, _FLAVOUR, _ACCELERATORS)
    if not told:
        return None
    if "mem" in told and "memory" in told:
        reader.refuse(f"{path}.memory", told["memory"].spot, "is the same as mem, which is there too")
    named = {name: told[name] for name in ("cpu", "mem", "memory") if name in told}
    amounts = _amounts(reader, named, path)
    amounts |= _amounts(reader, reader.mapping(told.get("scalarResources"), path), f"{path}.scalarResources")
    resources = resources_pb2.Resources(amounts=amounts) if amounts else None
    return spec_pb2.Flavour(name=reader.text(told.get("name"), f"{path}.name"), amounts=resources)


def _amounts(reader: Reader, quantities: Mapping[str, Node], path: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, node in quantities.items():
        field = f"{path}.{name[:80]}"
        resource = reader.resource(name, field, node.spot)
        amount = reader.amount(node, field, resource) if resource else None
        if resource and amount is not None:
            amounts[resource] = amount
    return amounts


def _limit(reader: Reader, node: Node | None, path: str) -> spec_pb2.LimitFlavour | None:
    flavour = _flavour(reader, node, path)
    if flavour is None:
        return None
    if flavour.name.upper() != NO_LIMIT:
        return spec_pb2.LimitFlavour(flavour=flavour)
    flavour.name = ""
    return spec_pb2.LimitFlavour(none=True, flavour=flavour if flavour.amounts.amounts else None)


def _mount(reader: Reader, node: Node | None, path: str) -> spec_pb2.FilesystemMount | None:
    told = reader.fields(node, path, _MOUNT)
    if not told:
        return None
    return spec_pb2.FilesystemMount(
        id=reader.text(told.get("id"), f"{path}.id"),
        name=reader.text(told.get("name"), f"{path}.name"),
        mount_path=reader.text(told.get("mountPath"), f"{path}.mountPath"),
        sub_path=reader.text(told.get("subPath"), f"{path}.subPath"),
        read_only=reader.boolean(told.get("readOnly"), f"{path}.readOnly"),
    )


def _secrets(reader: Reader, node: Node | None, path: str) -> dict[str, spec_pb2.SecretReference]:
    return {
        name: spec_pb2.SecretReference(
            file=reader.text(reader.fields(told, f"{path}.{name[:80]}", ("file",)).get("file"), f"{path}.{name[:80]}")
        )
        for name, told in reader.mapping(node, path).items()
    }


def _template(reader: Reader, node: Node | None, path: str) -> Struct | None:
    if node is None or not reader.mapping(node, path):
        return None
    told = reader.json(node, path)
    message = Struct()
    if isinstance(told, dict):
        message.update(told)
    return message


def _retry(reader: Reader, node: Node | None) -> spec_pb2.RetryPolicy | None:
    told = reader.fields(node, "retry", ("limit", "backoff", "maxBackoff", "notOn", "noRequeue"))
    if not told:
        return None
    return spec_pb2.RetryPolicy(
        limit=reader.integer(told.get("limit"), "retry.limit"),
        backoff=reader.time(told.get("backoff"), "retry.backoff"),
        max_backoff=reader.time(told.get("maxBackoff"), "retry.maxBackoff"),
        not_on=[reader.integer(item, path) for path, item in reader.items(told.get("notOn"), "retry.notOn")],
        no_requeue=reader.boolean(told.get("noRequeue"), "retry.noRequeue"),
    )


def _limits(reader: Reader, node: Node | None) -> spec_pb2.TimeLimits | None:
    told = reader.fields(node, "limits", ("pending", "run", "grace", "protected", "kept", "steady"))
    if not told:
        return None
    return spec_pb2.TimeLimits(
        pending=reader.time(told.get("pending"), "limits.pending"),
        run=reader.time(told.get("run"), "limits.run"),
        grace=reader.time(told.get("grace"), "limits.grace"),
        protected=reader.time(told.get("protected"), "limits.protected"),
        kept=reader.time(told.get("kept"), "limits.kept"),
        steady=reader.time(told.get("steady"), "limits.steady"),
    )
