"""Runs the command line."""

from __future__ import annotations

import os

from paddleflow.cli.app import cli


def main() -> None:
    """The console script ``paddleflow``."""
    # What gRPC logs of connections that come and go would stand between the lines of a watch.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    cli.main(prog_name="paddleflow")


if __name__ == "__main__":
    main()
