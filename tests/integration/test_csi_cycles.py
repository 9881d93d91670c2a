"""Many pods come and go, and nothing is left of them."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from support.csi_site import Site, capability, is_starter
from support.csi_work import CONTENT, working
from support.stacks import wait_until

CYCLES = int(os.environ.get("CSI_CYCLES", "500"))
KILLS = int(os.environ.get("CSI_KILLS", "50"))
WARM = 20
FEW = 4
"""Descriptors and threads more or less, for calls that are just over."""


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_nothing_grows_over_hundreds_of_pods(own_csi: Site) -> None:
    """Rows 7 and 27: mounts, descriptors, processes, threads and memory."""
    for number in range(WARM):
        cycle(own_csi, number)
    wait_until(lambda: not weighed(own_csi)[0][2])
    before = weighed(own_csi)
    for number in range(CYCLES):
        cycle(own_csi, number)
    wait_until(lambda: not weighed(own_csi)[0][2])
    counts, memory = weighed(own_csi)
    assert all(now <= then + FEW for now, then in zip(counts, before[0], strict=True)), (counts, before)
    assert memory < before[1] + (24 << 20)
    assert not own_csi.mounted().all
    assert not list((own_csi.folder / "state" / "journal").iterdir())
    assert not list(own_csi.mounts.iterdir())


@pytest.mark.crash
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("role", ["node", "holder"])
def test_the_driver_is_killed_fifty_times_under_a_pod(own_csi: Site, role: str) -> None:
    """Programs read and write meanwhile."""
    (own_csi.data / "file").write_bytes(CONTENT)
    target = own_csi.target("pod-1")
    own_csi.publish(target)
    with working(target / "file"):
        for _ in range(KILLS):
            own_csi.kill(role)
            own_csi.start(role)
            assert len(own_csi.mounted().layers(str(target))) == 1
    for _ in range(KILLS // 5):
        for pid in own_csi.clients():
            os.kill(pid, signal.SIGKILL)
        before = own_csi.mounted().top(str(target))
        wait_until(lambda before=before: own_csi.mounted().top(str(target)) not in (None, before))  # type: ignore[misc]
        assert (target / "file").read_bytes() == CONTENT
    own_csi.unpublish(target)
    wait_until(lambda: not own_csi.clients())


def cycle(site: Site, number: int) -> None:
    target = site.target(f"pod-{number % 7}")
    site.publish(target, volume_capability=capability(flags=[f"uid={number % 5}"]))
    (target / "file").write_text(f"{number}")
    site.unpublish(target)


def weighed(site: Site) -> tuple[tuple[int, int, int], int]:
    """Descriptors, threads and children of the driver's processes, and their memory in bytes."""
    parts = [psutil.Process(site.processes[role].pid) for role in ("node", "holder")]
    counts = (
        sum(part.num_fds() for part in parts),
        sum(part.num_threads() for part in parts),
        sum(not is_starter(child.pid) for part in parts for child in part.children(recursive=True)),
    )
    return counts, sum(part.memory_info().rss for part in parts)
