"""The command `pf-job`."""

from __future__ import annotations

import os
import sys

from pf_job.app import PROGRAM
from pf_kit.lifecycle import run


def main() -> None:
    sys.exit(run(PROGRAM, sys.argv[1:], os.environ))


if __name__ == "__main__":
    main()
