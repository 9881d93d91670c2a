"""Whatever is done to a mount, by this client, by others and by restarts: it is what a dictionary of files would be.

A second mount of the same place sees what was closed in the first one, and the other way round, as soon as what it
remembers is old enough. Who has a file open reads one version of it, or is told that it is gone.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pf_backends.memory.backend import LIKE_OBJECTS, MemoryBackend
from support.vfs_site import Site

FOLDERS = ("", "a", "b", "a/c")
FILES = tuple(f"{folder}/{name}".lstrip("/") for folder in FOLDERS for name in ("x", "y"))
BYTES = st.binary(max_size=64)
OFFSETS = st.integers(0, 80)


class Mount(RuleBasedStateMachine):
    """The model: folders, and what files have that are closed; those that are open by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.backend = MemoryBackend(capabilities=self.can)
        self.now = 100.0
        self.folders = {""}
        self.files: dict[str, bytes] = {}
        self.ever = {b""}
        """All that a file ever had: nobody reads anything else."""
        self.site = self.next_site()
        self.far = Path(tempfile.mkdtemp())
        self.other = Site(self.backend, self.far, clock=lambda: self.now)
        self.readers: list[int] = []

    can = MemoryBackend().capabilities

    def next_site(self) -> Site:
        return Site(self.backend, self.folder, clock=lambda: self.now)

    def teardown(self) -> None:
        for site, folder in ((self.site, self.folder), (self.other, self.far)):
            site.die()
            shutil.rmtree(folder)

    def has(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self.ever.add(data)

    def there(self, path: str) -> bool:
        return path in self.folders or path in self.files

    def above(self, path: str) -> bool:
        return path.rpartition("/")[0] in self.folders

    @rule(seconds=st.sampled_from([0.3, 2.0]))
    def time_goes_by(self, seconds: float) -> None:
        self.now += seconds

    @rule(path=st.sampled_from(FOLDERS[1:]))
    def make_folder(self, path: str) -> None:
        if self.there(path):
            with pytest.raises(FileExistsError):
                self.site.mkdir(path)
        elif self.above(path):
            self.site.mkdir(path)
            self.folders.add(path)

    @rule(path=st.sampled_from(FOLDERS[1:]))
    def remove_folder(self, path: str) -> None:
        if path not in self.folders:
            return
        if any(each.startswith(f"{path}/") for each in (*self.folders, *self.files)):
            with pytest.raises(OSError, match=r"folder|empty"):
                self.site.rmdir(path)
        else:
            self.site.rmdir(path)
            self.folders.remove(path)

    @rule(path=st.sampled_from(FILES), data=BYTES)
    def write(self, path: str, data: bytes) -> None:
        if self.above(path):
            self.site.write(path, data)
            self.ever.add(b"")
            self.has(path, data)

    @rule(path=st.sampled_from(FILES), data=BYTES, offset=OFFSETS)
    def write_amid(self, path: str, data: bytes, offset: int) -> None:
        if path not in self.files:
            return
        with self.site.opening(path, 2) as node:
            self.site.put(node, data, offset)
            old = self.files[path].ljust(offset, b"\0") if data else self.files[path]
            self.has(path, old[:offset] + data + old[offset + len(data) :] if data else old)
            assert self.site.bytes_of(node) == self.files[path]

    @rule(path=st.sampled_from(FILES), size=OFFSETS)
    def truncate(self, path: str, size: int) -> None:
        if path in self.files:
            self.site.truncate(path, size)
            self.has(path, self.files[path][:size].ljust(size, b"\0"))

    @rule(path=st.sampled_from(FILES))
    def remove(self, path: str) -> None:
        if path in self.files:
            self.site.remove(path)
            del self.files[path]

    @rule(source=st.sampled_from(FILES), aim=st.sampled_from(FILES))
    def rename_file(self, source: str, aim: str) -> None:
        if source in self.files and self.above(aim):
            self.site.rename(source, aim)
            self.files[aim] = self.files.pop(source)

    @rule(source=st.sampled_from(["a", "b"]), aim=st.sampled_from(["a", "b"]))
    def rename_folder(self, source: str, aim: str) -> None:
        if source not in self.folders or source == aim:
            return
        if any(each.startswith(f"{aim}/") for each in (*self.folders, *self.files)):
            with pytest.raises(OSError, match=r"empty|folder"):
                self.site.rename(source, aim)
            return
        self.site.rename(source, aim)
        self.folders = {_moved(each, source, aim) for each in self.folders}
        self.files = {_moved(each, source, aim): data for each, data in self.files.items()}

    @rule(path=st.sampled_from(FILES), data=BYTES)
    def another_client_writes(self, path: str, data: bytes) -> None:
        if self.above(path):
            self.backend.put(path, data)
            self.has(path, data)
            self.now += 2.0

    @rule(path=st.sampled_from(FILES))
    def another_client_removes(self, path: str) -> None:
        if path in self.files:
            self.backend.remove(path)
            del self.files[path]
            self.now += 2.0

    @rule(path=st.sampled_from(FILES), data=BYTES)
    def the_other_mount_writes(self, path: str, data: bytes) -> None:
        if self.above(path):
            self.now += 2.0
            self.other.write(path, data)
            self.has(path, data)
            self.now += 2.0

    @rule(path=st.sampled_from(FILES), data=BYTES)
    def the_other_mount_adds(self, path: str, data: bytes) -> None:
        if path in self.files:
            self.now += 2.0
            with self.other.opening(path, 2) as node:
                self.other.put(node, data, len(self.files[path]))
            self.has(path, self.files[path] + data)
            self.now += 2.0

    @rule(source=st.sampled_from(FILES), aim=st.sampled_from(FILES))
    def the_other_mount_renames(self, source: str, aim: str) -> None:
        if source in self.files and self.above(aim):
            self.now += 2.0
            self.other.rename(source, aim)
            self.files[aim] = self.files.pop(source)
            self.now += 2.0

    @rule()
    def the_other_mount_sees_what_was_closed(self) -> None:
        self.now += 2.0
        for path, data in self.files.items():
            assert self.other.size(path) == len(data)
            assert self.other.read(path) == data

    @rule(path=st.sampled_from(FILES))
    def somebody_opens_it(self, path: str) -> None:
        if path in self.files and len(self.readers) < 4:
            self.readers.append(self.site.open(path))

    @rule(number=st.integers(0, 3))
    def somebody_closes_it(self, number: int) -> None:
        if number < len(self.readers):
            self.site.close(self.readers.pop(number))

    @invariant()
    def who_has_it_open_reads_one_version(self) -> None:
        for reader in self.readers:
            try:
                data = self.site.bytes_of(reader)
            except OSError as error:
                assert error.errno in (errno.ESTALE, errno.ENOENT), error  # noqa: PT017  # others are faults
            else:
                assert data in self.ever

    @rule()
    def the_process_is_replaced(self) -> None:
        self.site.die()
        self.site = self.next_site()

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        for path in FILES:
            if path in self.files:
                assert self.site.size(path) == len(self.files[path])
                assert self.site.read(path) == self.files[path]
            else:
                with suppress(FileNotFoundError, NotADirectoryError):
                    self.site.known(path)
                    pytest.fail(f"{path} is there")
        for folder in self.folders:
            inside = {each for each in (*self.folders, *self.files) if each and each.rpartition("/")[0] == folder}
            assert sorted(self.site.names(folder)) == sorted(each.rpartition("/")[2] for each in inside)

    @precondition(lambda self: self.files)
    @invariant()
    def the_backend_has_it_too(self) -> None:
        for path, data in self.files.items():
            assert self.backend.fetch(path, limit=1000)[1] == data


def _moved(path: str, source: str, target: str) -> str:
    return target + path[len(source) :] if path == source or path.startswith(f"{source}/") else path


class ObjectMount(Mount):
    """Over a backend that can rename nothing and has no folders of its own."""

    can = LIKE_OBJECTS


TestMount = Mount.TestCase
TestObjectMount = ObjectMount.TestCase
TestMount.settings = TestObjectMount.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
