"""Secrets of filesystems: sealed, told to nobody but those who mount, and sealed anew under a new key."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest

from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import (
    EtagMismatch,
    FilesystemReadOnly,
    InvalidArgument,
    PermissionDenied,
    SecretsUnreadable,
    ServerUnusable,
)
from pf_fs.convert import filesystem_message, mount_message
from pf_fs.domain import Access, Filesystem, GrantKey, Key, Opened
from pf_fs.resealing import Resealing, SealedThings
from pf_fs.service import Mount
from pf_fs.service.updating import Edit
from pf_fs.store import LOCK
from pf_kit.events import BEGINNING
from pf_kit.principal import Principal
from pf_kit.sealing import KeyRing, key_name
from pf_kit.unit import AuditFilter
from support.fs_parts import ALICE, BOBBY, JOB, NEW, OLD, ROOT, S3, FsParts

SECRET = S3["secretKey"]


@pytest.fixture
def parts() -> FsParts:
    return FsParts()


async def edited(parts: FsParts, edit: Edit, etag: str = "", caller: Principal = ALICE) -> Filesystem:
    judged = await parts.updates.judge(parts.database.newest, caller, "fs-alice-data", etag, edit)
    async with parts.database.change(LOCK) as change:
        return await parts.updates.apply(change, caller, judged)


async def described(parts: FsParts, caller: Principal, folder: str = "", *, read_only: bool = False) -> Mount:
    key = Key(owner="alice", name="data")
    return await parts.mounts.describe(parts.database.newest, caller, key, PurePosixPath(folder), read_only=read_only)


async def share(parts: FsParts, access: Access) -> None:
    async with parts.database.change(LOCK) as change:
        await parts.grants.give(change, ALICE, GrantKey("fs-alice-data", "bobby"), access, known=True)


async def test_a_secret_is_told_to_nobody_but_to_servers_and_those_who_mount(parts: FsParts) -> None:
    made = await parts.make()
    plain = {"endpoint": "s3.example.org", "accessKey": "AK"}
    assert parts.servers.asked == [Opened("s3://bucket/data", plain, {"secretKey": SECRET})]
    events = await parts.database.log.events_after(BEGINNING, 10)
    records = await parts.database.audit_records(AuditFilter(), None, 10)
    message = filesystem_message(made)
    shown = [repr(made), repr(parts.servers.asked), str(message), repr(events), repr(records)]
    assert not any(SECRET in text for text in shown)
    assert SECRET.encode() not in made.secrets.data
    assert list(message.secret_properties) == ["secretKey"]
    assert "secretKey" not in message.properties
    mount = await described(parts, ALICE)
    assert SECRET not in repr(mount)
    assert mount_message(mount).remote.secrets == {"secretKey": SECRET}


def test_the_secrets_of_a_mount_are_marked_as_such() -> None:
    options = fs_pb2.RemoteFolder.DESCRIPTOR.fields_by_name["secrets"].GetOptions()
    assert options.debug_redact


async def test_a_sealed_value_in_another_row_does_not_open(parts: FsParts) -> None:
    made, other = await parts.make(), await parts.make(name="other")
    for wrong in (
        replace(other, secrets=made.secrets),
        replace(made, owner="bobby"),
        replace(made, secrets=replace(made.secrets, names=("sessionToken",))),
    ):
        with pytest.raises(SecretsUnreadable, match="belongs elsewhere"):
            parts.vault.open(wrong)


async def test_an_update_changes_what_it_names_and_keeps_the_rest(parts: FsParts) -> None:
    made = await parts.make()
    after = await edited(parts, Edit({"region": "bj", "secretKey": "newer"}), made.etag)
    assert dict(after.properties) == {"endpoint": "s3.example.org", "accessKey": "AK", "region": "bj"}
    assert parts.vault.open(after) == {"secretKey": "newer"}
    assert parts.servers.asked[-1].secrets == {"secretKey": "newer"}
    assert after.etag != made.etag
    whole = await edited(parts, Edit({"endpoint": "x.org", "accessKey": "AK"}, whole=True))
    assert (dict(whole.properties), parts.vault.open(whole)) == (
        {"endpoint": "x.org", "accessKey": "AK"},
        {"secretKey": "newer"},
    )
    bare = await edited(parts, Edit({}, frozenset({"accessKey", "secretKey"})))
    assert (dict(bare.properties), bare.secrets.names) == ({"endpoint": "x.org"}, ())
    kinds = [event.fact.type for event in await parts.database.log.events_after(BEGINNING, 10)]
    assert len(kinds) == 4


async def test_an_update_is_refused_where_a_filesystem_would_be(parts: FsParts) -> None:
    made = await parts.make()
    with pytest.raises(InvalidArgument, match=r"secretKey: must be given"):
        await edited(parts, Edit({}, frozenset({"secretKey"})))
    with pytest.raises(InvalidArgument, match=r"colour: is no property"):
        await edited(parts, Edit({"colour": "red"}))
    with pytest.raises(EtagMismatch):
        await edited(parts, Edit({"region": "x"}), "ffff")
    with pytest.raises(PermissionDenied):
        await edited(parts, Edit({"region": "x"}), caller=BOBBY)
    parts.servers.refusal = "InvalidAccessKeyId"
    with pytest.raises(ServerUnusable, match="InvalidAccessKeyId"):
        await edited(parts, Edit({"region": "x"}))
    assert await parts.found() == made


async def test_of_two_updates_at_once_one_is_told_to_read_again(parts: FsParts) -> None:
    await parts.make()
    view = parts.database.newest
    first = await parts.updates.judge(view, ALICE, "fs-alice-data", "", Edit({"region": "a"}))
    await edited(parts, Edit({"region": "b"}))
    with pytest.raises(EtagMismatch, match="just now"):
        async with parts.database.change(LOCK) as change:
            await parts.updates.apply(change, ALICE, first)


async def test_who_may_only_read_gets_at_secrets_through_services_only(parts: FsParts) -> None:
    await parts.make()
    await share(parts, Access.READ)
    with pytest.raises(FilesystemReadOnly, match="services only"):
        await described(parts, BOBBY, read_only=True)
    assert (await described(parts, JOB, read_only=True)).read_only
    with pytest.raises(FilesystemReadOnly, match="mount it read-only"):
        await described(parts, JOB)
    assert not (await described(parts, ROOT)).read_only
    await share(parts, Access.READ_WRITE)
    assert not (await described(parts, BOBBY)).read_only


async def test_without_secrets_whoever_may_read_mounts_it(parts: FsParts) -> None:
    await parts.make(properties={"endpoint": "s3.example.org"})
    await share(parts, Access.READ)
    mount = await described(parts, BOBBY, "a/b", read_only=True)
    assert mount.source == Opened("s3://bucket/data/a/b", {"endpoint": "s3.example.org"}, {})


async def test_secrets_are_sealed_anew_with_a_new_key_also_after_being_cut_off(parts: FsParts) -> None:
    for number in range(250):
        await parts.make(name=f"data-{number}")
    await parts.make()
    await parts.link("folder")
    things: dict[str, SealedThings[Any]] = {"filesystems": parts.store, "links": parts.link_store}
    parts.use(KeyRing([NEW, OLD]))
    resealing = Resealing(database=parts.database, things=things, vault=parts.vault)
    made = await parts.found()
    async with parts.database.change(LOCK) as change:
        # As a pass leaves it that was killed.
        await parts.store.reseal(change, made, parts.vault.resealed(made))
    assert await resealing.go() == 251
    assert await resealing.go() == 0
    parts.use(KeyRing([NEW]))
    assert (await parts.store.secret_keys(parts.database.newest)) == {key_name(NEW): 251}
    assert parts.vault.open(await parts.found()) == {"secretKey": SECRET}
    mount = await described(parts, ALICE)
    assert isinstance(mount.links[0][1], Opened)
    assert mount.links[0][1].secrets == {"secretKey": SECRET}
    assert (await parts.found()).version == made.version, "sealing anew is no change"


async def test_a_missing_key_is_told_and_leaves_the_rest_alone(
    parts: FsParts, caplog: pytest.LogCaptureFixture
) -> None:
    await parts.make()
    parts.use(KeyRing([NEW]))
    await parts.make(name="other")
    things = {"filesystems": parts.store}
    with caplog.at_level(logging.ERROR):
        assert await Resealing(database=parts.database, things=things, vault=parts.vault).go() == 0
    assert "a key is missing in PF_FS_CREDENTIAL_KEYS" in caplog.text
    with pytest.raises(SecretsUnreadable, match=rf"the key {key_name(OLD)}, which is not there; .*secretKey"):
        await described(parts, ALICE)
    with pytest.raises(SecretsUnreadable):
        await edited(parts, Edit({"region": "x"}))
    after = await edited(parts, Edit({"secretKey": "given anew"}))
    assert parts.vault.open(after) == {"secretKey": "given anew"}


async def test_a_broken_seal_does_not_stop_the_others(parts: FsParts) -> None:
    made = await parts.make()
    await parts.make(name="other")
    async with parts.database.change(LOCK) as change:
        await parts.store.reseal(change, made, replace(made.secrets, data=b"junk"))
    parts.use(KeyRing([NEW, OLD]))
    assert await Resealing(database=parts.database, things={"x": parts.store}, vault=parts.vault).go() == 1


async def test_without_keys_there_are_no_filesystems_with_secrets() -> None:
    parts = FsParts(KeyRing([]))
    with pytest.raises(SecretsUnreadable, match="PF_FS_CREDENTIAL_KEYS"):
        await parts.make()
    assert parts.servers.asked == [], "nobody is asked with secrets that cannot be kept"
    assert (await parts.make(properties={"endpoint": "s3.example.org"})).secrets.names == ()
