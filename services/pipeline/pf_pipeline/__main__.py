"""The command `pf-pipeline`."""

from __future__ import annotations

import os
import sys

from pf_kit.lifecycle import run
from pf_pipeline.app import PROGRAM


def main() -> None:
    sys.exit(run(PROGRAM, sys.argv[1:], os.environ))


if __name__ == "__main__":
    main()
