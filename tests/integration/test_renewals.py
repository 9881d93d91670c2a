"""Keys of a store that expire while it is mounted."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paddleflow.direct.describing import COMMAND, Asks, renewal
from paddleflow.direct.filesystem import PaddleFlowFileSystem
from paddleflow.mounting import MountOptions
from support import fuse_mounts
from support.command_line import CommandLine
from support.fault_proxy import EXPIRED, FaultProxy, fault_proxy
from support.fs_site import FsSite
from support.mounts import Mount, new_mount
from support.queue_site import PASSWORD
from support.s3_servers import BUCKET, KEYS, OTHER_KEYS, S3Server, place_in
from support.stacks import wait_until

pytestmark = [
    pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing()),
    # Programs are begun for it, which takes long on a machine that has much to do.
    pytest.mark.timeout(180),
]
NEW_KEYS = f"-o accessKey={OTHER_KEYS.access} -o secretKey={OTHER_KEYS.secret}"
TELL = "import json, os, sys; open(sys.argv[1], 'a').write(sys.stdin.read() + '\\n'); print(sys.argv[2])"


@pytest.fixture
def proxy(seaweed_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(seaweed_server.port) as proxy:
        yield proxy


def begin(mount: Mount, server: S3Server, place: Path, answer: Mapping[str, Any]) -> Path:
    """The file in which it stands what the program was told that tells of keys."""
    asked = place / "asked"
    command = [sys.executable, "-c", TELL, str(asked), json.dumps(answer)]
    renewal = {"command": command, "told": {"name": "data"}}
    mount.begin(*place_in(server, f"renewed-{place.name}"), MountOptions(more={"renewal": renewal}))
    return asked


def properties(server: S3Server, place: Path) -> dict[str, str]:
    return {**place_in(server, place.name)[1], "accessKey": OTHER_KEYS.access, "secretKey": OTHER_KEYS.secret}


def test_who_reads_and_writes_notices_nothing(seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path) -> None:
    behind = replace(seaweed_server, port=proxy.port)
    answer = {"answer": {"url": "", "properties": properties(behind, tmp_path), "links": [], "cache": {}}}
    with new_mount() as mount:
        asked = begin(mount, behind, tmp_path, answer)
        proxy.next(EXPIRED)
        (mount.place / "file").write_text("hello")
        proxy.next(EXPIRED)
        # The next process begins with the keys that have expired.
        mount.kill()
        assert (mount.place / "file").read_text() == "hello"
        assert sorted(path.name for path in mount.place.iterdir()) == ["file"]
        # A client that is killed while it asks has told nothing.
        assert set(asked.read_text().splitlines()) - {""} == {'{"name": "data"}'}
        assert KEYS.secret not in mount.log
        assert OTHER_KEYS.secret not in mount.log


def test_where_nobody_tells_keys_there_is_an_error(seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path) -> None:
    with new_mount() as mount:
        begin(
            mount,
            replace(seaweed_server, port=proxy.port),
            tmp_path,
            {"problem": "NotFound", "message": "gone", "final": True},
        )
        proxy.always = EXPIRED
        proxy.next()
        with pytest.raises(OSError, match=r"Invalid|Permission"):
            (mount.place / "file").write_text("hello")
        assert "nobody tells others: NotFound: gone" in mount.log
        proxy.always = None
        (mount.place / "file").write_text("hello")


def test_what_is_owed_is_uploaded_once_keys_are_told(
    seaweed_server: S3Server, proxy: FaultProxy, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    renewal = {"command": ["cat", str(told)], "told": {}}
    behind = replace(seaweed_server, port=proxy.port)
    with new_mount() as mount:
        url, old = place_in(behind, tmp_path.name)
        mount.begin(url, old, MountOptions(more={"renewal": renewal, "writeback": 1 << 30}))
        with (mount.place / "file").open("w") as file:
            file.write("hello")
            # Whether there is something of the name, the store was asked before.
            proxy.always = EXPIRED
            proxy.next()
        wait_until(lambda: "other keys are not told yet" in mount.stats()["writeback"]["why"])
        told.write_text(json.dumps({"answer": {"properties": properties(behind, tmp_path)}}))
        proxy.always = None
        wait_until(lambda: not mount.stats()["writeback"]["files"])
        assert not mount.stats()["written"]["aside"]["files"]
        mount.end()
        mount.begin(url, old)
        assert (mount.place / "file").read_text() == "hello"


@pytest.fixture
async def line(far_site: FsSite, proxy: FaultProxy, tmp_path: Path) -> CommandLine:
    """Somebody with a filesystem behind the proxy."""
    alice = await far_site.add_user("alice")
    services = {"fs": far_site.process.address}
    line = CommandLine.configured(
        tmp_path, far_site.process.queue.address, user=alice.name, password=PASSWORD, services=services
    )
    keys = f"-o accessKey={KEYS.access} -o secretKey={KEYS.secret}"
    line.output(f"fs create data s3://{BUCKET}/{far_site.tag} -o endpoint=http://127.0.0.1:{proxy.port} {keys}")
    return line


def test_a_mount_of_the_command_line_asks_the_service(line: CommandLine, proxy: FaultProxy, cache_home: Path) -> None:
    place = cache_home / "at"
    place.mkdir()
    line.output(f"fs mount data {place}")
    line.output(f"fs update data {NEW_KEYS}")
    proxy.next(EXPIRED)
    (place / "file").write_text("hello")
    assert (place / "file").read_text() == "hello"
    line.output(f"fs umount {place}")


@pytest.mark.usefixtures("cache_home")
def test_a_program_without_a_mount_asks_the_service_too(line: CommandLine, proxy: FaultProxy) -> None:
    fs = PaddleFlowFileSystem(config=str(line.config), lasts=0.0, skip_instance_cache=True)
    fs.pipe_file("data/file", b"hello")
    line.output(f"fs update data {NEW_KEYS}")
    proxy.next(EXPIRED)
    assert fs.info("data/file")["size"] == 5
    assert fs.cat_file("data/file") == b"hello"
    fs.close()


async def test_who_asks_for_keys_of_what_is_gone_is_told_that_it_is_for_good(line: CommandLine) -> None:
    def told(name: str) -> Mapping[str, Any]:
        question = json.dumps(renewal(Asks(str(line.config), name))["told"])
        done = subprocess.run(COMMAND, input=question, capture_output=True, text=True, check=True)
        answer: Mapping[str, Any] = json.loads(done.stdout)
        return answer

    assert (await asyncio.to_thread(told, "data"))["answer"]
    gone = await asyncio.to_thread(told, "gone")
    assert (gone["problem"], gone["final"]) == ("FilesystemNotFound", True)
