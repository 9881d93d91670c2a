"""What a store cannot keep for the length of its path is refused when it is made, not when it is closed."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pf_backends.linked import LinkedBackend
from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from support.vfs_site import ME, Site, fails, got

LONGEST = 20


def like(longest: int | None) -> MemoryBackend:
    return MemoryBackend(capabilities=replace(LIKE_OBJECTS, longest=longest))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(like(LONGEST), tmp_path)
    yield site
    site.die()


@pytest.mark.parametrize("name", ["x" * 13, "ü" * 7], ids=["ascii", "text"])
def test_a_file_with_a_path_that_is_too_long_is_not_created(site: Site, tmp_path: Path, name: str) -> None:
    site.mkdir("f" * 7)
    # Nothing is there: nobody has to ask the backend, which would refuse it.
    assert site.names("f" * 7) == []
    with fails(errno.ENAMETOOLONG):
        site.create(f"{'f' * 7}/{name}")
    with fails(errno.ENAMETOOLONG):
        got(site.vfs.mknod(ME, *site.place(f"{'f' * 7}/{name}"), stat.S_IFREG | 0o644))
    assert site.names("f" * 7) == []
    site.write(f"{'f' * 7}/{'x' * 12}", b"some")
    assert site.read(f"{'f' * 7}/{'x' * 12}") == b"some"
    with fails(errno.ENAMETOOLONG):
        site.rename(f"{'f' * 7}/{'x' * 12}", f"{'f' * 7}/{name}")
    with fails(errno.ENAMETOOLONG):
        site.mkdir(f"{'f' * 7}/{name}")
    assert site.names("f" * 7) == ["x" * 12]
    assert not (tmp_path / "aside").exists()


def test_a_folder_stays_whole_where_something_in_it_would_get_a_path_that_is_too_long(site: Site) -> None:
    site.mkdir("from")
    site.mkdir("from/deep")
    site.mkdir("a-longer")
    site.write("from/a", b"first")
    site.write(f"from/deep/{'x' * 10}", b"last")
    with fails(errno.ENAMETOOLONG):
        site.rename("from", "a-longer")
    assert site.names("") == ["a-longer", "from"]
    assert site.names("a-longer") == []
    assert site.read("from/a") == b"first"
    site.rename("from", "frm")
    site.rename("frm", "from")
    assert site.read(f"from/deep/{'x' * 10}") == b"last"


def test_a_folder_stays_whole_where_a_file_that_is_open_in_it_would_get_a_path_that_is_too_long(site: Site) -> None:
    site.mkdir("from")
    open_file = site.create(f"from/{'x' * 15}")
    site.put(open_file, b"some")
    with fails(errno.ENAMETOOLONG):
        site.rename("from", "longer")
    site.close(open_file)
    assert site.read(f"from/{'x' * 15}") == b"some"


@pytest.mark.parametrize(
    ("main", "linked", "longest"), [(20, 20, 25), (30, 20, 30), (20, 30, 35), (None, 20, None), (20, None, None)]
)
def test_what_one_of_several_places_takes_is_not_refused(
    main: int | None, linked: int | None, longest: int | None
) -> None:
    assert LinkedBackend(like(main), {"a/bc": like(linked)}).capabilities.longest == longest
