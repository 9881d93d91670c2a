"""Replicas that try to get at what belongs to root, to other tenants, or to other replicas."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pf_job.runtimes.local import files, layout
from pf_job.runtimes.local.client import COMMAND
from pf_job.runtimes.port import Mount
from support.repository import ROOT
from support.runtime_site import close, ended, launch, local_site, obstacle, opened, output, said, watched
from support.waiting import until


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


def _spied(folder: int, uid: int) -> str:
    """What a user can read in an open folder, in which it also tries to leave something."""
    place = f"/proc/self/fd/{folder}"
    script = f"ls {place}/; cat {place}/secret; touch {place}/planted"
    return subprocess.run(["sh", "-c", script], pass_fds=[folder], user=uid, capture_output=True, text=True).stdout


async def test_who_kept_a_temporary_folder_open_sees_nothing_of_the_next_tenant_there(shown: Path) -> None:
    """A replica can hand an open folder to another one of its tenant, by a socket."""
    async with opened() as (site, runtime):
        if os.geteuid() or await obstacle(site):
            return
        slot = site.data / layout.SLOTS / "0"
        first = launch("chmod 777 /tmp; echo done; sleep 60", tenant="ada")
        await runtime.start([first])
        await runtime.wait_log(first.key, 0, 10_000_000)
        uid = slot.stat().st_uid
        kept = os.open(slot, os.O_RDONLY | os.O_DIRECTORY)
        try:
            async with watched(runtime) as watch:
                await runtime.stop([first.key], 0)
                await watch.over(first.key)
            second = launch("echo hush > /tmp/secret; echo done; sleep 60", tenant="eve")
            await runtime.start([second])
            await until((slot / "secret").exists)
            spied = await asyncio.to_thread(_spied, kept, uid)
            names = [entry.name for entry in os.scandir(kept)]
        finally:
            os.close(kept)
        assert (spied, names) == ("", [])
        assert [path.name for path in slot.iterdir()] == ["secret"]


def test_to_empty_a_folder_changes_nothing_outside_of_it(shown: Path) -> None:
    """A folder becomes a link at the worst moment: when its rights are about to be widened."""
    outside, inside = shown / "outside", shown / "inside"
    outside.mkdir(mode=0o755)
    inside.mkdir()
    handle = files.open_folder(str(inside))
    swap = f"""
import os
while True:
    try:
        os.mkdir('x'); open('x/kept', 'w').close(); os.rename('x', 'y'); os.symlink({str(outside)!r}, 'x')
        os.unlink('x'); os.unlink('y/kept'); os.rmdir('y')
    except OSError:
        pass
"""
    swapping = [subprocess.Popen([sys.executable, "-c", swap], cwd=inside) for _ in range(2)]
    try:
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and outside.stat().st_mode & 0o777 == 0o755:
            files.empty(handle)
    finally:
        for process in swapping:
            process.kill()
            process.wait()
        os.close(handle)
    assert oct(outside.stat().st_mode & 0o777) == "0o755"


KEEPER = """
import ctypes, os, sys
from pf_job.runtimes.local.kernel import KEYCTL_NUMBERS, LIBC
add_key = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
LIBC.syscall(KEYCTL_NUMBERS[os.uname().machine], 1, None)
LIBC.syscall(add_key, b"user", b"pf-hush", b"value", ctypes.c_size_t(5), ctypes.c_int(-3))
print(open("/proc/keys").read(), file=open(sys.argv[1], "w"))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Puts a key onto the ring of its session, tells of the keys it has, and becomes another program."""


async def test_keys_of_the_session_in_which_the_runner_was_started_stay_there(shown: Path) -> None:
    site = local_site()
    told = shown / "keys"
    runtime = site.runtime([sys.executable, "-P", "-c", KEEPER, str(told), *COMMAND])
    try:
        has = "grep -c pf-hush /proc/keys || true"
        if not os.geteuid():
            assert (await said(runtime, has), "pf-hush" in told.read_text()) == ("0\n", True)
    finally:
        await close(site, runtime)
