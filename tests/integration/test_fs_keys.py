"""Keys that seal secrets, replaced and lost under a running service."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import asyncpg
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from fixtures_queue import own_service
from paddleflow.fs.v1 import fs_pb2, link_pb2
from paddleflow.problems import SecretsUnreadable
from pf_kit.sealing import key_name
from support.fs_process import KEY, FsProcess
from support.fs_program import ENDPOINT
from support.fs_site import SECRET, FsSite, Member, named, opened_fs_site
from support.servers import PostgresServer, ValkeyServer
from support.waiting import eventually

NEW, OTHER = bytes(range(1, 33)), bytes(range(2, 34))
NAMES = [f"data-{number}" for number in range(5)]


@pytest.fixture
def process(postgres_server: PostgresServer, valkey_server: ValkeyServer) -> Iterator[FsProcess]:
    """With a database of its own: what is sealed anew there, others could not open."""
    with own_service(postgres_server, valkey_server) as queue:
        made = FsProcess(queue)
        yield made
        made.remove()


@asynccontextmanager
async def living(process: FsProcess, *keys: bytes) -> AsyncIterator[FsSite]:
    """The service with these keys, until it is killed."""
    process.settings = {"PF_FS_CREDENTIAL_KEYS": "\n".join(b64encode(key).decode() for key in keys)}
    process.start()
    try:
        async with opened_fs_site(process) as site:
            yield site
    finally:
        process.kill()


async def fill(site: FsSite) -> Member:
    """A user with filesystems behind servers, and a link in one."""
    alice = await site.add_user("alice")
    for name in NAMES:
        await site.make_far(alice, name)
    given = {"endpoint": ENDPOINT, "accessKey": "AK", "secretKey": SECRET}
    link = link_pb2.Link(path="empty", url="s3://other", properties=given)
    await alice.call(link_pb2.CreateLinkRequest(filesystem=named(NAMES[0]), link=link))
    return alice


async def kept_keys(process: FsProcess) -> set[str]:
    """Which keys sealed what is in the database."""
    connection = await asyncpg.connect(process.queue.dsn)
    try:
        found = await connection.fetch(
            "select secret_key from fs.filesystems union select secret_key from fs.filesystem_links"
        )
    finally:
        await connection.close()
    return {row["secret_key"] for row in found}


async def mounted(site: FsSite, owner: str, name: str) -> fs_pb2.Mount:
    request = fs_pb2.DescribeMountRequest(filesystem=named(name, owner))
    mount: fs_pb2.Mount = (await site.acting(owner)(request)).mount
    return mount


async def test_a_key_is_replaced_and_the_old_one_can_go(process: FsProcess) -> None:
    async with living(process, KEY) as site:
        alice = (await fill(site)).name
    async with living(process, NEW, KEY):
        pass
    async with living(process, NEW, KEY) as site:

        async def nothing_is_left() -> bool:
            return await kept_keys(process) == {key_name(NEW)}

        await eventually(nothing_is_left)
        assert (await mounted(site, alice, NAMES[0])).remote.secrets["secretKey"] == SECRET
    async with living(process, NEW) as site:
        for name in NAMES:
            assert (await mounted(site, alice, name)).remote.secrets["secretKey"] == SECRET
        assert (await mounted(site, alice, NAMES[0])).links[0].remote.secrets["secretKey"] == SECRET
    assert "a key is missing" not in process.log
    assert SECRET not in process.log


async def test_a_lost_key_is_named_and_the_rest_goes_on(process: FsProcess) -> None:
    async with living(process, KEY) as site:
        alice = await fill(site)
    async with living(process, OTHER) as site:

        async def told() -> bool:
            return "a key is missing in PF_FS_CREDENTIAL_KEYS" in process.log

        await eventually(told)
        assert key_name(KEY) in process.log
        with pytest.raises(SecretsUnreadable, match=f"sealed with the key {key_name(KEY)}, which is not there"):
            await mounted(site, alice.name, NAMES[1])
        owner = site.acting(alice.name)
        changed = fs_pb2.Filesystem(owner=alice.name, name=NAMES[1], properties={"secretKey": SECRET})
        mask = FieldMask(paths=["properties.secretKey"])
        await owner(fs_pb2.UpdateFilesystemRequest(filesystem=changed, update_mask=mask))
        assert (await mounted(site, alice.name, NAMES[1])).remote.secrets["secretKey"] == SECRET
