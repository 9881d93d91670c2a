"""The scenario of EDL in virtual time: nobody waits long, and little is left idle."""

from __future__ import annotations

from support.edl import CORES, PACE, STEADY, TRAINING, training
from support.elastic_world import Pace, World


def test_jobs_of_the_published_experiment_begin_soon_and_use_what_there_is() -> None:
    found = training(1)
    assert found.pending <= 43
    assert found.used >= 0.88


def test_whoever_comes_gets_room_within_one_reclaim() -> None:
    world = World(CORES, {"train": (CORES, CORES)}, PACE, 1)
    for number in range(6):
        world.submit(f"job-{number}", "train", TRAINING, STEADY)
    world.until(60)
    full = world.used
    world.submit("late", "train", TRAINING, STEADY)
    world.until(60 + PACE.end[1] + len(TRAINING) * PACE.begin[1] + 1)
    assert (full > 0.99, world.jobs["late"].first is not None) == (True, True)


def test_nothing_runs_that_is_not_charged_however_slowly_replicas_come_and_go() -> None:
    world = World(CORES, {"train": (CORES, CORES)}, Pace(begin=(0.0, 60.0), end=(0.0, 60.0)), 2)
    for number in range(20):
        world.submit(f"job-{number}", "train", TRAINING, 0)
        for _ in range(10):
            world.until(world.now + 1)
            assert world.used <= 1
            for job in world.jobs.values():
                held = job.life.grant.replicas if job.life.grant else {}
                assert all(sum(name == role for name, _ in job.live) <= held.get(role, 0) for role, _ in job.live)
