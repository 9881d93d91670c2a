"""FilesystemService over a socket: what it does, and each way in which it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from paddleflow.common.v1 import event_pb2
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import (
    EtagMismatch,
    FilesystemAmbiguous,
    FilesystemExists,
    FilesystemGrantNotFound,
    FilesystemKindNotServed,
    FilesystemNotFound,
    FilesystemNotGranted,
    FolderNotAllowed,
    FolderUnusable,
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
    UserIsOwner,
    UserIsRoot,
    UserNotFound,
)
from support.fs_site import READ, READ_WRITE, FsSite, named
from support.waiting import eventually


def draft(folder: object, name: str = "data", **fields: object) -> fs_pb2.CreateFilesystemRequest:
    given = {"name": name, "url": f"local://{folder}"} | fields
    return fs_pb2.CreateFilesystemRequest(filesystem=fs_pb2.Filesystem(**given))  # type: ignore[arg-type]


async def test_a_user_makes_sees_and_removes_a_filesystem(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make(alice)
    assert made.id == f"fs-{alice.name}-data"
    assert (made.owner, made.name, made.kind) == (alice.name, "data", fs_pb2.FILESYSTEM_KIND_LOCAL)
    assert made.url == f"local://{alice.folder}/data"
    assert made.etag
    assert made.create_time.seconds
    for key in (named("data"), named("data", alice.name), fs_pb2.FilesystemKey(id=made.id)):
        assert (await alice.call(fs_pb2.GetFilesystemRequest(filesystem=key))).filesystem == made
    (alice.folder / "data" / "file").write_text("stays")
    await alice.call(fs_pb2.DeleteFilesystemRequest(filesystem=named("data"), etag=made.etag))
    assert (alice.folder / "data" / "file").read_text() == "stays"
    with pytest.raises(FilesystemNotFound):
        await alice.call(fs_pb2.GetFilesystemRequest(filesystem=named("data")))


async def test_what_is_wrong_is_told_all_at_once(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    with pytest.raises(InvalidArgument) as refused:
        await alice.call(draft("/a/../b\0", "no good", properties={"accessKey": "x", "colour": "y"}))
    fields = {violation.field for violation in refused.value.violations}
    assert fields == {
        "filesystem.name",
        "filesystem.url",
        "filesystem.properties.accessKey",
        "filesystem.properties.colour",
    }


async def test_a_kind_that_is_not_served_is_told_apart_and_the_served_ones_are_named(fs_site: FsSite) -> None:
    with pytest.raises(FilesystemKindNotServed, match="served are: local, s3, bos"):
        await fs_site.root(draft("/x", url="mock://bucket/x", properties={"accessKey": "x"}))


async def test_what_an_administrator_has_mounted_is_a_folder_like_others(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    (alice.folder / "inner").mkdir()
    url = f"cfs://nfs.example.org/export/{alice.name}"
    made = (await alice.call(draft("", url=f"{url}/inner"))).filesystem
    assert (made.kind, made.url) == (fs_pb2.FILESYSTEM_KIND_CFS, f"{url}/inner")
    mount = await fs_site.acting(alice.name)(fs_pb2.DescribeMountRequest(filesystem=named("data")))
    assert mount.mount.local.path == str(alice.folder / "inner")
    with pytest.raises(FolderNotAllowed):
        await bobby.call(draft("", url=url))
    for other in ("cfs://nfs.example.org/other", "glusterfs://host:volume", "afs://host/x"):
        with pytest.raises(FolderUnusable, match="is mounted nowhere on this machine"):
            await fs_site.root(draft("", url=other))


async def test_the_properties_of_a_folder_are_none_to_change(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    made = await fs_site.make(alice)
    wanted = fs_pb2.Filesystem(name="data", etag=made.etag)
    for paths, problem in (([], "names no field"), (["url"], "cannot|not a field"), (["properties."], "not a field")):
        with pytest.raises(InvalidArgument, match=problem):
            await alice.call(fs_pb2.UpdateFilesystemRequest(filesystem=wanted, update_mask=FieldMask(paths=paths)))
    changed = fs_pb2.Filesystem(name="data", properties={"debug": "1"})
    mask = FieldMask(paths=["properties.debug"])
    with pytest.raises(InvalidArgument, match="is no property of a filesystem of kind local, which has none"):
        await alice.call(fs_pb2.UpdateFilesystemRequest(filesystem=changed, update_mask=mask))
    same = fs_pb2.UpdateFilesystemRequest(filesystem=wanted, update_mask=FieldMask(paths=["properties"]))
    after = (await alice.call(same)).filesystem
    assert after.etag != made.etag
    with pytest.raises(EtagMismatch):
        await alice.call(same)


async def test_the_names_of_owner_and_filesystem_are_bounded_together(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    longest = "x" * (59 - len(alice.name))
    await fs_site.make(alice, longest)
    with pytest.raises(InvalidArgument, match="at most 59 characters"):
        await alice.call(draft(alice.folder, f"{longest}x"))


async def test_a_name_is_given_once_to_each_owner(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make(alice)
    await fs_site.make(bobby)
    with pytest.raises(FilesystemExists):
        await fs_site.make(alice)


async def test_root_makes_filesystems_for_others_anywhere(fs_site: FsSite, tmp_path: Path) -> None:
    alice = await fs_site.add_user("alice")
    made = (await fs_site.root(draft(tmp_path, owner=alice.name))).filesystem
    assert (await alice.call(fs_pb2.GetFilesystemRequest(filesystem=named("data")))).filesystem == made
    with pytest.raises(UserNotFound):
        await fs_site.root(draft(tmp_path, owner="nobody99"))
    bobby = await fs_site.add_user("bobby")
    with pytest.raises(PermissionDenied, match="only root"):
        await bobby.call(draft(bobby.folder, owner=alice.name))


async def test_users_stay_in_the_folders_set_aside_for_them(fs_site: FsSite, tmp_path: Path) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    (alice.folder / "link").symlink_to(tmp_path)
    (alice.folder / "dangling").symlink_to(tmp_path / "nothing")
    outside = (tmp_path, bobby.folder, fs_site.process.roots, f"{alice.folder}x", alice.folder / "link")
    for folder in (*outside, alice.folder / "dangling", tmp_path / "nothing"):
        with pytest.raises(FolderNotAllowed, match="does not lie in"):
            await alice.call(draft(folder))


async def test_nobody_shares_what_the_machine_or_the_installation_is_made_of(fs_site: FsSite, tmp_path: Path) -> None:
    installation = fs_site.process.queue.folder
    (tmp_path / "link").symlink_to("/etc")
    (installation / "inside").mkdir(exist_ok=True)
    (tmp_path / ".ssh").mkdir()
    refused = ("/etc", "/proc/1", "/proc", "/dev/pts", "/var/run", "/root/.ssh", "/var")
    for folder in (*refused, tmp_path / "link", tmp_path / ".ssh", installation, installation / "inside"):
        with pytest.raises(FolderNotAllowed, match="never shared"):
            await fs_site.root(draft(folder))
    with pytest.raises(FolderNotAllowed):
        await fs_site.root(draft(installation.parent))


async def test_a_folder_must_be_there_and_be_one(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    (alice.folder / "file").write_text("")
    (alice.folder / "loop").symlink_to(alice.folder / "loop")
    reasons = {"missing": "No such file", "file": "Not a directory", "loop": "Not a directory|Too many levels"}
    for name, reason in reasons.items():
        with pytest.raises(FolderUnusable, match=reason):
            await alice.call(draft(alice.folder / name))
    with pytest.raises(FolderUnusable, match="No such file"):
        await alice.call(draft(alice.folder / "/".join(["x" * 200] * 10)))


async def test_a_retry_gets_the_same_reply_whatever_became_of_the_folder(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    folder = alice.folder / "data"
    folder.mkdir()
    request = draft(folder)
    request.request_id = "once"
    first = await alice.call(request)
    folder.rmdir()
    assert await alice.call(request) == first


async def test_links_are_followed_when_it_is_made_and_the_place_is_kept(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    (alice.folder / "real").mkdir()
    (alice.folder / "link").symlink_to("real")
    made = (await alice.call(draft(alice.folder / "link"))).filesystem
    assert made.url.endswith("/link")
    (alice.folder / "other").mkdir()
    (alice.folder / "link").unlink()
    (alice.folder / "link").symlink_to("other")
    mount = await fs_site.acting(alice.name)(fs_pb2.DescribeMountRequest(filesystem=named("data")))
    assert mount.mount.local.path == str(alice.folder / "real")


async def test_a_list_shows_what_its_caller_may_see_a_page_at_a_time(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    for name in ("b-1", "b_2", "c"):
        await fs_site.make(alice, name)
    await fs_site.make(bobby, "own")
    await fs_site.share(alice, "c", bobby.name)

    async def listed(caller: object, **fields: object) -> list[str]:
        request = fs_pb2.ListFilesystemsRequest(**fields)  # type: ignore[arg-type]
        return [found.name for found in await caller.all(request, "filesystems")]  # type: ignore[attr-defined]

    assert await listed(alice.call) == ["b-1", "b_2", "c"]
    assert await listed(alice.call, page_size=1) == ["b-1", "b_2", "c"]
    assert await listed(bobby.call) == ["c", "own"]
    assert await listed(bobby.call, owner=alice.name) == ["c"]
    assert await listed(alice.call, name_prefix="b_") == ["b_2"]
    assert await listed(fs_site.root, owner=bobby.name) == ["own"]
    with pytest.raises(InvalidArgument):
        await listed(alice.call, name_prefix="\0")
    with pytest.raises(InvalidArgument):
        await listed(alice.call, page_size=-1)
    first = await alice.call(fs_pb2.ListFilesystemsRequest(page_size=1))
    with pytest.raises(PageTokenInvalid):
        await alice.call(fs_pb2.ListFilesystemsRequest(owner=alice.name, page_token=first.next_page_token))


async def test_a_name_alone_is_ones_own_or_the_only_one_shared(fs_site: FsSite) -> None:
    alice, bobby, carol = [await fs_site.add_user(word) for word in ("alice", "bobby", "carol")]
    theirs = await fs_site.make(alice)
    request = fs_pb2.GetFilesystemRequest(filesystem=named("data"))
    with pytest.raises(FilesystemNotFound):
        await carol.call(request)
    with pytest.raises(FilesystemNotGranted, match=f"ask {alice.name} or root"):
        await carol.call(fs_pb2.GetFilesystemRequest(filesystem=named("data", alice.name)))
    await fs_site.share(alice, "data", carol.name)
    assert (await carol.call(request)).filesystem == theirs
    await fs_site.make(bobby)
    await fs_site.share(bobby, "data", carol.name)
    with pytest.raises(FilesystemAmbiguous, match=f"{alice.name}/data, {bobby.name}/data"):
        await carol.call(request)
    own = await fs_site.make(carol)
    assert (await carol.call(request)).filesystem == own


@pytest.mark.parametrize(
    "key",
    [
        fs_pb2.FilesystemKey(),
        fs_pb2.FilesystemKey(owner="alice"),
        fs_pb2.FilesystemKey(id="fs-alice-data", name="data"),
    ],
)
async def test_a_filesystem_must_be_named_in_one_way(fs_site: FsSite, key: fs_pb2.FilesystemKey) -> None:
    for request in (
        fs_pb2.GetFilesystemRequest(filesystem=key),
        fs_pb2.DeleteFilesystemRequest(filesystem=key),
        fs_pb2.DescribeMountRequest(filesystem=key),
    ):
        with pytest.raises(InvalidArgument):
            await fs_site.root(request)


@pytest.mark.parametrize("word", ["\0", "x" * 5000, "a/b", "日本", "%", "fs-"])
async def test_a_name_that_none_can_have_is_not_found(fs_site: FsSite, word: str) -> None:
    for key in (named(word), named(word, "alice"), named("data", word), fs_pb2.FilesystemKey(id=word)):
        for request in (fs_pb2.GetFilesystemRequest(filesystem=key), fs_pb2.DeleteFilesystemRequest(filesystem=key)):
            with pytest.raises(FilesystemNotFound):
                await fs_site.root(request)


async def test_only_the_owner_and_root_change_a_filesystem(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make(alice)
    await fs_site.share(alice, "data", bobby.name, READ_WRITE)
    key = named("data", alice.name)
    for request in (
        fs_pb2.DeleteFilesystemRequest(filesystem=key),
        fs_pb2.GrantFilesystemRequest(filesystem=key, user=bobby.name, access=READ),
        fs_pb2.RevokeFilesystemRequest(filesystem=key, user=bobby.name),
    ):
        with pytest.raises(PermissionDenied, match="only its owner and root"):
            await bobby.call(request)
    with pytest.raises(EtagMismatch):
        await fs_site.root(fs_pb2.DeleteFilesystemRequest(filesystem=key, etag="0"))
    await fs_site.root(fs_pb2.DeleteFilesystemRequest(filesystem=key))


async def test_grants_are_made_replaced_listed_and_taken_back(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    made = await fs_site.make(alice)
    first = await fs_site.share(alice, "data", bobby.name)
    assert (first.filesystem_id, first.user, first.access) == (made.id, bobby.name, READ)
    assert await fs_site.share(alice, "data", bobby.name) == first
    second = await fs_site.share(alice, "data", bobby.name, READ_WRITE)
    assert second.access == READ_WRITE

    for caller in (alice.call, bobby.call):
        assert await caller.all(fs_pb2.ListFilesystemGrantsRequest(), "grants") == [second]
    on_it = fs_pb2.ListFilesystemGrantsRequest(filesystem=named("data"), user=bobby.name)
    assert await alice.call.all(on_it, "grants") == [second]
    carol = await fs_site.add_user("carol")
    assert await carol.call.all(fs_pb2.ListFilesystemGrantsRequest(), "grants") == []

    revoke = fs_pb2.RevokeFilesystemRequest(filesystem=named("data"), user=bobby.name)
    await alice.call(revoke)
    with pytest.raises(FilesystemNotGranted):
        await bobby.call(fs_pb2.GetFilesystemRequest(filesystem=fs_pb2.FilesystemKey(id=made.id)))
    with pytest.raises(FilesystemGrantNotFound):
        await alice.call(revoke)


async def test_a_grant_needs_another_user_that_exists(fs_site: FsSite) -> None:
    alice = await fs_site.add_user("alice")
    await fs_site.make(alice)
    for user, problem in {
        "nobody99": UserNotFound,
        "\0": UserNotFound,
        "root": UserIsRoot,
        alice.name: UserIsOwner,
    }.items():
        with pytest.raises(problem):
            await fs_site.share(alice, "data", user)
    with pytest.raises(InvalidArgument, match="user: must be given"):
        await fs_site.share(alice, "data", "")
    for access in (fs_pb2.FILESYSTEM_ACCESS_UNSPECIFIED, 17):
        with pytest.raises(InvalidArgument, match="access: must be"):
            await fs_site.share(alice, "data", "root", access)


async def test_every_change_is_an_event_of_its_subject(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    head = (await fs_site.root(event_pb2.GetEventHeadRequest())).head
    made = await fs_site.make(alice)
    await fs_site.share(alice, "data", bobby.name)
    await alice.call(fs_pb2.DeleteFilesystemRequest(filesystem=named("data")))
    listed = await fs_site.root(event_pb2.ListEventsRequest(after=head))
    events = [event for event in listed.batch.events if alice.name in event.subject]
    grant = f"filesystem-grant/{made.id}/{bobby.name}"
    subjects = [event.subject for event in events]
    assert subjects == [f"filesystem/{made.id}", grant, grant, f"filesystem/{made.id}"]
    versions = [event.subject_version for event in events]
    assert versions == sorted(set(versions))


async def test_a_deleted_user_leaves_nothing_to_the_next_one_of_its_name(fs_site: FsSite) -> None:
    alice, bobby = await fs_site.add_user("alice"), await fs_site.add_user("bobby")
    await fs_site.make(alice)
    await fs_site.make(bobby)
    await fs_site.share(bobby, "data", alice.name)
    await fs_site.delete_user(alice.name)

    async def nothing_is_left() -> bool:
        owned = await fs_site.root.all(fs_pb2.ListFilesystemsRequest(owner=alice.name), "filesystems")
        shared = await fs_site.root.all(fs_pb2.ListFilesystemGrantsRequest(user=alice.name), "grants")
        return not owned and not shared

    await eventually(nothing_is_left)
    assert (alice.folder / "data").is_dir(), "files stay"
    assert (await bobby.call(fs_pb2.GetFilesystemRequest(filesystem=named("data")))).filesystem.owner == bobby.name
