"""Replicas that do harm, or try to."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pf_job.runtimes.local import layout
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.mounts import PRIVATE
from pf_job.runtimes.port import Ceiling, Mount, Phase
from support.repository import ROOT
from support.runtime_site import LocalSite, close, ended, launch, local_site, obstacle, opened, output, said, watched
from support.waiting import until
from support.walking import contents

LONG = 30_000_000


@pytest.fixture(params=[True, False], ids=["contained", "uncontained"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[tuple[LocalSite, LocalRuntime]]:
    """With namespaces, where the machine allows them, and without."""
    site = local_site(contained=request.param)
    runtime = site.runtime()
    try:
        yield site, runtime
    finally:
        await close(site, runtime)


def unused_mark() -> str:
    """So many seconds as no other test sleeps, which may run at the same time."""
    return str(random.randrange(10**7, 10**9))


def running(mark: str) -> list[int]:
    """The processes of this command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


async def test_processes_that_hide_from_their_parents_end_with_the_replica(
    place: tuple[LocalSite, LocalRuntime],
) -> None:
    (_, runtime), mark = place, unused_mark()
    hidden = f"(setsid sleep {mark} &) ; (trap '' TERM HUP; (sleep {mark} &) &) ; sleep 0.2; exit 3"
    (seen,) = await ended(runtime, launch(hidden))
    assert seen.status == 3
    assert running(mark) == []


async def test_they_end_too_when_it_is_killed(place: tuple[LocalSite, LocalRuntime]) -> None:
    (_, runtime), mark = place, unused_mark()
    replica = launch(f"trap '' TERM; (setsid sleep {mark} &) ; sleep {mark}; sleep {mark}")
    async with watched(runtime) as watch:
        await runtime.start([replica])
        await until(lambda: len(running(mark)) == 2)
        await runtime.stop([replica.key], 100_000)
        (seen,) = await watch.over(replica.key)
    assert seen.signal == signal.SIGKILL
    assert running(mark) == []


async def test_a_replica_may_close_what_it_writes_to(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    replica = launch("echo before; exec >&- 2>&-; sleep 0.1; exit 2")
    (seen,) = await ended(runtime, replica)
    assert (seen.status, await output(runtime, replica.key)) == (2, "before\n")


async def test_a_replica_may_remove_its_own_folder(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    script = 'mkdir -p "$TMPDIR/a/b/c"; cd "$TMPDIR/a/b/c"; rm -r "$TMPDIR/a"; echo gone; exit 4'
    replica = launch(script, env={} if os.geteuid() else {"TMPDIR": "/tmp"})  # noqa: S108 - the replica's own
    (seen,) = await ended(runtime, replica)
    assert (seen.status, await output(runtime, replica.key)) == (4, "gone\n")


async def test_what_is_left_in_the_temporary_folder_is_removed_however_deep(
    place: tuple[LocalSite, LocalRuntime],
) -> None:
    site, runtime = place
    deep = "/".join(["d"] * 200)
    script = f'cd /tmp; for n in 1 2 3; do mkdir -p "$n/{deep}"; cd "$n/{deep}"; done; chmod 0 .; touch /tmp/x; exit 0'
    if not await obstacle(site):
        await ended(runtime, launch(script))
        assert [list(slot.iterdir()) for slot in (site.data / layout.SLOTS).iterdir()] == [[]]


async def test_a_folder_to_work_in_has_to_be_there(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    (seen,) = await ended(runtime, launch(cwd="/no/such/folder"))
    assert (seen.status, "/no/such/folder" in seen.message) == (125, True)


async def test_what_cannot_be_executed_is_told(place: tuple[LocalSite, LocalRuntime], tmp_path: Path) -> None:
    _, runtime = place
    (seen,) = await ended(runtime, launch(argv=["/etc/passwd"]))
    assert (seen.status, "/etc/passwd" in seen.message) == (126, True)


async def test_nothing_is_inherited(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    lines = (await said(runtime, "ls /proc/$$/fd; env", env={"A": "b"})).split("\n")
    assert lines[: lines.index("2") + 1] == ["0", "1", "2"]
    names = {line.split("=")[0] for line in lines if "=" in line}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        *("A", "PATH", "HOME", "LANG", "TMPDIR", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
    }
    # A shell blocks signals now and then, so another program is asked.
    status = await said(runtime, argv=["grep", "-E", "SigIgn|SigBlk|NoNewPrivs", "/proc/self/status"])
    told = dict(line.split(":\t") for line in status.splitlines())
    # Those that the C library keeps to itself can be neither seen nor set by Python, and are handed on as they came.
    assert int(told["SigIgn"], 16) & ~(0b11 << 31) == 0
    assert (int(told["SigBlk"], 16), told["NoNewPrivs"]) == (0, "1")


async def test_what_an_installation_ignores_ends_its_replicas(place: tuple[LocalSite, LocalRuntime]) -> None:
    """A shell lets what it starts in the background ignore SIGQUIT, and so would all that descends from it."""
    _, runtime = place
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        status = await said(runtime, argv=["grep", "SigIgn", "/proc/self/status"])
    finally:
        signal.signal(signal.SIGQUIT, before)
    assert int(status.split()[1], 16) & 1 << signal.SIGQUIT - 1 == 0


async def test_a_fork_bomb_stays_within_its_limit(place: tuple[LocalSite, LocalRuntime]) -> None:
    (_, runtime), mark = place, unused_mark()
    limit = Ceiling(processes=30)
    (tried,) = await ended(runtime, launch("exit 0", ceiling=limit))
    if tried.notes:
        assert "processes" in tried.notes[0]
        return
    bomb = launch(f"(bomb() {{ sleep {mark} & bomb & bomb; }}; bomb) & exec sleep {mark}", ceiling=limit)
    async with watched(runtime) as watch:
        await runtime.start([bomb])
        await until(lambda: running(mark) != [])
        begun = time.monotonic()
        assert await said(runtime, "echo fine") == "fine\n"
        assert time.monotonic() - begun < 5
        assert len(running(mark)) <= 30
        await runtime.stop([bomb.key], 0)
        await watch.over(bomb.key)
    assert running(mark) == []


async def test_who_wants_too_many_processes_is_told_so(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    replica = launch("for n in $(seq 40); do sleep 47114 & done; exit 1", ceiling=Ceiling(processes=30))
    (seen,) = await ended(runtime, replica)
    if not seen.notes:
        assert "more processes than it may have, which is 30" in seen.message


async def test_who_wants_too_much_memory_is_told_so(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    script = "head -c 300M /dev/zero | tail -c 300M | wc -c"
    replica = launch(script + "; exit 1", ceiling=Ceiling(memory=64 * 2**20))
    (seen,) = await ended(runtime, replica)
    if seen.notes:
        assert "memory" in seen.notes[0]
    else:
        assert "want of memory" in seen.message


async def test_a_limit_of_the_processor_holds(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    script = "end=$(($(date +%s%N) + 1000000000)); while [ $(date +%s%N) -lt $end ]; do :; done; times"
    replica = launch(script, ceiling=Ceiling(cpu=200))
    (seen,) = await ended(runtime, replica)
    if not seen.notes:
        own, children = (await output(runtime, replica.key)).splitlines()[:2]
        seconds = [float(text.removeprefix("0m").removesuffix("s")) for text in (own + " " + children).split()]
        assert sum(seconds) < 0.6


@pytest.mark.timeout(240)
@pytest.mark.parametrize("size", [2**30, pytest.param(10 * 2**30, marks=pytest.mark.crash)])
async def test_a_long_log_keeps_its_end(size: int) -> None:
    limit = 10 * 2**20
    script = f"head -c {size - 5} /dev/zero | tr '\\0' x; sleep 2; printf 'last\\n'"
    replica = launch(script, ceiling=Ceiling(log=limit))
    async with opened() as (site, runtime), watched(runtime) as watch:
        await runtime.start([replica])
        (seen,) = await watch.over(replica.key, patience=200)
        assert seen.status == 0
        log = site.folder(replica.key) / layout.LOG
        assert log.stat().st_size == size
        assert log.stat().st_blocks * 512 <= limit + 2**16
        found = await runtime.read_log(replica.key, 0, 2**16)
        assert found.offset == found.kept_from >= size - limit - 2**16
        assert found.data == b"x" * 2**16
        assert (await runtime.read_log(replica.key, -5, 10)).data == b"last\n"


async def test_what_is_hidden_cannot_be_seen_wherever_it_lies(tmp_path: Path) -> None:
    elsewhere = ROOT / ".cache"
    elsewhere.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=elsewhere))
    # Where a replica has a folder of its own, there is nothing of the machine at all.
    seen_directly = not any(folder.is_relative_to(private) for private in PRIVATE)
    try:
        folder.chmod(0o755)
        for name in ("keys", "plain"):
            (folder / name).mkdir(mode=0o755)
            (folder / name / "file").write_text(f"{name}\n")
        (folder / "key").write_text("key\n")
        hidden = (str(folder / "keys"), str(folder / "key"), str(folder / "not-yet"))
        async with opened(hidden=hidden) as (site, runtime):
            if not await obstacle(site):
                mounts = [Mount(str(folder), "/all")]
                script = "cat /all/*/file /all/key; ls -A /all/keys"
                assert await said(runtime, script, mounts=mounts) == "plain\n"
                script = f"cat {folder}/*/file {folder}/key; ls -A {folder}/keys"
                if seen_directly:
                    assert await said(runtime, script, mounts=mounts) == "plain\n"
    finally:
        shutil.rmtree(folder)


async def test_nothing_of_the_service_can_be_seen(place: tuple[LocalSite, LocalRuntime], tmp_path: Path) -> None:
    site, runtime = place
    if await obstacle(site):
        return
    other = launch("echo secret; sleep 30", tenant="eve")
    await runtime.start([other])
    await runtime.wait_log(other.key, 0, LONG)
    paths = [site.data / layout.SOCKET, site.data / layout.TENANTS, site.folder(other.key) / layout.LOG]
    found = await said(
        runtime, "; ".join(f"cat {path} 2>/dev/null || echo no" for path in paths) + "; ls -A /tmp; true"
    )
    assert found == "no\nno\nno\n"
    assert "sleep 30" not in await said(runtime, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    await runtime.stop([other.key], 0)


async def test_mounts_appear_where_they_should(place: tuple[LocalSite, LocalRuntime], tmp_path: Path) -> None:
    site, runtime = place
    source = site.data.with_name(site.data.name + "-source")
    source.mkdir()
    (source / "hello").write_text("hello\n")
    source.chmod(0o777)
    mounts = [Mount(str(source), "/randint"), Mount(str(source), "/home/paddleflow/storage/mnt/fs-root-x", True)]
    replica = launch(
        "cat /randint/hello; echo new > /randint/new; cat /home/paddleflow/storage/mnt/fs-root-x/new; "
        "touch /home/paddleflow/storage/mnt/fs-root-x/y 2>/dev/null || echo sealed; "
        "touch /z 2>/dev/null || echo sealed; pwd",
        mounts=mounts,
        cwd="/randint",
    )
    try:
        if await obstacle(site):
            (refused,) = await runtime.start([replica])
            assert "mounted" in str(refused.problem)
            return
        before = Path("/proc/mounts").read_text()
        (seen,) = await ended(runtime, replica)
        assert seen.status == 0
        assert await output(runtime, replica.key) == "hello\nnew\nsealed\nsealed\n/randint\n"
        assert Path("/proc/mounts").read_text() == before
        assert not Path("/randint").exists()
        assert not Path("/home/paddleflow/storage/mnt/fs-root-x").exists()
    finally:
        for path in [*source.iterdir(), source]:
            path.rmdir() if path.is_dir() else path.unlink()


async def test_a_source_that_is_gone_is_told(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    if not await obstacle(site):
        (seen,) = await ended(runtime, launch(mounts=[Mount("/no/such/source", "/randint")]))
        assert (seen.status, "/no/such/source" in seen.message) == (125, True)


@pytest.fixture
def secrets_folder() -> Iterator[Path]:
    """A folder that every account can look into."""
    folder = Path(tempfile.mkdtemp(prefix="pf", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


async def test_what_was_put_in_the_place_of_a_source_is_not_mounted(
    place: tuple[LocalSite, LocalRuntime], secrets_folder: Path
) -> None:
    site, runtime = place
    if await obstacle(site):
        return
    granted, other = secrets_folder / "granted", secrets_folder / "other"
    for folder in (granted, other):
        (folder / "inner").mkdir(parents=True)
    found = (granted / "inner").stat()
    mount = Mount(str(granted / "inner"), "/data", identity=(found.st_dev, found.st_ino))
    (seen,) = await ended(runtime, launch("true", mounts=[mount]))
    assert seen.status == 0
    granted.rename(secrets_folder / "away")
    granted.symlink_to(other)
    (seen,) = await ended(runtime, launch("true", mounts=[mount]))
    assert (seen.status, "no longer the folder that was granted" in seen.message) == (125, True)


async def test_secrets_are_in_the_environment_and_nowhere_else(
    place: tuple[LocalSite, LocalRuntime], secrets_folder: Path
) -> None:
    site, runtime = place
    secret = secrets_folder / "secret"
    secret.write_text("hush4711\n")
    more: dict[str, Any] = {"secret_env": {"KEY": str(secret)}}
    if not await obstacle(site):
        # Read where the program runs: what lies in `/var/tmp` of the machine is not there.
        more = {"secret_env": {"KEY": "/keys/secret"}, "mounts": [Mount(str(secrets_folder), "/keys")]}
    replica = launch("echo $KEY | wc -c", env={"TOKEN": "hush4712"}, **more)
    (seen,) = await ended(runtime, replica)
    assert (seen.status, await output(runtime, replica.key)) == (0, "9\n")
    assert not any(b"hush" in content for _, content in contents(site.data))
    (missing,) = await ended(runtime, launch(secret_env={"KEY": "/no/such/secret"}))
    assert (missing.phase, missing.status, "KEY" in missing.message) == (Phase.ENDED, 125, True)


async def test_whoever_runs_a_program_reads_no_more_by_it_than_its_account_may(
    place: tuple[LocalSite, LocalRuntime], secrets_folder: Path
) -> None:
    _, runtime = place
    closed, pipe = secrets_folder / "closed", secrets_folder / "pipe"
    closed.write_text("hush4711")
    closed.chmod(0)
    os.mkfifo(pipe)
    for path in (closed, pipe, secrets_folder, Path("/dev/zero")):
        (seen,) = await ended(runtime, launch("echo got $KEY", secret_env={"KEY": str(path)}))
        assert (seen.status, str(path) in seen.message, "hush" in seen.message) == (125, True, False)


async def test_tenants_have_users_of_their_own(place: tuple[LocalSite, LocalRuntime]) -> None:
    _, runtime = place
    ids = [await said(runtime, "id -u; id -g; id -G", tenant=tenant) for tenant in ("ada", "eve", "ada")]
    if os.geteuid():
        assert {text.split()[0] for text in ids} == {str(os.geteuid())}
    else:
        assert ids == ["1750000000\n" * 3, "1750000001\n" * 3, "1750000000\n" * 3]


async def test_the_user_of_a_tenant_has_a_name_and_a_home(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    if not os.geteuid() and not await obstacle(site):
        assert await said(runtime, "id -un; grep -c ^root: /etc/passwd", tenant="ada") == "pf-ada\n1\n"
        assert await said(runtime, "id -un; eval cd ~$(id -un); pwd", tenant="ev:e\n") == "pf-ev_e_\n/tmp\n"
    assert Path("/etc/passwd").read_text().count("pf-ada") == 0


async def test_it_goes_on_in_spite_of_clients_that_talk_nonsense(place: tuple[LocalSite, LocalRuntime]) -> None:
    site, runtime = place
    await runtime.machines()
    for nonsense in (b"\xff" * 100, b"\0\0\0\2{}", b"\0\0\0\4null", b'\0\0\0\x16{"id":1,"do":"forget"}', b"\0\0\1"):
        _, writer = await asyncio.open_unix_connection(site.data / layout.SOCKET)
        writer.write(nonsense)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    assert await said(runtime, "echo fine") == "fine\n"
