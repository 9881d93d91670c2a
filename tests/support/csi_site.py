"""The driver on one machine: its processes, and callers that do what Kubernetes does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from paddleflow.mountinfo import Mounts, read_mounts
from paddleflow.sockets import address, peer_of
from pf_csi.contract import csi_pb2 as pb
from pf_csi.contract import csi_pb2_grpc
from support.fuse_mounts import detach_below
from support.repository import BIN
from support.servers import listens, short_folder, wait_until
from support.stacks import wait_until as wait_for

MODE = pb.VolumeCapability.AccessMode
PATIENCE = 30.0


def capability(
    mode: MODE.Mode.ValueType = MODE.MULTI_NODE_MULTI_WRITER, flags: Sequence[str] = (), group: str = ""
) -> pb.VolumeCapability:
    mount = pb.VolumeCapability.MountVolume(mount_flags=flags, volume_mount_group=group)
    return pb.VolumeCapability(mount=mount, access_mode=MODE(mode=mode))


def refused(call: Callable[..., object], *arguments: Any, **more: Any) -> tuple[grpc.StatusCode, str]:
    """How something is refused, and why; OK if it is not."""
    try:
        call(*arguments, **more)
    except grpc.RpcError as problem:
        told: Any = problem
        return told.code(), told.details()
    return grpc.StatusCode.OK, ""


def until_done(call: Callable[[], object]) -> None:
    """As the kubelet does."""
    code = grpc.StatusCode.ABORTED
    while code is grpc.StatusCode.ABORTED:
        code, text = refused(call)
        assert code in {grpc.StatusCode.ABORTED, grpc.StatusCode.OK}, text


@dataclass
class Site:
    """A machine: a kubelet's folder, stores, and the three processes of the driver."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    channels: dict[int, grpc.Channel] = field(default_factory=dict)
    """By the process that is called."""
    wrapped: Sequence[str] = ()
    """What comes before the command of a process that mounts."""

    @property
    def kubelet(self) -> Path:
        return self.folder / "kubelet"

    @property
    def data(self) -> Path:
        """A folder that is a store."""
        return self.folder / "data"

    @property
    def temporary(self) -> Path:
        """What is killed leaves folders there."""
        return self.folder / "t"

    @property
    def mounts(self) -> Path:
        return self.kubelet / "plugins" / "mounts"

    def socket(self, role: str) -> Path:
        return self.folder / "run" / f"{role}.sock"

    def make(self) -> None:
        for folder in (self.kubelet / "pods", self.data, self.folder / "stores", self.folder / "reg", self.temporary):
            folder.mkdir(parents=True)
        self.store("data", f"local://{self.data}", {})

    def store(self, name: str, url: str, properties: Mapping[str, str]) -> None:
        """Has the controller make volumes there."""
        told = json.dumps({"url": url, "properties": properties})
        (self.folder / "stores" / f"{name}.json").write_text(told)

    def start(self, *roles: str) -> None:
        """Those that are not running; all if none is named."""
        for role in roles or ("holder", "node", "controller"):
            self.processes[role] = self._spawn(role)
        for role in roles or ("holder", "node", "controller"):
            wait_until(lambda role=role: listens(self.socket(role)), self.processes[role], PATIENCE)  # type: ignore[misc]

    def kill(self, role: str) -> None:
        self.processes[role].kill()
        self.processes.pop(role).wait()

    def clear(self) -> None:
        """Nothing is published any more, and nothing lies in the store."""
        for place in {each.place for each in self.mounted().all if "/pods/" in each.place}:
            self.unpublish(Path(place))
        for folder in (self.kubelet / "pods", self.data):
            shutil.rmtree(folder)
            folder.mkdir()
        wait_for(lambda: not self.clients())

    def stop(self, role: str) -> int:
        self.processes[role].send_signal(signal.SIGTERM)
        return self.processes.pop(role).wait(PATIENCE)

    def log(self, role: str) -> str:
        return (self.folder / f"{role}.log").read_text()

    def remove(self) -> None:
        for channel in self.channels.values():
            channel.close()
        for role in list(self.processes):
            self.kill(role)
        wait_for(self._is_empty)
        shutil.rmtree(self.folder)

    def _is_empty(self) -> bool:
        """What was being mounted when all was killed is taken off as soon as it is there; nobody is left to mount."""
        detach_below(self.folder)
        return not self._processes()

    def clients(self) -> list[int]:
        """Processes that serve mounts of this machine."""
        return [process for process in self._processes() if _is_client(process)]

    def keeper(self) -> int:
        """The process that keeps the only mount; 0 if nobody does."""
        (folder,) = self.mounts.iterdir()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe, suppress(OSError):
            with address(folder / "state" / "holder") as short:
                probe.connect(short)
            return peer_of(probe).process
        return 0

    @property
    def identity(self) -> csi_pb2_grpc.IdentityStub:
        return csi_pb2_grpc.IdentityStub(self.channel("node"))

    @property
    def node(self) -> csi_pb2_grpc.NodeStub:
        return csi_pb2_grpc.NodeStub(self.channel("node"))

    @property
    def controller(self) -> csi_pb2_grpc.ControllerStub:
        return csi_pb2_grpc.ControllerStub(self.channel("controller"))

    def channel(self, role: str) -> grpc.Channel:
        """A process that was started again is called anew."""
        process = self.processes[role].pid
        if process not in self.channels:
            options = [("grpc.use_local_subchannel_pool", 1)]
            self.channels[process] = grpc.insecure_channel(f"unix:{self.socket(role)}", options)
        return self.channels[process]

    def target(self, pod: str, volume: str = "pv") -> Path:
        """Where the kubelet wants a volume of a pod, whose parent it makes."""
        target = self.kubelet / "pods" / pod / "volumes" / "kubernetes.io~csi" / volume / "mount"
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def publish(self, target: Path, volume: str = "vol", **more: Any) -> None:
        self.node.NodePublishVolume(self.request(target, volume, **more), timeout=60)

    def request(self, target: Path, volume: str = "vol", **more: Any) -> pb.NodePublishVolumeRequest:
        usual: dict[str, Any] = {"volume_context": {"url": f"local://{self.data}"}, "volume_capability": capability()}
        return pb.NodePublishVolumeRequest(volume_id=volume, target_path=str(target), **(usual | more))

    def unpublish(self, target: Path, volume: str = "vol") -> None:
        request = pb.NodeUnpublishVolumeRequest(volume_id=volume, target_path=str(target))
        self.node.NodeUnpublishVolume(request, timeout=60)

    def stats(self, target: Path, volume: str = "vol") -> pb.NodeGetVolumeStatsResponse:
        return self.node.NodeGetVolumeStats(
            pb.NodeGetVolumeStatsRequest(volume_id=volume, volume_path=str(target)), timeout=60
        )

    def mounted(self) -> Mounts:
        """What is mounted below the kubelet's folder."""
        return Mounts([each for each in read_mounts().all if each.place.startswith(f"{self.kubelet}/") and each.ours])

    def _processes(self) -> list[int]:
        """All of this machine, also one that has been forked and is about to become another program."""
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and self._is_ours(path)]

    def _is_ours(self, process: Path) -> bool:
        with suppress(OSError):
            return os.fsencode(self.folder) in (process / "environ").read_bytes()
        return False

    def _spawn(self, role: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{role}.log").open("ab") as log:
            command = [*(self.wrapped if role != "controller" else ()), str(BIN / "pf-csi"), role]
            return subprocess.Popen(command, env=os.environ | self._told(role), stdout=log, stderr=log)

    def _told(self, role: str) -> Mapping[str, str]:
        own: dict[str, dict[str, object]] = {
            "holder": {
                "MOUNTS": self.mounts,
                "SECRETS": self.folder / "secrets",
                "SOCKET": self.socket("holder"),
                "CACHE": self.folder / "cache",
                "UPLOADED_SECONDS": 3,
                "SIZES_SECONDS": 0.5,
            },
            "node": {
                "NAME": "node-1",
                "KUBELET": self.kubelet,
                "STATE": self.folder / "state",
                "SOCKET": self.socket("node"),
                "HOLDER": self.socket("holder"),
                "REGISTRATION": self.folder / "reg",
                "ENDPOINT": self.socket("node"),
                "ALLOWED_FOLDERS": self.data,
            },
            "controller": {"STORES": self.folder / "stores", "SOCKET": self.socket("controller")},
        }
        told = {f"PF_CSI_{role.upper()}_{name}": str(value) for name, value in own[role].items()}
        told["TMPDIR"] = str(self.temporary)
        return told | {name: text for name, text in self.variables.items() if role.upper() in name}


def _is_client(process: int) -> bool:
    with suppress(OSError):
        return b"pf-fuse" in Path(f"/proc/{process}/cmdline").read_bytes() and not is_starter(process)
    return False


def is_starter(process: int) -> bool:
    """Whoever begins the processes of mounts, which have its command and another name."""
    with suppress(OSError):
        command, name = (Path(f"/proc/{process}/{of}").read_bytes() for of in ("cmdline", "comm"))
        return b"start-mounts" in command and name != b"pf-fuse-mount\n"
    return False


@contextmanager
def new_site(**variables: str) -> Iterator[Site]:
    """A machine on which nothing runs yet, and of which nothing is left."""
    site = Site(short_folder(), dict(variables))
    site.make()
    try:
        yield site
    finally:
        site.remove()
