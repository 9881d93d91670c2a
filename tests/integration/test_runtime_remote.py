"""Replicas of a machine that see filesystems behind a server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from paddleflow.mounted import NotMounted, ask_whoever_serves
from paddleflow.problems import FailedPrecondition, Unavailable
from pf_backends.opening import Surroundings, open_backend
from pf_backends.port import Backend
from pf_backends.reach import ANYWHERE
from pf_job.runtimes.local.adapter import LocalRuntime
from pf_job.runtimes.port import Launch, Phase, Place, Refused, Remote, RemoteMount
from support import fuse_mounts
from support.runtime_site import LocalSite, close, launch, local_site, opened, output, watched
from support.s3_servers import KEYS, S3Server
from support.waiting import until
from support.walking import contents

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MIB = 1 << 20
PATIENCE = 40.0
Site = tuple[LocalSite, LocalRuntime]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with opened() as (made, runtime):
        yield made, runtime


@pytest.fixture
def remote(seaweed_server: S3Server, tmp_path: Path) -> Remote:
    place = Place(f"s3://tests/jobs-{tmp_path.name}", seaweed_server.properties)
    return Remote(filesystem="fs-ada-data", etag="1", place=place)


@pytest.fixture
def bucket(remote: Remote) -> Iterator[Backend]:
    opened_place = open_backend(remote.place.url, remote.place.properties, Surroundings(reach=ANYWHERE))
    yield opened_place
    opened_place.close()


async def begun(runtime: LocalRuntime, *launches: Launch) -> Sequence[Refused]:
    """Starts replicas as whoever drives jobs does: again, as long as some are told to wait."""
    waiting, refused, deadline = list(launches), list[Refused](), monotonic() + PATIENCE
    while waiting:
        told = await runtime.start(waiting)
        assert monotonic() < deadline, told
        later = {each.key for each in told if isinstance(each.problem, Unavailable)}
        refused += [each for each in told if each.key not in later]
        waiting = [each for each in waiting if each.key in later]
        await asyncio.sleep(0.05)
    return refused


async def ran(runtime: LocalRuntime, *launches: Launch) -> list[tuple[int | None, str]]:
    """Runs replicas to their end: with which status, and what they wrote or why they failed."""
    async with watched(runtime) as watch:
        assert await begun(runtime, *launches) == []
        seen = await watch.over(*(each.key for each in launches))
    return [(each.status, each.message or (await output(runtime, each.key))) for each in seen]


def on(remote: Remote, script: str, **more: Any) -> Launch:
    return launch(script, mounts=[RemoteMount(remote, "/data", **more)])


def served(site: LocalSite) -> list[int]:
    """The processes that serve mounts."""
    found = []
    for folder in (site.data / "mounts").glob("*"):
        with suppress(NotMounted, ValueError):
            found.append(ask_whoever_serves(folder / "state", folder / "at", "stats")["process"]["id"])
    return found


async def test_what_a_replica_writes_is_there_when_it_has_ended(site: Site, remote: Remote, bucket: Backend) -> None:
    _, runtime = site
    bucket.put("greeting", b"hello")
    first = on(remote, "cat /data/greeting; mkdir /data/own && id -u > /data/own/user; stat -c %u /data/own/user")
    ((status, text),) = await ran(runtime, first)
    assert (status, text[:5]) == (0, "hello")
    assert bucket.fetch("own/user", limit=MIB)[1].decode().strip() == text[5:].strip()


async def test_replicas_of_a_tenant_share_one_mount_and_it_goes_with_the_last(site: Site, remote: Remote) -> None:
    place, runtime = site
    wait = "until [ -s /data/go ]; do sleep 0.05; done; cat /data/go"
    replicas = [on(remote, wait), on(remote, wait), on(replace(remote), "sleep 0.5; echo now > /data/go")]
    async with watched(runtime) as watch:
        await begun(runtime, *replicas)
        await watch.running(*(each.key for each in replicas))
        assert len(served(place)) == 1
        await watch.over(*(each.key for each in replicas))
    assert [await output(runtime, each.key) for each in replicas[:2]] == ["now\n", "now\n"]
    await runtime.rest()
    assert list((place.data / "mounts").iterdir()) == []


async def test_a_folder_for_reading_is_just_that(site: Site, remote: Remote, bucket: Backend) -> None:
    _, runtime = site
    bucket.put("a/b/file", b"inner")
    script = "cat /data/file; cat /data/../data/file; ls /data; echo no > /data/file || echo refused"
    ((status, text),) = await ran(runtime, on(replace(remote, read_only=True), script, sub_path="a/b"))
    assert status == 0
    assert text.startswith("innerinnerfile\n")
    assert text.endswith("refused\n")
    assert bucket.fetch("a/b/file", limit=MIB)[1] == b"inner"


async def test_a_folder_that_is_not_there_is_told(site: Site, remote: Remote) -> None:
    _, runtime = site
    (refused,) = await begun(runtime, on(remote, "true", sub_path="no/such"))
    assert isinstance(refused.problem, FailedPrecondition)
    assert "it has no folder 'no/such'" in refused.problem.message


async def test_a_wrong_key_is_told_and_nothing_is_left(site: Site, remote: Remote) -> None:
    place, runtime = site
    wrong = Place(remote.place.url, {**remote.place.properties, "secretKey": "not-the-secret"})
    (refused,) = await begun(runtime, on(replace(remote, place=wrong), "true"))
    assert isinstance(refused.problem, FailedPrecondition)
    assert "fs-ada-data cannot be mounted" in refused.problem.message
    assert "not-the-secret" not in refused.problem.message
    await runtime.rest()
    assert list((place.data / "mounts").iterdir()) == []


async def test_a_bucket_that_is_not_there_is_told(site: Site, remote: Remote) -> None:
    _, runtime = site
    nowhere = Place("s3://no-such-bucket/x", remote.place.properties)
    (refused,) = await begun(runtime, on(replace(remote, place=nowhere), "true"))
    assert isinstance(refused.problem, FailedPrecondition)
    assert "no-such-bucket" in refused.problem.message


async def test_no_secret_is_where_others_look(site: Site, remote: Remote) -> None:
    place, runtime = site
    replica = on(remote, "env; cat /proc/self/mountinfo; sleep 100")
    async with watched(runtime) as watch:
        await begun(runtime, replica)
        await watch.running(replica.key)
        (server,) = served(place)
        for process in (server, os.getppid()):
            for name in ("cmdline", "environ"):
                assert KEYS.secret.encode() not in Path(f"/proc/{process}/{name}").read_bytes()
        kept = [content for path, content in contents(place.data) if "/at/" not in str(path)]
        assert kept
        assert not [content for content in kept if KEYS.secret.encode() in content]
        await runtime.stop([replica.key], 0)
        await watch.over(replica.key)


async def test_a_client_that_is_killed_is_noticed_by_no_replica(site: Site, remote: Remote, bucket: Backend) -> None:
    place, runtime = site
    body = os.urandom(8 * MIB)
    bucket.put("large", body)
    script = "for n in $(seq 20); do md5sum < /data/large; sleep 0.05; done; echo done > /data/done"
    replica = on(remote, script)
    async with watched(runtime) as watch:
        await begun(runtime, replica)
        await until(lambda: bool((place.folder(replica.key) / "log").stat().st_size))
        (server,) = served(place)
        os.kill(server, signal.SIGKILL)
        (seen,) = await watch.over(replica.key, patience=60)
    assert (seen.phase, seen.status) == (Phase.ENDED, 0)
    assert len(set((await output(runtime, replica.key)).splitlines())) == 1
    assert bucket.fetch("done", limit=MIB)[1] == b"done\n"


async def test_whoever_comes_next_takes_mounts_on(remote: Remote, bucket: Backend) -> None:
    place = local_site()
    runtime = place.runtime()
    replica = on(remote, "until [ -e /data/go ]; do sleep 0.05; done; cat /data/go > /data/seen")
    async with watched(runtime) as watch:
        await begun(runtime, replica)
        await watch.running(replica.key)
    await runtime.close()
    next_one = place.runtime()
    async with watched(next_one) as watch:
        await asyncio.sleep(0)
        assert len(served(place)) == 1
        bucket.put("go", b"now")
        (seen,) = await watch.over(replica.key)
    assert seen.status == 0
    assert bucket.fetch("seen", limit=MIB)[1] == b"now"
    await next_one.rest()
    assert list((place.data / "mounts").iterdir()) == []
    await close(place, next_one)


async def test_what_cannot_be_uploaded_fails_the_replica_and_is_kept(site: Site, seaweed_server: S3Server) -> None:
    place, runtime = site
    endpoint = f"http://127.0.0.1:{seaweed_server.port}"
    anonymous = Remote(filesystem="fs-ada-public", etag="1", place=Place("s3://public", {"endpoint": endpoint}))
    ((status, words),) = await ran(runtime, on(anonymous, "echo mine > /data/mine; true"))
    assert status == 74, words
    assert "fs-ada-public: mine" in words
    (kept,) = (place.data / "unsent").rglob("mine*")
    assert kept.read_text() == "mine\n"


async def test_a_replica_sees_what_was_there_when_it_began(site: Site, remote: Remote, bucket: Backend) -> None:
    """Also where another one has just looked, and what it saw is remembered for a second."""
    _, runtime = site
    keeper = on(remote, "sleep 1000")
    async with watched(runtime) as watch:
        await begun(runtime, keeper)
        for number in range(4):
            bucket.put("changing", b"%d" % number)
            if number == 3:
                bucket.put("new", b"")
            reader = on(remote, "cat /data/changing; ls /data; [ -e /data/new ] && echo new")
            await begun(runtime, reader)
            await watch.over(reader.key)
            text = await output(runtime, reader.key)
            assert text.startswith(str(number)), "it saw an older version"
            assert text.endswith("new\nnew\n") == (number == 3)
        await runtime.stop([keeper.key], 0)
        await watch.over(keeper.key)
