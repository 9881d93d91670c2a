"""The command `pf`."""

from __future__ import annotations

from pf_stack.cli import pf


def main() -> None:
    pf(prog_name="pf")


if __name__ == "__main__":
    main()
