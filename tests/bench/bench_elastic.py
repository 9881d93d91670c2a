"""Elastic training, in the published scenario of EDL: prints a table, and writes it to .bench/elastic.json.

`make bench-elastic`. In virtual time, so that it says nothing of this machine: see `support.edl`. The references are
what was published of EDL itself.
"""

from __future__ import annotations

import sys
from statistics import mean

from bench import report
from support.edl import LEAST, MOST, PACE, sharing, training
from support.figures import Figure

TRAININGS = range(5)
SHARINGS = range(2)
RECLAIM = PACE.end[1] + PACE.begin[1]
"""Seconds from the first word to stop until the last web server runs, if nobody has to be asked twice."""
LOOK = 1.0
"""Seconds between two looks, by which a figure may be late."""


def cases() -> list[Figure]:
    alone = [training(seed) for seed in TRAININGS]
    shared = [sharing(seed) for seed in SHARINGS]
    regained = [found.regained.get(MOST, float("inf")) for found in shared]
    return [
        Figure(
            "20 jobs: mean time until a trainer runs", mean(each.pending for each in alone), "s", 42.91, at_most=43.0
        ),
        Figure("20 jobs: cores used", 100 * mean(each.used for each in alone), "%", 76.33, at_least=88.0),
        Figure("20 jobs: cores used when all are there", 100 * mean(each.plateau for each in alone), "%", 86.3),
        Figure(
            "6 jobs and web servers: cores used", 100 * mean(each.used for each in shared), "%", 83.42, at_least=88.0
        ),
        Figure(
            f"the same while there are {LEAST} web servers", 100 * mean(each.off_peak for each in shared), "%", 79.35
        ),
        Figure(f"until {MOST} web servers run again, the longest", max(regained), "s", at_most=RECLAIM + 2 * LOOK),
    ]


PARTS: report.Parts = {"edl": cases}

if __name__ == "__main__":
    sys.exit(report.run("elastic", "Elastic training, beside what was published of EDL", PARTS, sys.argv[1:]))
