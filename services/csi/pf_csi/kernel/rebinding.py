"""`python -m pf_csi.kernel.rebinding ROOT SOURCE INNER PLACE ro|rw`: shows a folder of a mount at a place.

It asks whoever serves the mount, and may wait for ever; so it is a process that can be killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pf_csi.kernel.targets import Targets


def main() -> int:
    root, source, inner, place, how = sys.argv[1:]
    try:
        Targets(Path(root)).bind_within(source, inner, place, read_only=how == "ro")
    except OSError as error:
        sys.stderr.write(f"{place}: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
