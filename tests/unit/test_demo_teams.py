"""The demo of four teams: what it computes and draws by itself."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.cli.tree import FINE, PLAIN
from paddleflow.models import (
    Admitted,
    Evicting,
    QueueLoad,
    Released,
    ReleaseOutcome,
    Requeued,
    RoleGrant,
    Workload,
    WorkloadKey,
)
from teams.bars import NARROW, Look, headings, picture, row
from teams.fairness import Claim, fair_shares
from teams.ledger import Ledger
from teams.setting import CORES, GUESTS, LANGUAGE, PHYSICS, RANKING, TEAMS
from teams.summary import Findings, Shares, promises, totals

EVERYBODY = [team.name for team in TEAMS]
ALL_FINISHED = {"ranking": 2}
FAIR = {"ranking": 130.0, "language": 180.0, "guests": 90.0, "physics": 0.0}

claims = st.builds(Claim, st.integers(0, 100), st.integers(1, 400), st.integers(0, 1000))


def test_what_is_beyond_the_guarantees_is_shared_by_weight() -> None:
    wants = {team.name: Claim(team.guarantee, team.weight, 1000) for team in TEAMS if team is not PHYSICS}
    assert fair_shares(CORES, wants) == pytest.approx({"ranking": 130, "language": 180, "guests": 90})


def test_whoever_wants_less_leaves_it_to_the_others() -> None:
    wants = {"a": Claim(10, 100, 5), "b": Claim(0, 100, 20), "c": Claim(0, 300, 1000)}
    assert fair_shares(100, wants) == pytest.approx({"a": 5, "b": 20, "c": 75})


@given(st.dictionaries(st.sampled_from("abcdef"), claims, min_size=1), st.integers(600, 2000))
def test_fair_shares_use_up_what_there_is_and_nobody_gains_by_another_ones_loss(
    wants: dict[str, Claim], total: int
) -> None:
    shares = fair_shares(total, wants)
    assert sum(shares.values()) == pytest.approx(min(total, sum(claim.wants for claim in wants.values())))
    levels = {name: (shares[name] - claim.guarantee) / claim.weight for name, claim in wants.items()}
    for name, claim in wants.items():
        assert min(claim.guarantee, claim.wants) <= shares[name] + 1e-6 <= claim.wants + 2e-6
        if shares[name] < claim.wants - 1e-6:
            # It would like more, so nobody who borrows has come further.
            above = [each for each in wants if shares[each] > wants[each].guarantee + 1e-6]
            assert all(levels[each] <= levels[name] + 1e-6 for each in above)


def load(queue: str, used: int, *, leaving: int = 0, waiting: int = 0) -> QueueLoad:
    return QueueLoad(queue, used={"cpu": used * 1000}, leaving={"cpu": leaving * 1000}, waiting=waiting)


def look(**used: int) -> Look:
    loads = {name: load(name, amount, waiting=1234) for name, amount in used.items()}
    return Look(12.34, loads, {"ranking": 4321})


def test_a_picture_has_a_line_for_each_team() -> None:
    seen = Look(12.34, {"ranking": load("ranking", 200, leaving=25, waiting=1234)}, {"ranking": 4321})
    assert [click.unstyle(line) for line in picture(seen, TEAMS, 72, PLAIN)] == [
        "  12.3 s                      used  borrowed  waiting  admitted  leaving",
        "ranking   [####++++........]   200       100    1,234     4,321       25",
        "language  [------..........]     0         0        0         0        0",
        "guests    [................]     0         0        0         0        0",
        "physics   [----............]     0         0        0         0        0",
    ]


@given(st.integers(NARROW, 300), st.lists(st.integers(0, CORES), min_size=4, max_size=4))
def test_a_picture_is_never_wider_than_the_terminal(width: int, used: list[int]) -> None:
    for brush in (FINE, PLAIN):
        drawn = picture(look(**dict(zip(EVERYBODY, used, strict=True))), TEAMS, width, brush)
        assert {len(click.unstyle(line)) <= width for line in drawn} == {True}
        assert len({len(click.unstyle(line)) for line in drawn}) == 1


def test_a_row_stands_below_its_headings_and_is_ascii() -> None:
    drawn = row(look(ranking=400, language=0, guests=7, physics=0), TEAMS)
    assert drawn == "  12.3 s  [##++++++] 400  [---.....]   0  [+.......]   7  [--......]   0    4,936"
    above = headings(TEAMS)
    assert [above.index(name) for name in EVERYBODY] == [drawn.index("[##"), *(10 + 16 * each for each in (1, 2, 3))]
    assert above.index("waiting") + len("waiting") == len(drawn)


def held(job: str, grant: str, *, attempt: int = 1, surplus: int = 0) -> Admitted:
    return Admitted(WorkloadKey(job, attempt), grant, roles=[RoleGrant("worker", 2, surplus)], queue="guests")


def test_the_ledger_counts_what_the_watch_tells() -> None:
    ledger = Ledger()
    first, second = WorkloadKey("a", 1), WorkloadKey("a", 2)
    ledger.note(Workload(first, "guests"), 1.0)
    ledger.note(held("a", "x"), 3.0)
    ledger.note(held("a", "x", surplus=5), 4.0)
    assert ledger.surplus("guests") == 5
    ledger.note(Evicting(first, "x", replicas=[RoleGrant("worker", 0, 3)], queue="guests"), 5.0)
    ledger.note(Released(first, "x", [RoleGrant("worker", 0, 3)], queue="guests"), 5.5)
    assert (ledger.surplus("guests"), ledger.evicted["guests"]) == (2, 0)
    ledger.note(Evicting(first, "x", replicas=[RoleGrant("worker", 2, 2)], queue="guests"), 6.0)
    ledger.note(Released(first, "x", outcome=ReleaseOutcome.EVICTED, queue="guests"), 6.5)
    ledger.note(Requeued(second, queue="guests"), 6.5)
    ledger.note(held("a", "y", attempt=2), 7.0)
    ledger.note(Released(second, "y", outcome=ReleaseOutcome.FINISHED, queue="guests"), 8.0)
    assert ledger.waits == {"guests": [2.0, 0.5]}
    counted = (ledger.admitted["guests"], ledger.evicted["guests"], ledger.finished["guests"])
    assert (counted, ledger.held, ledger.unexpected) == ((2, 1, 1), {}, {})


def test_the_ledger_notes_what_must_not_happen() -> None:
    ledger = Ledger()
    ledger.note(held("a", "x"), 1.0)
    ledger.note(held("a", "y"), 2.0)
    ledger.note(Released(WorkloadKey("b", 1), "z", outcome=ReleaseOutcome.FINISHED, queue="guests"), 3.0)
    assert list(ledger.unexpected) == [
        "a was admitted while it held something",
        "b/1 was released, but held nothing",
    ]


FOUND = Findings(
    alone=0.3,
    restored=0.84,
    shares=Shares(FAIR, FAIR | {"guests": 84.0}),
    gang=0.52,
    surplus=12,
    empty=19.0,
    seconds=20.0,
)


def finished(count: int) -> Ledger:
    ledger = Ledger()
    ledger.finished["ranking"] = ledger.admitted["ranking"] = count
    return ledger


def unseen(what: Findings, ledger: Ledger, *looks: Look) -> list[str]:
    seen = [look(ranking=CORES), look(ranking=90, physics=100), *looks]
    return [promise.what for promise in promises(what, ledger, ALL_FINISHED, seen) if not promise.seen]


def test_promises_that_are_kept_tell_the_figures() -> None:
    ledger, seen = finished(2), [look(ranking=CORES), look(ranking=90, physics=100)]
    promised = promises(FOUND, ledger, ALL_FINISHED, seen)
    assert [promise.what for promise in promised if promise.seen] == [
        "one team alone borrows all 400 cores",
        "language gets its guarantee back, 0.84 s after it asked",
        "shares are fair: 1.5 points of the cluster off, at most 3 are fine",
        "a gang is admitted as a whole, 0.52 s after it asked, never in part",
        "elastic jobs grow: those of guests by 12 replicas",
        "every job finishes, and once: 2 of 2 did; nothing is held or waits",
        "no more is given out than there is: 400 of 400 cores at most",
    ]
    told = totals(FOUND, ledger, ALL_FINISHED)
    assert told == "2 jobs of 4 teams in 20.0 s: 2 admissions (0 a second), 0 evictions"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        (replace(FOUND, alone=None), "one team alone borrows all 400 cores"),
        (replace(FOUND, restored=None), "language gets its guarantee back"),
        (
            replace(FOUND, shares=Shares(FAIR, FAIR | {"guests": 110.0})),
            "shares are fair: 5.0 points of the cluster off, at most 3 are fine",
        ),
        (replace(FOUND, gang=None), "a gang is admitted as a whole, never in part"),
        (replace(FOUND, surplus=0), "elastic jobs grow: those of guests by 0 replicas"),
        (replace(FOUND, empty=None), "every job finishes, and once: 2 of 2 did; nothing is held or waits"),
    ],
)
def test_a_promise_that_was_not_kept_is_told(what: Findings, told: str) -> None:
    assert unseen(what, finished(2)) == [told]


def test_lost_jobs_parts_of_gangs_and_too_many_cores_are_told() -> None:
    assert unseen(FOUND, finished(1)) == ["every job finishes, and once: 1 of 2 did; nothing is held or waits"]
    assert unseen(FOUND, finished(3)) == ["every job finishes, and once: 3 of 2 did; nothing is held or waits"]
    assert unseen(FOUND, finished(2), look(physics=50)) == [
        "a gang is admitted as a whole, 0.52 s after it asked, never in part"
    ]
    assert unseen(FOUND, finished(2), look(language=CORES, guests=1)) == [
        "no more is given out than there is: 401 of 400 cores at most"
    ]


def test_the_guarantees_leave_something_to_share() -> None:
    assert sum(team.guarantee for team in TEAMS) < CORES
    assert (RANKING.weight, LANGUAGE.weight, GUESTS.weight) == (100, 100, 300)
