"""Whoever may not delete a filesystem has nobody asked about it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from paddleflow.problems import FilesystemMounted, Problem
from pf_fs.ports import Use
from pf_fs.store import LOCK
from pf_kit.principal import Principal
from support.fs_parts import ALICE, BOBBY, FsParts

ID = "fs-alice-data"


class Asked:
    """A job uses every filesystem."""

    def __init__(self) -> None:
        self.about: list[str] = []

    async def of(self, filesystem_id: str) -> Sequence[Use] | Problem:
        self.about.append(filesystem_id)
        return [Use("job", "job-1", "alice")]


async def delete(parts: FsParts, caller: Principal, filesystem_id: str) -> None:
    uses = await parts.filesystems.uses(parts.database.newest, caller, filesystem_id)
    async with parts.database.change(LOCK) as change:
        await parts.filesystems.delete(change, caller, filesystem_id, "", uses)


async def test_only_for_owners_it_is_asked_what_uses_a_filesystem() -> None:
    asked = Asked()
    parts = FsParts(uses=asked)
    await parts.make()
    for caller, target in ((BOBBY, ID), (ALICE, "fs-alice-none")):
        with pytest.raises(Problem) as refused:
            await delete(parts, caller, target)
        assert not isinstance(refused.value, FilesystemMounted)
    assert asked.about == []
    with pytest.raises(FilesystemMounted, match="job-1"):
        await delete(parts, ALICE, ID)
    assert asked.about == [ID]
