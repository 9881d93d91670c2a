"""Plans of runs by chance, and how their steps end."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from hypothesis import strategies as st

from pf_pipeline.documents.model import Strategy
from pf_pipeline.engine.core.happening import JobState
from pf_pipeline.plans.domain import Kind, Plan, Planned, PlannedDag, PlannedStep
from pf_pipeline.runs.domain import Node

CONDITIONS = st.sampled_from(["", "", "", "yes", "no", "bad", "file"])
LOOPS = st.sampled_from([None, None, None, (), (1,), (1, 2, 3), "items"])
SEMAPHORES = {"oven": 1, "sink": 2}
HELD = st.sampled_from([(), (), (), ("oven",), ("sink",), ("oven", "sink"), ("sink", "oven")])
CONTENTS = "yes"


@st.composite
def planned(draw: st.DrawFn, depth: int) -> Mapping[str, Planned]:
    """Components that depend on some of those before them."""
    names = [f"c{at}" for at in range(draw(st.integers(1, 5)))]
    found: dict[str, Planned] = {}
    for at, name in enumerate(names):
        deps = tuple(sorted(draw(st.sets(st.sampled_from(names[:at]), max_size=3)))) if at else ()
        loop, condition, disabled = draw(LOOPS), draw(CONDITIONS), draw(st.integers(0, 9)) == 0
        common = {"name": name, "deps": deps, "loop": loop, "condition": condition, "disabled": disabled}
        if depth and draw(st.integers(0, 3)) == 0:
            found[name] = PlannedDag(**common, children=draw(planned(depth - 1)))  # type: ignore[arg-type]
        else:
            more = {"max_parallel": draw(st.integers(0, 2)), "semaphores": draw(HELD)}
            found[name] = PlannedStep(**common, command="x", **more)  # type: ignore[arg-type]
    return dict(draw(st.permutations(list(found.items()))))


PLANS = st.builds(
    Plan,
    name=st.just("p"),
    entry_points=planned(2),
    parallelism=st.integers(1, 4),
    semaphores=st.just(SEMAPHORES),
    strategy=st.sampled_from(Strategy),
    post_process=st.none() | st.just(PlannedStep(name="post", command="x", kind=Kind.POST_PROCESS)),
)


def fate(seed: int, node: Node) -> JobState:
    """How a step ends: the same whoever asks."""
    digest = sha256(f"{seed}/{node.path}/{node.attempt}".encode()).digest()[0]
    return JobState.FAILED if digest < 40 else JobState.SUCCEEDED
