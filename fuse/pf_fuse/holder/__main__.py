"""`python -m pf_fuse.holder SETTINGS`: keeps a mount until it is unmounted. Settings are JSON, see `HolderSettings`."""

from __future__ import annotations

import logging
import sys

from pf_fuse.holder.holder import Holder
from pf_fuse.holder.settings import HolderSettings


def main() -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m pf_fuse.holder SETTINGS\n")
        return 2
    try:
        settings = HolderSettings.decode(sys.argv[1])
    except (TypeError, ValueError) as failure:
        sys.stderr.write(f"these are no settings of a holder: {failure}\n")
        return 2
    try:
        holder = Holder(settings)
    except OSError as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    holder.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
