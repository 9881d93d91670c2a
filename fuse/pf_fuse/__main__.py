"""`pf-fuse`: serves a mount whose settings come in on the standard input; says `ready` when it is there."""

from __future__ import annotations

import sys

from pf_backends.errors import Malformed
from pf_fuse.app import serve
from pf_fuse.settings import read_settings


def main() -> int:
    """0 when the mount was taken away, 1 if it could not be made or served, 2 if the settings are wrong."""
    try:
        settings = read_settings(sys.stdin.buffer.read())
        serve(settings, _say_ready)
    except (ValueError, Malformed) as error:
        sys.stderr.write(f"pf-fuse: {error}\n")
        return 2
    except OSError as error:
        what = f" ({error.filename})" if error.filename else ""
        sys.stderr.write(f"pf-fuse: {error.strerror or error}{what}\n")
        return 1
    return 0


def _say_ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
