"""Makes an order of what somebody asks for: reads the document, finds all that is wrong, looks up what it names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import md5, sha256
from threading import Lock

from paddleflow.problems import PermissionDenied
from pf_kit.principal import Principal
from pf_pipeline.documents.model import Mount, Strategy
from pf_pipeline.documents.reading import read
from pf_pipeline.owners import Owner
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag
from pf_pipeline.plans.paths import ground
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Given, Request
from pf_pipeline.runs.domain import Executor, Order
from pf_pipeline.runs.ports import Documents, Filesystems, Found, Wanted

MOST_KEPT = 4 * 2**20
"""Characters of all documents whose plans are kept: a plan takes some thirty times as many bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A run as somebody asks for it."""

    wanted: Wanted
    title: str = ""
    description: str = ""
    owner: str = ""
    parameters: Mapping[str, Given] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()
    docker_env: str = ""
    strategy: Strategy | None = None
    executor: Executor = Executor.JOBS
    fresh: tuple[str, ...] = ()


class Plans:
    """Plans of orders. Those that were made last are kept: whoever drives a run wants the plan that taking it made."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Plan, int]] = {}
        """Plans by their keys, with the sizes of their documents."""
        self._one_at_a_time = Lock()
        """Documents are read in threads."""

    def plan(self, order: Order) -> Plan:
        """The plan of an order. Raises DocumentInvalid, but not for an order that was accepted."""
        key = _key(order)
        known = self._known.get(key)
        if known is None:
            known = plan(read(order.document), request_of(order)), len(order.document)
            with self._one_at_a_time:
                self._known[key] = known
                self._drop_oldest()
        return known[0]

    def _drop_oldest(self) -> None:
        """Keeps the last one in any case."""
        size = sum(size for _, size in self._known.values())
        for key in list(self._known)[:-1]:
            if size <= MOST_KEPT:
                return
            size -= self._known.pop(key)[1]


def _key(order: Order) -> str:
    asked = (order.document, order.filesystem, repr(sorted(order.parameters.items())), order.disabled, order.strategy)
    return sha256(repr((*asked, order.docker_env)).encode()).hexdigest()


def request_of(order: Order) -> Request:
    """What was asked for beside the document."""
    return Request(
        filesystem=order.filesystem,
        parameters=order.parameters,  # type: ignore[arg-type]  # as they were given
        disabled=order.disabled,
        docker_env=order.docker_env,
        strategy=order.strategy,
    )


class Taking:
    """Makes orders."""

    def __init__(self, *, documents: Documents, filesystems: Filesystems, plans: Plans) -> None:
        self._documents = documents
        self._filesystems = filesystems
        self._plans = plans

    async def order(self, owner: Owner, draft: Draft) -> tuple[Order, Plan]:
        """The order of a user, and its plan. Raises what CreateRun's contract lists."""
        found = await self._documents.find(owner, draft.wanted)
        bare = _order(draft, found)
        # A large document takes a second, in which others want to be served.
        made = await asyncio.to_thread(self._plans.plan, bare)
        mounts = await self._mounts(owner.name, made)
        main = made.main_fs.name if made.main_fs else ""
        order = Order(
            name=made.name,
            title=draft.title or made.name,
            description=draft.description,
            source=found.source,
            origin=found.source.origin or md5(found.text.encode(), usedforsecurity=False).hexdigest(),
            document=found.text,
            parameters=draft.parameters,
            filesystem=main,
            filesystem_id=mounts.get(main, ""),
            sub_path=ground(made.main_fs, "").sub_path,
            mounts=mounts,
            docker_env=draft.docker_env,
            disabled=draft.disabled,
            strategy=draft.strategy,
            executor=draft.executor,
            fresh=draft.fresh,
            notify=tuple(made.notify),
        )
        return order, await asyncio.to_thread(self._plans.plan, order)

    async def _mounts(self, owner: str, made: Plan) -> Mapping[str, str]:
        """Ids of the filesystems of a plan, each of which the user may use as it is to be used."""
        mounts = list(_mounts(made))
        ids = await self._filesystems.ids(owner, sorted({mount.name for mount in mounts}))
        for name, write in sorted({(mount.name, not mount.read_only) for mount in mounts}):
            await self._filesystems.require(owner, ids[name], write=write)
        return ids


def owner_of(caller: Principal, named: str) -> str:
    """Whose a run is: the caller's, unless root names another user. Raises PermissionDenied."""
    if named in ("", caller.name):
        return caller.name
    if not caller.root:
        raise PermissionDenied(f"only root may run pipelines for others, here for {named[:63]!r}")
    return named


def _order(draft: Draft, found: Found) -> Order:
    """As far as it is known before the document has been read."""
    return Order(
        name="",
        document=found.text,
        parameters=draft.parameters,
        filesystem=found.filesystem,
        docker_env=draft.docker_env,
        disabled=draft.disabled,
        strategy=draft.strategy,
    )


def _mounts(made: Plan) -> Iterator[Mount]:
    if made.main_fs is not None:
        yield made.main_fs
    last = [made.post_process] if made.post_process else []
    for step in (*made.entry_points.values(), *last, *made.on_exit):
        yield from _mounts_of([step])


def _mounts_of(planned: Iterable[Planned]) -> Iterator[Mount]:
    for each in planned:
        if isinstance(each, PlannedDag):
            yield from _mounts_of(each.children.values())
        else:
            yield from each.extra_fs
