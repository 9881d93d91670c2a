"""Replicas of an ordinary user, and where the machine allows no namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pf_job.runtimes.local.client import COMMAND
from pf_job.runtimes.port import Mount
from support.ordinary import OrdinaryPython, ordinary_python
from support.runtime_site import close, launch, local_site, obstacle, said
from support.servers import short_folder

SCRIPT = """
import asyncio, sys
from pathlib import Path
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Launch, Mount, Phase, ReplicaKey

async def main() -> None:
    place = Path(sys.argv[1])
    source = place / "source"
    source.mkdir()
    (source / "hello").write_text("hello\\n")
    runtime = LocalRuntime(place / "data", RunnerSettings())
    command = f"id -u; cat hello; touch /home/paddleflow/x/new; ls -A /tmp; grep CapEff /proc/self/status; ls {place}"
    replica = Launch(
        key=ReplicaKey("job", 1, "main", 0), tenant="ada", argv=["sh", "-c", command], env={}, cwd="/randint",
        mounts=[Mount(str(source), "/randint", True), Mount(str(source), "/home/paddleflow/x")],
    )
    refused = await runtime.start([replica])
    if refused:
        print("refused:", refused[0].problem)
    else:
        async for seen in runtime.watch():
            if any(one.phase is Phase.ENDED for one in seen):
                break
        print((await runtime.read_log(replica.key, 0, 10_000)).data.decode(), end="")
    await runtime.retire()
    await runtime.close()

asyncio.run(main())
"""

LEAVING = """
import asyncio, sys
from pathlib import Path
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.local.settings import RunnerSettings
from pf_job.runtimes.port import Ceiling, Launch, Phase, ReplicaKey

async def main() -> None:
    runtime = LocalRuntime(Path(sys.argv[1]) / "data", RunnerSettings())
    command = f"(echo $$ > {sys.argv[2]}/cgroup.procs) 2>/dev/null; grep -c -w paddleflow-[^/]*/job /proc/self/cgroup"
    replica = Launch(
        key=ReplicaKey("job", 1, "main", 0), tenant="ada", argv=["sh", "-c", command], env={}, cwd="/",
        ceiling=Ceiling(memory=2**27),
    )
    await runtime.start([replica])
    async for seen in runtime.watch():
        if any(one.phase is Phase.ENDED for one in seen):
            break
    if not (await runtime._client.ask({"do": "hello"}))["obstacle"]:
        print((await runtime.read_log(replica.key, 0, 10_000)).data.decode(), end="")
    await runtime.retire()
    await runtime.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python() -> Iterator[OrdinaryPython]:
    with ordinary_python() as found:
        yield found


@pytest.fixture
def place() -> Iterator[Path]:
    folder = short_folder()
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_an_ordinary_user_has_mounts_too(python: OrdinaryPython, place: Path) -> None:
    script = place / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [python.python, "-P", str(script), str(place)],
        cwd="/",
        env={**os.environ, **python.environment},
        capture_output=True,
        text=True,
        timeout=50,
        **python.account,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if not done.stdout.startswith("refused:"):
        uid = python.account.get("user", os.geteuid())
        lines = [
            str(uid),
            "hello",
            "CapEff:\t0000000000000000",
            f"ls: cannot access '{place}': No such file or directory",
        ]
        assert sorted(done.stdout.splitlines()) == sorted(lines)
        assert (place / "source" / "new").exists()
    else:
        assert "namespaces" in done.stdout


@pytest.fixture
def handed_over(python: OrdinaryPython) -> Iterator[Path | None]:
    """A control group that the ordinary user may divide; None where the tests cannot make one."""
    group = Path("/sys/fs/cgroup/memory") / f"pf-test-{os.getpid()}"
    if os.geteuid() or not group.parent.is_dir():
        yield None
        return
    group.mkdir()
    for path in (group, group / "cgroup.procs"):
        os.chown(path, python.account["user"], -1)
    yield group
    # The runner removes what it made there when it is over.
    deadline = time.monotonic() + 10
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.02)


def test_a_replica_of_an_ordinary_user_does_not_leave_its_group(
    python: OrdinaryPython, place: Path, handed_over: Path | None
) -> None:
    if handed_over is None:
        return
    script = place / "script.py"
    script.write_text(LEAVING)
    entering = f'echo $$ > {handed_over}/cgroup.procs; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", entering, "sh", python.python, "-P", str(script), str(place), str(handed_over)],
        cwd="/",
        env={**os.environ, **python.environment},
        capture_output=True,
        text=True,
        timeout=50,
        **python.account,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in ("1\n", "")


async def test_where_namespaces_are_forbidden_only_mounts_are_refused() -> None:
    """As root without the right to administer the machine, as containers often have it."""
    site = local_site()
    forbidding = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin") if os.geteuid() == 0 else ()
    runtime = site.runtime([*forbidding, *COMMAND])
    try:
        assert await said(runtime, "echo fine") == "fine\n"
        why = await obstacle(site)
        if forbidding:
            assert "namespaces" in why
        if why:
            (refused,) = await runtime.start([launch(mounts=[Mount(str(site.data), "/randint")])])
            assert why in str(refused.problem)
    finally:
        await close(site, runtime)
