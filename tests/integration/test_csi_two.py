"""Two pods that want one volume, and two installations on one machine."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import grpc
import pytest

from support.csi_site import MODE, Site, capability, new_site, refused
from support.stacks import wait_until

ALONE = capability(MODE.SINGLE_NODE_SINGLE_WRITER)


def test_a_volume_for_one_pod_alone_has_one_target(csi: Site) -> None:
    targets = [csi.target(f"pod-{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pods:
        asked = [partial(csi.publish, each, volume_capability=ALONE) for each in targets]
        codes = [code for code, _ in pods.map(refused, asked)]
    assert sorted(code.name for code in codes) == ["FAILED_PRECONDITION"] * 7 + ["OK"]
    first = targets[codes.index(grpc.StatusCode.OK)]
    others = [each for each in targets if each != first]
    assert not any(each.exists() for each in others)
    csi.publish(first, volume_capability=ALONE)
    code, text = refused(csi.publish, others[0])
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert str(first) in text
    csi.publish(others[1], "another")
    csi.kill("node")
    csi.start("node")
    assert refused(csi.publish, others[0], volume_capability=ALONE)[0] is grpc.StatusCode.FAILED_PRECONDITION
    csi.unpublish(first)
    csi.publish(others[0], volume_capability=ALONE)


def kubelets(target: Path, driver: str) -> None:
    (target.parent / "vol_data.json").write_text(json.dumps({"driverName": driver, "volumeHandle": "vol"}))


@pytest.mark.timeout(180)
def test_a_second_installation_leaves_the_mounts_of_the_first(own_csi: Site) -> None:
    """They share the kubelet, and nothing else."""
    (own_csi.data / "file").write_text("text")
    mine, its = own_csi.target("pod-1"), own_csi.target("pod-2")
    with new_site(PF_CSI_NODE_KUBELET=f"{own_csi.kubelet}", PF_CSI_NODE_DRIVER="csi.other.org") as other:
        (other.data / "file").write_text("other")
        other.start("holder", "node")
        kubelets(mine, "csi.paddleflow.org")
        kubelets(its, "csi.other.org")
        own_csi.publish(mine)
        other.publish(its)
        before = own_csi.mounted().all
        for site in (own_csi, other):
            for path in (site.folder / "state" / "journal").iterdir():
                path.unlink()
            site.kill("node")
            site.start("node")
            wait_until(lambda site=site: len(list((site.folder / "state" / "journal").iterdir())) == 1)  # type: ignore[misc]
        assert refused(other.unpublish, mine)[0] is grpc.StatusCode.FAILED_PRECONDITION
        assert refused(own_csi.publish, its)[0] is grpc.StatusCode.FAILED_PRECONDITION
        assert own_csi.mounted().all == before
        assert [(each / "file").read_text() for each in (mine, its)] == ["text", "other"]
        other.unpublish(its)
        own_csi.unpublish(mine)


@pytest.mark.parametrize(
    ("role", "name"), [("holder", "PF_CSI_HOLDER_MOUNTS"), ("node", "PF_CSI_NODE_STATE")], ids=["holder", "node"]
)
def test_two_processes_never_have_one_folder(csi: Site, role: str, name: str) -> None:
    target = csi.target("pod-1")
    csi.publish(target)
    before = csi.mounted().all
    theirs = {"PF_CSI_HOLDER_MOUNTS": csi.mounts, "PF_CSI_NODE_STATE": csi.folder / "state"}
    with new_site(**{name: str(theirs[name])}) as other:
        with pytest.raises(AssertionError, match="ended with status 1"):
            other.start(role)
        other.processes.pop(role).wait()
        assert "another process has" in other.log(role)
        assert name in other.log(role)
    assert csi.mounted().all == before
    csi.publish(target)
