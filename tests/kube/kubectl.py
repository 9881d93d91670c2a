"""What users do to a cluster, by kubectl, and what they see."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from kube.api import Api, Thing
from kube.layout import API
from kube.machine import PATIENCE, Machine
from kube.parts import PROGRAMS
from support.waiting import wait_until


class Kubectl:
    """In one namespace of the API."""

    def __init__(self, machine: Machine, api: Api, namespace: str = "default") -> None:
        self._machine = machine
        self.namespace = namespace
        self.api = api

    def within(self, namespace: str) -> Kubectl:
        return Kubectl(self._machine, self.api, namespace)

    def __call__(self, *arguments: str, told: str = "", patience: float = PATIENCE) -> str:
        """What it said; it must have done what it was asked."""
        return self._machine.run(self.command(*arguments), told, patience)

    def attempt(self, *arguments: str, told: str = "") -> subprocess.CompletedProcess[str]:
        return self._machine.attempt(self.command(*arguments), told)

    def command(self, *arguments: str) -> list[str]:
        keys = self._machine.state / "pki" / "admin.kubeconfig"
        return [
            str(PROGRAMS / "kubectl"),
            f"--kubeconfig={keys}",
            f"--server={API}",
            f"--namespace={self.namespace}",
            f"--cache-dir={self._machine.state}/kubectl",
            *arguments,
        ]

    def apply(self, *documents: Thing, strictly: Iterable[str] = ("--validate=strict",)) -> str:
        """By the server, which refuses fields that it does not know."""
        told = "\n---\n".join(json.dumps(document) for document in documents)
        return self("apply", "--server-side", "--force-conflicts", *strictly, "--filename=-", told=told)

    def delete(self, kind: str, *names: str, at_once: bool = False) -> None:
        """Returns when they are gone."""
        self("delete", kind, *names, "--ignore-not-found", *(("--now",) if at_once else ()))

    def execute(self, pod: str, *command: str, container: str = "", told: str = "") -> str:
        chosen = (f"--container={container}",) if container else ()
        return self("exec", "--stdin", pod, *chosen, "--", *command, told=told)

    def try_executing(self, pod: str, *command: str) -> subprocess.CompletedProcess[str]:
        return self.attempt("exec", pod, "--", *command)

    def logs(self, pod: str, *options: str) -> str:
        return self("logs", pod, *options)

    def pod(self, name: str) -> Thing | None:
        return self.api.find(f"/api/v1/namespaces/{self.namespace}/pods/{name}")

    def phase(self, name: str) -> str:
        """Of a pod; empty if there is none."""
        pod = self.pod(name)
        return str(pod["status"]["phase"]) if pod else ""

    def until_ready(self, *pods: str, patience: float = PATIENCE) -> None:
        """Running, and every container ready."""
        for name in pods:
            try:
                wait_until(lambda name=name: is_ready(self.pod(name)), patience, pause=0.1)  # type: ignore[misc]
            except AssertionError as error:
                raise AssertionError(f"pod {name} is not ready: {self.story(name)}") from error

    def until_ended(self, pod: str, patience: float = PATIENCE) -> str:
        """The phase in which it ended."""
        wait_until(lambda: self.phase(pod) in {"Succeeded", "Failed"}, patience, pause=0.1)
        return self.phase(pod)

    def until_gone(self, path: str, patience: float = PATIENCE) -> None:
        wait_until(lambda: self.api.find(path) is None, patience, pause=0.1)

    def events(self, about: str = "") -> list[Thing]:
        """Those of an object with this name, or of all; the oldest first."""
        chosen = f"?fieldSelector=involvedObject.name%3D{about}" if about else ""
        found = self.api.items(f"/api/v1/namespaces/{self.namespace}/events{chosen}")
        return sorted(found, key=lambda event: str(event["lastTimestamp"] or event["eventTime"]))

    def messages(self, about: str) -> list[str]:
        return [f"{event['reason']}: {event['message']}" for event in self.events(about)]

    def until_told(self, about: str, words: Sequence[str], patience: float = PATIENCE) -> str:
        """The first event of an object whose message has all these words."""

        def fitting() -> list[str]:
            return [text for text in self.messages(about) if all(word in text for word in words)]

        try:
            wait_until(lambda: bool(fitting()), patience, pause=0.2)
        except AssertionError as error:
            raise AssertionError(f"no event says {words}: {self.messages(about)}") from error
        return fitting()[0]

    def story(self, pod: str) -> Any:
        """All that explains why a pod is not what it should be."""
        found = self.pod(pod)
        return {"status": found["status"] if found else "there is none", "events": self.messages(pod)}


def is_ready(pod: Thing | None) -> bool:
    if pod is None:
        return False
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"
