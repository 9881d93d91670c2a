"""Templates of steps in Argo: containers, with their volumes, environment and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pf_pipeline.documents.model import Mount, Retry
from pf_pipeline.documents.templates import Ref
from pf_pipeline.exports.argo.names import dns_name
from pf_pipeline.exports.argo.places import OWN, mount_path
from pf_pipeline.exports.argo.texts import OWN_ITEM, RUN, USER, filled, literal, own_meaning
from pf_pipeline.exports.report import PLACES, Report
from pf_pipeline.plans.domain import Plan, PlannedStep
from pf_pipeline.plans.paths import MOUNTS

IMAGE = "busybox:1.36"
"""For steps without an image, and for reading files."""
READER = "read-text"
LONGEST_TEXT = 1024 * 1024
"""Bytes of a file that decides about a loop or a condition."""
RESULTS = "/tmp/pf-results"  # noqa: S108 -- in a container of its own
SEMAPHORES = "paddleflow-semaphores"


@dataclass(frozen=True, slots=True)
class Steps:
    """Makes the templates of steps."""

    plan: Plan
    report: Report

    def template(self, name: str, path: str, step: PlannedStep) -> dict[str, Any]:
        """The template of a step."""
        meaning = own_meaning(step, step.parameters, OWN)
        told: dict[str, Any] = {
            "name": name,
            "inputs": {"parameters": [{"name": each} for each in inputs_of(self.plan, step)]},
            "container": self._container(path, step, meaning),
        }
        if step.results:
            told["outputs"] = {"parameters": [self._result(path, step, result) for result in step.results]}
        if step.retry and step.retry.limit:
            told["retryStrategy"] = self._retry(path, step.retry)
        if step.timeout:
            told["activeDeadlineSeconds"] = max(round(step.timeout.total_seconds()), 1)
            self.report.emulated(f"{path}.timeout", "the time to start counts as well")
        if step.semaphores:
            told["synchronization"] = {
                "semaphores": [
                    {"configMapKeyRef": {"name": SEMAPHORES, "key": dns_name(name)}} for name in step.semaphores
                ]
            }
            self.report.emulated(f"{path}.semaphores", f"the ConfigMap {SEMAPHORES} has to hold the numbers of slots")
        return told

    def _container(self, path: str, step: PlannedStep, meaning: Callable[[Ref], str]) -> dict[str, Any]:
        image = step.docker_env or IMAGE
        if not step.docker_env:
            self.report.emulated(f"{path}.docker_env", f"there is none; a container needs one, and {IMAGE} is taken")
        command = filled(step.command, meaning, f"{path}.command", self.report)
        before = _before(step)
        told: dict[str, Any] = {
            "image": literal(image, f"{path}.docker_env", self.report),
            "command": ["sh", "-c"],
            "args": [f"{before}{command}"],
            "env": self._env(path, step, meaning),
        }
        if folder := mount_path(self.plan):
            told["workingDir"] = literal(folder, "fs_options.main_fs", self.report)
        if mounts := self._mounts(path, step):
            told["volumeMounts"] = mounts
        return told

    def _env(self, path: str, step: PlannedStep, meaning: Callable[[Ref], str]) -> list[dict[str, str]]:
        system = {"PF_RUN_ID": RUN, "PF_USER_NAME": USER, "PF_STEP_NAME": step.name}
        if step.loop is not None:
            system["PF_LOOP_ARGUMENT"] = OWN_ITEM
        inputs = {f"PF_INPUT_ARTIFACT_{name.upper()}": f"{{{{inputs.parameters.{name}}}}}" for name in step.inputs}
        outputs = {f"PF_OUTPUT_ARTIFACT_{name.upper()}": f"{OWN}/{name}" for name in step.outputs}
        results = {f"PF_RESULT_{name.upper()}": f"{RESULTS}/{name}" for name in step.results}
        own = {
            name: filled(text, meaning, f"{path}.env.{name}", self.report)
            for name, text in step.env.items()
            if name not in PLACES
        }
        folder = {"PF_FOLDER": OWN} if step.outputs else {}
        return [
            {"name": name, "value": value}
            for name, value in {**own, **system, **inputs, **outputs, **results, **folder}.items()
        ]

    def _mounts(self, path: str, step: PlannedStep) -> list[dict[str, Any]]:
        mounts = [self._mount("fs_options.main_fs", self.plan.main_fs)] if self.plan.main_fs else []
        return mounts + [self._mount(f"{path}.extra_fs", mount) for mount in step.extra_fs]

    def _mount(self, path: str, mount: Mount) -> dict[str, Any]:
        where = mount.mount_path.rstrip("/") or f"{MOUNTS}/{mount.name.rpartition('/')[2]}"
        claim = claim_of(mount)
        self.report.emulated(path, f"the claim {claim!r} must be there, and hold the files of {mount.name}")
        told: dict[str, Any] = {"name": claim, "mountPath": literal(where, path, self.report)}
        if mount.sub_path:
            told["subPath"] = literal(mount.sub_path, path, self.report)
        return told | ({"readOnly": True} if mount.read_only else {})

    def _result(self, path: str, step: PlannedStep, name: str) -> dict[str, Any]:
        default = step.results[name].default
        told: dict[str, Any] = {"path": f"{RESULTS}/{name}"}
        if default is not None:
            told["default"] = literal(str(default), f"{path}.results.{name}", self.report)
        differs = "its type is not checked"
        if step.condition or step.disabled:
            differs += ", and if the step is skipped, whoever takes it fails, default or not"
        self.report.emulated(f"{path}.results.{name}", differs)
        return {"name": name, "valueFrom": told}

    def _retry(self, path: str, retry: Retry) -> dict[str, Any]:
        if retry.jitter:
            self.report.lost(f"{path}.retry.jitter", "waits are not varied")
        told: dict[str, Any] = {
            "limit": str(retry.limit),
            "retryPolicy": "OnFailure",
            "backoff": {
                "duration": f"{round(retry.backoff.total_seconds())}s",
                "factor": 2,
                "cap": f"{round(retry.max_backoff.total_seconds())}s",
            },
        }
        if retry.not_on:
            told["expression"] = f"!(asInt(lastRetry.exitCode) in {list(retry.not_on)})"
        return told


def _before(step: PlannedStep) -> str:
    """What is done before the command: its folders are made."""
    folders = [*(['"$PF_FOLDER"'] if step.outputs else []), *([RESULTS] if step.results else [])]
    return f"mkdir -p {' '.join(folders)}\n" if folders else ""


def reader(plan: Plan) -> dict[str, Any]:
    """The template that reads a file of the main filesystem."""
    claim = claim_of(plan.main_fs) if plan.main_fs else ""
    return {
        "name": READER,
        "inputs": {"parameters": [{"name": "file"}]},
        "container": {
            "image": IMAGE,
            "command": ["sh", "-c"],
            "args": [f'head -c {LONGEST_TEXT} "$FILE" > /tmp/text'],
            "env": [{"name": "FILE", "value": "{{inputs.parameters.file}}"}],
            "volumeMounts": [{"name": claim, "mountPath": mount_path(plan), "readOnly": True}],
        },
        "outputs": {"parameters": [{"name": "text", "valueFrom": {"path": "/tmp/text"}}]},  # noqa: S108 -- as above
    }


def claim_of(mount: Mount) -> str:
    """The claim that holds a filesystem."""
    return dns_name(mount.name)


def inputs_of(plan: Plan, node: PlannedStep) -> Mapping[str, None]:
    """The names of what a template is given."""
    loop = ["pf-item"] if node.loop is not None else []
    place = ["pf-at"] if plan.main_fs else []
    return dict.fromkeys((*node.parameters, *node.inputs, *place, *loop))
