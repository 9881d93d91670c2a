"""Replicas that try to get at what belongs to root, to other tenants, or to other replicas."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_job.runtimes.port import Mount
from support.repository import ROOT
from support.runtime_site import ended, launch, obstacle, opened, output


@pytest.fixture
def shown() -> Iterator[Path]:
    """A folder that replicas see at its place."""
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=cache))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_a_link_in_what_is_mounted_leads_no_other_mount_astray(shown: Path) -> None:
    """Over `/dev`, a mount would choose what root opens there before the program begins."""
    outer, inner, victim = shown / "outer", shown / "inner", shown / "victim"
    for folder in (outer, inner):
        folder.mkdir()
    victim.write_text("hush\n")
    victim.chmod(0o600)
    depth = len(outer.parts) - 1
    target = "/" + "/".join("abcdefghijklm"[:depth])
    (outer / "link").symlink_to("../" * depth + "dev")
    (inner / "null").symlink_to(victim)
    async with opened() as (site, runtime):
        if await obstacle(site):
            return
        mounts = [Mount(str(outer), target), Mount(str(inner), f"{target}/link")]
        replica = launch("cat", mounts=mounts)
        (seen,) = await ended(runtime, replica)
        assert "hush" not in await output(runtime, replica.key)
        assert (seen.status, f"{target}/link" in seen.message) == (125, True)
    assert not os.path.ismount("/dev/null")


async def test_a_folder_that_is_laid_out_anew_may_change_meanwhile(shown: Path) -> None:
    """Files that come and go in it, as editors make them, fail nobody."""
    source = shown / "source"
    source.mkdir()
    busy = "import os\nwhile True: os.close(os.open('busy', os.O_CREAT)); os.unlink('busy')"
    churn = await asyncio.create_subprocess_exec(sys.executable, "-c", busy, cwd=shown)
    try:
        async with opened() as (site, runtime):
            if not await obstacle(site):
                replicas = [launch("true", mounts=[Mount(str(source), str(shown / "new"))]) for _ in range(10)]
                assert {(seen.status, seen.message) for seen in await ended(runtime, *replicas)} == {(0, "")}
    finally:
        churn.kill()
        await churn.wait()
