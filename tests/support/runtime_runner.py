"""A runner that kills itself at a step.

Usage: runtime_runner.py FILE DATA_FOLDER SETTINGS; the file holds the number of the step, and is moved before it dies.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from pf_job.runtimes.local.runner import main


def dying_at(file: Path) -> Callable[[str], None]:
    wanted = int(file.read_text()) if file.exists() else 0
    steps = itertools.count(1)

    def passed(step: str) -> None:
        if next(steps) == wanted:
            file.write_text(step)
            file.rename(file.with_suffix(".passed"))
            os.kill(os.getpid(), signal.SIGKILL)

    return passed


if __name__ == "__main__":
    main(sys.argv[2:], dying_at(Path(sys.argv[1])))
