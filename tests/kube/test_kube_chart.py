"""What the chart makes: accepted by Helm and by the API as it is, and no more rights than are needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest
import yaml

from kube.api import Thing
from kube.driver import values
from kube.helm import CHART, Helm, HelmFailed
from kube.kubectl import Kubectl
from pf_csi.holder.door import SOCKET

pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

EVERYTHING: dict[str, Any] = {
    "imagePullSecrets": [{"name": "registry"}],
    "csi": {
        "kubeletPath": "/var/snap/kubelet",
        "filesystems": "fs.paddleflow:8999",
        "image": {"repository": "registry.example.org/csi", "tag": "v1", "pullPolicy": "Always"},
        "node": {
            "allowed": {"kinds": ["s3"], "folders": ["/srv/data", "/srv/more"]},
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "affinity": {"nodeAffinity": {}},
            "podAnnotations": {"example.org/a": "b"},
        },
        "holder": {"cache": {"folders": ["/mnt/a", "/mnt/b"], "gib": 500}, "podAnnotations": {"example.org/a": "b"}},
        "controller": {
            "existingSecret": "stores",
            "nodeSelector": {"a": "b"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}},
            "podAnnotations": {"example.org/a": "b"},
        },
        "storageClasses": [
            {
                "name": "datasets",
                "store": "bucket",
                "contents": "all",
                "secret": {"name": "keys", "namespace": "elsewhere"},
                "mountOptions": ["dataset", "attr-timeout=5"],
                "reclaimPolicy": "Retain",
                "volumeBindingMode": "WaitForFirstConsumer",
                "default": True,
            },
            {"name": "scratch", "store": "bucket", "secret": {"name": "keys"}},
        ],
        "priorityClass": {"create": False, "name": "system-node-critical"},
    },
}
LONGEST_DRIVER = "d" * 63
MOUNTS = CHART / "crds" / "mounts.yaml"
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tests": values(),
    "everything": EVERYTHING,
    "off": {"csi": {"enabled": False}},
    "processes": values("processes"),
    "clients": {
        "csi": {
            "clients": {
                "namespace": "served",
                "createNamespace": False,
                "spares": 0,
                "user": 4000,
                "podAnnotations": {"example.org/a": "b"},
                "admissionPolicy": {"enabled": False},
            }
        }
    },
    "without-controller": {"csi": {"controller": {"enabled": False}, "networkPolicy": {"enabled": False}}},
}


@pytest.mark.parametrize("way", list(WAYS))
def test_helm_finds_nothing_to_say_against_it(helm: Helm, way: str) -> None:
    helm.lint(WAYS[way])


@pytest.mark.parametrize("way", list(WAYS))
def test_the_api_knows_every_field(helm: Helm, kubectl: Kubectl, way: str) -> None:
    """The server checks them against its own schemas, and admits them."""
    documents = helm.rendered(WAYS[way], namespace=kubectl.namespace)
    kubectl.apply(*yaml.safe_load_all(MOUNTS.read_text()))
    of_namespaces: dict[str, list[Thing]] = {}
    for each in documents:
        of_namespaces.setdefault(each["metadata"].get("namespace", kubectl.namespace), []).append(each)
    for namespace, theirs in of_namespaces.items():
        with there(namespace, kubectl):
            kubectl.within(namespace).apply(*theirs, strictly=("--validate=strict", "--dry-run=server"))
    assert bool(documents) == (way != "off")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        pytest.param({"csi": {"colour": "blue"}}, "colour", id="unknown"),
        pytest.param({"csi": {"driver": "not a name"}}, "driver", id="driver"),
        pytest.param({"csi": {"kubeletPath": "relative"}}, "kubeletPath", id="path"),
        pytest.param({"csi": {"holder": {"cache": {"folders": []}}}}, "folders", id="no-cache"),
        pytest.param({"csi": {"node": {"allowed": {"kinds": ["local"]}}}}, "kinds", id="kind"),
        pytest.param({"csi": {"storageClasses": [{"name": "a", "store": "b"}]}}, "secret", id="class-without-keys"),
        pytest.param(
            {"csi": {"controller": {"existingSecret": "a", "stores": {"b": {"url": "s3://c", "properties": {}}}}}},
            "stores",
            id="stores-twice",
        ),
    ],
)
def test_values_that_nobody_can_mean_are_refused_and_named(helm: Helm, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(HelmFailed, match=named):
        helm.rendered(wrong)


def test_tokens_come_with_secrets_or_not_at_all(helm: Helm) -> None:
    def spec(version: str) -> Thing:
        (driver,) = of_kind("CSIDriver", helm.rendered({}, version=version))
        found: Thing = driver["spec"]
        return found

    assert spec("1.36.0")["serviceAccountTokenInSecrets"] is True
    assert spec("1.36.0")["tokenRequests"] == [{"audience": "paddleflow", "expirationSeconds": 3600}]
    assert "tokenRequests" not in spec("1.34.0")


@pytest.mark.parametrize("run", ["pods", "processes"])
def test_nobody_may_see_secrets_or_change_machines_and_pods_of_others(helm: Helm, run: str) -> None:
    documents = helm.rendered(clients_as(run))
    rules = [
        (each, rule) for kind in ("ClusterRole", "Role") for each in of_kind(kind, documents) for rule in each["rules"]
    ]
    resources = {resource for _, rule in rules for resource in rule["resources"]}
    assert not resources & {"*", "secrets"}
    assert "*" not in {verb for _, rule in rules for verb in rule["verbs"]}
    about_machines = [set(rule["verbs"]) for _, rule in rules if {"nodes", "csinodes"} & set(rule["resources"])]
    assert all(verbs == {"list", "watch"} for verbs in about_machines)
    about_pods = [(each["kind"], each["metadata"]["namespace"]) for each, rule in rules if "pods" in rule["resources"]]
    assert about_pods == ([("Role", "storage-clients")] if run == "pods" else [])
    if run == "processes":
        assert "nodes" not in resources


@pytest.mark.parametrize(("run", "more"), [("pods", {"clients", "holder"}), ("processes", set())])
def test_only_who_needs_it_has_a_token(helm: Helm, run: str, more: set[str]) -> None:
    with_token = set()
    for workload in workloads(helm.rendered(clients_as(run))):
        with_token |= {
            container["name"]
            for container in workload["containers"]
            if workload["automountServiceAccountToken"]
            or any("serviceaccount" in mount["mountPath"] for mount in container["volumeMounts"])
        }
    assert with_token == {"provisioner", "resizer"} | more


def test_whoever_needs_no_rights_on_the_machine_has_none(helm: Helm) -> None:
    privileged = set()
    for container in containers(helm.rendered(values())):
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        if context.get("privileged"):
            privileged.add(container["name"])
        else:
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["allowPrivilegeEscalation"] is False
    assert privileged == {"holder", "node"}


@pytest.mark.parametrize(("run", "how"), [("pods", "RollingUpdate"), ("processes", "OnDelete")])
def test_a_holder_that_has_clients_is_replaced_only_by_hand(helm: Helm, run: str, how: str) -> None:
    sets = {each["metadata"]["name"]: each["spec"] for each in of_kind("DaemonSet", helm.rendered(clients_as(run)))}
    kinds = {name.rpartition("-")[2]: spec["updateStrategy"]["type"] for name, spec in sets.items()}
    assert kinds == {"holder": how, "node": "RollingUpdate"}


def test_a_client_pod_keeps_no_autoscaler_and_is_no_burden(helm: Helm) -> None:
    (config,) = of_kind("ConfigMap", helm.rendered(clients_as("pods")))
    client = json.loads(config["data"]["client.json"])
    assert client["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/daemonset-pod"] == "true"
    assert client["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert client["spec"]["restartPolicy"] == "OnFailure"
    (container,) = client["spec"]["containers"]
    assert "limits" not in container["resources"]


def test_row_21_nothing_holds_up_who_wants_to_remove_a_machine(helm: Helm) -> None:
    """Autoscalers leave machines alone whose pods nobody makes anew, or keep something on the machine's disk."""
    documents = helm.rendered(values("pods"))
    assert of_kind("Pod", documents) == []
    for deployment in of_kind("Deployment", documents):
        volumes = deployment["spec"]["template"]["spec"]["volumes"]
        assert not any("hostPath" in volume for volume in volumes)
        assert all(volume["emptyDir"].get("medium") == "Memory" for volume in volumes if "emptyDir" in volume)
    budgets = [each["spec"] for each in of_kind("PodDisruptionBudget", documents) if part_of(each) != "csi-client"]
    assert [each["maxUnavailable"] for each in budgets] == [1]


@pytest.mark.parametrize("run", ["pods", "processes"])
def test_whoever_mounts_folders_of_the_machine_sees_them_and_what_is_mounted_there_later(helm: Helm, run: str) -> None:
    documents = helm.rendered(with_folders(clients_as(run)))
    opening = [spec for spec in specs(documents) if spec["containers"][0]["name"] in {"holder", "client"}]
    assert len(opening) == (2 if run == "pods" else 1)
    for spec in opening:
        (container,) = spec["containers"]
        volumes = {each["name"]: each["hostPath"] for each in spec["volumes"] if "hostPath" in each}
        seen = {
            mount["mountPath"]: (volumes[mount["name"]], mount.get("mountPropagation"))
            for mount in container["volumeMounts"]
            if mount["mountPath"].startswith("/srv/")
        }
        assert seen == {
            path: ({"path": path, "type": "Directory"}, "HostToContainer") for path in ("/srv/data", "/srv/more")
        }


def test_the_policy_knows_all_folders_that_clients_have(helm: Helm) -> None:
    documents = helm.rendered(chosen := with_folders(clients_as("pods")))
    (client,) = [spec for spec in specs(documents) if spec["containers"][0]["name"] == "client"]
    policies = of_kind("ValidatingAdmissionPolicy", documents)
    (known,) = [
        json.loads(variable["expression"])
        for policy in policies
        for variable in policy["spec"].get("variables", ())
        if variable["name"] == "folders"
    ]
    assert sorted(known) == sorted(folders_of_machines([client]))
    assert set(chosen["csi"]["node"]["allowed"]["folders"]) <= set(known)


@pytest.mark.parametrize(("enabled", "parts"), [(True, {"csi-controller", "csi-client"}), (False, set())])
def test_who_wants_no_disruption_budgets_has_none(helm: Helm, enabled: bool, parts: set[str]) -> None:
    chosen = clients_as("pods")
    chosen["csi"]["podDisruptionBudget"] = {"enabled": enabled}
    found = of_kind("PodDisruptionBudget", helm.rendered(chosen))
    assert {part_of(each) for each in found} == parts


@pytest.mark.parametrize("run", ["pods", "processes"])
def test_two_drivers_on_a_machine_share_the_kubelets_folder_and_caches_only(helm: Helm, run: str) -> None:
    first, second = clients_as(run), clients_as(run)
    second["csi"]["driver"] = LONGEST_DRIVER
    of_first, of_second = (set(folders_of_machines(specs(helm.rendered(each)))) for each in (first, second))
    caches = set(yaml.safe_load((CHART / "values.yaml").read_text())["csi"]["holder"]["cache"]["folders"])
    assert of_first & of_second == {"/var/lib/kubelet"} | caches


def test_sockets_of_the_longest_driver_can_be_named(helm: Helm) -> None:
    chosen = clients_as("pods")
    chosen["csi"]["driver"] = LONGEST_DRIVER
    told = [variable for container in containers(helm.rendered(chosen)) for variable in container.get("env", ())]
    doors = [f"{each['value']}/{SOCKET}" for each in told if each["name"] == "PF_CSI_HOLDER_CLIENTS_FOLDER"]
    sockets = [each["value"] for each in told if str(each.get("value", "")).endswith(".sock")]
    assert doors
    assert sockets
    assert max(len(path) for path in doors + sockets) <= 107


def test_volumes_have_handles_of_their_own_unless_told_otherwise(helm: Helm) -> None:
    def policies(more: dict[str, Any]) -> list[str]:
        found = of_kind("ValidatingAdmissionPolicy", helm.rendered(more))
        return [each["metadata"]["name"] for each in found if each["metadata"]["name"].endswith("-handles")]

    assert len(policies(values())) == 1
    assert policies({"csi": {"ownHandles": False}}) == []


def test_keys_are_in_no_document_but_a_secret(helm: Helm) -> None:
    planted = deepcopy(values())
    planted["csi"]["controller"]["stores"]["bucket"]["properties"]["secretKey"] = "canary-of-the-chart"
    telling = {each["kind"] for each in helm.rendered(planted) if "canary-of-the-chart" in repr(each)}
    assert telling == {"Secret"}


@contextmanager
def there(namespace: str, kubectl: Kubectl) -> Iterator[None]:
    """Nothing can be tried in a namespace that is only tried itself."""
    if namespace == kubectl.namespace:
        yield
        return
    kubectl("create", "namespace", namespace)
    try:
        yield
    finally:
        kubectl.delete("namespace", namespace)


def clients_as(run: str) -> dict[str, Any]:
    return deepcopy(values(run))


def with_folders(chosen: dict[str, Any]) -> dict[str, Any]:
    """The same, where volumes may be folders of machines."""
    found = deepcopy(chosen)
    found["csi"]["node"] = {"allowed": {"folders": ["/srv/data", "/srv/more"]}}
    return found


def of_kind(kind: str, documents: list[Thing]) -> list[Thing]:
    return [document for document in documents if document["kind"] == kind]


def part_of(document: Thing) -> str:
    return str(document["metadata"]["labels"]["app.kubernetes.io/component"])


def workloads(documents: list[Thing]) -> Iterator[Thing]:
    for kind in ("DaemonSet", "Deployment"):
        for document in of_kind(kind, documents):
            yield document["spec"]["template"]["spec"]


def specs(documents: list[Thing]) -> list[Thing]:
    """Of all pods, also those that `pf-csi clients` makes."""
    made = [json.loads(each["data"]["client.json"])["spec"] for each in of_kind("ConfigMap", documents)]
    return [*workloads(documents), *made]


def folders_of_machines(pods: list[Thing]) -> list[str]:
    return [each["hostPath"]["path"] for spec in pods for each in spec["volumes"] if "hostPath" in each]


def containers(documents: list[Thing]) -> Iterator[Thing]:
    for workload in workloads(documents):
        yield from workload["containers"]
