"""Files of filesystems in Python programs, without a mount: real libraries, a real service, a real object store."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as parquet
import pytest

from paddleflow.direct.filesystem import PaddleFlowFileSystem
from paddleflow.fs.v1 import fs_pb2
from paddleflow.problems import FilesystemNotFound
from support.command_line import CommandLine
from support.fs_site import FsSite
from support.loader_work import go_on, load
from support.queue_site import PASSWORD
from support.s3_servers import S3Server
from support.same import first_difference

MIB = 1 << 20


@pytest.fixture
async def options(
    far_site: FsSite, seaweed_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[dict[str, Any]]:
    """Of a user with a filesystem `far` in an object store, and one `near` in a folder."""
    alice = await far_site.add_user("alice")
    draft = fs_pb2.Filesystem(name="far", url=f"s3://tests/{far_site.tag}", properties=seaweed_server.properties)
    await alice.call(fs_pb2.CreateFilesystemRequest(filesystem=draft))
    await far_site.make(alice, "near")
    services = {"fs": far_site.process.address}
    folder = tmp_path / "config"
    folder.mkdir()
    line = CommandLine.configured(
        folder, far_site.process.queue.address, user=alice.name, password=PASSWORD, services=services
    )
    monkeypatch.setenv("PADDLEFLOW_CONFIG", str(line.config))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield {"config": str(line.config)}
    fsspec.config.conf.clear()
    PaddleFlowFileSystem.clear_instance_cache()


@pytest.fixture
def fs(options: dict[str, Any]) -> Iterator[PaddleFlowFileSystem]:
    made = PaddleFlowFileSystem(**options, lasts=0.0)
    yield made
    made.close()


@pytest.mark.parametrize("name", ["far", "near"])
def test_files_come_and_go(fs: PaddleFlowFileSystem, name: str) -> None:
    body = os.urandom(20 * MIB + 7)
    fs.pipe_file(f"{name}/a/small", b"small")
    with fs.open(f"{name}/a/b/large", "wb") as file:
        for start in range(0, len(body), 3 * MIB):
            file.write(body[start : start + 3 * MIB])
        assert not fs.exists(f"{name}/a/b/large"), "it appears when it is whole"
    assert fs.ls("", detail=False) == ["far", "near"]
    assert fs.ls(f"pf://{name}/a", detail=False) == [f"{name}/a/b", f"{name}/a/small"]
    assert fs.ls(f"{name}/a/small", detail=False) == [f"{name}/a/small"]
    assert fs.find(name) == [f"{name}/a/b/large", f"{name}/a/small"]
    assert fs.find(name, withdirs=True) == [name, f"{name}/a", f"{name}/a/b", f"{name}/a/b/large", f"{name}/a/small"]
    assert fs.glob(f"{name}/**/l*") == [f"{name}/a/b/large"]
    assert fs.glob(f"{name}/a/s*") == [f"{name}/a/small"]
    assert (fs.isdir(f"{name}/a"), fs.isfile(f"{name}/a/small"), fs.du(name)) == (True, True, len(body) + 5)
    assert fs.cat_file(f"{name}/a/b/large", -10) == body[-10:]
    with fs.open(f"pf://{name}/a/b/large") as file:
        file.seek(5 * MIB + 3)
        assert file.read(100) == body[5 * MIB + 3 :][:100]
        assert file.tell() == 5 * MIB + 103
        assert not first_difference(file.read(), body[5 * MIB + 103 :])
        with pickle.loads(pickle.dumps(file)) as again:  # noqa: S301  # it is our own
            assert again.tell() == len(body)
    fs.mv(f"{name}/a/small", f"{name}/moved")
    fs.cp_file(f"{name}/moved", f"{name}/copy")
    assert fs.cat([f"{name}/moved", f"{name}/copy"]) == {f"{name}/moved": b"small", f"{name}/copy": b"small"}
    with pytest.raises(FileExistsError):
        fs.pipe_file(f"{name}/copy", b"", mode="create")
    with pytest.raises(IsADirectoryError):
        fs.rm(f"{name}/a")
    fs.rm(f"{name}/a", recursive=True)
    fs.rm([f"{name}/moved", f"{name}/copy"])
    assert fs.find(name) == []
    # SeaweedFS shows a folder for a while after its last file is gone.
    for missing in (f"{name}/no", f"{name}/no/such"):
        with pytest.raises(FileNotFoundError):
            fs.ls(missing)
        with pytest.raises(FileNotFoundError):
            fs.open(missing)


def test_between_filesystems_and_of_nobody(fs: PaddleFlowFileSystem) -> None:
    fs.pipe_file("far/d/f", b"1" * 1000)
    fs.mv("far/d", "near/e", recursive=True)
    assert fs.cat_file("near/e/f") == b"1" * 1000
    assert not fs.exists("far/d/f")
    with pytest.raises(FilesystemNotFound):
        fs.ls("nobodys")


def test_half_of_a_file_never_appears(fs: PaddleFlowFileSystem) -> None:
    def write() -> None:
        with fs.open("far/f", "wb") as file:
            file.write(os.urandom(17 * MIB))
            raise RuntimeError("the program has a fault")

    with pytest.raises(RuntimeError):
        write()
    with fs.transaction:
        with fs.open("far/g", "wb") as file:
            file.write(b"g")
        assert not fs.exists("far/g")
    assert (fs.exists("far/f"), fs.exists("far/g")) == (False, True)


def test_ranges_are_read_together_and_what_is_wrong_is_told(fs: PaddleFlowFileSystem) -> None:
    bodies = [os.urandom(300_000) for _ in range(20)]
    for number, body in enumerate(bodies):
        fs.pipe_file(f"far/{number}", body)
    paths = [f"far/{number % 20}" for number in range(300)] + ["far/none"]
    starts = [number * 900 for number in range(301)]
    found = fs.cat_ranges(paths, starts, [start + 1000 for start in starts])
    for number, body in enumerate(found[:300]):
        assert body == bodies[number % 20][number * 900 : number * 900 + 1000]
    assert isinstance(found[300], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(paths, starts, 5, on_error="raise")


def test_a_second_reading_is_of_the_cache(fs: PaddleFlowFileSystem, options: dict[str, Any]) -> None:
    body = os.urandom(9 * MIB)
    fs.pipe_file("far/f", body)
    assert not first_difference(fs.cat_file("far/f"), body)
    other = PaddleFlowFileSystem(**options, skip_instance_cache=True)
    try:
        assert not first_difference(other.cat_file("far/f"), body)
        files = other._all.files("far")  # noqa: SLF001  # what it fetched is told nowhere else
        assert files._fetcher.stats().counts.fetched == 0  # type: ignore[attr-defined]  # noqa: SLF001
    finally:
        other.close()


def test_pandas_arrow_and_duckdb_read_and_write(fs: PaddleFlowFileSystem, options: dict[str, Any]) -> None:
    import duckdb  # noqa: PLC0415  # it is slow to load

    rows = pd.DataFrame({"number": range(100_000), "text": [f"text {n % 100}" for n in range(100_000)]})
    rows.to_parquet("pf://far/t/part-0.parquet", storage_options=options, row_group_size=10_000)
    rows.to_parquet("pf://far/t/part-1.parquet", storage_options=options, row_group_size=10_000)
    back = pd.read_parquet("pf://far/t/part-0.parquet", storage_options=options, columns=["text"])
    assert back["text"].tolist() == rows["text"].tolist()
    assert parquet.ParquetFile(fs.open("far/t/part-1.parquet")).metadata.num_row_groups == 10
    table = arrow_dataset.dataset("far/t", filesystem=fs, format="parquet").to_table(
        filter=arrow_dataset.field("number") < 5
    )
    assert sorted(table["number"].to_pylist()) == sorted([*range(5), *range(5)])
    with duckdb.connect() as database:
        database.register_filesystem(fs)
        found = database.execute("select count(*), sum(number) from read_parquet('pf://far/t/*.parquet')").fetchall()
    assert found == [(200_000, 2 * sum(range(100_000)))]
    rows.head(10).to_csv("pf://far/t.csv", storage_options=options, index=False)
    with fsspec.open("pf://far/t.csv", "rt", **options) as lines:
        assert [line.split(",")[0] for line in lines][1:] == [str(number) for number in range(10)]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_workers_of_a_loader_share_the_cache(fs: PaddleFlowFileSystem, method: str) -> None:
    bodies = {f"far/train/{number}": os.urandom(20_000) for number in range(200)}
    for path, body in bodies.items():
        fs.pipe_file(path, body)
    held = fs.open("far/train/7")
    assert held.read(10) == bodies["far/train/7"][:10]
    paths = fs.find("far/train")
    assert len(paths) == 200
    with multiprocessing.get_context(method).Pool(3) as pool:
        for _ in range(2):
            random.shuffle(paths)
            work = [(fs, paths[start : start + 25]) for start in range(0, 200, 25)]
            found = [item for some in pool.map(load, work) for item in some.items()]
            assert dict(found) == bodies
    assert held.read() == bodies["far/train/7"][10:]
    held.close()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_an_open_file_goes_on_in_a_forked_process(fs: PaddleFlowFileSystem) -> None:
    body = os.urandom(3 * MIB)
    fs.pipe_file("far/f", body)
    fork = multiprocessing.get_context("fork")
    with fs.open("far/f") as file:
        file.read(100)
        told = fork.Queue()
        child = fork.Process(target=go_on, args=(file, told))
        child.start()
        assert told.get(timeout=30) == (100, body[100:], 5, body[5:8])
        child.join()
        assert not first_difference(file.read(), body[100:])


async def test_in_a_program_with_a_loop_it_is_used_by_threads(fs: PaddleFlowFileSystem) -> None:
    bodies = {f"far/{number}": os.urandom(200_000) for number in range(30)}
    await asyncio.gather(*(asyncio.to_thread(fs.pipe_file, path, body) for path, body in bodies.items()))
    found = await asyncio.gather(*(asyncio.to_thread(fs.cat_file, path) for path in bodies))
    assert dict(zip(bodies, found, strict=True)) == bodies
