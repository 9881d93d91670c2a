"""Kills of the leader, of the standby and of Postgres under load: each workload is admitted once, and nothing leaks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from random import Random

import pytest

from support.admission_chaos import Victim, blows, endure, site
from support.failing_queue import Haste
from support.failpoints import Point
from support.servers import PostgresServer, ValkeyServer

SEED = 20261118
KILLS = 50


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Says how far a long test is."""

    def told(text: str) -> None:
        with capsys.disabled():
            sys.stderr.write(f"{text}\n")

    return told


def test_the_kills_hit_every_victim_at_every_failpoint() -> None:
    hit = {(blow.point, blow.victim) for blow in blows(Random(SEED), KILLS)}
    assert hit == set(product(Point, Victim))


@pytest.mark.timeout(240)
async def test_every_kill_admits_nobody_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None]
) -> None:
    chance = Random(SEED)
    async with site(own_postgres, own_valkey, Haste()) as made:
        await endure(made, blows(chance, KILLS), chance, tell)


@pytest.mark.crash
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_many_kills_admit_nobody_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None], seed: int
) -> None:
    chance = Random(seed)
    async with site(own_postgres, own_valkey, Haste()) as made:
        await endure(made, blows(chance, 250), chance, tell)
