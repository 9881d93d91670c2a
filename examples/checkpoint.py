"""Trains step by step, and goes on where it was when it is pushed out, killed or tried again.

The step it has reached stands in a file in the folder that is named as its argument. When it is told to end, by
SIGTERM, as a job is that must make room for another, it writes the file once more and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

STEPS = int(os.environ.get("STEPS", "100"))
EVERY = 25
"""Steps between two checkpoints."""
PAUSE = 0.05
"""Seconds of a step."""


class Told(SystemExit):
    """It is to end."""


def told(number: int, _frame: object) -> None:
    raise Told(128 + number)


def save(checkpoint: Path, step: int) -> None:
    """All of it or nothing: whoever is killed here finds the one before."""
    draft = checkpoint.with_suffix(".new")
    draft.write_text(str(step))
    draft.replace(checkpoint)


def main(folder: Path) -> None:
    checkpoint = folder / os.environ["PF_JOB_ID"]
    step = int(checkpoint.read_text()) if checkpoint.exists() else 0
    print(f"goes on behind step {step}" if step else "begins", flush=True)
    signal.signal(signal.SIGTERM, told)
    try:
        while step < STEPS:
            time.sleep(PAUSE)
            step += 1
            if step % EVERY == 0:
                print(f"step {step} of {STEPS}", flush=True)
                save(checkpoint, step)
    except Told:
        save(checkpoint, step)
        print(f"told to make room, keeps step {step}", flush=True)
        raise
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
