"""How each program of a cluster is started."""

from __future__ import annotations

from pathlib import Path

from kube.identities import NODE
from kube.layout import API, KUBELET, NODE_ADDRESS, PODS, SERVICES
from kube.parts import PROGRAMS

STORE = "http://127.0.0.1:2379"


def etcd(state: Path) -> list[str]:
    return [
        "/usr/bin/etcd",
        f"--data-dir={state}/etcd",
        f"--listen-client-urls={STORE}",
        f"--advertise-client-urls={STORE}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        # What is lost with the power is lost with the whole machine here.
        "--unsafe-no-fsync",
    ]


def apiserver(state: Path) -> list[str]:
    keys = state / "pki"
    return [
        str(PROGRAMS / "kube-apiserver"),
        f"--etcd-servers={STORE}",
        f"--bind-address={NODE_ADDRESS}",
        f"--advertise-address={NODE_ADDRESS}",
        "--secure-port=6443",
        f"--service-cluster-ip-range={SERVICES}",
        f"--client-ca-file={keys}/ca.crt",
        f"--tls-cert-file={keys}/apiserver.crt",
        f"--tls-private-key-file={keys}/apiserver.key",
        f"--kubelet-client-certificate={keys}/admin.crt",
        f"--kubelet-client-key={keys}/admin.key",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={keys}/tokens.pub",
        f"--service-account-signing-key-file={keys}/tokens.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
    ]


def controller_manager(state: Path) -> list[str]:
    keys = state / "pki"
    return [
        str(PROGRAMS / "kube-controller-manager"),
        f"--kubeconfig={keys}/controller-manager.kubeconfig",
        f"--root-ca-file={keys}/ca.crt",
        f"--service-account-private-key-file={keys}/tokens.key",
        f"--flex-volume-plugin-dir={KUBELET}/flex",
        f"--cert-dir={keys}/controller-manager",
        "--use-service-account-credentials=true",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
    ]


def scheduler(state: Path) -> list[str]:
    return [
        str(PROGRAMS / "kube-scheduler"),
        f"--kubeconfig={state}/pki/scheduler.kubeconfig",
        f"--cert-dir={state}/pki/scheduler",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
    ]


def containerd(state: Path) -> list[str]:
    return ["/usr/bin/containerd", "--config", f"{state}/containerd.toml"]


def kubelet(state: Path) -> list[str]:
    return [
        str(PROGRAMS / "kubelet"),
        f"--kubeconfig={state}/pki/kubelet.kubeconfig",
        f"--config={state}/kubelet.yaml",
        f"--root-dir={KUBELET}",
        f"--cert-dir={state}/pki/kubelet",
        f"--hostname-override={NODE}",
        f"--node-ip={NODE_ADDRESS}",
        "-v=3",
    ]


def proxy(state: Path) -> list[str]:
    return [
        str(PROGRAMS / "kube-proxy"),
        f"--kubeconfig={state}/pki/proxy.kubeconfig",
        "--proxy-mode=nftables",
        f"--hostname-override={NODE}",
        f"--cluster-cidr={PODS}",
        # The limits of the kernel are not the machine's; 0 leaves them alone.
        "--conntrack-max-per-core=0",
        "--conntrack-min=0",
        "--conntrack-tcp-timeout-established=0",
        "--conntrack-tcp-timeout-close-wait=0",
    ]


def door(state: Path) -> list[str]:
    """Lets programs outside of the machine speak to the API as its administrator."""
    return [
        str(PROGRAMS / "kubectl"),
        f"--kubeconfig={state}/pki/admin.kubeconfig",
        f"--server={API}",
        "proxy",
        f"--unix-socket={state}/api.sock",
    ]
