"""One process: estimates pi by throwing darts, and says how far it is."""

from __future__ import annotations

import os
import random
import time

ROUNDS = int(os.environ.get("ROUNDS", "8"))
DARTS = 20_000
PAUSE = 0.1
"""Seconds between two rounds, so that people can look on."""


def hits(darts: random.Random) -> int:
    """How many of a round hit the quarter of a circle."""
    return sum(darts.random() ** 2 + darts.random() ** 2 < 1 for _ in range(DARTS))


def main() -> None:
    # The same in every run.
    darts = random.Random(1)
    total = 0
    for number in range(1, ROUNDS + 1):
        total += hits(darts)
        print(f"after {number * DARTS:>7,} darts pi is about {4 * total / (number * DARTS):.4f}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
