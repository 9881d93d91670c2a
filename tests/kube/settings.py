"""The files that the programs of a cluster read."""

from __future__ import annotations

import json
from pathlib import Path

from kube.layout import CONTAINERD, KUBELET, NODE_ADDRESS, PODS
from kube.parts import CNI

PAUSE = "registry.invalid/pause:1"

CONTAINERD_TOML = """\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
    "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing",
]
[grpc]
  address = "{containerd}"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  # Neither is given to containers in which clusters like this one are run.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni}"
    conf_dir = "{state}/cni.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "/usr/sbin/runc"
        SystemdCgroup = false
"""


def write(state: Path, cgroup: str) -> None:
    (state / "containerd.toml").write_text(
        CONTAINERD_TOML.format(containerd=CONTAINERD, pause=PAUSE, cni=CNI, state=state)
    )
    (state / "cni.d").mkdir(exist_ok=True)
    (state / "cni.d" / "pods.conflist").write_text(json.dumps(pods_network()))
    (state / "kubelet.yaml").write_text(json.dumps(kubelet(state, cgroup)))


def pods_network() -> dict[str, object]:
    addresses = {
        "type": "host-local",
        # Who holds an address does not outlive a reboot.
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": PODS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": False, "ipam": addresses}
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [bridge]}


def kubelet(state: Path, cgroup: str) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{state}/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
        "resolvConf": "",
        # The disk is the machine's, and what others keep there is no reason to evict anybody.
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,
        "volumePluginDir": f"{KUBELET}/flex",
        # Shorter than usual, so that tests wait less: how often volumes are looked after, and their use measured.
        "syncFrequency": "5s",
        "volumeStatsAggPeriod": "10s",
        # Tests kill what the kubelet starts again dozens of times.
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    }
