"""Whoever is killed when: each run ends as it should, and no try of a step is started twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from random import Random

import pytest

from support.run_chaos import Victim, blows, endure, site
from support.run_failpoints import DRIVING
from support.servers import PostgresServer, ValkeyServer

SEED = 20261119
KILLS = 50


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Says how far a long test is."""

    def told(text: str) -> None:
        with capsys.disabled():
            sys.stderr.write(f"{text}\n")

    return told


def test_the_kills_hit_the_pipeline_service_at_every_point_and_everybody_sometime() -> None:
    planned = blows(Random(SEED), KILLS)
    assert {blow.point for blow in planned if blow.victim is Victim.PIPELINE} == {*DRIVING, None}
    assert {blow.victim for blow in planned} == set(Victim)


@pytest.mark.timeout(300)
async def test_every_kill_starts_no_step_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None]
) -> None:
    chance = Random(SEED)
    async with site(own_postgres, own_valkey) as made:
        await endure(made, blows(chance, KILLS), chance, tell)


@pytest.mark.crash
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
async def test_many_kills_start_no_step_twice(
    own_postgres: PostgresServer, own_valkey: ValkeyServer, tell: Callable[[str], None], seed: int
) -> None:
    chance = Random(seed)
    async with site(own_postgres, own_valkey) as made:
        await endure(made, blows(chance, 250), chance, tell)
