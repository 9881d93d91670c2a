"""Runs in memory, for tests: as durable as the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pf_kit.memory import tables
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner
from pf_pipeline.runs.domain import Happening, Leaving, Loop, Node, NodeFilter, Progress, Run, RunFilter, Standing, Wish
from pf_pipeline.runs.states import NODE_OVER, RUN_OVER, NodeState
from pf_pipeline.runs.store import Place, Turn


class MemoryRunStore:
    """Fulfils `RunStore` over a `MemoryDatabase`."""

    async def new_id(self, change: Change) -> str:
        return f"run-{_next(change, 'run_ids'):06d}"

    async def add(self, change: Change, run: Run) -> Run:
        added = replace(
            run, number=_next(change, "numbers"), version=_next(change, "versions"), update_time=change.time
        )
        tables(change).table("runs")[run.id] = added
        return added

    async def new_ids(self, change: Change, count: int) -> Sequence[str]:
        return [await self.new_id(change) for _ in range(count)]

    async def add_all(self, change: Change, runs: Sequence[Run]) -> Sequence[Run]:
        return [await self.add(change, run) for run in runs]

    async def runs(self, view: View, ids: Collection[str]) -> Sequence[Run]:
        return [run for id_, run in _runs(view).items() if id_ in ids]

    async def page(self, view: View, chosen: RunFilter, before: int, limit: int) -> Sequence[Run]:
        found = [run for run in _newest(view) if (not before or run.number < before) and all(_conditions(run, chosen))]
        return [_without_document(run) for run in found[:limit]]

    async def unfinished(self, view: View) -> Sequence[str]:
        return [run.id for run in reversed(_newest(view)) if run.life.state not in RUN_OVER]

    async def save(self, change: Change, turns: Sequence[Turn]) -> Sequence[Run]:
        return [self._save(change, turn) for turn in turns]

    async def nodes(self, view: View, run: str, chosen: NodeFilter, after: Place, limit: int) -> Sequence[Node]:
        found = sorted(
            (_place(node), node)
            for (of, _), node in tables(view).table("nodes").items()
            if of == run and _place(node) > after and chosen.fits(node)
        )
        return [node for _, node in found[:limit]]

    async def node(self, view: View, run: str, path: str) -> Node | None:
        found: Node | None = tables(view).table("nodes").get((run, path))
        return found

    async def loops(self, view: View, run: str) -> Mapping[str, Loop]:
        return {path: loop for (of, path), loop in tables(view).table("loops").items() if of == run}

    async def running(self, view: View, run: str, places: Collection[int]) -> Sequence[Node]:
        nodes = [node for (of, _), node in tables(view).table("nodes").items() if of == run]
        return sorted((node for node in nodes if node.place in places and node.state is NodeState.RUNNING), key=_place)

    async def progress(self, view: View, run: str, components: Mapping[str, int]) -> Mapping[str, Progress]:
        nodes: dict[tuple[str, str], Node] = tables(view).table("nodes")
        loops = await self.loops(view, run)
        kept: dict[str, list[Node]] = {path: [] for path in components}
        for (of, path), node in nodes.items():
            component = path.removesuffix(f"[{node.iteration}]") if node.iteration else path
            if of == run and component in kept:
                kept[component].append(node)
        return {path: _progress(found, loops.get(path)) for path, found in kept.items()}

    async def standings(self, view: View, run: str) -> Sequence[Standing]:
        found: dict[tuple[int, NodeState], list[Node]] = {}
        for (of, _), node in tables(view).table("nodes").items():
            if of == run:
                found.setdefault((node.place, node.state), []).append(node)
        return [_standing(place, state, found[place, state]) for place, state in sorted(found)]

    async def happenings(self, view: View, run: str, after: int, limit: int) -> Sequence[Happening]:
        stored: tuple[Happening, ...] = tables(view).table("happenings").get(run, ())
        return stored[after : after + limit]

    async def wish(self, change: Change, wish: Wish) -> None:
        number = _next(change, "wishes_given")
        tables(change).table("wishes")[number] = replace(wish, number=number)

    async def wish_all(self, change: Change, wishes: Sequence[Wish]) -> None:
        for wish in wishes:
            await self.wish(change, wish)

    async def wishes(self, view: View, after: int, limit: int) -> Sequence[Wish]:
        wishes: dict[int, Wish] = tables(view).table("wishes")
        return [wishes[number] for number in sorted(wishes) if number > after][:limit]

    async def forget_wishes(self, change: Change, numbers: Collection[int]) -> None:
        for number in numbers:
            tables(change).table("wishes").pop(number, None)

    async def active_of(self, view: View, schedule: str) -> Sequence[str]:
        unfinished = await self.unfinished(view)
        return [id_ for id_ in unfinished if _runs(view)[id_].order.schedule_id == schedule]

    async def active_counts(self, view: View, schedules: Collection[str]) -> Mapping[str, int]:
        unfinished = await self.unfinished(view)
        return Counter(of for id_ in unfinished if (of := _runs(view)[id_].order.schedule_id) in schedules)

    async def expired(self, view: View, until: datetime, limit: int) -> Sequence[Run]:
        over = ((run.life.finish_time, run) for run in _runs(view).values())
        expired = [(time, run.number, run) for time, run in over if time is not None and time <= until]
        return [_without_document(run) for _, _, run in sorted(expired)[:limit]]

    async def remove(self, change: Change, ids: Collection[str]) -> None:
        for name in ("runs", "happenings"):
            for id_ in ids:
                tables(change).table(name).pop(id_, None)
        for name in ("nodes", "loops"):
            table = tables(change).table(name)
            for key in [key for key in table if key[0] in ids]:
                del table[key]
        wishes = tables(change).table("wishes")
        for number in [number for number, wish in wishes.items() if wish.run in ids]:
            del wishes[number]

    async def owners(self, view: View) -> Sequence[Owner]:
        return sorted({run.whose for run in _runs(view).values()})

    async def owned(self, view: View, owner: Owner, after: str, limit: int) -> Sequence[Run]:
        found = [run for id_, run in sorted(_runs(view).items()) if id_ > after and run.whose == owner]
        return [_without_document(run) for run in found[:limit]]

    async def retries_of(self, view: View, id_: str) -> Sequence[str]:
        return [run.id for run in reversed(_newest(view)) if id_ and run.order.retry_of == id_]

    async def leave(self, change: Change, leavings: Sequence[Leaving]) -> None:
        tables(change).table("leavings").update({each.run: each for each in leavings})

    async def leavings(self, view: View, after: str, limit: int) -> Sequence[Leaving]:
        found: dict[str, Leaving] = tables(view).table("leavings")
        return [found[run] for run in sorted(found) if run > after][:limit]

    async def clear(self, change: Change, runs: Collection[str]) -> None:
        for run in runs:
            tables(change).table("leavings").pop(run, None)

    def _save(self, change: Change, turn: Turn) -> Run:
        run = replace(turn.run, version=_next(change, "versions"), update_time=change.time)
        tables(change).table("runs")[run.id] = run
        tables(change).table("nodes").update({(node.run, node.path): node for node in turn.nodes})
        for loop in turn.loops:
            tables(change).table("loops").setdefault((loop.run, loop.path), loop)
        happened: dict[str, tuple[Happening, ...]] = tables(change).table("happenings")
        times = tuple(replace(each, time=change.time) for each in turn.happenings)
        happened[run.id] = (*happened.get(run.id, ()), *times)
        for number in turn.heard:
            tables(change).table("wishes").pop(number, None)
        return run


def _runs(view: View) -> dict[str, Run]:
    return tables(view).table("runs")


def _newest(view: View) -> Sequence[Run]:
    return sorted(_runs(view).values(), key=lambda run: -run.number)


def _next(change: Change, counter: str) -> int:
    counters: dict[str, int] = tables(change).table("counters")
    counters[counter] = counters.get(counter, 0) + 1
    return counters[counter]


def _without_document(run: Run) -> Run:
    return replace(run, order=replace(run.order, document=""))


def _progress(nodes: Sequence[Node], loop: Loop | None) -> Progress:
    there = {node.iteration for node in nodes}
    return Progress(
        kept=len(nodes),
        over=sum(node.state in NODE_OVER for node in nodes),
        gap=next(at for at in range(len(nodes) + 1) if at not in there),
        items=None if loop is None else len(loop.items),
    )


def _standing(place: int, state: NodeState, nodes: Sequence[Node]) -> Standing:
    return Standing(
        place=place,
        state=state,
        number=len(nodes),
        cached=sum(bool(node.cache.run) for node in nodes),
        start_time=min((node.start_time for node in nodes if node.start_time), default=None),
        finish_time=max((node.finish_time for node in nodes if node.finish_time), default=None),
    )


def _place(node: Node) -> Place:
    return node.place, node.iteration, node.path


def _conditions(run: Run, chosen: RunFilter) -> Iterator[bool]:
    order = run.order
    yield not chosen.owners or run.owner in chosen.owners
    yield not chosen.states or run.life.state in chosen.states
    yield not chosen.filesystems or order.filesystem in chosen.filesystems
    yield not chosen.ids or run.id in chosen.ids
    yield not chosen.names or order.title in chosen.names
    yield chosen.schedule_id in ("", order.schedule_id)
    yield chosen.pipeline_id in ("", order.source.pipeline_id)
    yield chosen.seen_by is None or run.whose.is_of(chosen.seen_by)
