"""How things look whose owners and permissions somebody else decides."""

from __future__ import annotations

import pytest

from pf_backends.entries import Entry, Kind
from pf_fuse.vfs.attributes import Look, attributes

SHARED = Look(1, 2, 3, 0o600, 0o700, owned=True, shared=True)


@pytest.mark.parametrize(
    ("kind", "kept", "shown"),
    [
        (Kind.FILE, None, 0o660),
        (Kind.FILE, 0o400, 0o460),
        (Kind.FILE, 0o755, 0o775),
        (Kind.FOLDER, None, 0o770),
        (Kind.FOLDER, 0o500, 0o570),
        (Kind.FOLDER, 0o711, 0o771),
    ],
)
def test_a_group_may_do_what_the_owner_may_and_read_and_write(kind: Kind, kept: int | None, shown: int) -> None:
    told = attributes(5, Entry("a", kind, mode=kept, owner=(7, 8)), SHARED)
    assert (told.uid, told.gid, told.mode & 0o7777) == (1, 2, shown)


def test_without_a_group_all_is_as_it_is_kept() -> None:
    told = attributes(5, Entry("a", Kind.FILE, mode=0o640, owner=(7, 8)), Look(1, 2, 3))
    assert (told.uid, told.gid, told.mode & 0o7777) == (7, 8, 0o640)
