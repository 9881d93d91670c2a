"""Processes of the driver and of pods have namespaces of their own, as containers do, and see the same mounts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.csi_site import Site, new_site
from support.fuse_mounts import detach
from support.stacks import wait_until

CONTAINER = ["unshare", "--mount", "--propagation", "unchanged"]
"""As with `mountPropagation: Bidirectional`: what is mounted in one is seen in the others."""


@pytest.fixture
def site() -> Iterator[Site]:
    with new_site() as made:
        made.wrapped = CONTAINER
        for how in (["--bind", str(made.kubelet)], ["--make-shared"]):
            subprocess.run(["mount", *how, str(made.kubelet)], check=True)
        made.start()
        yield made
        for role in list(made.processes):
            made.stop(role)


@contextmanager
def application(site: Site, target: Path) -> Iterator[Path]:
    """Where a container with `mountPropagation: HostToContainer` sees a volume, looked at from outside."""
    inner = site.folder / f"container-{target.name}"
    inner.mkdir(exist_ok=True)
    script = f"mount --rbind {target} {inner} && mount --make-rslave {inner} && echo ready && exec sleep 1000"
    with subprocess.Popen([*CONTAINER, "sh", "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield Path(f"/proc/{process.pid}/root{inner}")
        finally:
            process.kill()
            process.wait()


def test_a_container_sees_its_volume_again_after_all_of_the_mount_was_killed(site: Site) -> None:
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    with application(site, target) as seen:
        assert (seen / "file").read_text() == "text"
        for _ in range(3):
            lose_all_of_a_mount(site, target)
            assert (seen / "file").read_text() == "text"
    site.unpublish(target)
    wait_until(lambda: not site.mounted().all)


def test_row_14_a_container_that_was_started_again_sees_its_volume_after_the_next_kill(site: Site) -> None:
    """It has only the layer that it was started with, which must stay."""
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    lose_all_of_a_mount(site, target)
    for _ in range(3):
        with application(site, target) as seen:
            lose_all_of_a_mount(site, target)
            assert (seen / "file").read_text() == "text"
    site.unpublish(target)
    wait_until(lambda: not site.mounted().all)


def test_row_13_a_container_sees_a_folder_of_its_volume_again_and_nothing_else(site: Site) -> None:
    """What the kubelet binds is of one group with the target: what is bound over one of them is seen in the other."""
    (site.data / "part").mkdir()
    (site.data / "file").write_text("whole")
    (site.data / "part" / "file").write_text("part")
    target = site.target("pod-1")
    site.publish(target)
    part = target.parents[3] / "volume-subpaths" / "pv" / "main" / "0"
    part.mkdir(parents=True)
    subprocess.run(["mount", "--bind", target / "part", part], check=True)
    counts = []
    with application(site, target) as seen, application(site, part) as part_seen:
        for _ in range(5):
            before = site.mounted().layers(str(part))
            lose_all_of_a_mount(site, target)
            wait_until(lambda before=before: site.mounted().top(str(part)) not in before)  # type: ignore[misc]
            assert (seen / "file").read_text() == "whole"
            assert (part_seen / "file").read_text() == "part"
            counts.append(len(site.mounted().all))
    assert counts[-1] - counts[-2] == 1, counts
    assert len(list((site.folder / "state" / "journal").iterdir())) == 1
    while site.mounted().top(str(part)) is not None:
        subprocess.run(["umount", part], check=True)
    site.unpublish(target)
    wait_until(lambda: not site.mounted().all)


def lose_all_of_a_mount(site: Site, target: Path) -> None:
    """Returns when it is bound anew."""
    before = [None, *site.mounted().layers(str(target))]
    for pid in site.clients():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: site.mounted().top(str(target)) not in before)


def test_a_container_goes_on_while_the_driver_is_killed_in_turn(site: Site) -> None:
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    with application(site, target) as seen, (seen / "file").open() as kept:
        for role in ("node", "holder", "node", "holder"):
            site.kill(role)
            (seen / "file").with_name("new").write_text(role)
            kept.seek(0)
            assert kept.read() == "text"
            site.start(role)
    assert (site.data / "new").read_text() == "holder"
    site.publish(target)
    assert len(site.mounted().layers(str(target))) == 1
    site.unpublish(target)
    wait_until(lambda: not site.clients())


def test_a_mount_that_ends_in_a_namespace_ends_in_all(site: Site) -> None:
    target = site.target("pod-1")
    site.publish(target)
    site.unpublish(target)
    assert not site.mounted().all
    for process in site.processes.values():
        listed = Path(f"/proc/{process.pid}/mountinfo").read_text()
        assert "fuse.paddleflow" not in "".join(line for line in listed.splitlines() if str(site.folder) in line)
    detach(site.kubelet)
