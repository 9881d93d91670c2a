"""The original's client class: its calls, its results, its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import paddleflow
from paddleflow.auth.v1 import auth_pb2
from paddleflow.compat.filesystems import LinkInfo
from paddleflow.compat.infos import ClusterInfo, FlavourInfo, FSInfo, GrantInfo, QueueInfo, UserInfo
from paddleflow.original import ISOLATION_KEY, PARENT_KEY
from paddleflow.problems import InvalidArgument, QueueNotGranted
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from paddleflow.wire.clusters import cluster_from_wire
from paddleflow.wire.queues import queue_from_wire
from support.fake_paddleflow import FakePaddleFlow
from support.fake_services import PASSWORD

BEGAN = "2026-01-02T03:04:05+00:00"


@pytest.fixture
def client(fake: FakePaddleFlow, plain_environment: None) -> Iterator[paddleflow.Client]:
    opened = paddleflow.Client(fake.address, "root", PASSWORD)
    yield opened
    opened.close()


def test_users_are_added_listed_and_removed(client: paddleflow.Client) -> None:
    assert client.login("root", PASSWORD) == (True, None)
    assert client.add_user("alice", "pass12") == (True, None)
    assert client.list_user() == (True, [UserInfo("alice", BEGAN)])
    assert client.del_user("alice") == (True, None)
    assert client.del_user("alice") == (False, "there is no user alice")


def test_a_login_with_a_wrong_password_is_false_with_a_message(client: paddleflow.Client) -> None:
    ok, message = client.login("root", "wrong")
    assert ok is False
    assert "password is wrong" in str(message)


def test_ones_own_password_is_changed_with_the_old_one(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    assert client.update_password("alice", "pass12") == (True, None)
    assert client.update_password("root", PASSWORD) == (True, None)
    olds = [request.old_password for request in fake.world.asked(auth_pb2.SetPasswordRequest)]
    assert olds == ["", PASSWORD]


def test_a_queue_is_described_as_the_original_does(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    ok, nothing = client.add_queue(
        "train",
        "ns",
        "default-cluster",
        {"cpu": "20", "mem": "20Gi", "scalarResources": {"nvidia.com/gpu": 2}},
        minResources={"cpu": 10, "mem": "10Gi"},
        schedulingPolicy=["priority", "strict-fifo"],
        location={PARENT_KEY: "team-a", "zone": "a"},
        quotaType="elasticQuota",
    )
    assert (ok, nothing) == (True, None)
    fake.world.queues["train"].used.amounts["cpu"] = 500
    assert client.show_queue("train") == (
        True,
        QueueInfo(
            name="train",
            namespace="ns",
            status="open",
            clusterName="default-cluster",
            quotaType="elasticQuota",
            maxResources={"cpu": "20", "mem": "20Gi", "scalarResources": {"nvidia.com/gpu": "2"}},
            minResources={"cpu": "10", "mem": "10Gi"},
            usedResources={"cpu": "500m", "mem": "0"},
            idleResources={"cpu": "19500m", "mem": "20Gi", "scalarResources": {"nvidia.com/gpu": "2"}},
            location={"zone": "a", PARENT_KEY: "team-a", ISOLATION_KEY: "logical"},
            schedulingPolicy=["priority", "strict-fifo"],
            createTime=BEGAN,
            updateTime=BEGAN,
        ),
    )


def test_what_is_used_may_not_be_known(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    assert client.add_queue("q", "ns", "default-cluster", {"cpu": "2", "mem": "1Gi"}) == (True, None)
    _, known = client.show_queue("q")
    assert isinstance(known, QueueInfo)
    assert (known.usedResources, known.idleResources) == ({"cpu": "0", "mem": "0"}, {"cpu": "2", "mem": "1Gi"})
    fake.world.queues["q"].ClearField("used")
    _, unknown = client.show_queue("q")
    assert isinstance(unknown, QueueInfo)
    assert (unknown.usedResources, unknown.idleResources) == ({}, {})


def test_the_root_quota_of_the_original_is_the_top(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    client.add_queue("q", "ns", "c", {"cpu": 1, "mem": 1}, location={PARENT_KEY: "root", ISOLATION_KEY: "physical"})
    queue = queue_from_wire(fake.world.queues["q"])
    assert (queue.parent, queue.isolation, queue.labels) == ("", "physical", {})


def test_queues_are_listed_with_a_marker(client: paddleflow.Client) -> None:
    for name in ("a", "b", "c"):
        client.add_queue(name, "ns", "c", {"cpu": 1, "mem": 1})
    ok, first, marker = client.list_queue(maxsize=2)
    assert (ok, [queue.name for queue in first if isinstance(queue, QueueInfo)], marker) == (True, ["a", "b"], "b")
    ok, rest, marker = client.list_queue(maxsize=2, marker=marker)
    assert (ok, [queue.name for queue in rest if isinstance(queue, QueueInfo)], marker) == (True, ["c"], None)


def test_an_update_changes_what_is_given_and_an_empty_label_goes(
    fake: FakePaddleFlow, client: paddleflow.Client
) -> None:
    client.add_queue("q", "ns", "c", {"cpu": 1, "mem": 1})
    changed = client.update_queue("q", {"cpu": "2"}, {"mem": "1"}, ["best-effort"], {"zone": "", PARENT_KEY: "p"})
    assert changed == (True, None)
    [request] = fake.world.asked(queue_pb2.UpdateQueueRequest)
    paths = ["max.amounts.cpu", "min.amounts.memory", "labels.zone", "parent", "order_policy"]
    assert sorted(request.update_mask.paths) == sorted(paths)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (({"cpu": "x"},), "cpu: 'x' is not a quantity"),
        (({}, {}, ["weight-"]), "'weight-' is not one of best-effort, strict-fifo"),
        (({}, {}, ["best-effort", "strict-fifo"]), "exclude each other"),
        (({}, {}, None, {ISOLATION_KEY: "physical"}), "cannot be changed"),
        (({"scalarResources": 3},), "is not a mapping"),
    ],
)
def test_what_cannot_be_sent_is_false_with_a_message(
    client: paddleflow.Client, arguments: tuple[object, ...], why: str
) -> None:
    ok, message = client.update_queue("q", *arguments)  # type: ignore[arg-type]
    assert ok is False
    assert why in str(message)


def test_queues_are_granted_and_taken_back(client: paddleflow.Client) -> None:
    assert client.grant_queue("alice", "q") == (True, None)
    assert client.show_queue_grant("alice") == (True, [GrantInfo("alice", "q")])
    assert client.ungrant_queue("alice", "q") == (True, None)
    assert client.show_queue_grant() == (True, [])


def test_a_queue_that_is_refused_or_gone_is_false_with_a_message(
    fake: FakePaddleFlow, client: paddleflow.Client
) -> None:
    fake.world.failures = [QueueNotGranted("ask root"), InvalidArgument("no")]
    assert client.show_queue("q") == (False, "ask root")
    assert client.list_queue() == (False, "no", None)
    assert client.del_queue("q") == (False, "there is no queue q")


def test_flavours_are_described_as_the_original_does(client: paddleflow.Client) -> None:
    assert client.add_flavour("f", "4", "8Gi", {"nvidia.com/gpu": "1"}) == (True, None)
    assert client.add_flavour("g", "1", "1Gi", cluster_name="c") == (True, None)
    flavour = FlavourInfo("f", "4", "8Gi", '{"nvidia.com/gpu": "1"}', "", "", "")
    assert client.show_flavour("f") == (True, flavour)
    assert client.list_flavour() == (True, [flavour, FlavourInfo("g", "1", "1Gi", "", "c", "", "")], None)
    assert client.update_flavour("f", cpu="2") == (True, "f")
    assert client.del_flavour("f") == (True, None)


def test_clusters_are_described_as_the_original_does(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    created = client.create_cluster(
        "k", "https://k", "kubernetes", b"kube", status="online", namespacelist=["a"], version="v1.28"
    )
    assert created == (True, "k")
    assert fake.world.asked(cluster_pb2.CreateClusterRequest)[0].cluster.credential == b"kube"
    shown = ClusterInfo(
        "k", "k", "", "https://k", "OnPremise", "Kubernetes", "v1.28", "online", None, "", ("a",), BEGAN, BEGAN
    )
    assert client.show_cluster("k") == (True, shown)
    assert client.list_cluster(clusternames="k, other", clusterstatus="online") == (True, [shown], None)
    assert client.update_cluster("k", description="d", status="offline") == (True, "k")
    [request] = fake.world.asked(cluster_pb2.UpdateClusterRequest)
    assert sorted(request.update_mask.paths) == ["description", "status"]
    assert client.delete_cluster("k") == (True, "k")
    assert fake.world.asked(cluster_pb2.DeleteClusterRequest)[0].cascade
    assert cluster_from_wire(request.cluster).description == "d"


def test_resources_of_clusters_are_summed(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    client.create_cluster("c", "", "Local")
    for name in ("n1", "n2"):
        node = cluster_pb2.Node(name=name, cluster="c", schedulable=True, labels={"zone": "a"})
        node.allocatable.amounts.update({"cpu": 8000, "memory": 2**34})
        fake.world.nodes.append(node)
    fake.world.clusters["c"].capacity.amounts.update({"cpu": 16000, "memory": 2**35})
    for name, parent, used in (("top", "", 3000), ("below", "top", 3000)):
        queue = queue_pb2.Queue(name=name, parent=parent, cluster="c")
        queue.used.amounts["cpu"] = used
        fake.world.queues[name] = queue
    fake.world.queues["top"].ClearField("used")
    assert "idle" not in str(client.list_cluster_resource("c"))
    fake.world.queues["top"].used.amounts["cpu"] = 3000
    ok, told = client.list_cluster_resource("c")
    total = {"nodeName": "n1", "schedulable": True, "total": {"cpu": "8", "mem": "16Gi"}}
    assert (ok, told) == (
        True,
        {
            "c": {
                "summary": {"total": {"cpu": "16", "mem": "32Gi"}, "idle": {"cpu": "13", "mem": "32Gi"}},
                "nodeList": [total, total | {"nodeName": "n2"}],
            }
        },
    )
    assert client.list_cluster_resource_v2(2, 1, ["c"], labels="zone=a") == (
        True,
        {
            "c": {
                "clusterName": "c",
                "capacity": {"n2": {"cpu": "8", "memory": "16Gi"}},
                "labels": {"n2": {"zone": "a"}},
            }
        },
    )


def test_the_version_is_the_servers(client: paddleflow.Client) -> None:
    assert client.get_version() == (True, "9.8.7")


def test_a_server_that_is_not_there_is_false_with_a_message(fake: FakePaddleFlow, client: paddleflow.Client) -> None:
    fake.stop()
    ok, message = client.get_version()
    assert ok is False
    assert fake.address in str(message)


def test_values_of_a_wrong_kind_are_false_with_a_message(client: paddleflow.Client) -> None:
    wrong: Any = None
    answers = [
        client.add_queue("train", "ns", "c", wrong),
        client.add_queue("train", "ns", "c", {"cpu": "1", "mem": "1Gi"}, location="zone=a"),  # type: ignore[arg-type]
        client.create_cluster("c", "", "Local", credential="text"),  # type: ignore[arg-type]
        client.update_cluster("c"),
        client.list_queue(maxsize=2**40),
    ]
    said = [str(answer[1]) for answer in answers]
    assert [answer[0] for answer in answers] == [False] * len(answers)
    assert [message.partition(":")[0] for message in said] == [
        "resources",
        "location",
        "credential",
        "Nothing to change is given",
        "page_size",
    ]


def test_filesystems_are_those_of_the_original(client: paddleflow.Client) -> None:
    assert client.add_fs("data", "local:///data/images") == (True, None)
    assert client.add_fs("more", "local:///more", username="alice", properties={"a": "b"}) == (True, None)
    assert client.add_fs("data", "local:///x") == (False, "root has a filesystem 'data'")
    ours = FSInfo("data", "root", "local", "", "/data/images", {})
    theirs = FSInfo("more", "alice", "local", "", "/more", {"a": "b"})
    assert client.list_fs() == (True, [theirs, ours])
    assert client.list_fs("alice") == client.show_fs("more", "alice") == (True, [theirs])
    assert client.list_fs(maxsize=1) == (True, [theirs])
    assert client.show_fs("data") == (True, [ours])
    assert client.delete_fs("data") == (True, None)
    assert client.delete_fs("data") == (False, "no filesystem 'fs-root-data'")
    assert client.delete_fs("more", "alice") == (True, None)


def test_links_and_caches_of_filesystems_are_those_of_the_original(client: paddleflow.Client) -> None:
    far = {"endpoint": "s3.example.org", "accessKey": "AK", "secretKey": "hidden"}
    assert client.add_fs("far", "s3://bucket/x", properties=far) == (True, None)
    hidden = far | {"secretKey": "***"}
    assert client.show_fs("far") == (True, [FSInfo("far", "root", "s3", "bucket", "/x", hidden)])
    assert client.update_fs("far", {"region": "bj"}) == (True, None)
    assert client.add_link("far", "/a", "sftp://h/x", properties={"user": "u", "password": "hidden"}) == (True, None)
    link = LinkInfo("far", "/a", "sftp://h/x", "sftp", {"user": "u", "password": "***"})
    assert client.show_link("far", "/a") == client.list_link("far") == (True, [link])
    assert client.delete_link("far", "a") == (True, None)
    assert client.delete_link("far", "a") == (False, "there is no link at 'a'")
    assert client.create_fs_cache("far", {"cacheDir": "/c", "metaDriver": "mem", "blockSize": "4Mi"}) == (True, None)
    told = {"fsname": "far", "cacheDir": "/c", "metaDriver": "mem", "blockSize": "4Mi"}
    assert client.get_fs_cache("far") == (True, told | {"cleanCache": False, "debug": False})
    assert client.update_fs_cache("far", {"debug": "maybe"})[0] is False
    assert client.delete_fs_cache("far") == (True, None)
    assert client.get_fs_cache("far")[0] is False
