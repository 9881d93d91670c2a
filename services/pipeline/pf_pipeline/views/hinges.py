"""On whom it hinges whether a step comes from the cache: on those that write what it reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pf_pipeline.documents.templates import refs
from pf_pipeline.plans.domain import Kind
from pf_pipeline.runs.domain import Node
from pf_pipeline.views.foretelling import Foretold, Prediction

MOST = 5
"""Steps that are named."""


@dataclass(frozen=True, slots=True)
class Hinges:
    """Who writes what, in a run that is thought through."""

    foretold: Mapping[str, Foretold]
    """What the cache would say, by path."""
    writers: Mapping[str, str]
    """Steps by the paths of their artifacts."""
    siblings: Mapping[tuple[str, str], Sequence[str]]
    """Steps by the DAG they are in and their name: the iterations of a loop."""

    def told(self, node: Node) -> str:
        """When a step comes from the cache of which nobody can tell yet; empty if it hinges on no step."""
        makers = sorted({*self._writers(node), *self._tellers(node)})
        maybe = [path for path in makers if self._is_open(path)]
        others = [path for path in makers if not self._is_open(path)]
        parts = [f"{_names(maybe)} {'is' if len(maybe) == 1 else 'are'} cached or {_same(maybe)}"] if maybe else []
        parts += [f"{_names(others)} {_same(others)}"] if others else []
        return f"cached if {', and if '.join(parts)}" if parts else ""

    def _is_open(self, path: str) -> bool:
        """True if nobody knows yet whether a step runs."""
        return path in self.foretold and self.foretold[path].prediction is Prediction.UNKNOWN

    def _writers(self, node: Node) -> Iterator[str]:
        for paths in node.work.inputs.values():
            yield from (self.writers[path] for path in paths.split(",") if "{{" in path and path in self.writers)

    def _tellers(self, node: Node) -> Iterator[str]:
        """Those whose small results it needs."""
        for value in (*node.work.parameters.values(), *node.work.env.values()):
            for ref in refs(value) if isinstance(value, str) else ():
                yield from self.siblings.get((node.parent, ref.component or ""), ())


def hinges_of(nodes: Mapping[str, Node], foretold: Mapping[str, Foretold]) -> Hinges:
    """`nodes` are those of a run as they would end."""
    siblings: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    writers: dict[str, str] = {}
    for path, node in nodes.items():
        # A DAG only hands on what steps in it write.
        if node.kind is not Kind.DAG:
            siblings[node.parent, node.name].append(path)
            writers |= dict.fromkeys(node.work.outputs.values(), path)
    return Hinges(foretold, writers, siblings)


def _same(paths: Sequence[str]) -> str:
    return "writes the same as before" if len(paths) == 1 else "write the same as before"


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST} more" if len(paths) > MOST else ""
    return ", ".join(paths[:MOST]) + more
