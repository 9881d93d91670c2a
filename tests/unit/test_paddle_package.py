"""Packages of the command `paddle`: what is taken, what is refused, and that nothing half is left."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from paddleflow.cli.paddle_package import Package, read_package, store
from paddleflow.problems import FailedPrecondition, InvalidArgument


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A package of a program, its settings, and data in a folder of its own."""
    made = tmp_path / "demo"
    (made / "data").mkdir(parents=True)
    (made / "train.py").write_text("import settings")
    (made / "settings.py").write_text("")
    (made / "data" / "words").write_bytes(b"a" * 1000)
    (made / "run.sh").write_text("#!/bin/sh")
    (made / "run.sh").chmod(0o700)
    return made


def stored(package: Package, target: Path) -> list[str]:
    store(package, target, lambda _: None)
    return sorted(str(path.relative_to(target)) for path in target.rglob("*"))


def test_a_package_is_stored_as_it_is_readable_for_all(folder: Path, tmp_path: Path) -> None:
    told: list[int] = []
    package, target = read_package(str(folder)), tmp_path / "job-1-package"
    store(package, target, told.append)
    assert {path.name for path in target.iterdir()} == {"data", "run.sh", "settings.py", "train.py"}
    assert (target / "data" / "words").read_bytes() == b"a" * 1000
    modes = {name: (target / name).stat().st_mode & 0o777 for name in (".", "data", "train.py", "run.sh")}
    assert modes == {".": 0o755, "data": 0o755, "train.py": 0o644, "run.sh": 0o755}
    assert sum(told) == package.size == 1000 + len("import settings#!/bin/sh")


def test_caches_and_histories_are_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("__pycache__", ".git", "data/__pycache__"):
        (folder / name).mkdir()
        (folder / name / "file").write_text("")
    names = stored(read_package(str(folder)), tmp_path / "there")
    assert names == ["data", "data/words", "run.sh", "settings.py", "train.py"]


def test_links_within_a_package_lead_there_wherever_it_lies(folder: Path, tmp_path: Path) -> None:
    (folder / "data" / "program").symlink_to(folder / "train.py")
    (folder / "again").symlink_to("data")
    target = tmp_path / "there"
    stored(read_package(str(folder)), target)
    assert (target / "data" / "program").readlink() == Path("../train.py")
    assert (target / "again" / "words").read_bytes() == b"a" * 1000


@pytest.mark.parametrize(
    ("leads_to", "why"),
    [
        ("/etc/passwd", "out of the package, to /etc/passwd"),
        ("../secret", "out of the package"),
        ("..", "out of the package"),
        ("nothing", "leads nowhere"),
        ("link", "leads nowhere"),
        (".git/config", "what is left out of packages"),
    ],
)
def test_links_to_elsewhere_are_refused(folder: Path, leads_to: str, why: str) -> None:
    (folder.parent / "secret").write_text("key")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    (folder / "link").symlink_to(leads_to)
    with pytest.raises(InvalidArgument, match=f"package-path: link is a link .*{why}"):
        read_package(str(folder))


def test_what_is_no_file_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(InvalidArgument, match="pipe is neither a file nor a folder"):
        read_package(str(folder))


def test_a_package_is_a_folder_with_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    wrong = {"nowhere": "there is no folder", "demo/train.py": "is no folder", "empty": "has no files"}
    for name, why in wrong.items():
        with pytest.raises(InvalidArgument, match=why):
            read_package(str(tmp_path / name))


def test_what_was_exchanged_for_a_link_meanwhile_is_not_followed(folder: Path, tmp_path: Path) -> None:
    package = read_package(str(folder))
    (folder / "settings.py").unlink()
    (folder / "settings.py").symlink_to("/etc/passwd")
    with pytest.raises(FailedPrecondition, match=r"cannot be stored in .*settings\.py"):
        store(package, tmp_path / "there", lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo"]


def test_of_what_cannot_be_stored_or_is_interrupted_nothing_is_left(folder: Path, tmp_path: Path) -> None:
    package = read_package(str(folder))

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store(package, tmp_path / "there", interrupt)
    with pytest.raises(FailedPrecondition, match="No such file"):
        store(package, tmp_path / "missing" / "there", lambda _: None)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    with pytest.raises(FailedPrecondition, match="not empty"):
        store(package, tmp_path / "full", lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "full"]


def test_requirements_are_noticed(folder: Path) -> None:
    assert not read_package(str(folder)).wants_requirements
    (folder / "requirements.txt").write_text("numpy")
    assert read_package(str(folder)).wants_requirements
    assert read_package(str(folder)).has(PurePosixPath("requirements.txt"))
