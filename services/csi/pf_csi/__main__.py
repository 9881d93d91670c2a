"""The command `pf-csi`: makes volumes of PaddleFlow appear in Kubernetes."""

from __future__ import annotations

import os
import sys
from importlib import import_module

ROLES = ("controller", "node", "holder", "clients")
USAGE = f"usage: pf-csi {{{','.join(ROLES)}}} [--help | --version | --print-config]\n"


def main() -> None:
    role = sys.argv[1] if len(sys.argv) > 1 else ""
    if role not in ROLES:
        sys.stderr.write(USAGE)
        sys.exit(0 if role in {"-h", "--help"} else 2)
    # Each is small only without the others.
    app = import_module(f"pf_csi.{role}.app")
    sys.exit(import_module("pf_kit.lifecycle").run(app.PROGRAM, sys.argv[2:], os.environ))


if __name__ == "__main__":
    main()
