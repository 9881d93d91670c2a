"""What can be done with runs.

Methods that take a `Change` are one step of it: whoever calls them holds the lock of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from paddleflow.problems import NodeNotFound, PermissionDenied, RunInUse, RunNotFound, RunStateConflict
from pf_kit.principal import Principal
from pf_kit.unit import Change, View
from pf_pipeline.owners import Owner, eyes, identity, owns
from pf_pipeline.plans.paths import artifacts_folder
from pf_pipeline.runs.domain import (
    Executor,
    Happening,
    Leaving,
    Node,
    Order,
    Run,
    RunChanged,
    RunFilter,
    RunLife,
    Waiting,
    Wanted,
    Wish,
)
from pf_pipeline.runs.ports import Traces
from pf_pipeline.runs.states import RUN_OVER, RunState
from pf_pipeline.runs.store import RunStore


class Runs:
    """The runs, as callers may use them."""

    def __init__(self, *, store: RunStore, traces: Traces) -> None:
        self._store = store
        self._traces = traces

    async def get(self, view: View, caller: Principal, id_: str) -> Run:
        """The run of this id. Raises RunNotFound, also if the caller may not see it."""
        known = await self._store.runs(view, [id_]) if "\0" not in id_ else []
        for run in known:
            if owns(caller, run.whose):
                return run
        raise RunNotFound(f"no run {id_[:63]!r}")

    async def page(self, view: View, caller: Principal, chosen: RunFilter, before: int, limit: int) -> Sequence[Run]:
        """The runs that the caller may see, newest first, without documents."""
        return await self._store.page(view, replace(chosen, seen_by=eyes(caller)), before, limit)

    async def create(self, change: Change, owner: Owner, order: Order) -> Run:
        """Keeps a new run, which begins at once."""
        return await self.begin(change, owner, order, RunLife(create_time=change.time))

    async def begin(self, change: Change, owner: Owner, order: Order, life: RunLife) -> Run:
        """Keeps a new run, which goes on from where it stands."""
        run = await self._store.add(change, _run(await self._store.new_id(change), owner, order, life))
        await self._store.wish(change, Wish(run=run.id, wanted=Wanted.BEGIN, by=owner.name))
        change.emit(RunChanged(run, born=True))
        return run

    async def create_all(self, change: Change, orders: Sequence[tuple[Owner, Order]]) -> Sequence[Run]:
        """Keeps new runs of owners, which begin at once."""
        life = RunLife(create_time=change.time)
        added = await self._add_all(change, [(owner, order, life) for owner, order in orders])
        await self._store.wish_all(change, [Wish(run=run.id, wanted=Wanted.BEGIN, by=run.owner) for run in added])
        return added

    async def create_all_skipped(self, change: Change, orders: Sequence[tuple[Owner, Order, str]]) -> Sequence[Run]:
        """Keeps the records of runs of owners that schedules have passed over, and why."""
        bare = RunLife(create_time=change.time, state=RunState.SKIPPED, finish_time=change.time)
        lives = [(owner, order, replace(bare, message=why)) for owner, order, why in orders]
        return await self._add_all(change, lives)

    async def _add_all(self, change: Change, new: Sequence[tuple[Owner, Order, RunLife]]) -> Sequence[Run]:
        ids = await self._store.new_ids(change, len(new))
        runs = [_run(id_, owner, order, life) for id_, (owner, order, life) in zip(ids, new, strict=True)]
        added = await self._store.add_all(change, runs)
        for run in added:
            change.emit(RunChanged(run, born=True))
        return added

    async def stop(self, change: Change, caller: Principal, id_: str, *, force: bool) -> Run:
        """Wants a run to end. Raises RunNotFound and RunStateConflict."""
        run = await self.get(change, caller, id_)
        if run.life.state in RUN_OVER:
            raise RunStateConflict(f"run {id_!r} is over already: it is {run.life.state}")
        await self.want_stop(change, run.id, caller.name, force=force)
        return run

    async def want_stop(self, change: Change, id_: str, by: str, *, force: bool) -> None:
        """Wants a run to end, on somebody's behalf."""
        await self._store.wish(change, Wish(run=id_, wanted=Wanted.FORCE if force else Wanted.STOP, by=by))

    async def delete(self, change: Change, caller: Principal, id_: str, *, keep_if_used: bool) -> Run:
        """Forgets a run that is over. Raises RunNotFound, RunStateConflict and RunInUse."""
        run = await self.get(change, caller, id_)
        if run.life.state not in RUN_OVER:
            raise RunStateConflict(f"run {id_!r} is {run.life.state}; stop it, and wait until it is over")
        if keep_if_used and (users := await self.used_by(change, run)):
            who = ", ".join(users[:5])
            raise RunInUse(f"{who} took results from run {id_!r}; delete them first, or delete it all the same")
        await self._store.leave(change, list(_leavings(run)))
        await self.forget(change, [run])
        return run

    async def forget(self, change: Change, runs: Sequence[Run]) -> None:
        """Forgets runs that are over; their artifacts stay."""
        ids = [run.id for run in runs]
        await self._store.remove(change, ids)
        await self._traces.forget(change, ids)
        for run in runs:
            change.emit(RunChanged(replace(run, version=run.version + 1), forgotten=True))

    async def used_by(self, view: View, run: Run) -> Sequence[str]:
        """Runs that took results from a run, from the cache or as they try it again."""
        found = [*await self._traces.used_by(view, run.id), *await self._store.retries_of(view, run.id)]
        return list(dict.fromkeys(found))

    async def node(self, view: View, caller: Principal, id_: str, path: str) -> Node:
        """A node of a run. Raises RunNotFound and NodeNotFound."""
        await self.get(view, caller, id_)
        node = await self._store.node(view, id_, path) if "\0" not in path else None
        if node is None:
            raise NodeNotFound(f"run {id_!r} has no node {path[:200]!r}, or it has not begun")
        return node

    async def decide(
        self, change: Change, caller: Principal, id_: str, path: str, *, agreed: bool, comment: str
    ) -> Node:
        """Lets a node that waits for approval go on, or refuses it. Raises what DecideApproval's contract lists."""
        node = await self._approvable(change, caller, id_, path)
        wanted = Wanted.APPROVE if agreed else Wanted.REFUSE
        wish = Wish(run=id_, wanted=wanted, path=path, by=caller.name, comment=comment)
        await self._store.wish(change, wish)
        return node

    async def happenings(self, view: View, caller: Principal, id_: str, after: int, limit: int) -> Sequence[Happening]:
        """What happened in a run, oldest first. Raises RunNotFound."""
        await self.get(view, caller, id_)
        return await self._store.happenings(view, id_, after, limit)

    async def _approvable(self, view: View, caller: Principal, id_: str, path: str) -> Node:
        """Who may approve may see so much of a run that is not its own."""
        node = await self._store.node(view, id_, path) if "\0" not in f"{id_}{path}" else None
        asked = node is not None and await self._is_asked(view, caller, id_, node)
        if node is None or not asked:
            await self.get(view, caller, id_)
        if node is None:
            raise NodeNotFound(f"run {id_!r} has no node {path[:200]!r}, or it has not begun")
        if node.waiting is not Waiting.APPROVAL:
            raise RunStateConflict(f"{path} of run {id_!r} does not wait for approval")
        if not asked:
            raise PermissionDenied(f"{path} waits for the approval of {', '.join(node.waiting_on)}")
        return node

    async def _is_asked(self, view: View, caller: Principal, id_: str, node: Node) -> bool:
        """True if the caller may approve; whoever was given the name of the owner, or of one who is asked, later than
        the run was made may not.
        """
        if caller.root or caller.name not in node.waiting_on:
            return caller.root
        (run,) = await self._store.runs(view, [id_])
        user = identity(caller)
        if user.name == run.owner:
            return owns(caller, run.whose)
        return user.name == caller.name and user.since <= run.life.create_time


def _run(id_: str, owner: Owner, order: Order, life: RunLife) -> Run:
    return Run(id=id_, owner=owner.name, owner_since=owner.since, order=order, life=life)


def _leavings(run: Run) -> Iterator[Leaving]:
    """Where the artifacts of a run lie."""
    order = run.order
    if order.filesystem_id and order.executor is Executor.JOBS:
        yield Leaving(run.id, run.owner, order.filesystem_id, artifacts_folder(order.sub_path, run.id))
