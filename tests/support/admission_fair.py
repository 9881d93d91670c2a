"""How near to its fair share each queue of a random tree is, and how soon a guarantee is given back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from pf_queue.admission.core.decisions import Admit, Book, Decision, Evict
from support.admission_churn import GRACE, PLENTY, Churn
from support.admission_shares import Vessel, leaves, poured, water_filled

CPU, GPU = "cpu", "gpu"
DEEPEST = 3
WARM = 1200
"""Seconds until a pool is measured: twice as long as a workload runs."""
MEASURED = 3600
CALM = 1800
"""Seconds between two changes of what somebody wants, on average."""
TEAMS = 3
"""Teams that come back in one tree."""
MOST_AT_ONCE = 50
BORROWING = 300
"""Seconds for which a team is idle before."""


def random_vessels(
    chance: Random, capacity: Mapping[str, int], *, ceilings: bool = True, deepest: int = DEEPEST
) -> list[Vessel]:
    """A valid tree, those above before those below."""
    vessels: list[Vessel] = []
    _grow(chance, vessels, "", capacity, capacity, chance.randint(1, deepest), ceilings)
    return sorted(vessels, key=lambda vessel: vessel.name.count("."))


def _grow(
    chance: Random,
    vessels: list[Vessel],
    parent: str,
    promised: Mapping[str, int],
    ceiling: Mapping[str, int],
    depth: int,
    ceilings: bool,
) -> None:
    left = dict(promised)
    for letter in "abcde"[: chance.randint(2, 5)]:
        name = f"{parent}.{letter}" if parent else letter
        least = {resource: chance.randint(0, amount // 2) for resource, amount in left.items()}
        left = {resource: amount - least[resource] for resource, amount in left.items()}
        most = {
            resource: chance.randint(max(least[resource], amount // 4), amount) for resource, amount in ceiling.items()
        }
        capped = ceilings and chance.random() < 0.3
        vessels.append(Vessel(name, least, most if capped else {}, chance.choice([50, 100, 100, 200, 300])))
        if depth > 1 and chance.random() < 0.6:
            _grow(chance, vessels, name, least, most if capped else ceiling, depth - 1, ceilings)


@dataclass
class Deviation:
    """By how much each queue had more or less than it should, as a part of the machines, on average over time."""

    by_queue: dict[str, float]
    ended: int
    evicted: int

    @property
    def worst(self) -> float:
        return max(self.by_queue.values())

    @property
    def mean(self) -> float:
        return sum(self.by_queue.values()) / len(self.by_queue)


def one_resource(seed: int, *, measured: int = MEASURED) -> Deviation:
    """Some queues want all they can get, some a little, some nothing; now and then one changes its mind."""
    chance = Random(seed)
    capacity = {CPU: chance.randint(200, 800)}
    vessels = random_vessels(chance, capacity)
    names = [vessel.name for vessel in leaves(vessels)]
    churn = Churn(vessels, capacity, {name: {CPU: chance.randint(1, 4)} for name in names}, chance)
    for name in names:
        churn.want(name, _wish(chance, capacity[CPU] // len(names)))
    for _ in churn.play(WARM):
        pass
    had, due = dict.fromkeys((each.name for each in vessels), 0.0), dict.fromkeys((each.name for each in vessels), 0.0)
    begun, change = churn.now, churn.now + _soon(chance)
    for since, until in churn.play(measured):
        demands = {name: float(churn.has(name) * churn.each[name][CPU]) for name in names}
        demands.update((name, float(PLENTY)) for name in names if churn.wants[name] == PLENTY)
        should = water_filled(vessels, CPU, capacity[CPU], demands)
        for vessel in vessels:
            had[vessel.name] += churn.used(vessel.name, CPU) * (until - since)
            due[vessel.name] += should[vessel.name] * (until - since)
        if until >= change:
            churn.want(chance.choice(names), _wish(chance, capacity[CPU] // len(names)))
            change = until + _soon(chance)
    whole = (churn.now - begun) * capacity[CPU]
    by_queue = {name: abs(had[name] - due[name]) / whole for name in had}
    return Deviation(by_queue, churn.ended, churn.evicted)


def _wish(chance: Random, usual: int) -> int:
    return chance.choice([PLENTY, PLENTY, PLENTY, chance.randint(1, max(2, usual // 2)), 0])


def _soon(chance: Random) -> int:
    return round(chance.expovariate(1 / CALM) * 1_000_000)


def two_resources(seed: int, *, measured: int = MEASURED) -> Deviation:
    """Each queue wants the resources in a proportion of its own: the dominant share counts."""
    chance = Random(seed)
    capacity = {CPU: chance.randint(300, 600), GPU: chance.randint(100, 300)}
    vessels = random_vessels(chance, capacity)
    names = [vessel.name for vessel in leaves(vessels)]
    each = {name: {CPU: chance.randint(1, 4), GPU: chance.randint(0, 2)} for name in names}
    churn = Churn(vessels, capacity, each, chance)
    for name in names:
        churn.want(name, chance.choice([PLENTY, PLENTY, PLENTY, chance.randint(1, 20)]))
    should = poured(vessels, capacity, each, churn.wants)
    for _ in churn.play(WARM):
        pass
    had = {(vessel.name, resource): 0.0 for vessel in vessels for resource in capacity}
    begun = churn.now
    for since, until in churn.play(measured):
        for name, resource in had:
            had[name, resource] += churn.used(name, resource) * (until - since)
    by_queue: defaultdict[str, float] = defaultdict(float)
    for (name, resource), amount in had.items():
        off = abs(amount / (churn.now - begun) - should[name][resource]) / capacity[resource]
        by_queue[name] = max(by_queue[name], off)
    return Deviation(dict(by_queue), churn.ended, churn.evicted)


@dataclass
class Returns:
    """What happened as teams came back for what they are guaranteed."""

    asked: int = 0
    """Workloads that were submitted."""
    at_once: int = 0
    """Of these, admitted or provided for at the moment of the submission."""
    teams: int = 0
    first_round: int = 0
    """Of these, those of which somebody was provided for in the first round."""
    needed: int = 0
    """Workloads for which others had to leave."""
    back: int = 0
    """Of these, admitted in the first round after the last had left who was told to before, for whomever."""
    late: list[str] = field(default_factory=list)
    """What was not as promised, for whoever looks for the cause."""

    def add(self, other: Returns) -> None:
        self.asked += other.asked
        self.at_once += other.at_once
        self.teams += other.teams
        self.first_round += other.first_round
        self.needed += other.needed
        self.back += other.back
        self.late += other.late


def returns(seed: int, *, deepest: int = DEEPEST) -> Returns:
    """One team after the other is idle until others have borrowed all, and comes back."""
    chance = Random(seed)
    capacity = {CPU: chance.randint(200, 800)}
    vessels = random_vessels(chance, capacity, ceilings=False, deepest=deepest)
    names = [vessel.name for vessel in leaves(vessels)]
    churn = Churn(vessels, capacity, {name: {CPU: chance.randint(1, 4)} for name in names}, chance)
    found = Returns()
    teams = [vessel for vessel in leaves(vessels) if vessel.min[CPU] >= churn.each[vessel.name][CPU]]
    for team in chance.sample(teams, min(TEAMS, len(teams))):
        for name in names:
            churn.want(name, 0 if name == team.name else PLENTY)
        churn.stop(team.name)
        for _ in churn.play(BORROWING):
            pass
        found.add(_returns(churn, team, chance))
    return found


def _returns(churn: Churn, team: Vessel, chance: Random) -> Returns:
    story = _Story()
    churn.on_decision = story.note
    churn.wants[team.name] = chance.randint(1, min(team.min[CPU] // churn.each[team.name][CPU], MOST_AT_ONCE))
    asked = [churn.submit(team.name) for _ in range(churn.wants[team.name])]
    churn.settle()
    provided = [story.provided[id_] for id_ in asked if id_ in story.provided]
    needed = [id_ for id_ in asked if id_ in story.helped]
    found = Returns(
        asked=len(asked),
        at_once=len(provided),
        teams=1,
        first_round=int(1 in provided),
        needed=len(needed),
        late=[f"{id_} was not provided for" for id_ in asked if id_ not in story.provided],
    )
    holdings = churn.pool.yard.holdings
    leaving = [holding.workload.id for holding in holdings.values() if holding.leaving]
    for _ in churn.play(2 * GRACE if needed else 0):
        leaving = [id_ for id_ in leaving if id_ in holdings and holdings[id_].leaving]
        if not leaving:
            break
    found.back = sum(story.admitted.get(id_) == 1 for id_ in needed)
    found.late += [f"{id_} was not admitted in the next round" for id_ in needed if story.admitted.get(id_) != 1]
    return found


class _Story:
    """What was decided for whom, and in which round of its moment."""

    def __init__(self) -> None:
        self.provided: dict[str, int] = {}
        """Admitted, or booked room for."""
        self.admitted: dict[str, int] = {}
        self.helped: set[str] = set()
        """For whom others leave."""

    def note(self, decision: Decision, number: int) -> None:
        match decision:
            case Admit(id=id_):
                self.provided.setdefault(id_, number)
                self.admitted[id_] = number
            case Book(id=id_):
                self.provided.setdefault(id_, number)
            case Evict(beneficiary=whom):
                self.helped.add(whom)
