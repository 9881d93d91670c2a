"""What random lives of an engine leave in a store is what the engine knows, whichever store it is."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from pf_kit.unit import Database
from pf_queue.admission.domain import Effects, Record, WorkloadState
from pf_queue.admission.journal.inputs import Opening, Turn
from pf_queue.clusters.domain import Cluster, ClusterType
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.parts import Stores
from support.rounds import Life
from support.stores import KINDS, opened
from support.trees import CLUSTER, queue

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class NoLog:
    """Fulfils `Log`: keeps nothing."""

    def begin(self, opening: Opening) -> None:
        """Is of no interest."""

    def put(self, turn: Turn) -> None:
        """Is of no interest."""


@dataclass
class ToldLife(Life):
    """Keeps what is to be stored."""

    effects: list[Effects] = field(default_factory=list)

    def turn(self) -> None:
        for _ in range(self.chance.randint(0, 5)):
            if not self.engine.round(self.now):
                break
        self.effects.append(self.engine.effects())
        self.engine.stored()
        self.now += self.chance.choice([1, 100_000, 7_000_000])


async def build(database: Database, stores: Stores, life: Life) -> None:
    async with database.change(TREE_LOCK) as change:
        cluster = Cluster(name=CLUSTER, type=ClusterType.LOCAL, create_time=NOON, update_time=NOON)
        await stores.clusters.add(change, cluster)
        for name in (*life.ground.queues, *life.other.queues):
            await stores.queues.add(change, queue(stored_name(name)))


def stored_name(queue: str) -> str:
    """Queues of random trees have dots in their names, which those of users have not."""
    return queue.replace(".", "-")


def stored(records: Collection[Record]) -> dict[str, Record]:
    specs = {record.id: replace(record.spec, queue=stored_name(record.spec.queue)) for record in records}
    return {record.id: replace(record, spec=specs[record.id]) for record in records}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
async def test_a_store_knows_what_the_engine_knows(request: pytest.FixtureRequest, kind: str, seed: int) -> None:
    life = ToldLife(random.Random(seed), NoLog())
    request.param = kind
    async with opened(request) as (database, stores):
        await build(database, stores, life)
        over: dict[str, Record] = {}
        for _ in range(8):
            life.live(40)
            for effects in life.effects:
                changed = stored(effects.changed.values())
                async with database.change() as change:
                    await stores.workloads.write(change, replace(effects, changed=changed))
                over |= {id_: record for id_, record in changed.items() if record.state is WorkloadState.RELEASED}
            life.effects.clear()
            unfinished = await stores.workloads.unfinished(database.newest)
            assert {record.id: record for record in unfinished} == stored(life.engine.records.values())
            found = await stores.workloads.over(database.newest, list(over))
            assert {record.id: record for record in found} == over
