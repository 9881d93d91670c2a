"""What a cluster is made of: programs of Debian, and those that are built of Go modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.repository import ROOT

CACHE = ROOT / ".cache" / "kube"
PROGRAMS = CACHE / "bin"
MODULES = ROOT / "tests" / "kube" / "modules"

KUBERNETES = "1.36.4"
CNI = Path("/usr/lib/cni")

DEBIAN: Mapping[str, str] = {
    "/bin/busybox": "busybox-static",
    "/usr/bin/containerd": "containerd",
    "/usr/bin/etcd": "etcd-server",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/conntrack": "conntrack",
    "/usr/sbin/debootstrap": "debootstrap",
    "/usr/sbin/nft": "nftables",
    "/usr/sbin/runc": "runc",
    "/usr/sbin/ip": "iproute2",
}
"""The package that has a program."""


@dataclass(frozen=True, slots=True)
class GoModule:
    """Names versions; go.sum beside it knows what they contain."""

    name: str
    commands: Mapping[str, str]
    """The package that becomes a program."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What the linker sets."""

    @property
    def folder(self) -> Path:
        return MODULES / self.name


VERSION = "k8s.io/component-base/version"
GO_MODULES = (
    GoModule(
        "kubernetes",
        {
            name: f"k8s.io/kubernetes/cmd/{name}"
            for name in (
                "kube-apiserver",
                "kube-controller-manager",
                "kube-scheduler",
                "kubelet",
                "kubectl",
                "kube-proxy",
            )
        },
        # Without them everything is of version 0.0.0, which clients take for too old.
        {
            f"{VERSION}.gitVersion": f"v{KUBERNETES}",
            f"{VERSION}.gitMajor": "1",
            f"{VERSION}.gitMinor": "36",
        },
    ),
    GoModule("helm", {"helm": "helm.sh/helm/v4/cmd/helm"}),
    GoModule(
        "sidecars",
        {
            "csi-provisioner": "github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner",
            "csi-resizer": "github.com/kubernetes-csi/external-resizer/v2/cmd/csi-resizer",
        },
    ),
)


class PartsMissing(Exception):
    """The cluster cannot be started here; the text says what to do."""


def prepare() -> None:
    """Has everything there that comes from Debian, or says in one message all that is missing."""
    lacking = troubles()
    if lacking:
        raise PartsMissing("A cluster cannot run here:\n" + "\n".join(f"- {each}" for each in lacking))
    packages = absent_packages()
    if packages:
        install(packages)


def troubles() -> list[str]:
    """What nobody but the user can mend."""
    found = []
    if sys.platform != "linux":
        found.append("it takes Linux")
    if os.geteuid() != 0:
        found.append("it takes root, for namespaces and mounts: sudo -E make kube-test")
    if not Path("/dev/fuse").exists():
        found.append("there is no /dev/fuse: modprobe fuse")
    if shutil.which("go") is None:
        found.append("Go is missing, 1.26 or newer: https://go.dev/dl/")
    packages = absent_packages()
    if packages and shutil.which("apt-get") is None:
        found.append(f"this is no Debian; install what its packages {' '.join(packages)} have")
    return found


def absent_packages() -> list[str]:
    return sorted({package for program, package in DEBIAN.items() if not Path(program).exists()})


def install(packages: list[str]) -> None:
    """With apt; the lists of a fresh machine may be empty."""
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    sys.stderr.write(f"kube: running {' '.join(command)}\n")
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(command, env=quiet, stdout=sys.stderr).returncode == 0:
        return
    subprocess.run(["apt-get", "update"], env=quiet, stdout=sys.stderr)
    if subprocess.run(command, env=quiet, stdout=sys.stderr).returncode != 0:
        raise PartsMissing(f"Packages could not be installed. Run: apt-get update && {' '.join(command)}")
