"""What users do with the chart."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kube.api import Thing
from kube.layout import API
from kube.machine import Machine
from kube.parts import KUBERNETES, PROGRAMS
from support.repository import ROOT

CHART = ROOT / "deploy" / "helm" / "paddleflow"
Values = Mapping[str, Any]


class HelmFailed(Exception):
    """Helm refused, and says why."""


@dataclass(frozen=True, slots=True)
class Helm:
    """Has a folder for what Helm keeps."""

    folder: Path

    def lint(self, values: Values) -> str:
        return self._asked(["lint", "--strict", str(CHART)], values)

    def rendered(self, values: Values, *, namespace: str = "storage", version: str = KUBERNETES) -> list[Thing]:
        """The objects that would be made in a cluster of this version."""
        options = [f"--namespace={namespace}", f"--kube-version={version}"]
        text = self._asked(["template", "test", str(CHART), *options], values)
        return [document for document in yaml.safe_load_all(text) if document]

    def install(self, machine: Machine, namespace: str, values: Values) -> str:
        """Returns when everything of it is ready; what is installed already is changed."""
        keys = machine.state / "pki" / "admin.kubeconfig"
        reach = [f"--kubeconfig={keys}", f"--kube-apiserver={API}", f"--namespace={namespace}"]
        order = ["upgrade", "--install", "test", str(CHART), *reach, "--wait", "--timeout=8m"]
        return machine.run(["env", *self._homes(), *self._command(order, values)], patience=600.0)

    def uninstall(self, machine: Machine, namespace: str) -> str:
        keys = machine.state / "pki" / "admin.kubeconfig"
        reach = [f"--kubeconfig={keys}", f"--kube-apiserver={API}", f"--namespace={namespace}"]
        order = ["uninstall", "test", *reach, "--wait", "--timeout=5m"]
        return machine.run(["env", *self._homes(), str(PROGRAMS / "helm"), *order], patience=400.0)

    def _asked(self, order: Sequence[str], values: Values) -> str:
        surroundings = os.environ | dict(home.split("=", 1) for home in self._homes())
        result = subprocess.run(self._command(order, values), env=surroundings, capture_output=True, text=True)
        if result.returncode != 0:
            raise HelmFailed(result.stdout + result.stderr)
        return result.stdout

    def _command(self, order: Sequence[str], values: Values) -> list[str]:
        told = self.folder / "values.json"
        told.write_text(json.dumps(values))
        return [str(PROGRAMS / "helm"), *order, f"--values={told}"]

    def _homes(self) -> list[str]:
        return [f"HELM_{kind}_HOME={self.folder}/{kind.lower()}" for kind in ("CACHE", "CONFIG", "DATA")]
