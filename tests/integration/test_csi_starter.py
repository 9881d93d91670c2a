"""The process that begins mounts, with all loaded that they need."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from paddleflow.mounting import program
from pf_csi.holder.starter import Starter
from support.csi_site import Site, capability, is_starter, new_site
from support.mounts import children
from support.waiting import wait_until

LOADING = 0.25
"""Seconds of a processor; to load the program takes more than that."""


@contextmanager
def new_starter(patience: float) -> Iterator[Starter]:
    made = Starter(os.environ, patience)
    made.stand_by()
    try:
        yield made
    finally:
        made.close()
        with suppress(psutil.NoSuchProcess):
            psutil.Process(made.process).wait(20.0)


@pytest.fixture
def starter() -> Iterator[Starter]:
    with new_starter(patience=20.0) as made:
        yield made


@pytest.fixture
def site() -> Iterator[Site]:
    with new_site() as made:
        made.start()
        yield made


def complaint(starter: Starter, folder: Path) -> str:
    """Of a mount that is told nothing."""
    log = folder / "log"
    with log.open("wb") as errors, Path(os.devnull).open("rb") as told:
        starter.begin((told.fileno(), errors.fileno(), errors.fileno()))
    wait_until(lambda: log.read_text().endswith("\n"))
    return log.read_text()


def starter_of(site: Site) -> psutil.Process:
    """The one that the holder has begun, once all is loaded."""
    wait_until(lambda: [each.name() for each in starters(site)] == ["pf-fuse-starter"])
    (starter,) = starters(site)
    return starter


def starters(site: Site) -> list[psutil.Process]:
    """The dead have no command any more."""
    return [each for each in psutil.Process(site.processes["holder"].pid).children() if is_starter(each.pid)]


def test_what_goes_wrong_is_told_by_the_process_that_was_begun(starter: Starter, tmp_path: Path) -> None:
    assert complaint(starter, tmp_path).startswith("pf-fuse: ")
    first = starter.process
    assert complaint(starter, tmp_path).startswith("pf-fuse: ")
    assert starter.process == first


def test_another_begins_mounts_where_the_one_before_was_killed(starter: Starter, tmp_path: Path) -> None:
    killed = psutil.Process(starter.process)
    killed.kill()
    killed.wait()
    assert complaint(starter, tmp_path).startswith("pf-fuse: ")
    assert starter.process != killed.pid


def test_one_that_is_stopped_is_replaced_and_begins_nothing_later(tmp_path: Path) -> None:
    with new_starter(patience=0.5) as starter:
        stopped = psutil.Process(starter.process)
        stopped.send_signal(signal.SIGSTOP)
        with pytest.raises(OSError, match="is replaced; try again"):
            complaint(starter, tmp_path)
        assert stopped.wait() == -signal.SIGKILL
    assert (tmp_path / "log").read_text() == ""


def test_a_mount_loads_nothing(site: Site) -> None:
    starter_of(site)
    site.publish(site.target("pod-1"))
    mine = [psutil.Process(pid) for pid in site.clients()]
    assert len(mine) == 2
    assert sum(sum(each.cpu_times()[:2]) for each in mine) < LOADING


def test_mounts_go_on_and_others_are_begun_where_it_is_killed(site: Site) -> None:
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    before = starter_of(site)
    before.kill()
    assert (target / "file").read_text() == "text"
    other = site.target("pod-2")
    site.publish(other, volume_capability=capability(flags=["uid=1"]))
    assert (other / "file").read_text() == "text"
    assert len(site.clients()) == 4
    assert starter_of(site).pid != before.pid


def test_it_ends_with_whoever_has_begun_it_and_mounts_go_on(site: Site) -> None:
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    starter = starter_of(site)
    site.kill("holder")
    starter.wait(20.0)
    assert (target / "file").read_text() == "text"
    site.start("holder")
    site.unpublish(target)
    wait_until(lambda: not site.clients())


def test_an_order_of_somebody_who_is_gone_is_not_carried_out() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    complaints, errors = os.pipe()
    with ours:
        socket.send_fds(ours, [b"m"], [errors] * 3)
    os.close(errors)
    with theirs, os.fdopen(complaints, "rb") as said:
        subprocess.run([program(), "start-mounts"], stdin=theirs.fileno(), timeout=40.0, check=True)
        theirs.close()
        assert said.read() == b"", "whoever mounts has been begun, and complains that it is told nothing"


def test_a_client_goes_on_where_its_next_keeper_cannot_be_begun(site: Site) -> None:
    (site.data / "file").write_text("text")
    target = site.target("pod-1")
    site.publish(target)
    keeper = site.keeper()
    (client,) = children(keeper)
    (about,) = site.mounts.glob("*/state/about")
    with (target / "file").open() as opened:
        kept = about.read_bytes()
        about.unlink()
        about.mkdir()
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: "about" in site.log("holder"))
        assert client in site.clients()
        about.rmdir()
        about.write_bytes(kept)
        wait_until(lambda: site.keeper() not in (0, keeper))
        assert opened.read() == "text"
    assert client in site.clients()
