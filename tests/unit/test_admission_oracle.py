"""On tiny trees, an implementation that is too slow and too simple to be wrong admits the same in the same order."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from support.admission import Story, queue_rules
from support.admission_oracle import Candidate, Oracle
from support.admission_trees import RESOURCES, random_ground

MOST_QUEUES = 6
MOST_WORKLOADS = 10


@given(seed=st.integers(0, 2**32), count=st.integers(1, MOST_WORKLOADS))
@settings(max_examples=300)
def test_the_same_are_admitted_in_the_same_order(seed: int, count: int) -> None:
    chance = random.Random(seed)
    ground = random_ground(chance, MOST_QUEUES, plain=True)
    quiet = {name: {**fields, "strict": chance.random() < 0.3} for name, fields in ground.queues.items()}
    ground = ground.changed(quiet, None)
    story = Story(ground)
    waiting = []
    for number in range(count):
        amounts = {resource: chance.randint(0, 5) for resource in RESOURCES}
        fields = {"in": chance.choice(list(ground.queues)), "priority": chance.choice([0, 0, 1]), **amounts}
        workload = story.workload(f"w{number}", fields)
        if story.pool.machines.room(workload.roles[0].each):
            story.pool.submit(workload, story.now)
            waiting.append(Candidate(workload, amounts))
    oracle = Oracle([queue_rules(name, fields) for name, fields in ground.queues.items()], ground.machines[0])
    admitted = [decision.id for decision in story.pool.round(1) if type(decision).__name__ == "Admit"]
    assert admitted == oracle.order(waiting)
