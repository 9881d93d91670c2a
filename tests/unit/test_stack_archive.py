"""The form of a back-up."""

from __future__ import annotations

import io
import json
import stat
import tarfile
from pathlib import Path

import pytest

from pf_kit.embedded.refusal import Refusal
from pf_stack.archive import MANIFEST, Origin, extract_archive, write_archive

ORIGIN = Origin("2030-01-01T00:00:00+00:00", "2.0.0", "18.6")


@pytest.fixture
def members(tmp_path: Path) -> dict[str, Path]:
    files = {"database.dump": tmp_path / "dump", "signing.pem": tmp_path / "key"}
    files["database.dump"].write_bytes(bytes(range(256)) * 1000)
    files["signing.pem"].write_bytes(b"key")
    return files


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def test_what_was_put_in_comes_out(tmp_path: Path, members: dict[str, Path], target: Path) -> None:
    file = tmp_path / "backup.tar"
    size = write_archive(file, ORIGIN, members)
    assert size == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    manifest = extract_archive(file, target)
    assert manifest.origin == ORIGIN
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        name: path.read_bytes() for name, path in members.items()
    }


@pytest.mark.parametrize("position", [700, 5_000, 200_000])
def test_one_wrong_byte_is_noticed(tmp_path: Path, members: dict[str, Path], target: Path, position: int) -> None:
    file = tmp_path / "backup.tar"
    write_archive(file, ORIGIN, members)
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)
    with pytest.raises(Refusal, match="not a whole back-up"):
        extract_archive(file, target)


@pytest.mark.parametrize("length", [0, 100, 600, 100_000])
def test_a_file_that_was_cut_off_is_refused(
    tmp_path: Path, members: dict[str, Path], target: Path, length: int
) -> None:
    file = tmp_path / "backup.tar"
    write_archive(file, ORIGIN, members)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(Refusal, match="not a whole back-up"):
        extract_archive(file, target)


def forged(file: Path, manifest: object, members: dict[str, bytes]) -> None:
    with tarfile.open(file, "w") as archive:
        for name, content in {MANIFEST: json.dumps(manifest).encode(), **members}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


@pytest.mark.parametrize("name", ["../escaped", "/etc/escaped", "folder/escaped"])
def test_no_file_leaves_the_folder(tmp_path: Path, target: Path, name: str) -> None:
    file = tmp_path / "backup.tar"
    origin = {"created": "", "paddleflow": "", "postgres": ""}
    forged(file, {"format": 1, "origin": origin, "checksums": {name: ""}}, {name: b"x"})
    with pytest.raises(Refusal, match="is not a file"):
        extract_archive(file, target)
    assert list(target.iterdir()) == []
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize(
    "manifest", [{}, [], {"format": 99}, {"format": 1}, {"format": 1, "origin": {}, "checksums": []}]
)
def test_a_manifest_of_another_kind_is_refused(tmp_path: Path, target: Path, manifest: object) -> None:
    file = tmp_path / "backup.tar"
    forged(file, manifest, {})
    with pytest.raises(Refusal, match="not a whole back-up"):
        extract_archive(file, target)


def test_a_missing_file_is_refused(tmp_path: Path, target: Path) -> None:
    with pytest.raises(Refusal, match=r"nowhere\.tar"):
        extract_archive(tmp_path / "nowhere.tar", target)


def test_nothing_is_left_of_a_back_up_that_fails(tmp_path: Path, members: dict[str, Path]) -> None:
    members["database.dump"].unlink()
    with pytest.raises(FileNotFoundError):
        write_archive(tmp_path / "backup.tar", ORIGIN, members)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key"]
