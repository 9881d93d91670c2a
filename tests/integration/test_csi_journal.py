"""What is written down of targets may be lost: what is mounted stays, and is written down again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support.csi_site import Site, capability, until_done
from support.stacks import wait_until


def journal(site: Site) -> Path:
    return site.folder / "state" / "journal"


def lose_journal(site: Site) -> None:
    for path in journal(site).iterdir():
        path.unlink()


def lose_all(site: Site) -> None:
    """With what names of mounts are made of."""
    shutil.rmtree(site.folder / "state")


@pytest.mark.parametrize("lose", [lose_journal, lose_all])
def test_what_is_mounted_stays_without_its_journal(own_csi: Site, lose: Callable[[Site], None]) -> None:
    (own_csi.data / "file").write_text("text")
    targets = [own_csi.target("pod-1"), own_csi.target("pod-2")]
    told = {"driverName": "csi.paddleflow.org", "volumeHandle": "vol"}
    (targets[0].parent / "vol_data.json").write_text(json.dumps(told))
    for target in targets:
        own_csi.publish(target)
    before = own_csi.mounted().all
    with (targets[0] / "file").open() as kept, (targets[1] / "file").open():
        own_csi.stop("node")
        lose(own_csi)
        own_csi.start("node")
        # Whoever ends first takes nothing from the other.
        until_done(lambda: own_csi.unpublish(targets[1]))
        wait_until(lambda: len(list(journal(own_csi).iterdir())) == 1)
        (found,) = journal(own_csi).iterdir()
        entry = json.loads(found.read_text())
        assert (entry["target"], entry["volume"], entry["pod"]) == (str(targets[0]), "vol", "pod-1")
        own_csi.publish(targets[0])
        assert [each for each in before if each.place != str(targets[1])] == own_csi.mounted().all
        assert kept.read() == "text"
        assert own_csi.stats(targets[0]).usage
    own_csi.unpublish(targets[0])
    wait_until(lambda: not own_csi.clients())
    assert not list(own_csi.mounts.iterdir())


def test_who_publishes_first_after_the_loss_finds_the_same_mount(own_csi: Site) -> None:
    """The kubelet asks again before anything was looked at."""
    (own_csi.data / "file").write_text("text")
    targets = {own_csi.target("pod-1"): (), own_csi.target("pod-2"): ("uid=7",)}
    for target, flags in targets.items():
        own_csi.publish(target, volume_capability=capability(flags=flags))
    before = own_csi.mounted().all
    for _ in range(2):
        own_csi.kill("node")
        lose_all(own_csi)
        own_csi.start("node")
        for target, flags in targets.items():
            again = partial(own_csi.publish, target, volume_capability=capability(flags=flags))
            until_done(again)
        assert own_csi.mounted().all == before
    for target in targets:
        own_csi.unpublish(target)
    wait_until(lambda: not own_csi.clients())
