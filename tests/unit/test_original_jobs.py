"""Documents of PaddleFlow 1 mean what they meant, as `tests/data/original/job_fields.yaml` has it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
import yaml

from paddleflow.jobs.documents import read_spec
from paddleflow.jobs.render import document
from paddleflow.problems import InvalidArgument
from paddleflow.quantity import CPU, MEMORY
from pf_job.frameworks.check import violations
from pf_job.specs.convert import given_spec, spec_message
from pf_job.specs.defaults import filled, with_filesystems, with_flavours
from pf_job.specs.domain import JobSpec, JobType
from pf_job.specs.magic import Settings, read
from support.repository import ROOT

CASES = yaml.safe_load((ROOT / "tests/data/original/job_fields.yaml").read_text())
IDS = [f"{case['field']}-{at}" for at, case in enumerate(CASES)]
FLAVOURS = {"flavour1": {CPU: 2000, MEMORY: 4 * 2**30}}
FIELDS = {
    *("type", "framework", "id", "name", "labels", "schedulingPolicy.queue", "schedulingPolicy.priority", "flavour"),
    "annotations.paddleflow/job-ttl-seconds",
    *("limitFlavour", "fs", "extraFS", "image", "env", "command", "port", "extensionTemplate", "members"),
}


def settled(case: Mapping[str, Any]) -> Settings:
    job_type = JobType(case["type"]) if "type" in case else None
    return read(given_spec(read_spec(json.dumps(case["document"]))), job_type)


def accepted(settings: Settings) -> dict[str, Any]:
    """The document of the job, once all that it names was looked up and all that it leaves open filled in."""
    spec = with_filesystems(with_flavours(settings.spec, FLAVOURS), {"data": "fs-root-data"})
    whole: JobSpec = filled(spec, timedelta(days=7))
    return {"type": settings.type.value, **document(spec_message(whole))}


def wrong(case: Mapping[str, Any]) -> set[str]:
    try:
        settings = settled(case)
    except InvalidArgument as problem:
        return {violation.field for violation in problem.violations}
    return {violation.field for violation in (*settings.violations, *violations(settings.spec, settings.type))}


def at(found: Any, place: str) -> Any:
    """What stands at a place of a document; None if nothing does."""
    for step in steps(place):
        match found:
            case dict():
                found = found.get(step)
            case list():
                found = found[int(step)] if int(step) < len(found) else None
    return found


def steps(place: str) -> Iterator[str]:
    for part in place.split("."):
        name, *indices = part.replace("]", "").split("[")
        yield name
        yield from indices


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_field_means_what_it_meant(case: Mapping[str, Any]) -> None:
    assert wrong(case) == set(case.get("refused", ()))
    if "becomes" in case:
        found = accepted(settled(case))
        assert {place: at(found, place) for place in case["becomes"]} == case["becomes"]


def test_every_field_is_in_the_table() -> None:
    assert {case["field"] for case in CASES} >= FIELDS
