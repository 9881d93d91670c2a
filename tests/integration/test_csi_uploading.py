"""What pods wrote that have ended is uploaded, whoever of those who serve their mounts is killed meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.csi_site import Site, new_site, until_done
from support.fault_proxy import Fault, FaultProxy, Kind, fault_proxy
from support.s3_servers import S3Server, place_in
from support.stacks import wait_until

pytestmark = pytest.mark.timeout(180)
CONTENT = os.urandom(300_000)


@pytest.fixture
def proxy(seaweed_server: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(seaweed_server.port) as made:
        yield made


@contextmanager
def written_and_not_uploaded(site: Site, server: S3Server, proxy: FaultProxy) -> Iterator[dict[str, Any]]:
    """A pod has ended while its program was writing; the storage says nothing, and all who served are killed."""
    url, properties = place_in(server, f"csi-{site.folder.name}")
    keys = {name: properties[name] for name in ("accessKey", "secretKey")}
    asked: dict[str, Any] = {
        "volume_context": {"url": url, "endpoint": f"http://127.0.0.1:{proxy.port}"},
        "secrets": keys,
    }
    target = site.target("pod-1")
    until_done(lambda: site.publish(target, **asked))
    file = os.open(target / "file", os.O_CREAT | os.O_WRONLY)
    with ThreadPoolExecutor(1) as programs:
        os.write(file, CONTENT)
        proxy.always = Fault(Kind.STALL, seconds=600)
        proxy.next()
        site.unpublish(target)
        assert not target.exists()
        closing = programs.submit(os.close, file)
        for pid in site.clients():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(OSError):
            closing.result(timeout=30)
    yield asked


def secrets_of(site: Site) -> list[Path]:
    return list((site.folder / "secrets").iterdir())


def restart_holder(site: Site) -> None:
    site.kill("holder")
    site.start("holder")


def restart_alone(site: Site) -> None:
    """Nobody asks the holder for anything any more."""
    site.kill("node")
    restart_holder(site)


@pytest.mark.parametrize("meanwhile", [lambda _: None, restart_holder, restart_alone], ids=["", "restarted", "alone"])
def test_it_is_uploaded_as_soon_as_the_storage_answers(
    own_csi: Site, seaweed_server: S3Server, proxy: FaultProxy, meanwhile: Callable[[Site], None]
) -> None:
    with written_and_not_uploaded(own_csi, seaweed_server, proxy) as asked:
        meanwhile(own_csi)
        assert secrets_of(own_csi), "what opens the storage is still needed"
        proxy.always = None
        proxy.next()
        wait_until(lambda: not list(own_csi.mounts.iterdir()), patience=90)
        assert not secrets_of(own_csi)
        assert not own_csi.clients()
        if "node" not in own_csi.processes:
            own_csi.start("node")
        target = own_csi.target("pod-2")
        own_csi.publish(target, **asked)
        assert (target / "file").read_bytes() == CONTENT
        own_csi.unpublish(target)


def test_who_wants_the_volume_meanwhile_has_it(own_csi: Site, seaweed_server: S3Server, proxy: FaultProxy) -> None:
    with written_and_not_uploaded(own_csi, seaweed_server, proxy) as asked:
        proxy.always = None
        proxy.next()
        target = own_csi.target("pod-2")
        own_csi.publish(target, **asked)
        assert (target / "file").read_bytes() == CONTENT
        (target / "file").unlink()
        own_csi.unpublish(target)
        wait_until(lambda: not list(own_csi.mounts.iterdir()), patience=90)


def test_it_is_kept_where_nobody_can_upload_it(seaweed_server: S3Server, proxy: FaultProxy) -> None:
    with new_site(PF_CSI_HOLDER_KEPT_SECONDS="6", PF_CSI_HOLDER_READY_SECONDS="4") as site:
        site.start()
        with written_and_not_uploaded(site, seaweed_server, proxy):
            wait_until(lambda: not secrets_of(site), patience=90)
            (folder,) = site.mounts.iterdir()
            kept = [path for path in (folder / "state" / "stage").rglob("*") if path.is_file()]
            assert CONTENT in [path.read_bytes() for path in kept]
            assert "could not be uploaded, and is kept" in site.log("holder")
            wait_until(lambda: not site.clients())
