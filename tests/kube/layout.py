"""Addresses and folders of a cluster's machine."""

from __future__ import annotations

from collections.abc import Mapping

BRIDGE = "node0"
NODE_ADDRESS, PREFIX = "10.77.0.1", 24
PODS = "10.88.0.0/24"
SERVICES = "10.99.0.0/24"
API_SERVICE = "10.99.0.1"
"""The first of the services' addresses is always the API's."""
API = f"https://{NODE_ADDRESS}:6443"
API_HOSTS = (NODE_ADDRESS, API_SERVICE, "127.0.0.1", "localhost", "kubernetes.default.svc")

KUBELET = "/var/lib/kubelet"
CONTAINERD = "/run/containerd/containerd.sock"
OWN: Mapping[str, str] = {
    KUBELET: "kubelet",
    "/var/cache": "cache",
    "/var/lib/cni": "cni",
    "/var/lib/containerd": "containerd",
    "/var/log/pods": "pods",
}
"""What the machine has for itself, on a real disk, and where in its state that lies."""
