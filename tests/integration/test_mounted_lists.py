"""Lists of folders on a mount, read again and again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddleflow.mounting import MountOptions
from support import fuse_mounts
from support.mounts import Mount, new_mount

pytestmark = pytest.mark.skipif(bool(fuse_mounts.missing()), reason=fuse_mounts.missing())
MANY = 500


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """A mount of a folder in which others make files too, each list of which lasts for a minute."""
    folder = tmp_path / "data" / "some"
    folder.mkdir(parents=True)
    for number in range(MANY):
        (folder / f"{number:04}").touch()
    with new_mount() as made:
        made.begin(f"local://{tmp_path}/data", {}, MountOptions(more={"lasts": 60.0}))
        yield made


def asked(mount: Mount) -> int:
    """How often the kernel has asked what is in a folder, and what each thing is."""
    requests = mount.stats()["requests"]
    return sum(requests.get(name, {"count": 0})["count"] for name in ("readdir", "readdirplus", "lookup", "getattr"))


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_kernel_answers_who_lists_a_folder_again(mount: Mount) -> None:
    def look() -> set[int]:
        return {each.stat().st_ino for each in os.scandir(mount.place / "some")}

    first = look()
    before = asked(mount)
    assert len(first) == MANY
    for _ in range(20):
        assert look() == first
    # Looking for the folder itself.
    assert asked(mount) - before <= 20


def test_what_is_made_here_is_listed_at_once(mount: Mount) -> None:
    folder = mount.place / "some"
    for number in range(5):
        names(folder)
        (folder / f"new-{number}").touch()
        assert f"new-{number}" in names(folder)
        (folder / f"{number:04}").unlink()
        assert f"{number:04}" not in names(folder)
        (folder / f"{number + 100:04}").rename(folder / f"moved-{number}")
        assert {f"moved-{number}", f"{number + 100:04}"} & set(names(folder)) == {f"moved-{number}"}
    assert len(names(folder)) == MANY


def test_the_next_client_lists_anew(mount: Mount, tmp_path: Path) -> None:
    folder = mount.place / "some"
    names(folder)
    (tmp_path / "data" / "some" / "others").touch()
    assert "others" not in names(folder), "the list is a minute old at most"
    mount.kill()
    assert "others" in names(folder)


def test_folders_of_a_dataset_are_opened_and_listed_again_without_a_message(tmp_path: Path) -> None:
    folders = [tmp_path / "data" / f"folder-{number}" for number in range(20)]
    for folder in folders:
        folder.mkdir(parents=True)
        for number in range(MANY):
            (folder / f"{number:04}").touch()
    with new_mount() as mount:
        mount.begin(f"local://{tmp_path}/data", {}, MountOptions(dataset=True))

        def look(seen: list[Path]) -> int:
            for folder in seen:
                assert sorted(names(mount.place / folder.name)) == [f"{number:04}" for number in range(MANY)]
            requests = mount.stats()["requests"]
            return sum(each["count"] for name, each in requests.items() if "dir" in name)

        look(folders[:10])
        before = look(folders[:10])
        assert look(folders[:10]) == before
        # The next process is not asked to open folders at all.
        mount.kill()
        look(folders)
        assert "opendir" not in mount.stats()["requests"]
