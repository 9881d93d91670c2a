"""What each framework tells the replicas of small crews, as `tests/data/frameworks` has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
import yaml

from pf_job.frameworks.registry import RULES, environment, rules_of
from pf_job.frameworks.rules import Crew, Place, Replica, stages
from pf_job.specs.defaults import filled
from pf_job.specs.domain import Flavour, Framework, JobSpec, JobType, Member, Role, Work
from pf_job.specs.magic import Identity
from support.repository import ROOT

FILES = sorted((ROOT / "tests/data/frameworks").glob("*.yaml"))
CASES = [
    pytest.param(Framework(path.stem), case, id=f"{path.stem}: {case['name']}")
    for path in FILES
    for case in yaml.safe_load(path.read_text())
]
JSON_VARIABLES = ("TF_CONFIG", "MX_CONFIG", "RAY_JOB_CONFIG_JSON_ENV_VAR")
WHO = Identity(job_id="job-1", user="alice", namespace="team")


def member(told: Mapping[str, Any]) -> Member:
    work = Work(
        command=told.get("command", ""),
        args=tuple(told.get("args", ())),
        env=told.get("env", {}),
        flavour=Flavour(amounts=told.get("takes", {})),
    )
    return Member(
        role=Role(told["role"]),
        replicas=told.get("replicas", 1),
        max_replicas=told.get("max_replicas", 0),
        work=work,
    )


def replica(name: str) -> Replica:
    role, index = name.split("/")
    return Replica(Role(role), int(index))


def crew(framework: Framework, case: Mapping[str, Any]) -> Crew:
    members = tuple(map(member, case["members"]))
    spec = JobSpec(id="job-1", name="train", framework=framework, members=members)
    if framework is Framework.STANDALONE:
        spec = JobSpec(id="job-1", work=members[0].work)
    places = {replica(name): Place(told["address"], told.get("ports", {})) for name, told in case["places"].items()}
    return Crew(
        job_id="job-1",
        attempt=2,
        owner="alice",
        spec=filled(spec, timedelta(days=7)),
        places=places,
        folder=case.get("folder", "/run/crew"),
    )


def read(env: Mapping[str, str]) -> dict[str, Any]:
    """Variables as the data has them: JSON as what it says."""
    return {name: json.loads(value) if name in JSON_VARIABLES else value for name, value in env.items()}


@pytest.mark.parametrize(("framework", "case"), CASES)
def test_every_replica_has_exactly_this_environment(framework: Framework, case: Mapping[str, Any]) -> None:
    all_have = case["environment"].get("all", {})
    expected = {name: all_have | own for name, own in case["environment"].items() if name != "all"}
    together = crew(framework, case)
    assert expected.keys() == case["places"].keys()
    assert {name: read(RULES[framework].environment(together, replica(name))) for name in expected} == expected


@pytest.mark.parametrize(("framework", "case"), CASES)
def test_every_replica_is_started_in_this_way(framework: Framework, case: Mapping[str, Any]) -> None:
    rules, together = rules_of(crew(framework, case).spec), crew(framework, case)
    assert rules.framework is framework
    programs = case.get("programs", {})
    assert {name: list(rules.program(together, replica(name))) for name in programs} == programs
    assert stages(rules, together.spec) == case["stages"]
    assert rules.mode(together.spec) == case["mode"]
    if "reach" in case:
        assert rules.reach(together.spec) == case["reach"]


@pytest.mark.parametrize(("framework", "case"), CASES)
def test_every_replica_finds_these_files(framework: Framework, case: Mapping[str, Any]) -> None:
    together = crew(framework, case)
    for each in together.places:
        found = {file.name: file.text for file in RULES[framework].files(together, each)}
        assert found == case.get("files", {})


@pytest.mark.parametrize(("framework", "case"), CASES)
def test_every_replica_has_the_ports_that_its_role_asks_for(framework: Framework, case: Mapping[str, Any]) -> None:
    for each, place in crew(framework, case).places.items():
        rule = RULES[framework].role(each.role)
        assert rule is not None
        assert rule.ports.keys() == place.ports.keys()


def test_every_framework_has_data() -> None:
    assert [path.stem for path in FILES] == sorted(Framework)


def test_the_user_chooses_what_a_framework_proposes_and_not_who_it_is() -> None:
    env = {"PYTHONUNBUFFERED": "0", "OWN": "1", "PF_USER_NAME": "root"}
    case = {
        "members": [{"role": "worker", "env": env}],
        "places": {"worker/0": {"address": "h", "ports": {"rendezvous": 1}}},
    }
    together = crew(Framework.PYTORCH, case)
    told = environment(together, Replica(Role.WORKER, 0), WHO, JobType.DISTRIBUTED)
    assert (told["PYTHONUNBUFFERED"], told["OWN"], told["PF_USER_NAME"]) == ("0", "1", "alice")
    assert (told["RANK"], told["PF_JOB_MODE"]) == ("0", "Collective")
