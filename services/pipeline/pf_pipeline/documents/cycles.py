"""Finds circles in graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def cycle(graph: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The names along one circle, each leading to the next; none if there is none.

    Without recursion: a chain may be as long as a document.
    """
    done: set[str] = set()
    for start in graph:
        if start not in done and (found := _from(start, graph, done)):
            return found
    return ()


def _from(start: str, graph: Mapping[str, Iterable[str]], done: set[str]) -> tuple[str, ...]:
    way = {start: iter(graph.get(start, ()))}
    while way:
        name, rest = next(reversed(way.items()))
        following = next(rest, None)
        if following is None:
            done.add(name)
            del way[name]
        elif following in way:
            names = list(way)
            return tuple(names[names.index(following) :])
        elif following not in done:
            way[following] = iter(graph.get(following, ()))
    return ()
