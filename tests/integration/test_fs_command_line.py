"""Files on the command line, against the real service."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from paddleflow.sync.files import Files
from paddleflow.transfers.places import RemoteSource
from support.command_line import CommandLine
from support.fs_process import FsProcess
from support.fs_site import FsSite, Member
from support.queue_site import PASSWORD

MIB = 1 << 20


@pytest.fixture
async def alice(fs_site: FsSite) -> Member:
    member = await fs_site.add_user("alice")
    await fs_site.make(member)
    return member


@pytest.fixture
def line(fs_process: FsProcess, alice: Member, tmp_path: Path) -> CommandLine:
    services = {"fs": fs_process.address}
    folder = tmp_path / "config"
    folder.mkdir()
    return CommandLine.configured(
        folder, fs_process.queue.address, user=alice.name, password=PASSWORD, services=services
    )


def test_files_go_there_and_back(line: CommandLine, alice: Member, tmp_path: Path) -> None:
    top = alice.folder / "data"
    small, large = os.urandom(1000), os.urandom(19 * MIB + 5)
    (tmp_path / "in" / "inner" / "empty").mkdir(parents=True)
    (tmp_path / "in" / "small").write_bytes(small)
    (tmp_path / "in" / "inner" / "large").write_bytes(large)
    (tmp_path / "in" / "none").write_bytes(b"")
    assert line.run(f"fs cp {tmp_path}/in data:").exit_code == 2
    line.output(f"fs cp -r {tmp_path}/in data:")
    assert (top / "in/inner/large").read_bytes() == large
    assert (top / "in/inner/empty").is_dir()
    found = json.loads(line.output("fs ls data:in -o json"))
    assert [(each["type"], each["size"], each["path"]) for each in found] == [
        ("folder", 0, "in/inner"),
        ("regular", 0, "in/none"),
        ("regular", 1000, "in/small"),
    ]
    line.output("fs cp data:in/inner/large data:in/copy")
    line.output("fs mv data:in/copy data:in/moved")
    assert line.run("fs mv -n data:in/moved data:in/small").exit_code == 1
    line.output(f"fs cp -r data:in {tmp_path}/out")
    assert (tmp_path / "out/inner/large").read_bytes() == (tmp_path / "out/moved").read_bytes() == large
    assert (tmp_path / "out/small").read_bytes() == small
    assert (tmp_path / "out/none").read_bytes() == b""
    assert (tmp_path / "out/inner/empty").is_dir()
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["inner", "moved", "none", "small"]
    used = json.loads(line.output("fs du data: -o json"))
    assert (used[0]["files"], used[0]["bytes"]) == (4, 1000 + 2 * len(large))
    assert sorted(line.output("fs find data: --name 'm*' --type f").split()) == ["in/moved"]
    assert json.loads(line.output("fs stat data:in -o json"))[0]["type"] == "folder"
    line.output("fs mkdir data:x/y/z data:w")
    assert line.run("fs rm data:x").exit_code == 1
    line.output("fs rm -r data:x data:in data:w")
    assert [each.name for each in top.iterdir() if not each.name.startswith(".pf~")] == []
    refused = line.run("fs stat data:in")
    assert (refused.exit_code, "there is nothing at 'in'" in refused.stderr) == (1, True)
    assert line.run("fs ls nonsense").exit_code == 2


def test_what_broke_off_goes_on(
    line: CommandLine, alice: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = os.urandom(40 * MIB)
    (tmp_path / "large").write_bytes(body)
    sent: list[int] = []
    real = Files.send_part

    def failing(self: Files, name: str, path: str, upload: str, number: int, data: bytes, **given: str) -> object:
        if number == 4 and not sent.count(-1):
            sent.append(-1)
            raise ConnectionResetError(104, "cut off", path)
        sent.append(number)
        return real(self, name, path, upload, number, data, **given)

    monkeypatch.setattr(Files, "send_part", failing)
    broken = line.run(f"fs cp {tmp_path}/large data:far")
    assert broken.exit_code == 1
    assert not (alice.folder / "data/far").exists()
    before = set(sent)
    sent[:] = [-1]
    line.output(f"fs cp {tmp_path}/large data:far")
    assert (alice.folder / "data/far").read_bytes() == body
    assert 1 not in sent, "what has arrived is not sent again"
    assert {1, 4} <= before | set(sent)
    assert list((line.config.parent / "uploads").iterdir()) == []


def test_a_download_goes_on_and_is_never_half(line: CommandLine, alice: Member, tmp_path: Path) -> None:
    body = os.urandom(5 * MIB)
    (alice.folder / "data/file").write_bytes(body)
    line.output(f"fs cp data:file {tmp_path}/whole")
    version = json.loads(line.output("fs stat data:file -o json"))[0]["version"]
    reads: list[int] = []
    real = RemoteSource.read

    def noting(self: RemoteSource, offset: int, length: int) -> bytes:
        reads.append(offset)
        if offset >= 4 * MIB and len(reads) < 4:
            raise ConnectionResetError(104, "cut off", "file")
        return real(self, offset, length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RemoteSource, "read", noting)
        assert line.run(f"fs cp data:file {tmp_path}/again").exit_code == 1
        assert not (tmp_path / "again").exists()
        reads[:] = [0, 0, 0, 0]
        line.output(f"fs cp data:file {tmp_path}/again")
    assert version
    assert reads[4:] == [4 * MIB]
    assert (tmp_path / "again").read_bytes() == body
    assert sorted(each.name for each in tmp_path.iterdir()) == ["again", "config", "whole"]
