"""Keeps the contract from breaking: protos/contract.binpb is what clients were last promised.

`check` fails if protos/ breaks that promise, or promises more without having said so. `accept` makes protos/ the new
promise and refuses if it breaks the old one, unless told that this is meant: before a release, or with a new major
version of the package.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUF = Path(sys.executable).with_name("buf")
PROMISE = Path("protos/contract.binpb")

STALE = f"{PROMISE}: does not hold what protos/ promises now (run `make protos`)"
BROKEN = f"""\
The change breaks clients that were built from {PROMISE}. Add instead of changing, or make a new package version.
If no release has the old form and the break is meant: `make protos BREAK=yes`."""


def breaks(root: Path) -> bool:
    """True if a client of the promise would break; buf has then said where."""
    return subprocess.run([BUF, "breaking", "--against", PROMISE], cwd=root, check=False).returncode != 0


def build(root: Path, target: Path) -> None:
    subprocess.run([BUF, "build", "--exclude-source-info", "--output", target], cwd=root, check=True)


def check(root: Path) -> list[str]:
    """What is wrong with the promise."""
    if breaks(root):
        return [BROKEN]
    with tempfile.TemporaryDirectory() as folder:
        current = Path(folder) / "contract.binpb"
        build(root, current)
        return [STALE] if current.read_bytes() != (root / PROMISE).read_bytes() else []


def accept(root: Path, *, may_break: bool) -> list[str]:
    """Makes protos/ the promise; returns what keeps it from that."""
    if not may_break and breaks(root):
        return [BROKEN]
    build(root, root / PROMISE)
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("action", choices=["check", "accept"])
    parser.add_argument("--may-break", action="store_true", help="accept even what breaks clients")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project (default: this one)")
    arguments = parser.parse_args()
    if arguments.action == "check":
        wrong = check(arguments.root)
    else:
        wrong = accept(arguments.root, may_break=arguments.may_break)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
