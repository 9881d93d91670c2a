"""Nobody learns a secret, and nobody has the driver, which is root, do something elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_csi.contract import csi_pb2 as pb
from pf_csi.kernel.targets import Targets
from support.csi_site import Site, capability, new_site, refused
from support.csi_work import CONTENT, working
from support.s3_servers import KEYS, OTHER_KEYS, S3Server, place_in
from support.stacks import wait_until
from support.walking import contents

CANARY = "canary-7f1b"
NOBODY = 65534
ANY = st.text(max_size=20) | st.sampled_from(["..", "\0", "../../etc", "/", "a\nb", "ü" * 99])
PATHS = st.lists(ANY | st.sampled_from(["pods", "link", "mount"]), max_size=6).map("/".join)


def secret_places(site: Site) -> Iterator[tuple[str, str]]:
    """All that others may read, and what it holds."""
    for role in ("holder", "node", "controller"):
        yield f"the log of {role}", site.log(role)
        yield from processes(site.processes[role].pid)
    for pid in site.clients():
        yield from processes(pid)
    for folder in (site.folder / "state", site.mounts):
        for path, content in contents(folder):
            if "at" not in path.relative_to(folder).parts[1:2]:
                yield str(path), content.decode(errors="replace")


def processes(pid: int) -> Iterator[tuple[str, str]]:
    for name in ("cmdline", "environ"):
        with suppress(OSError):
            yield f"{pid} {name}", Path(f"/proc/{pid}/{name}").read_text(errors="replace")


def test_secrets_are_nowhere(own_csi: Site, seaweed_server: S3Server) -> None:
    url, properties = place_in(seaweed_server, f"csi-{own_csi.folder.name}")
    right = {name: properties[name] for name in ("accessKey", "secretKey")}
    context = {"url": url, "endpoint": properties["endpoint"]}
    target, other = own_csi.target("pod-1"), own_csi.target("pod-2")
    own_csi.publish(target, volume_context=context, secrets=right)
    (target / "file").write_text("text")
    tokens = {"csi.storage.k8s.io/serviceAccount.tokens": f'{{"a": "{CANARY}"}}'}
    wrong = {"accessKey": KEYS.access, "secretKey": CANARY}
    told: list[dict[str, Any]] = [
        {"secrets": wrong},
        {"secrets": {**wrong, "unknown": CANARY}},
        {"secrets": wrong, "volume_capability": capability(flags=[f"password={CANARY}"])},
        {"secrets": wrong, "volume_context": {**context, "secretKey": CANARY}},
        {"secrets": wrong, "volume_context": {**context, **tokens}},
        {"secrets": wrong, "volume_context": {"url": f"sftp://user:{CANARY}@host/x"}},
        {"secrets": {"user": "u", "privateKey": CANARY}, "volume_context": {"url": "sftp://127.0.0.1:1/x"}},
    ]
    answers = []
    for each in told:
        asked: dict[str, Any] = {"volume_context": context} | each
        code, text = refused(own_csi.publish, other, **asked)
        assert code is not grpc.StatusCode.OK
        answers.append(text)
    assert not any(CANARY in answer for answer in answers)
    found = [where for where, text in secret_places(own_csi) if CANARY in text or KEYS.secret in text]
    assert found == []
    kept = list((own_csi.folder / "secrets").iterdir())
    assert [path.stat().st_mode & 0o777 for path in kept] == [0o600]
    own_csi.unpublish(target)
    assert not list((own_csi.folder / "secrets").iterdir())


def test_what_is_wrong_with_a_store_is_told_and_mended(own_csi: Site, seaweed_server: S3Server) -> None:
    url, properties = place_in(seaweed_server, f"csi-{own_csi.folder.name}")
    context = {"url": url, "endpoint": properties["endpoint"]}
    right = {name: properties[name] for name in ("accessKey", "secretKey")}
    target = own_csi.target("pod-1")
    wrongs = [
        (context, {**right, "secretKey": "wrong"}, grpc.StatusCode.PERMISSION_DENIED),
        ({**context, "url": "s3://no-such-bucket"}, right, grpc.StatusCode.NOT_FOUND),
        ({**context, "endpoint": "http://127.0.0.1:1"}, right, grpc.StatusCode.UNAVAILABLE),
    ]
    for told, secrets, code in wrongs:
        asked = {"volume_context": told, "secrets": secrets}
        begun = time.monotonic()
        answer = refused(own_csi.publish, target, **asked)
        assert time.monotonic() - begun < 10, "who waits for a pod reads why soon"
        assert answer[0] is code
        assert "cannot be mounted" in answer[1]
        assert not target.exists()
        wait_until(lambda: not own_csi.clients())
    own_csi.publish(target, volume_context=context, secrets=right)
    (target / "file").write_text("text")


def test_row_23_keys_that_are_replaced_need_no_new_mount(own_csi: Site, seaweed_server: S3Server) -> None:
    url, properties = place_in(seaweed_server, f"csi-{own_csi.folder.name}")
    context = {"url": url, "endpoint": properties["endpoint"]}
    target = own_csi.target("pod-1")
    old, new = ({"accessKey": keys.access, "secretKey": keys.secret} for keys in (KEYS, OTHER_KEYS))
    own_csi.publish(target, volume_context=context, secrets=old)
    (target / "content").write_bytes(CONTENT)
    with (target / "file").open("w") as kept, working(target / "content"):
        before, clients = own_csi.mounted().top(str(target)), own_csi.clients()
        for secrets in (new, old) * 3 + (new,):
            own_csi.publish(target, volume_context=context, secrets=secrets)
        kept.write("text")
    assert (own_csi.mounted().top(str(target)), own_csi.clients()) == (before, clients)
    (secret,) = (own_csi.folder / "secrets").iterdir()
    assert json.loads(secret.read_text())["answer"]["properties"]["secretKey"] == OTHER_KEYS.secret
    own_csi.unpublish(target)


@pytest.mark.parametrize("role", ["node", "controller", "holder", "registration"])
def test_sockets_are_for_root(csi: Site, role: str) -> None:
    path = csi.folder / "reg" / "csi.paddleflow.org-reg.sock" if role == "registration" else csi.socket(role)
    assert path.stat().st_mode & 0o777 == 0o600
    assert as_nobody(path) == "PermissionError"
    path.chmod(0o666)
    path.parent.chmod(0o755)
    try:
        assert as_nobody(path) == "turned away", "the kernel is asked who it is"
    finally:
        path.chmod(0o600)
    assert csi.identity.Probe(pb.ProbeRequest()).ready.value


def as_nobody(path: Path) -> str:
    """What comes of calling as somebody else."""
    program = f"""
import os, socket
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
with socket.socket(socket.AF_UNIX) as asking:
    asking.settimeout(10)
    try:
        asking.connect({str(path)!r})
        asking.sendall(b'{{"do": "held"}}\\n' if "holder" in {str(path)!r} else b"PRI * HTTP/2.0\\r\\n\\r\\n")
        print("turned away" if not asking.recv(100) else "answered")
    except BrokenPipeError:
        print("turned away")
    except ConnectionResetError:
        print("turned away")
    except OSError as error:
        print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


@pytest.fixture(scope="module")
def hostile() -> Iterator[Site]:
    """A machine on which somebody has put links in the way."""
    with new_site() as site:
        site.start()
        outside = site.folder / "outside"
        (outside / "mount").mkdir(parents=True)
        (site.kubelet / "pods" / "link").symlink_to(outside)
        (site.kubelet / "pods" / "pod").mkdir()
        (site.kubelet / "pods" / "pod" / "mount").symlink_to(outside / "mount")
        yield site


@pytest.mark.parametrize("inner", ["pods/link/mount", "pods/link/new", "pods/pod/mount", "pods/../../outside/mount"])
def test_links_in_the_way_lead_nowhere(hostile: Site, inner: str) -> None:
    target = f"{hostile.kubelet}/{inner}"
    outside = hostile.folder / "outside"
    (outside / "mount").mkdir(exist_ok=True)
    request = hostile.request(hostile.kubelet)
    request.target_path = target
    code, _ = refused(hostile.node.NodePublishVolume, request, timeout=60)
    assert code is not grpc.StatusCode.OK
    gone = pb.NodeUnpublishVolumeRequest(volume_id="vol", target_path=target)
    refused(hostile.node.NodeUnpublishVolume, gone, timeout=60)
    assert [path.name for path in outside.iterdir()] == ["mount"]
    assert not [each for each in hostile.mounted().all if "/mounts/" not in each.place]


@settings(max_examples=60, deadline=None)
@given(
    volume=ANY,
    inner=PATHS,
    group=ANY,
    flags=st.lists(ANY, max_size=3),
    context=st.dictionaries(st.sampled_from(["url", "subPath", "filesystem"]) | ANY, ANY, max_size=4),
)
def test_whatever_is_asked_the_driver_answers_and_stays_where_it_belongs(
    hostile: Site, volume: str, inner: str, group: str, flags: list[str], context: dict[str, str]
) -> None:
    before = sorted(path.name for path in hostile.folder.iterdir())
    target = f"{hostile.kubelet}/{inner}"
    request = pb.NodePublishVolumeRequest(
        volume_id=volume,
        target_path=target,
        volume_context=context,
        secrets=context,
        volume_capability=capability(flags=flags, group=group),
    )
    calls: list[tuple[Any, object]] = [
        (hostile.node.NodePublishVolume, request),
        (hostile.node.NodeUnpublishVolume, pb.NodeUnpublishVolumeRequest(volume_id=volume, target_path=target)),
        (hostile.node.NodeGetVolumeStats, pb.NodeGetVolumeStatsRequest(volume_id=volume, volume_path=target)),
        (
            hostile.controller.CreateVolume,
            pb.CreateVolumeRequest(name=volume, parameters=context, volume_capabilities=[capability()]),
        ),
        (hostile.controller.DeleteVolume, pb.DeleteVolumeRequest(volume_id=volume)),
        (hostile.controller.ListVolumes, pb.ListVolumesRequest(max_entries=len(inner), starting_token=volume)),
    ]
    for call, asked in calls:
        code, details = refused(call, asked, timeout=30)
        assert code not in {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL}, details
        assert code is grpc.StatusCode.OK or details
    assert sorted(path.name for path in hostile.folder.iterdir()) == before
    assert [path.name for path in (hostile.folder / "outside").iterdir()] in (["mount"], [])


def test_a_megabyte_of_words_is_refused(hostile: Site) -> None:
    node = psutil.Process(hostile.processes["node"].pid)
    before = node.memory_info().rss
    large = {str(number): "x" * 1000 for number in range(1000)}
    for field in ("secrets", "volume_context"):
        more = {field: large}
        code, _ = refused(hostile.publish, hostile.target("pod-1"), **more)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert node.memory_info().rss - before < 64 << 20


def test_what_the_driver_did_not_make_it_does_not_remove(csi: Site) -> None:
    others = csi.kubelet / "pods" / "others"
    others.mkdir()
    (csi.kubelet / "pods" / "full").mkdir()
    (csi.kubelet / "pods" / "full" / "file").write_text("text")
    for target in (others, csi.kubelet / "pods" / "full", csi.kubelet / "pods" / "full" / "file"):
        csi.unpublish(target)
        assert target.exists()
    left = csi.kubelet / "pods" / "left"
    left.mkdir(mode=0)
    csi.unpublish(left)
    assert not left.exists(), "a crash may have left it, and nobody else makes such a folder"


def test_a_folder_that_a_pod_swaps_for_a_link_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "kubelet", tmp_path / "outside"
    (root / "pods" / "a").mkdir(parents=True)
    outside.mkdir()
    targets = Targets(root)
    (root / "pods" / "b").symlink_to(outside)
    for inner in ("pods/b/mount", "pods/b/../b/mount"):
        with pytest.raises(OSError, match=r"symbolic links|plain path"):
            targets.make(f"{root}/{inner}")
    assert targets.make(f"{root}/pods/a/mount")
    assert not targets.make(f"{root}/pods/a/mount")
    (root / "pods" / "a" / "mount" / "file").write_text("kept")
    with pytest.raises(OSError, match="not empty"):
        targets.clear(f"{root}/pods/a/mount")
    assert not list(outside.iterdir())
