"""``paddleflow fs snapshot``, against the real service."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.command_line import CommandLine
from support.fs_process import FsProcess
from support.fs_site import FsSite, Member
from support.queue_site import PASSWORD


@pytest.fixture
async def alice(fs_site: FsSite) -> Member:
    member = await fs_site.add_user("alice")
    await fs_site.make(member)
    return member


@pytest.fixture
def line(fs_process: FsProcess, alice: Member, tmp_path: Path) -> CommandLine:
    folder = tmp_path / "config"
    folder.mkdir()
    services = {"fs": fs_process.address}
    return CommandLine.configured(
        folder, fs_process.queue.address, user=alice.name, password=PASSWORD, services=services
    )


def test_what_there_is_is_written_down(line: CommandLine, alice: Member, tmp_path: Path) -> None:
    top = alice.folder / "data"
    (top / "f" / "g").mkdir(parents=True)
    (top / "f" / "g" / "a").write_bytes(b"abc")
    (top / "b").write_bytes(b"x")
    told = json.loads(line.output(f"fs snapshot data {tmp_path}/all -o json"))
    assert told == [{"files": 2, "folders": 3, "bytes": 4}]
    table = pq.read_table(tmp_path / "all", columns=["path", "kind", "size"]).to_pylist()
    assert [(row["path"], row["kind"], row["size"]) for row in table] == [
        ("", "folder", 0),
        ("b", "file", 1),
        ("f", "folder", 0),
        ("f/g", "folder", 0),
        ("f/g/a", "file", 3),
    ]
    assert "1 files of 3" in line.output("fs snapshot data:f :.snapshot")
    assert [row["path"] for row in pq.read_table(top / "f/.snapshot", columns=["path"]).to_pylist()] == ["", "g", "g/a"]
    assert line.run(f"fs snapshot data:nothing {tmp_path}/none").exit_code == 1
    assert line.run(f"fs snapshot data {tmp_path}/no/folder").exit_code == 1
    assert not (tmp_path / "none").exists()
