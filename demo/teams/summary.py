"""What came of it, in figures, and whether it is what was promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from paddleflow.cli.table import Table
from teams.bars import Look
from teams.ledger import Ledger
from teams.setting import CORES, GANG, GUESTS, LANGUAGE, PHYSICS, TEAMS

TOLERANCE = 3.0
"""Points of the cluster that a mean may be away from the fair share: what ends and begins takes a moment."""
_HEADINGS = ["team", "jobs", "admitted", "evicted", "wait p50", "wait p99", "fair", "had"]

LEGEND = (
    "evicted  told to leave for others, to wait again",
    "wait     from submission or eviction to admission: the median, and what 99 of 100 do not exceed",
    "fair     cores in scene 3, by guarantee and weight; had: those the team had then, on average",
)
"""What the headings mean."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What each team had while it competed, and what would have been fair; cores."""

    fair: Mapping[str, float]
    had: Mapping[str, float]

    @property
    def deviation(self) -> float:
        """The largest, in points of the cluster."""
        return max(abs(self.had[team] - self.fair[team]) for team in self.fair) * 100 / CORES


@dataclass(frozen=True, slots=True)
class Findings:
    """What the scenes saw; a time is None if it was not seen."""

    alone: float | None
    """When one team had the whole cluster."""
    restored: float | None
    """Seconds from the second team's first job until it had its guarantee."""
    shares: Shares
    gang: float | None
    """Seconds from the first gang's submission until it was admitted."""
    surplus: int
    """The most replicas above their minimum that elastic jobs held."""
    empty: float | None
    """When nothing was waiting or held any more."""
    seconds: float
    """How long it all took."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that should have been seen."""

    what: str
    seen: bool


def promises(found: Findings, ledger: Ledger, submitted: Mapping[str, int], looks: Sequence[Look]) -> list[Promise]:
    done, total = ledger.finished.total(), sum(submitted.values())
    whole, most = GANG.cores * GANG.replicas, max(sum(look.used(team.name) for team in TEAMS) for look in looks)
    gangs = {look.used(PHYSICS.name) for look in looks}
    return [
        Promise(f"one team alone borrows all {CORES} cores", found.alone is not None),
        Promise(
            f"{LANGUAGE.name} gets its guarantee back{_after(found.restored)}",
            found.restored is not None,
        ),
        Promise(
            f"shares are fair: {found.shares.deviation:.1f} points of the cluster off, at most {TOLERANCE:g} are fine",
            found.shares.deviation <= TOLERANCE,
        ),
        Promise(
            f"a gang is admitted as a whole{_after(found.gang)}, never in part",
            found.gang is not None and not any(cores % whole for cores in gangs),
        ),
        Promise(
            f"elastic jobs grow: those of {GUESTS.name} by {found.surplus} replicas",
            found.surplus > 0,
        ),
        Promise(
            f"every job finishes, and once: {done:,} of {total:,} did; nothing is held or waits",
            found.empty is not None and dict(ledger.finished) == dict(submitted) and not ledger.unexpected,
        ),
        Promise(f"no more is given out than there is: {most} of {CORES} cores at most", most <= CORES),
    ]


def totals(found: Findings, ledger: Ledger, submitted: Mapping[str, int]) -> str:
    admitted, evicted = ledger.admitted.total(), ledger.evicted.total()
    return (
        f"{sum(submitted.values()):,} jobs of {len(TEAMS)} teams in {found.seconds:.1f} s: "
        f"{admitted:,} admissions ({admitted / found.seconds:.0f} a second), {evicted:,} evictions"
    )


def table(found: Findings, ledger: Ledger, submitted: Mapping[str, int]) -> Table:
    """A row for each team."""
    return Table(
        _HEADINGS,
        [
            [
                team.name,
                submitted[team.name],
                ledger.admitted[team.name],
                ledger.evicted[team.name],
                *_waited(ledger.waits.get(team.name, [])),
                f"{found.shares.fair[team.name]:.0f}",
                f"{found.shares.had[team.name]:.1f}",
            ]
            for team in TEAMS
        ],
    )


def _waited(waits: Sequence[float]) -> tuple[str, str]:
    if len(waits) < 2:
        return ("", "")
    hundredths = quantiles(waits, n=100, method="inclusive")
    return (_seconds(hundredths[49]), _seconds(hundredths[98]))


def _after(value: float | None) -> str:
    return "" if value is None else f", {_seconds(value)} after it asked"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"
