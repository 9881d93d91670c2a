"""The references of jobs say what the code does."""

from __future__ import annotations

import re

import pytest

from paddleflow.jobs.documents import read_spec
from paddleflow.problems import InvalidArgument
from pf_job.frameworks.registry import RULES
from pf_job.jobs.states import STAGES, STATES, Stage
from pf_job.specs import check, fields
from reference import contract, frameworks, job_spec, states

PAGE = job_spec.page(contract.read())
PLACES = {
    "The job": "{{{}}}",
    "members": "{{members: [{{{}}}]}}",
    **{
        name: f"{{{{{name}: {{{{{{}}}}}}}}}}"
        for name in ("schedulingPolicy", "flavour", "limitFlavour", "retry", "limits")
    },
    "fs, extraFS": "{{fs: {{{}}}}}",
    "secretEnv": "{{secretEnv: {{A: {{{}}}}}}}",
}
"""Documents with room for a field, by the heading of what the field is of."""
NOT_OURS = {"type", "hostPath"}
"""What documents may say of filesystems, and what the filesystem service knows better."""
SAME = {"memory": "mem", "fileSystem": "fs", "extraFileSystems": "extraFS"}
"""Another name for one that is told."""
LIMITS = {
    "name": check.NAME_LENGTH,
    "labels": fields.MOST_LABELS,
    "annotations": fields.ANNOTATION_LENGTH,
    "env": fields.MOST_VARIABLES,
    "command": check.COMMAND_BYTES // 1024,
    "args": check.MOST_ARGS,
    "port": check.LAST_PORT,
    "extensionTemplate": check.TEMPLATE_BYTES // 1024,
    "limit": check.MOST_RETRIES,
    "notOn": check.MOST_STATUSES,
    "members": check.MOST_REPLICAS,
}


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)\n", PAGE, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def told(heading: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", sections()[heading], flags=re.MULTILINE))


def known(document: str) -> set[str]:
    """The names that may stand beside one that nobody knows."""
    with pytest.raises(InvalidArgument) as raised:
        read_spec(document.format("zzzzzzzz: 1"))
    [names] = [
        found for each in raised.value.violations for found in re.findall(r"there are ([^)(]*)", each.description)
    ]
    return set(names.strip().split(", "))


@pytest.mark.parametrize("heading", PLACES)
def test_exactly_the_names_that_documents_may_have_are_told(heading: str) -> None:
    assert told(heading) == {SAME.get(name, name) for name in known(PLACES[heading]) - NOT_OURS}


@pytest.mark.parametrize(("field", "limit"), LIMITS.items())
def test_a_limit_is_told_as_it_is_checked(field: str, limit: int) -> None:
    rows = [row.replace(",", "") for row in PAGE.splitlines() if row.startswith(f"| `{field}` |")]
    assert any(re.search(rf"\b{limit}\b", row) for row in rows), rows


def test_defaults_are_those_that_are_filled_in() -> None:
    for row in ("| `queue` | text | `default-queue` |", "| `backoff` | time | `10s` |", "| `kept` | time | `7d` |"):
        assert row in PAGE


def test_all_roles_of_all_frameworks_are_told() -> None:
    page = frameworks.page()
    for framework, rules in RULES.items():
        chapter = page.partition(f"\n## {frameworks.NAMES[framework]}\n")[2].partition("\n## ")[0]
        assert all(f"`{rule.role}`" in chapter for rule in rules.roles)


def test_every_state_and_stage_of_a_job_is_told_with_what_may_follow() -> None:
    page = states.page().partition("## Job")[2]
    arrows = {tuple(line.split(" --> ")) for line in re.findall(r"^    (\w+ --> \w+)$", page, flags=re.MULTILINE)}
    assert arrows == {(before, after) for before, following in STATES.items() for after in following}
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, flags=re.MULTILINE))
    assert {stage: row.count(": ") for stage, row in rows.items()} == {stage: len(STAGES[stage]) for stage in Stage}
