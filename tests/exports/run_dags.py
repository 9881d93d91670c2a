"""Has Airflow parse the programs in a folder and run the named DAGs once, and writes the states of all tasks, as JSON.

Runs in the environment of Airflow, of which the rest of the project knows nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from airflow.dag_processing.dagbag import DagBag


def states_of(run: Any) -> dict[str, list[str]]:
    """By task, in the order of iterations."""
    instances = sorted(run.get_task_instances(), key=lambda instance: (instance.task_id, instance.map_index))
    found: dict[str, list[str]] = {}
    for instance in instances:
        found.setdefault(instance.task_id, []).append(str(instance.state))
    return found


def main(folder: str, out: str, *names: str) -> None:
    bag = DagBag(folder)
    runs = {name: bag.dags[name].test() for name in names}
    told = {
        "dags": sorted(bag.dags),
        "import_errors": {path: str(error) for path, error in bag.import_errors.items()},
        "runs": {name: {"state": str(run.state.value), "tasks": states_of(run)} for name, run in runs.items()},
    }
    Path(out).write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
