"""The command `pf`."""

from __future__ import annotations

import signal

from pf_stack.cli import pf


def main() -> None:
    # As Ctrl-C: whatever a command began is put away.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pf(prog_name="pf")


if __name__ == "__main__":
    main()
