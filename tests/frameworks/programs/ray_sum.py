"""The entry point of a Ray cluster: each of its nodes does a part of a sum."""

import time

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

NODES = 2


@ray.remote(num_cpus=0)
def where() -> str:
    return str(ray.get_runtime_context().get_node_id())


ray.init(address="auto")
deadline = time.monotonic() + 60
while len(nodes := [node["NodeID"] for node in ray.nodes() if node["Alive"]]) < NODES:
    assert time.monotonic() < deadline
    time.sleep(0.2)
answers = [
    where.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote() for node in nodes
]
print(f"{len(set(ray.get(answers)))} nodes answered", flush=True)
