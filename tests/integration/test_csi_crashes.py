"""The node dies after each step of publishing and unpublishing, and the kubelet asks again, as it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence

import grpc
import pytest

from support.csi_site import Site, new_site, refused, until_done
from support.stacks import wait_until

crash = pytest.mark.crash
PUBLISHING = ("held", "written down", "made", "bound")
UNPUBLISHING = ("cleared", "forgotten", "released")


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with new_site() as site:
        site.start("holder")
        yield site


@pytest.fixture
def site(shared_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    (shared_site.data / "file").write_text("text")
    yield shared_site
    shared_site.clear()
    shared_site.kill("node")


def dies(site: Site, step: int, call: Callable[[], object]) -> None:
    """A node that kills itself after so many steps is asked for something; the one after it is well."""
    site.wrapped = [sys.executable, "-m", "support.csi_failing", f"{step}"]
    site.start("node")
    code, text = refused(call)
    assert code is grpc.StatusCode.UNAVAILABLE, text
    site.processes.pop("node").wait()
    site.wrapped = ()
    site.start("node")


def steps(names: Sequence[str], quick: str) -> list[object]:
    """All of them by `make crash`, one by `make test`."""
    return [pytest.param(number, id=name, marks=() if name == quick else crash) for number, name in enumerate(names, 1)]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("step", steps(PUBLISHING, "bound"))
def test_publishing_goes_on_after_a_crash(site: Site, step: int) -> None:
    target = site.target("pod-1")
    dies(site, step, lambda: site.publish(target))
    until_done(lambda: site.publish(target))
    assert (target / "file").read_text() == "text"
    assert len(site.mounted().layers(str(target))) == 1
    until_done(lambda: site.unpublish(target))
    assert not target.exists()
    wait_until(lambda: not list(site.mounts.iterdir()))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("step", steps(PUBLISHING, "written down"))
def test_what_is_never_asked_for_again_ends_when_the_pod_does(site: Site, step: int) -> None:
    """The pod was deleted meanwhile."""
    target = site.target("pod-1")
    dies(site, step, lambda: site.publish(target))
    until_done(lambda: site.unpublish(target))
    assert not target.exists()
    wait_until(lambda: not list(site.mounts.iterdir()) and not site.clients())
    assert not list((site.folder / "state" / "journal").iterdir())


@pytest.mark.timeout(120)
@pytest.mark.parametrize("step", steps(UNPUBLISHING, "cleared"))
def test_unpublishing_goes_on_after_a_crash(site: Site, step: int) -> None:
    target = site.target("pod-1")
    site.start("node")
    site.publish(target)
    site.kill("node")
    dies(site, step, lambda: site.unpublish(target))
    until_done(lambda: site.unpublish(target))
    assert not target.exists()
    wait_until(lambda: not list(site.mounts.iterdir()) and not site.clients())
    assert not list((site.folder / "state" / "journal").iterdir())
