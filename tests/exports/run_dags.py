"""Has Airflow parse the programs in a folder and run each DAG once, and prints the states of all tasks, as JSON.

Runs in the environment of Airflow, of which the rest of the project knows nothing.
"""

import json
import sys

from airflow.dag_processing.dagbag import DagBag


def main(folder: str) -> None:
    bag = DagBag(folder)
    found = {"import_errors": {path: str(error) for path, error in bag.import_errors.items()}, "runs": {}}
    for name in sorted(bag.dags):
        run = bag.dags[name].test(run_conf={})
        tasks = {}
        for instance in run.get_task_instances():
            tasks.setdefault(instance.task_id, []).append((instance.map_index, str(instance.state)))
        found["runs"][name] = {
            "state": str(run.state.value),
            "tasks": {task: [state for _, state in sorted(states)] for task, states in tasks.items()},
        }
    with open(sys.argv[2], "w") as file:
        json.dump(found, file)


main(sys.argv[1])
