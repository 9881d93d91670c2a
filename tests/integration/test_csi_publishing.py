"""Volumes appear in pods and disappear, as the kubelet asks for it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest

from pf_csi.contract import csi_pb2 as pb
from pf_csi.contract import registration_pb2, registration_pb2_grpc
from support.csi_site import MODE, Site, capability, refused
from support.stacks import wait_until


def test_a_volume_appears_and_disappears(csi: Site) -> None:
    (csi.data / "here").write_text("before")
    target = csi.target("pod-1")
    csi.publish(target)
    assert (target / "here").read_text() == "before"
    (target / "new").write_text("written")
    assert (csi.data / "new").read_text() == "written"
    answer = csi.stats(target)
    assert {each.unit for each in answer.usage} == {pb.VolumeUsage.BYTES, pb.VolumeUsage.INODES}
    assert not answer.volume_condition.abnormal
    csi.unpublish(target)
    assert not target.exists()
    assert target.parent.is_dir(), "what the kubelet made stays"
    assert not csi.mounted().all
    wait_until(lambda: not csi.clients())
    assert not list(csi.mounts.iterdir())
    assert not list((csi.folder / "secrets").iterdir())


def test_pods_share_a_mount_if_all_is_the_same(csi: Site) -> None:
    targets = [csi.target(f"pod-{number}") for number in range(3)]
    csi.publish(targets[0])
    csi.publish(targets[1])
    csi.publish(targets[2], volume_capability=capability(flags=["uid=7"]))
    assert len(list(csi.mounts.iterdir())) == 2
    csi.unpublish(targets[0])
    (targets[1] / "file").write_text("still there")
    assert (targets[2] / "file").stat().st_uid in {0, 7}
    for target in targets[1:]:
        csi.unpublish(target)
    assert not list(csi.mounts.iterdir())


def test_the_same_again_changes_nothing(csi: Site) -> None:
    target = csi.target("pod-1")
    for _ in range(5):
        csi.publish(target)
    assert len(csi.mounted().layers(str(target))) == 1
    csi.unpublish(target)
    csi.unpublish(target)


def test_something_else_at_a_target_is_refused(csi: Site) -> None:
    target = csi.target("pod-1")
    csi.publish(target)
    others: list[dict[str, Any]] = [
        {"readonly": True},
        {"volume": "another"},
        {"volume_capability": capability(flags=["gid=5"])},
    ]
    for other in others:
        assert refused(csi.publish, target, **other)[0] is grpc.StatusCode.ALREADY_EXISTS
    assert (target / ".").exists()


@pytest.mark.parametrize(
    "how",
    [
        {"readonly": True},
        {"volume_capability": capability(flags=["ro"])},
        {"volume_capability": capability(MODE.MULTI_NODE_READER_ONLY)},
    ],
)
def test_a_volume_for_reading_is_not_written(csi: Site, how: dict[str, Any]) -> None:
    target = csi.target("pod-1")
    csi.publish(target, **how)
    with pytest.raises(OSError, match="Read-only"):
        (target / "file").write_text("no")


def test_a_group_may_read_and_write_without_a_change_in_the_storage(csi: Site) -> None:
    (csi.data / "file").write_text("text")
    before = (csi.data / "file").stat()
    target = csi.target("pod-1")
    csi.publish(target, volume_capability=capability(group="4711"))
    seen = (target / "file").stat()
    assert (seen.st_gid, seen.st_mode & 0o060) == (4711, 0o060)
    assert (csi.data / "file").stat().st_mode == before.st_mode
    (target / "new").write_text("made")
    assert (target / "new").stat().st_gid == 4711
    options = os.statvfs(target).f_flag
    assert options & os.ST_NOSUID


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"volume_capability": capability(flags=["allow_root"])}, "allow_root"),
        ({"volume_capability": capability(flags=["fd=3"])}, "no option"),
        ({"volume_capability": capability(flags=["suid"])}, "no option"),
        ({"volume_context": {"url": "s3://b", "secretKey": "x"}}, "belongs in a secret"),
        ({"volume_context": {"url": "s3://b", "cacheFolder": "/"}}, "cacheFolder"),
        ({"volume_context": {"url": "s3://b/../c"}}, "'..'"),
        ({"volume_context": {"url": "file:///etc"}}, "kinds are"),
        ({"volume_context": {}}, "url must be given"),
        ({"volume_capability": pb.VolumeCapability(block=pb.VolumeCapability.BlockVolume())}, "access_mode"),
        ({"volume_capability": capability(group="root")}, "volume_mount_group"),
    ],
)
def test_what_cannot_be_meant_is_named(csi: Site, more: dict[str, Any], word: str) -> None:
    target = csi.target("pod-1")
    code, text = refused(csi.publish, target, **more)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert word in text
    assert not target.exists()


def test_folders_of_the_machine_are_the_administrators_to_allow(csi: Site) -> None:
    """Row §5.8: whoever writes a pod may not name a folder of the machine."""
    inline = {"csi.storage.k8s.io/ephemeral": "true"}
    for context in ({"url": "local:///etc"}, {"url": f"local://{csi.data}", **inline}, {"url": f"local://{csi.data}x"}):
        code, _ = refused(csi.publish, csi.target("pod-1"), volume_context=context)
        assert code is grpc.StatusCode.PERMISSION_DENIED


def test_the_kubelet_is_told_who_the_driver_is(csi: Site) -> None:
    path = csi.folder / "reg" / "csi.paddleflow.org-reg.sock"
    with grpc.insecure_channel(f"unix:{path}") as channel:
        stub = registration_pb2_grpc.RegistrationStub(channel)
        info = stub.GetInfo(registration_pb2.InfoRequest())
        assert (info.type, info.name) == ("CSIPlugin", "csi.paddleflow.org")
        assert info.endpoint == str(csi.socket("node"))
        stub.NotifyRegistrationStatus(registration_pb2.RegistrationStatus(plugin_registered=True))
    assert csi.identity.GetPluginInfo(pb.GetPluginInfoRequest()).name == info.name
    assert csi.node.NodeGetInfo(pb.NodeGetInfoRequest()).node_id == "node-1"
    wait_until(lambda: "registered with the kubelet" in csi.log("node"))


def test_nobody_but_root_writes_where_nothing_is_mounted(csi: Site) -> None:
    """Row 12."""
    target = csi.target("pod-1")
    csi.publish(target)
    csi.stop("node")
    os.system(f"umount {target}")  # noqa: S605
    assert stat.S_IMODE(target.stat().st_mode) == 0
    csi.start("node")
    wait_until(lambda: csi.mounted().top(str(target)) is not None)
    csi.unpublish(target)


def test_a_volume_that_is_made_is_used_enlarged_and_removed(csi: Site) -> None:
    mount = [capability()]
    wanted = pb.CreateVolumeRequest(
        name="pvc-1", volume_capabilities=mount, capacity_range=pb.CapacityRange(required_bytes=1 << 20)
    )
    made = csi.controller.CreateVolume(wanted).volume
    assert csi.controller.CreateVolume(wanted).volume == made
    target = csi.target("pod-1")
    csi.publish(target, made.volume_id, volume_context=dict(made.volume_context))
    assert size_of(target) == 1 << 20
    (target / "folder").mkdir()
    (target / "folder" / "file").write_text("text")
    listed = csi.controller.ListVolumes(pb.ListVolumesRequest()).entries
    assert [entry.volume.volume_id for entry in listed] == [made.volume_id]
    larger = pb.ControllerExpandVolumeRequest(
        volume_id=made.volume_id, capacity_range=pb.CapacityRange(required_bytes=4 << 20)
    )
    assert csi.controller.ControllerExpandVolume(larger).capacity_bytes == 4 << 20
    wait_until(lambda: size_of(target) == 4 << 20)
    csi.unpublish(target, made.volume_id)
    csi.publish(target, made.volume_id, volume_context=dict(made.volume_context))
    assert size_of(target) == 4 << 20
    csi.unpublish(target, made.volume_id)
    for _ in range(2):
        csi.controller.DeleteVolume(pb.DeleteVolumeRequest(volume_id=made.volume_id))
    assert [path.name for path in csi.data.iterdir()] == [".paddleflow-volumes"]
    assert not list((csi.data / ".paddleflow-volumes").iterdir())


def size_of(place: Path) -> int:
    told = os.statvfs(place)
    return told.f_blocks * told.f_frsize


@pytest.mark.parametrize("volume", ["../../etc", "data/..", "data/csi-1", "data/../x", "x/csi-" + "0" * 32, "data/"])
def test_what_is_no_volume_is_gone_already(csi: Site, volume: str) -> None:
    (csi.data / "kept").mkdir()
    # Only a store that is not set up is worth a word.
    code, _ = refused(csi.controller.DeleteVolume, pb.DeleteVolumeRequest(volume_id=volume))
    assert code is (grpc.StatusCode.FAILED_PRECONDITION if volume.startswith("x/") else grpc.StatusCode.OK)
    assert (csi.data / "kept").is_dir()


def test_all_of_a_store_may_be_a_volume_and_is_never_removed(csi: Site) -> None:
    (csi.data / "kept").write_text("text")
    wanted = pb.CreateVolumeRequest(
        name="pvc-1", volume_capabilities=[capability()], parameters={"contents": "all", "store": "data"}
    )
    made = csi.controller.CreateVolume(wanted).volume
    target = csi.target("pod-1")
    csi.publish(target, made.volume_id, volume_context=dict(made.volume_context))
    assert (target / "kept").read_text() == "text"
    csi.unpublish(target, made.volume_id)
    csi.controller.DeleteVolume(pb.DeleteVolumeRequest(volume_id=made.volume_id))
    assert (csi.data / "kept").exists()
