"""The files of runs, as the pipeline service gets at them through the filesystem service."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from paddleflow.problems import (
    FilesystemNotFound,
    FilesystemReadOnly,
    FileUnusable,
    FolderNotAllowed,
    PathEscapes,
    UserNotFound,
)
from pf_kit.clock import SystemClock
from pf_kit.memory import MemoryDatabase
from pf_pipeline.artifacts.ports import Ask, Fault, Piece
from pf_pipeline.documents.model import CacheMode
from pf_pipeline.joints.documents import RunDocuments
from pf_pipeline.owners import Owner
from pf_pipeline.peers_grpc.documents import RemoteDocuments
from pf_pipeline.peers_grpc.files import MOST_PATHS, MOST_READ, RemoteFiles
from pf_pipeline.pipelines.convert import encode
from pf_pipeline.pipelines.memory import MemoryPipelineStore
from pf_pipeline.pipelines.sources import Documents
from pf_pipeline.runs.ports import Wanted
from support.fs_site import READ, FsSite, Member
from support.owners import Everybody


async def given(site: FsSite) -> tuple[Member, Ask, RemoteFiles]:
    alice = await site.add_user("alice")
    made = await site.make(alice)
    data = alice.folder / "data"
    (data / "file").write_bytes(b"0123456789")
    (data / "out").symlink_to("/etc")
    files = RemoteFiles(site.channel, lambda: (("authorization", f"Bearer {site.service}"),), Everybody())
    return alice, Ask(alice.name, made.id), files


def problems(found: object) -> type[Exception] | None:
    return type(found.problem) if isinstance(found, Fault) else None


async def test_it_is_told_what_exists(fs_site: FsSite) -> None:
    _, ask, files = await given(fs_site)
    there, missing, out, secret = await files.exist(ask, ["file", "nothing", "out", ".ssh"])
    assert (there, missing) == (True, False)
    assert (problems(out), problems(secret)) == (PathEscapes, FolderNotAllowed)
    assert await files.exist(ask, []) == []


async def test_the_beginnings_of_files_are_read(fs_site: FsSite) -> None:
    _, ask, files = await given(fs_site)
    piece, folder = await files.read(ask, ["file", ""], 4)
    assert piece == Piece(b"0123", 10)
    assert problems(folder) is FileUnusable
    (whole,) = await files.read(ask, ["file"], MOST_READ)
    assert whole == Piece(b"0123456789", 10)


async def test_more_is_asked_for_than_one_call_takes(fs_site: FsSite) -> None:
    _, ask, files = await given(fs_site)
    paths = ["file"] * (MOST_PATHS + 1)
    assert await files.exist(ask, paths) == [True] * len(paths)
    assert await files.read(ask, ["file"] * 3, MOST_READ // 2) == [Piece(b"0123456789", 10)] * 3
    assert len(set(await files.digest(ask, paths, CacheMode.CONTENT))) == 1
    assert await files.remove(ask, paths) == [None] * len(paths)


async def test_digests_tell_what_is_the_same(fs_site: FsSite) -> None:
    alice, ask, files = await given(fs_site)
    (alice.folder / "data" / "copy").write_bytes(b"0123456789")
    file, copy, missing = await files.digest(ask, ["file", "copy", "nothing"], CacheMode.CONTENT)
    assert file == copy
    assert isinstance(missing, Fault)
    by_time = await files.digest(ask, ["file"], CacheMode.MTIME)
    assert by_time != [file]


async def test_paths_are_prepared_and_removed(fs_site: FsSite) -> None:
    alice, ask, files = await given(fs_site)
    assert await files.prepare(ask, ["a/b/c", "file"]) == [None, None]
    assert {each.name for each in (alice.folder / "data").iterdir()} == {"a", "out"}
    (out,) = await files.prepare(ask, ["out/x"])
    assert problems(out) is PathEscapes
    assert await files.remove(ask, ["a", "nothing"]) == [None, None]
    assert not (alice.folder / "data" / "a").exists()


async def test_what_is_wrong_with_the_filesystem_is_raised(fs_site: FsSite) -> None:
    alice, ask, files = await given(fs_site)
    bobby = await fs_site.add_user("bobby")
    await fs_site.share(alice, "data", bobby.name, READ)
    with pytest.raises(FilesystemReadOnly):
        await files.prepare(Ask(bobby.name, ask.filesystem_id), ["x"])
    with pytest.raises(FilesystemNotFound):
        await files.exist(Ask(bobby.name, "fs-nobody-data"), ["x"])


async def test_documents_of_runs_tell_where_they_came_from(fs_site: FsSite) -> None:
    alice, _, _ = await given(fs_site)
    (alice.folder / "data" / "run.yaml").write_text("name: soup")
    filesystems = RemoteDocuments(fs_site.channel, lambda: (("authorization", f"Bearer {fs_site.service}"),))
    documents = Documents(store=MemoryPipelineStore(), filesystems=filesystems)
    database = MemoryDatabase(encode=encode, clock=SystemClock())
    found = RunDocuments(database, documents)
    read = await found.find(Owner(alice.name), Wanted(filesystem="data"))
    assert (read.text, read.source.path, read.source.origin) == ("name: soup", "./run.yaml", "./run.yaml")
    as_it_is = await found.find(Owner(alice.name), Wanted(document="name: stew", path="run.yaml", filesystem="data"))
    assert (as_it_is.text, as_it_is.source.document, as_it_is.source.origin) == ("name: stew", True, "")
    assert as_it_is.filesystem == "data"


@dataclass
class Renamed:
    """Knows since when each name is that of who has it now."""

    time: datetime

    async def since(self, _name: str) -> datetime:
        return self.time


async def test_files_are_not_read_for_who_got_the_name_later(fs_site: FsSite) -> None:
    _, ask, _ = await given(fs_site)
    added = datetime(2026, 1, 1, tzinfo=UTC)
    for now in (added, added + timedelta(seconds=1)):
        files = RemoteFiles(fs_site.channel, lambda: (("authorization", f"Bearer {fs_site.service}"),), Renamed(now))
        if now == added:
            assert await files.exist(replace(ask, since=added), ["file"]) == [True]
        else:
            with pytest.raises(UserNotFound):
                await files.exist(replace(ask, since=added), ["file"])
