"""Clients that live and do not answer: another one goes on with their mount, or it is made anew."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest

from support.csi_site import Site, capability, new_site, refused, until_done
from support.fault_proxy import Fault, Kind, fault_proxy
from support.mounts import children, parent_of
from support.s3_servers import S3Server, place_in
from support.stacks import wait_until

pytestmark = pytest.mark.timeout(180)
HANGING = 3.0
PATIENT = 12.0
"""Where whoever follows must have begun to answer in that time, on a machine that is busy."""
CONTENT = os.urandom(1 << 20)


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with new_site(PF_CSI_HOLDER_HANGING_SECONDS=f"{HANGING}") as site:
        site.start()
        yield site


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    (shared_site.data / "file").write_bytes(CONTENT)
    yield shared_site
    shared_site.clear()


@pytest.fixture
def target(site: Site) -> Path:
    place = site.target("pod-1")
    site.publish(place)
    return place


def client_of(site: Site) -> int:
    """The process that serves the only mount; 0 if there is none at the moment."""
    keeper = site.keeper()
    return next((each for each in site.clients() if parent_of(each) == keeper), 0)


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def test_a_client_that_hangs_is_replaced_and_programs_go_on() -> None:
    with new_site(PF_CSI_HOLDER_HANGING_SECONDS=f"{PATIENT}") as site:
        site.start()
        (site.data / "file").write_bytes(CONTENT)
        target = site.target("pod-1")
        site.publish(target)
        client, before = client_of(site), site.mounted().all
        with (target / "file").open("rb") as kept, stopped(client):
            begun = time.monotonic()
            assert (target / "file").read_bytes() == CONTENT
            took = time.monotonic() - begun
            assert kept.read() == CONTENT
            assert client not in site.clients()
            assert site.mounted().all == before
            assert took >= PATIENT
        assert not site.stats(target).volume_condition.abnormal
        site.unpublish(target)


def test_a_mount_of_which_every_client_hangs_is_made_anew(site: Site, target: Path) -> None:
    """Each that follows is stopped as soon as it is there."""
    over, before = threading.Event(), site.mounted().top(str(target))
    keeper, first = site.keeper(), client_of(site)

    def stop_all() -> None:
        # The next one is there within some hundredths of a second, and may do nothing before it is stopped.
        while not over.wait(0.001):
            for client in children(keeper):
                with suppress(ProcessLookupError):
                    os.kill(client, signal.SIGSTOP)

    with ThreadPoolExecutor(2) as programs:
        stopping = programs.submit(stop_all)
        wait_until(lambda: "T" in Path(f"/proc/{first}/stat").read_text().split()[2])
        reading = programs.submit((target / "file").read_bytes)
        try:
            wait_until(lambda: site.mounted().top(str(target)) not in (None, before), patience=60)
        finally:
            over.set()
        stopping.result()
        with pytest.raises(OSError, match=r"endpoint|abort"):
            reading.result(timeout=30)
    assert (target / "file").read_bytes() == CONTENT
    assert len(site.mounted().layers(str(target))) == 2


def test_nobody_is_told_that_a_mount_is_there_whose_client_hangs(site: Site, target: Path) -> None:
    """Nothing waits for it: who wants it is the first to notice."""
    client, other = client_of(site), site.target("pod-2")
    with stopped(client):
        code, text = refused(site.publish, other)
        assert code is grpc.StatusCode.ABORTED
        assert "does not answer" in text
        assert not other.exists()
        until_done(lambda: site.publish(other))
    assert (other / "file").read_bytes() == CONTENT


def test_a_client_that_answers_stays_however_slow_its_storage_is(site: Site, seaweed_server: S3Server) -> None:
    url, properties = place_in(seaweed_server, f"csi-{site.folder.name}-slow")
    keys = {name: properties[name] for name in ("accessKey", "secretKey")}
    with fault_proxy(seaweed_server.port) as proxy, ThreadPoolExecutor(1) as programs:
        context = {"url": url, "endpoint": f"http://127.0.0.1:{proxy.port}"}
        place = site.target("pod-1")
        site.publish(
            place, volume_context=context, secrets=keys, volume_capability=capability(flags=["attr-timeout=0"])
        )
        client = client_of(site)
        proxy.always = Fault(Kind.STALL, seconds=600)
        proxy.next()
        looking = programs.submit(os.listdir, place)
        until = time.monotonic() + 3 * HANGING
        while time.monotonic() < until:
            assert client_of(site) == client
            assert not looking.done()
            time.sleep(0.1)
        proxy.always = None
        proxy.next()
        assert looking.result(timeout=60) == []
    assert client_of(site) == client


def test_two_clients_never_have_one_folder() -> None:
    """The keeper dies while its client is slow to answer: it is waited for, and hands its mount to the next keeper."""
    with new_site() as site:
        site.start("holder", "node")
        (site.data / "file").write_bytes(CONTENT)
        target = site.target("pod-1")
        site.publish(target)
        keeper, client = site.keeper(), client_of(site)
        with (target / "file").open("rb") as kept:
            with stopped(client):
                os.kill(keeper, signal.SIGKILL)
                until = time.monotonic() + 8
                while time.monotonic() < until:
                    assert set(site.clients()) <= {keeper, client}
                    time.sleep(0.05)
            wait_until(lambda: site.keeper() not in (0, keeper))
            assert kept.read() == CONTENT
        assert client in site.clients()
        assert client_of(site) in {0, client}
        site.unpublish(target)


@contextmanager
def copied(target: Path, inner: Path) -> Iterator[None]:
    """Somebody has a copy of a mount, which is not taken off with the others; and of no mount of other tests."""
    inner.mkdir()
    others = f"awk '$5 != \"{inner}\" && /fuse.paddleflow/ {{print $5}}' /proc/self/mountinfo"
    script = f"mount --bind {target} {inner} && {others} | xargs -n 1 umount --lazy; echo ready && exec sleep 1000"
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            process.kill()
            process.wait()


def test_who_has_a_copy_of_a_mount_holds_up_neither_its_end_nor_the_next_one(site: Site, target: Path) -> None:
    (target / "written").write_bytes(CONTENT)
    before = site.clients()
    with copied(target, site.folder / "inner"):
        site.unpublish(target)
        until_done(lambda: site.publish(target))
        assert not set(before) & set(site.clients())
        assert (target / "written").read_bytes() == CONTENT
