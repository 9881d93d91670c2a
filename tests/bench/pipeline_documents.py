"""The pipelines that are measured."""

from __future__ import annotations

import random
from collections.abc import Sequence

PARALLELISM = 16
"""Steps at once: the same for all that is compared."""


def chain(length: int) -> str:
    """Steps one after the other."""
    return _document("chain", [_step(f"s{at}", [f"s{at - 1}"] if at else []) for at in range(length)])


def fan(width: int) -> str:
    """One step, many that depend on it, and one that depends on these."""
    middle = [f"m{at}" for at in range(width)]
    steps = [_step("first"), *(_step(name, ["first"]) for name in middle), _step("last", middle)]
    return _document("fan", steps)


def layers(nodes: int, width: int, edges: int) -> str:
    """Layers of so many steps, each of which depends on so many of the layer before, chosen by chance."""
    chance = random.Random(7)
    steps = []
    for at in range(nodes):
        layer = at // width
        above = range((layer - 1) * width, layer * width) if layer else range(0)
        steps.append(_step(f"n{at}", [f"n{dep}" for dep in sorted(chance.sample(above, min(edges, len(above))))]))
    return _document("layers", steps)


def loop(items: int) -> str:
    """A step that is repeated."""
    listed = ",".join(map(str, range(items)))
    return _document("loop", [f"  each: {{command: 'true', loop_argument: [{listed}]}}"])


def cached(width: int) -> str:
    """Steps no two of which are the same work, whose results are kept."""
    steps = [_step(f"s{at}", command=f"true {at}") for at in range(width)]
    return _document("cached", steps, more="cache: {enable: true}")


def approval() -> str:
    """A step that waits for somebody."""
    return _document("waiting", ["  wait: {approval: {users: [root], message: May it go on?}}"])


def _step(name: str, deps: Sequence[str] = (), command: str = "true") -> str:
    after = f", deps: '{','.join(deps)}'" if deps else ""
    return f"  {name}: {{command: '{command}'{after}}}"


def _document(name: str, steps: Sequence[str], more: str = "") -> str:
    head = [f"name: {name}", "docker_env: none", f"parallelism: {PARALLELISM}", *([more] if more else [])]
    return "\n".join([*head, "entry_points:", *steps])
