"""Private copies of programs, for an account that cannot reach where they were installed.

Below a home of mode 0700 nobody else can run anything; a copy below the data folder can be run, and it stays whole when
the installation is replaced under running servers.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

from pf_kit.embedded.binaries import Binaries, Bundle

PARTIAL = ".partial-"
"""Begins the name of a copy under way."""


def copied(binaries: Binaries, into: Path) -> Binaries:
    """The same programs below a folder of ours, copied there if this version is not yet.

    What belongs to the machine stays where it is: everyone can run it, and it knows where its other files are.
    """
    bundle = binaries.bundle
    if bundle is None:
        return binaries
    home = into / bundle.mark
    if not home.exists():
        for leftover in into.glob(f"{PARTIAL}*"):
            shutil.rmtree(leftover)
        _copy(bundle, home)
    return replace(binaries, folder=home / binaries.folder.relative_to(bundle.root), bundle=None)


def _copy(bundle: Bundle, home: Path) -> None:
    """Makes the copy elsewhere and moves it into place when it is whole, so that what has its name is always whole."""
    partial = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=home.parent))
    try:
        for member in bundle.members:
            _copy_member(bundle.root / member, partial / member)
        for path in (partial, *partial.rglob("*")):
            _let_everyone_read(path)
        partial.rename(home)
    except BaseException:
        shutil.rmtree(partial)
        raise


def _copy_member(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    elif source.exists():
        shutil.copy2(source, target)


def _let_everyone_read(path: Path) -> None:
    """Undoes what a narrow umask did to the installation."""
    mode = path.lstat().st_mode
    if not stat.S_ISLNK(mode):
        path.chmod(stat.S_IMODE(mode) | (0o555 if mode & stat.S_IXUSR else 0o444))
