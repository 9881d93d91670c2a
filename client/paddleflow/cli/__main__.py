"""Runs the command line."""

from __future__ import annotations

from paddleflow.cli.app import cli


def main() -> None:
    """The console script ``paddleflow``."""
    cli.main(prog_name="paddleflow")


if __name__ == "__main__":
    main()
