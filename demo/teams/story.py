"""The scenes: what is submitted, and what should then be seen."""

from __future__ import annotations

from statistics import fmean

from teams.bars import Look
from teams.fairness import Claim, fair_shares
from teams.service import GRACE
from teams.setting import CORES, ELASTIC, GANG, GUESTS, LANGUAGE, PHYSICS, RANKING, SMALL, TEAMS, jobs
from teams.stage import Stage
from teams.summary import Findings, Shares

_NEAR = 8
"""Cores from the fair share at which a team counts as having it."""
_LOOKED_ON = 1.0
"""Seconds for which a scene goes on, so that people can see it."""


async def play(stage: Stage) -> Findings:
    """All scenes, one after the other."""
    begun = stage.now
    alone = await _alone(stage)
    restored = await _taken_back(stage)
    shares = await _competing(stage)
    gang = await _gangs(stage)
    surplus, empty = await _drained(stage)
    return Findings(alone, restored, shares, gang, surplus, empty, stage.now - begun)


async def _alone(stage: Stage) -> float | None:
    batch = jobs(RANKING, SMALL, 1100, "small")
    stage.screen.say(
        f"1. {RANKING.name} comes first, with {len(batch):,} jobs of one core. "
        f"It is guaranteed {RANKING.guarantee} cores. Nobody uses the others, so it may borrow them."
    )
    alone = await stage.submit(batch, lambda look: look.used(RANKING.name) == CORES)
    stage.tell(f"{RANKING.name} has the whole cluster")
    await stage.during(_LOOKED_ON)
    return alone


async def _taken_back(stage: Stage) -> float | None:
    batch = jobs(LANGUAGE, SMALL, 900, "small")
    stage.screen.say(
        f"2. {LANGUAGE.name} submits {len(batch):,}. No core is free, but {LANGUAGE.guarantee} are guaranteed to it: "
        f"jobs of {RANKING.name} are told to leave, do so within {GRACE:g} s, and wait again."
    )
    restored = await stage.submit(batch, lambda look: look.staying(LANGUAGE.name) >= LANGUAGE.guarantee)
    stage.tell(f"{LANGUAGE.name} has its guarantee")
    await stage.until(_settled)
    stage.tell("what is beyond the guarantees both share")
    await stage.during(_LOOKED_ON)
    return restored


async def _competing(stage: Stage) -> Shares:
    batch = jobs(GUESTS, SMALL, 400, "small")
    stage.screen.say(
        f"3. {GUESTS.name} are guaranteed nothing, and submit {len(batch)}. What is beyond the guarantees is shared "
        f"anew, by weight: {GUESTS.weight} for {GUESTS.name}, {RANKING.weight} for each of the others."
    )
    await stage.submit(batch, lambda look: look.used(GUESTS.name) > 0 and _settled(look))
    stage.tell(f"{GUESTS.name} borrow three times as much as {RANKING.name}")
    looks = await stage.during(2 * _LOOKED_ON)
    # Where one has run out of jobs meanwhile, something else is fair.
    fair = [_fair(look) for look in looks]
    return Shares(
        {team.name: fmean(shares[team.name] for shares in fair) for team in TEAMS},
        {team.name: fmean(look.used(team.name) for look in looks) for team in TEAMS},
    )


async def _gangs(stage: Stage) -> float | None:
    gangs = jobs(PHYSICS, GANG, 3, "gang")
    stage.screen.say(
        f"4. {PHYSICS.name} submits {len(gangs)} gangs, each of {GANG.replicas} replicas of {GANG.cores} cores that "
        "start together or not at all. One is within its guarantee: room is gathered for it, from all who borrow."
    )
    begun = stage.now
    await stage.submit(gangs, lambda look: look.kept(PHYSICS.name) > 0 or look.used(PHYSICS.name) > 0)
    if kept := stage.last.kept(PHYSICS.name):
        stage.tell(f"{kept} cores are kept for a gang as they get free")
    admitted = await stage.until(lambda look: look.used(PHYSICS.name) > 0)
    stage.tell("the first gang is in, as a whole")
    await stage.during(_LOOKED_ON)
    return None if admitted is None else admitted - begun


async def _drained(stage: Stage) -> tuple[int, float | None]:
    last, ledger, most = jobs(GUESTS, ELASTIC, 40, "elastic"), stage.service.ledger, 0
    stage.screen.say(
        f"5. Last come {len(last)} elastic jobs of {GUESTS.name}: each needs {ELASTIC.replicas} replicas and can use "
        f"{ELASTIC.most}. As the others run out of jobs, these grow into what gets free."
    )

    def only_guests(look: Look) -> bool:
        nonlocal most
        most = max(most, ledger.surplus(GUESTS.name))
        return all(_idle(look, team.name) for team in TEAMS if team is not GUESTS)

    await stage.submit(last, only_guests)
    stage.tell(f"only {GUESTS.name} are left, and grew by {ledger.surplus(GUESTS.name)} replicas")
    everybody = stage.service.submitted.total()
    empty = await stage.until(
        lambda look: all(_idle(look, team.name) for team in TEAMS) and ledger.finished.total() >= everybody
    )
    stage.tell("all is done")
    return most, empty


def _fair(look: Look) -> dict[str, float]:
    """The fair shares of the moment: each job that waits wants a core."""
    claims = {
        team.name: Claim(team.guarantee, team.weight, look.used(team.name) + look.load(team.name).waiting)
        for team in TEAMS
    }
    return fair_shares(CORES, claims)


def _settled(look: Look) -> bool:
    """True if everybody has about what is fair, and nobody is told to leave for it any more."""
    fair = _fair(look)
    return all(abs(look.used(team.name) - fair[team.name]) <= _NEAR and not look.leaving(team.name) for team in TEAMS)


def _idle(look: Look, queue: str) -> bool:
    load = look.load(queue)
    return not load.admitted and not load.waiting
