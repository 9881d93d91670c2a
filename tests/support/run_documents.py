"""Documents of small runs by chance, each of whose steps leaves a line for every time that it was started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

from pf_pipeline.documents.reading import read
from pf_pipeline.plans.domain import Plan
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request
from pf_pipeline.runs.states import NodeState
from support.plain_rules import Rules

LINES = "lines"
"""The file with the lines of all runs; each is the id of a job."""
UNMET = "1 == 2"
BAD = "bad"
"""What the names of steps that fail begin with."""


def line(tag: str) -> str:
    """Leaves a line. The tag is in the command, so that what is left of it is known from what is left of others."""
    return f": {tag}; echo $PF_JOB_ID >> {LINES}"


def graph(chance: Random, tag: str) -> str:
    """Steps and DAGs that depend on one another, with loops and conditions, some of which fail."""
    document = {
        "parallelism": chance.choice((1, 2, 10)),
        "failure_options": {"strategy": chance.choice(("fail_fast", "continue"))},
        "entry_points": _components(chance, tag, deep=True),
    }
    if chance.random() < 0.5:
        document["post_process"] = {"last": {"command": line(tag)}}
    return text(document)


def _components(chance: Random, tag: str, *, deep: bool) -> Mapping[str, Any]:
    made: dict[str, Any] = {}
    for number in range(chance.randint(1, 4 if deep else 2)):
        deps = ",".join(sorted(name for name in made if chance.random() < 0.5))
        each: dict[str, Any]
        if deep and chance.random() < 0.3:
            name, each = f"dag{number}", {"entry_points": _components(chance, tag, deep=False)}
        else:
            name, each = _step(chance, tag, number, deep=deep)
        if chance.random() < 0.25 and not name.startswith("flaky"):
            each["loop_argument"] = [1, 2, 3][: chance.randint(0, 3)]
        if chance.random() < 0.15:
            each["condition"] = chance.choice((UNMET, "1 == 1"))
        made[name] = {**each, "deps": deps} if deps else each
    return made


def _step(chance: Random, tag: str, number: int, *, deep: bool) -> tuple[str, dict[str, Any]]:
    fate = chance.choice((BAD, "flaky" if deep else "good", *["good"] * 6))
    name = f"{fate}{number}{'top' if deep else 'in'}"
    mine = f"tries-{{{{PF_RUN_ID}}}}-{name}"
    command = f"{line(tag)}; sleep {chance.choice((0, 0, 0.05, 0.2))}"
    match fate:
        case "bad":
            return name, {"command": f"{command}; exit 3"}
        case "flaky":
            again = f"echo x >> {mine}; test $(wc -l < {mine}) -ge 2"
            return name, {"command": f"{command}; {again}", "retry": {"limit": 3, "backoff": "0.05s"}}
    return name, {"command": command}


def stopped(tag: str) -> str:
    """A step that never ends by itself, one after it, and one at the end of all."""
    steps = {
        "first": {"command": line(tag)},
        "sleep": {"command": f"{line(tag)}; sleep 1000", "deps": "first"},
        "never": {"command": line(tag), "deps": "sleep"},
    }
    return text({"entry_points": steps, "post_process": {"last": {"command": line(tag)}}})


def mended(tag: str, file: str) -> str:
    """Fails until there is a file."""
    steps = {
        "first": {"command": line(tag)},
        "oven": {"command": f"{line(tag)}; test -e {file}", "deps": "first"},
        "each": {"command": line(tag), "deps": "oven", "loop_argument": [1, 2]},
    }
    return text({"entry_points": steps})


def cached(tag: str, salt: str) -> str:
    """Hands on artifacts, a list of items and a small result; all of it may be used again."""
    steps = {
        "dough": {
            "command": f"{line(tag)}; echo '[1, 2]' > {{{{dough}}}}; echo 5 > $PF_RESULT_SIZE",
            "artifacts": {"output": ["dough"]},
            "results": {"size": "int"},
            "env": {"SALT": salt},
        },
        "slice": {
            "command": f"{line(tag)}; cp {{{{dough}}}} {{{{slice}}}}",
            "deps": "dough",
            "loop_argument": "{{dough}}",
            "condition": "{{size}} == 5",
            "parameters": {"size": "{{dough.size}}"},
            "artifacts": {"input": {"dough": "{{dough.dough}}"}, "output": ["slice"]},
        },
    }
    return text({"cache": {"enable": True}, "entry_points": steps})


def text(document: Mapping[str, Any]) -> str:
    return json.dumps({"name": "chaos", "docker_env": "img", **document})


def plan_of(document: str, filesystem: str) -> Plan:
    return plan(read(document), Request(filesystem=filesystem))


RULES = Rules(
    lambda path: NodeState.FAILED if path.rpartition(".")[2].startswith(BAD) else NodeState.SUCCEEDED,
    {UNMET: NodeState.SKIPPED},
)
