"""Writes a job as a document that `documents` reads again, so that what was shown can be run once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration

from paddleflow.documents.nodes import meaning
from paddleflow.job.v1 import spec_pb2
from paddleflow.jobs.documents import FRAMEWORKS, NO_LIMIT, PRIORITIES, ROLES
from paddleflow.quantity import CPU, MEMORY, format_amount
from paddleflow.structs import plain

WIDTH = 120

_ROLE_WORDS = {value: word for word, value in ROLES.items()}
_PRIORITY_WORDS = {value: word for word, value in PRIORITIES.items()}
_FRAMEWORK_WORDS = {value: word for word, value in FRAMEWORKS.items()}


def document(spec: spec_pb2.JobSpec) -> dict[str, Any]:
    """The job by the names of documents, in the order of the contract; what is empty is left out."""
    return _said(
        {
            "id": spec.id,
            "name": spec.name,
            "framework": _FRAMEWORK_WORDS.get(spec.framework, ""),
            **_work(spec),
            "members": [_member(member) for member in spec.members],
            "retry": _retry(spec.retry),
            "limits": _limits(spec.limits),
        }
    )


def to_yaml(spec: spec_pb2.JobSpec) -> str:
    import yaml  # noqa: PLC0415 -- few commands need it

    class Dumper(yaml.SafeDumper):
        """Makes no aliases: a document that is read by people says everything where it is."""

        def ignore_aliases(self, _data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, told: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", told, style=_style(told))

    Dumper.add_representer(str, text)
    written: str = yaml.dump(document(spec), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    return written


def _style(text: str) -> str | None:
    """How a text is written so that it is read as the same: in quotes, if it could be anything else than a text."""
    if not isinstance(meaning(text), str) or not text.replace("\n", "").isprintable():
        return '"'
    return "|" if "\n" in text else None


def _member(member: spec_pb2.Member) -> dict[str, Any]:
    return _said(
        {
            "role": _ROLE_WORDS.get(member.role, ""),
            "replicas": member.replicas,
            "maxReplicas": member.max_replicas,
            "replicaStep": member.replica_step,
            **_work(member),
        }
    )


def _work(message: spec_pb2.JobSpec | spec_pb2.Member) -> dict[str, Any]:
    policy = message.scheduling_policy
    return {
        "labels": dict(sorted(message.labels.items())),
        "annotations": dict(sorted(message.annotations.items())),
        "schedulingPolicy": _said({"queue": policy.queue, "priority": _PRIORITY_WORDS.get(policy.priority, "")}),
        "flavour": _flavour(message.flavour),
        "limitFlavour": _limit(message.limit_flavour),
        "fs": _mount(message.fs),
        "extraFS": [_mount(mount) for mount in message.extra_fs],
        "image": message.image,
        "env": dict(sorted(message.env.items())),
        "secretEnv": {name: _said({"file": told.file}) for name, told in sorted(message.secret_env.items())},
        "command": message.command,
        "args": list(message.args),
        "port": message.port,
        "extensionTemplate": plain(message.extension_template),
    }


def _flavour(flavour: spec_pb2.Flavour) -> dict[str, Any]:
    amounts = {name: format_amount(name, amount) for name, amount in flavour.amounts.amounts.items()}
    cpu, mem = amounts.pop(CPU, ""), amounts.pop(MEMORY, "")
    return _said({"name": flavour.name, "cpu": cpu, "mem": mem, "scalarResources": dict(sorted(amounts.items()))})


def _limit(limit: spec_pb2.LimitFlavour) -> dict[str, Any]:
    return _flavour(limit.flavour) | ({"name": NO_LIMIT} if limit.none else {})


def _mount(mount: spec_pb2.FilesystemMount) -> dict[str, Any]:
    return _said(
        {
            "id": mount.id,
            "name": mount.name,
            "mountPath": mount.mount_path,
            "subPath": mount.sub_path,
            "readOnly": mount.read_only,
        }
    )


def _retry(retry: spec_pb2.RetryPolicy) -> dict[str, Any]:
    return _said(
        {
            "limit": retry.limit,
            "backoff": _time(retry.backoff, retry.HasField("backoff")),
            "maxBackoff": _time(retry.max_backoff, retry.HasField("max_backoff")),
            "notOn": list(retry.not_on),
            "noRequeue": retry.no_requeue,
        }
    )


def _limits(limits: spec_pb2.TimeLimits) -> dict[str, Any]:
    return _said(
        {
            "pending": _time(limits.pending, limits.HasField("pending")),
            "run": _time(limits.run, limits.HasField("run")),
            "grace": _time(limits.grace, limits.HasField("grace")),
            "protected": _time(limits.protected, limits.HasField("protected")),
            "kept": _time(limits.kept, limits.HasField("kept")),
            "steady": _time(limits.steady, limits.HasField("steady")),
        }
    )


def _time(time: Duration, said: bool) -> str:
    return time.ToJsonString() if said else ""


def _said(told: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty: that means the same."""
    return {name: value for name, value in told.items() if value}
