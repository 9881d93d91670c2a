"""What is mounted where."""

# ruff: noqa: S108 - these paths lie in a tree that is only thought of

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pf_job.runtimes.local.mounts import (
    MOST_ENTRIES,
    Attach,
    Entry,
    Fresh,
    Kind,
    Make,
    Own,
    Processes,
    Seal,
    Show,
    Step,
    Unmountable,
    Wish,
    check,
    plan,
)


class Tree:
    """A machine's files: folders, unless they are said to be something else."""

    def __init__(
        self, folders: Sequence[str], files: Sequence[str] = (), links: Mapping[str, str] | None = None
    ) -> None:
        self.folders = {"/"}
        for folder in folders:
            parts = folder.strip("/").split("/")
            self.folders |= {"/" + "/".join(parts[:end]) for end in range(1, len(parts) + 1)}
        self.files = set(files)
        self.links = dict(links or {})

    def kind(self, path: str) -> Kind | None:
        real = self.real(path)
        return Kind.FOLDER if real in self.folders else Kind.FILE if real in self.files else None

    def real(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(link + "/"):
                return target + path[len(link) :]
        return path

    def entries(self, folder: str) -> Sequence[Entry]:
        found = [Entry(posixpath.basename(path), Kind.FOLDER) for path in self.folders if self._in(path, folder)]
        found += [Entry(posixpath.basename(path), Kind.FILE) for path in self.files if self._in(path, folder)]
        return found + [
            Entry(posixpath.basename(path), Kind.LINK, to) for path, to in self.links.items() if self._in(path, folder)
        ]

    def _in(self, path: str, folder: str) -> bool:
        return path != "/" and posixpath.dirname(path) == folder


MACHINE = Tree(
    ["/home/ada", "/usr/lib", "/tmp", "/var/tmp", "/dev/shm", "/proc", "/sys", "/data/pf", "/src/sub", "/mnt/disk"],
    ["/etc.conf", "/data/key"],
    {"/bin": "/usr/bin", "/var/run": "/run"},
)


def planned(*targets: str, hidden: Sequence[str] = ()) -> list[Step]:
    return plan([Wish("/src", target, False) for target in targets], hidden, (), MACHINE)


def fresh(steps: Sequence[Step]) -> list[str]:
    return [step.target for step in steps if isinstance(step, Fresh) and step.target != "/dev/shm"]


def test_a_replica_sees_the_machine_with_folders_of_its_own() -> None:
    steps = planned()
    assert steps[0] == Fresh("/", 0o755)
    assert {step.target for step in steps if isinstance(step, Show)} == {
        *("/home", "/usr", "/var", "/dev", "/sys", "/data", "/src", "/mnt", "/etc.conf")
    }
    assert Make("/bin", Entry("bin", Kind.LINK, "/usr/bin")) in steps
    assert [step.target for step in steps if isinstance(step, Own)] == ["/tmp", "/var/tmp"]
    assert steps[-2:] == [Processes("/proc"), Seal("/")]


def test_a_folder_that_is_not_there_is_made_in_the_new_root() -> None:
    steps = planned("/randint")
    assert steps.index(Make("/randint", Entry("", Kind.FOLDER))) < steps.index(Attach(0, "/randint", False))
    assert fresh(steps) == ["/"]


def test_a_folder_that_exists_is_covered() -> None:
    steps = planned("/mnt/disk")
    assert Attach(0, "/mnt/disk", False) in steps
    assert fresh(steps) == ["/"]


def test_a_folder_below_one_that_exists_has_that_laid_out_anew() -> None:
    steps = planned("/home/paddleflow/storage/mnt/fs-root-x")
    assert fresh(steps) == ["/", "/home"]
    assert Show("/home/ada", "/home/ada") in steps
    assert steps[-1] == Seal("/home")


def test_a_folder_in_the_temporary_ones_is_made_there() -> None:
    assert fresh(planned("/tmp/a/b", "/var/tmp/c")) == ["/"]


def test_a_link_on_the_way_is_followed() -> None:
    assert Attach(0, "/usr/bin/tools", False) in planned("/bin/tools")


def test_what_is_hidden_is_covered_before_anything_is_mounted_there() -> None:
    steps = planned("/data/pf/mnt", hidden=["/data/pf", "/data/key", "/gone", "/tmp/pf"])
    assert Show("/dev/null", "/data/key") in steps
    assert steps.index(Fresh("/data/pf", 0o755)) < steps.index(Attach(0, "/data/pf/mnt", False))
    assert fresh(steps) == ["/", "/data/pf"]


def test_what_is_hidden_is_covered_in_what_is_mounted_too() -> None:
    steps = plan([Wish("/data", "/all", False)], ["/data/pf", "/data/key"], (), MACHINE)
    assert steps.index(Attach(0, "/all", False)) < steps.index(Fresh("/all/pf", 0o755))
    assert Show("/dev/null", "/all/key") in steps


def test_mounts_within_mounts_come_after_them() -> None:
    steps = planned("/outer/sub", "/outer")
    assert steps.index(Attach(1, "/outer", False)) < steps.index(Attach(0, "/outer/sub", False))
    with pytest.raises(Unmountable, match="no folder elsewhere"):
        planned("/outer", "/outer/elsewhere")


@pytest.mark.parametrize("target", ["/etc.conf", "/etc.conf/below", "/proc/x", "/sys", "/dev/disk", "/"])
def test_what_cannot_be_mounted_is_refused(target: str) -> None:
    with pytest.raises(Unmountable):
        planned(target)


def test_a_folder_that_holds_too_much_is_not_laid_out_anew() -> None:
    machine = Tree([f"/big/{number}" for number in range(MOST_ENTRIES + 1)])
    with pytest.raises(Unmountable, match="make the folder /big/new"):
        plan([Wish("/src", "/big/new", False)], (), (), machine)


@pytest.mark.parametrize("targets", [("/a", "/a"), ("relative",), ("/a/../b",), ("/a/",), ("/a\0",), ("/",), ("/dev",)])
def test_targets_that_are_wrong_by_themselves(targets: tuple[str, ...]) -> None:
    assert check([Wish("/src", target, False) for target in targets])
    assert check([Wish("/src", "/a", False), Wish("/src", "/b", False)]) == ""


@given(st.lists(st.from_regex(r"(/(home|ada|tmp|x|y|src|sub|mnt|disk|data|pf)){1,5}", fullmatch=True), unique=True))
def test_every_step_finds_its_place(targets: list[str]) -> None:
    """Each is made in what is the replica's own, and attached where a folder is, after all that lies above it."""
    try:
        steps = planned(*targets, hidden=["/data/pf"])
    except Unmountable:
        return
    assert sorted(step.target for step in steps if isinstance(step, Attach)) == sorted(targets)
    covered: list[str] = []
    attached: list[str] = []
    for step in steps:
        if isinstance(step, Make) and step.entry.kind is Kind.FOLDER:
            above = [place for place in covered if step.target.startswith(place.rstrip("/") + "/") or place == "/"]
            assert max(above, key=len) in {*fresh(steps), "/tmp", "/var/tmp", "/dev/shm"}
        if isinstance(step, Attach):
            assert not any(place.startswith(f"{step.target}/") for place in attached)
            attached.append(step.target)
        if isinstance(step, Attach | Fresh | Own | Show):
            covered.append(step.target)
