"""The chart says what the driver and the tests know; whether a cluster takes it is tried by `make kube-test`."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import Any

import pytest
import yaml

from pf_csi.settings import ClientPodsSettings, ControllerSettings, HolderSettings, NodeSettings
from pf_kit.settings import Settings, describe
from support.repository import BIN, ROOT

CHART = ROOT / "deploy" / "helm" / "paddleflow"
SETTINGS: dict[str, type[Settings]] = {
    "clients": ClientPodsSettings,
    "controller": ControllerSettings,
    "holder": HolderSettings,
    "node": NodeSettings,
}


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return found


def test_its_values_keep_to_their_schema() -> None:
    schema = CHART / "values.schema.json"
    command: list[str | object] = [BIN / "check-jsonschema", "--schemafile", schema, CHART / "values.yaml"]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_it_installs_the_version_of_this_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]


@pytest.mark.parametrize("role", list(SETTINGS))
def test_it_sets_what_the_driver_knows(role: str) -> None:
    """An unknown variable ends a program at its start."""
    known = {setting.variable for setting in describe(SETTINGS[role], f"PF_CSI_{role.upper()}")}
    text = (CHART / "templates" / "csi" / f"{role}.yaml").read_text()
    told = set(re.findall(r"name: (PF_\w+)", text))
    assert told
    assert told <= known


@pytest.mark.parametrize(
    ("sidecar", "module"), [("provisioner", "external-provisioner"), ("resizer", "external-resizer")]
)
def test_its_sidecars_are_those_that_are_tested(values: dict[str, Any], sidecar: str, module: str) -> None:
    pinned = (ROOT / "tests" / "kube" / "modules" / "sidecars" / "go.mod").read_text()
    found = re.search(rf"github\.com/kubernetes-csi/external-{sidecar}/v\d+ (v\S+)", pinned)
    assert found is not None
    assert values["csi"]["sidecars"][sidecar]["image"]["tag"] == found[1]
