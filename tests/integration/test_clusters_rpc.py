"""ClusterService over a real socket: what each method does, and each failure that its contract lists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import asyncpg
import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.problems import ClusterNotFound, Code, Problem, QueueNotFound, QueueNotGranted
from paddleflow.queue.v1 import cluster_pb2 as pb
from paddleflow.queue.v1 import queue_pb2
from support.callers import Caller
from support.queue_site import QueueSite, node

CREDENTIAL = b"apiVersion: v1\nkind: Config\n# nobody may read this"


async def get(site: QueueSite) -> pb.Cluster:
    found: pb.Cluster = (await site.root(pb.GetClusterRequest(name=site.cluster))).cluster
    return found


async def update(site: QueueSite, *mask: str, etag: str = "", **fields: Any) -> pb.Cluster:
    request = pb.UpdateClusterRequest(cluster=pb.Cluster(name=site.cluster, etag=etag, **fields))
    request.update_mask.paths.extend(mask or fields)
    changed: pb.Cluster = (await site.root(request)).cluster
    return changed


async def watched(caller: Caller, name: str) -> pb.Cluster:
    """The cluster, as a watch shows it at its beginning."""
    async with aclosing(caller.watch(pb.WatchClustersRequest())) as pages:
        async for page in pages:
            for event in page.events:
                if event.cluster.name == name:
                    found: pb.Cluster = event.cluster
                    return found
    raise AssertionError(name)


async def test_a_cluster_is_what_its_maker_says_and_what_holds_where_nothing_is_said(site: QueueSite) -> None:
    made = await get(site)
    assert (made.type, made.status, made.source) == (pb.CLUSTER_TYPE_LOCAL, pb.CLUSTER_STATUS_ONLINE, "OnPremise")
    assert (made.node_count, made.revision, made.overcommitted, made.has_credential) == (0, 0, False, False)
    assert not made.HasField("capacity")
    assert made.etag


async def test_an_update_changes_what_the_mask_names(site: QueueSite) -> None:
    before = await get(site)
    after = await update(
        site,
        "description",
        "endpoint",
        "type",
        "version",
        "setting",
        "namespaces",
        "status",
        description="ours",
        endpoint="https://k8s",
        type=pb.CLUSTER_TYPE_KUBERNETES,
        version="1.30",
        setting='{"a": 1}',
        namespaces=["b", "a"],
        status=pb.CLUSTER_STATUS_OFFLINE,
        source="not named",
    )
    assert (after.description, after.endpoint, after.version, after.setting) == (
        "ours",
        "https://k8s",
        "1.30",
        '{"a": 1}',
    )
    assert (after.type, after.status) == (pb.CLUSTER_TYPE_KUBERNETES, pb.CLUSTER_STATUS_OFFLINE)
    assert list(after.namespaces) == ["b", "a"]
    assert after.source == "OnPremise"
    assert after.etag != before.etag
    assert await get(site) == after
    assert await update(site, description="ours") == after


async def test_a_credential_is_kept_sealed_and_never_shown(site: QueueSite) -> None:
    shown = [await update(site, credential=CREDENTIAL), await get(site)]
    assert [(each.has_credential, each.credential) for each in shown] == [(True, b"")] * 2
    connection = await asyncpg.connect(site.process.dsn)
    try:
        stored = await connection.fetchval("select credential from queue.clusters where name = $1", site.cluster)
        assert len(stored) == len(CREDENTIAL) + 1 + 12 + 16
        for query in ("select payload from queue.outbox", "select reply from queue.requests"):
            assert not any(CREDENTIAL in row[0] for row in await connection.fetch(query))
    finally:
        await connection.close()
    assert CREDENTIAL.decode().splitlines()[-1] not in site.process.log
    assert not (await update(site, "credential")).has_credential


async def test_a_report_replaces_what_is_known_of_the_machines(site: QueueSite) -> None:
    reported = await site.report(
        3,
        node("n1", cpu=2_000, memory=10, labels={"zone": "a"}),
        node("n2", cpu=3_000),
        pb.Node(name="cordoned", allocatable={"amounts": {"gpu": 8}}),  # type: ignore[arg-type]  # a dictionary will do
        node("iso1", queue=site.name("iso"), cpu=500),
    )
    assert dict(reported.capacity.amounts) == {"cpu": 5_000, "memory": 10, "gpu": 0}
    assert (reported.node_count, reported.revision) == (4, 3)
    again = await site.report(3, node("ignored", cpu=1))
    assert again == reported
    fewer = await site.report(4, node("n2", cpu=3_000))
    assert (dict(fewer.capacity.amounts), fewer.node_count) == ({"cpu": 3_000}, 1)
    names = [each.name for each in await site.root.all(pb.ListNodesRequest(clusters=[site.cluster]), "nodes")]
    assert names == ["n2"]


async def test_a_report_of_changes_leaves_the_other_machines(site: QueueSite) -> None:
    await site.report(1, node("n1", cpu=1_000), node("n2", cpu=1_000), node("n3", cpu=1_000))
    changed = pb.ReportNodesRequest(
        cluster=site.cluster,
        revision=2,
        base_revision=1,
        nodes=[node("n2", cpu=5_000), node("n4", cpu=7_000)],
        gone=["n3", "never-there"],
    )
    cluster = (await site.root(changed)).cluster
    assert (dict(cluster.capacity.amounts), cluster.node_count, cluster.revision) == ({"cpu": 13_000}, 3, 2)
    names = [each.name for each in await site.root.all(pb.ListNodesRequest(clusters=[site.cluster]), "nodes")]
    assert names == ["n1", "n2", "n4"]


async def test_a_report_of_the_same_amounts_is_no_change_of_the_cluster(site: QueueSite) -> None:
    first = await site.report(1, node("n1", cpu=1_000))
    same = await site.report(2, node("n1", cpu=1_000, labels={"zone": "b"}))
    assert (same.revision, same.etag, same.update_time) == (2, first.etag, first.update_time)
    assert await get(site) == same
    [machine] = (await site.root(pb.ListNodesRequest(clusters=[site.cluster]))).nodes
    assert dict(machine.labels) == {"zone": "b"}
    assert (await site.report(3, node("n1", cpu=2_000))).etag != first.etag


async def test_how_a_cluster_is_reached_and_set_up_is_for_root(site: QueueSite) -> None:
    await update(site, endpoint="https://k8s", setting='{"a": 1}')
    _, caller = await site.add_user()
    got = (await caller(pb.GetClusterRequest(name=site.cluster))).cluster
    [listed] = (await caller(pb.ListClustersRequest(names=[site.cluster]))).clusters
    for seen in (got, listed, await watched(caller, site.cluster)):
        assert (seen.name, seen.endpoint, seen.setting) == (site.cluster, "", "")
    assert (await get(site)).setting == '{"a": 1}'


async def test_machines_are_listed_by_cluster_and_name_and_in_pages(site: QueueSite) -> None:
    await site.report(1, *(node(f"n{number}", labels={"zone": f"z{number % 2}"}, cpu=1) for number in range(5)))
    pages = [
        [each.name for each in page]
        async for page in site.root.pages(pb.ListNodesRequest(clusters=[site.cluster], page_size=2), "nodes")
    ]
    assert pages == [["n0", "n1"], ["n2", "n3"], ["n4"]]
    odd = await site.root.all(pb.ListNodesRequest(clusters=[site.cluster], labels={"zone": "z1"}), "nodes")
    assert [each.name for each in odd] == ["n1", "n3"]
    assert odd[0] == pb.Node(
        name="n1", allocatable=odd[0].allocatable, labels={"zone": "z1"}, schedulable=True, cluster=site.cluster
    )


async def test_machines_of_a_queue_are_those_it_can_use(site: QueueSite) -> None:
    await site.report(1, node("n1", cpu=1), node("n2", cpu=1), node("i1", queue=site.name("iso"), cpu=1))
    await site.create("iso", isolation=queue_pb2.ISOLATION_PHYSICAL, max={"cpu": 1})
    await site.create("in-iso", "iso")
    await site.create("top")
    await site.create("low", "top")
    for word, names in {"iso": ["i1"], "in-iso": ["i1"], "top": ["n1", "n2"], "low": ["n1", "n2"]}.items():
        found = await site.root.all(pb.ListNodesRequest(queue=site.name(word)), "nodes")
        assert [each.name for each in found] == names
    user, caller = await site.add_user()
    with pytest.raises(QueueNotGranted):
        await caller(pb.ListNodesRequest(queue=site.name("top")))
    await site.grant(user, "top")
    assert len((await caller(pb.ListNodesRequest(queue=site.name("top")))).nodes) == 2
    with pytest.raises(QueueNotFound):
        await caller(pb.ListNodesRequest(queue=site.name("none")))


async def test_a_cluster_says_when_it_promises_more_than_it_has(site: QueueSite) -> None:
    await site.report(1, node("n1", cpu=4_000))
    await site.create("a", min={"cpu": 3_000})
    before = await get(site)
    assert not before.overcommitted
    shrunk = await site.report(2, node("n1", cpu=2_000))
    assert shrunk.overcommitted
    await site.update("a", "min", min={"cpu": 2_000})
    after = await get(site)
    assert not after.overcommitted
    assert after.etag != shrunk.etag


async def test_clusters_are_listed_by_name(site: QueueSite) -> None:
    names = [f"{site.cluster}-{number}" for number in range(3)]
    for name in names:
        cluster = pb.Cluster(name=name, type=pb.CLUSTER_TYPE_LOCAL, status=pb.CLUSTER_STATUS_OFFLINE)
        await site.root(pb.CreateClusterRequest(cluster=cluster))
    chosen = pb.ListClustersRequest(names=[*names, site.cluster], page_size=3)
    pages = [[each.name for each in page] async for page in site.root.pages(chosen, "clusters")]
    assert pages == [[site.cluster, *names[:2]], names[2:]]
    chosen.status = pb.CLUSTER_STATUS_OFFLINE
    assert [each.name for each in await site.root.all(chosen, "clusters")] == names


async def test_a_cluster_takes_with_it_what_stands_on_it(site: QueueSite) -> None:
    user, caller = await site.add_user()
    await site.create("top")
    await site.create("low", "top")
    await site.grant(user, "low")
    flavour = pb.Flavour(name=site.name("f"), cluster=site.cluster)
    flavour.resources.amounts.update(cpu=1, memory=1)
    await site.root(pb.CreateFlavourRequest(flavour=flavour))
    await site.report(1, node("n1", cpu=1))
    await site.root(pb.DeleteClusterRequest(name=site.cluster, cascade=True))
    with pytest.raises(ClusterNotFound):
        await get(site)
    assert await site.root.all(queue_pb2.ListQueuesRequest(cluster=site.cluster), "queues") == []
    assert await site.root.all(pb.ListFlavoursRequest(name_prefix=flavour.name), "flavours") == []
    assert await site.root.all(pb.ListNodesRequest(clusters=[site.cluster]), "nodes") == []
    assert await caller.all(auth_pb2.ListGrantsRequest(), "grants") == []


Step = Callable[[QueueSite], Awaitable[Any]]


@dataclass(frozen=True)
class Failure:
    """A line of a contract's table."""

    reason: str
    call: Step
    field: str = ""
    prepare: Step | None = None


def create(**fields: Any) -> Step:
    def new(site: QueueSite) -> Awaitable[Any]:
        given: dict[str, Any] = {"name": site.name("new"), "type": pb.CLUSTER_TYPE_LOCAL}
        return site.root(pb.CreateClusterRequest(cluster=pb.Cluster(**given | fields)))

    return new


def change(*mask: str, **fields: Any) -> Step:
    return lambda site: update(site, *mask, **fields)


def of(method: Callable[..., Any], word: str = "", **fields: Any) -> Step:
    return lambda site: site.root(method(name=site.name(word) if word else site.cluster, **fields))


async def in_default_namespace(site: QueueSite) -> None:
    await site.create("q", namespace="space")


async def flavour_of_it(site: QueueSite) -> None:
    flavour = pb.Flavour(name=site.name("f"), cluster=site.cluster)
    flavour.resources.amounts.update(cpu=1, memory=1)
    await site.root(pb.CreateFlavourRequest(flavour=flavour))


FAILURES: dict[str, Failure] = {
    "create: malformed": Failure("INVALID_ARGUMENT", create(name="-x"), "cluster.name"),
    "create: setting": Failure("INVALID_ARGUMENT", create(setting="[1]"), "cluster.setting"),
    "create: name taken": Failure(
        "CLUSTER_EXISTS",
        lambda site: site.root(
            pb.CreateClusterRequest(cluster=pb.Cluster(name=site.cluster, type=pb.CLUSTER_TYPE_LOCAL))
        ),
    ),
    "get: no such cluster": Failure("CLUSTER_NOT_FOUND", of(pb.GetClusterRequest, "none")),
    "update: no such cluster": Failure(
        "CLUSTER_NOT_FOUND",
        lambda site: site.root(
            pb.UpdateClusterRequest(cluster=pb.Cluster(name="none"), update_mask={"paths": ["source"]})  # type: ignore[arg-type]  # a dictionary will do
        ),
    ),
    "update: etag": Failure("ETAG_MISMATCH", change("source", etag="0")),
    "update: namespace in use": Failure(
        "NAMESPACE_IN_USE", change(namespaces=["other"]), "cluster.namespaces", in_default_namespace
    ),
    "update: name": Failure("IMMUTABLE", change("name"), "update_mask"),
    "update: no such field": Failure("INVALID_ARGUMENT", change("capacity"), "update_mask"),
    "update: no type": Failure("INVALID_ARGUMENT", change("type"), "cluster.type"),
    "update: kubernetes without endpoint": Failure(
        "INVALID_ARGUMENT", change("type", "version", type=pb.CLUSTER_TYPE_KUBERNETES, version="1"), "cluster.endpoint"
    ),
    "delete: no such cluster": Failure("CLUSTER_NOT_FOUND", of(pb.DeleteClusterRequest, "none")),
    "delete: etag": Failure("ETAG_MISMATCH", of(pb.DeleteClusterRequest, etag="0")),
    "delete: queues": Failure("CLUSTER_NOT_EMPTY", of(pb.DeleteClusterRequest), prepare=in_default_namespace),
    "delete: flavours": Failure("CLUSTER_NOT_EMPTY", of(pb.DeleteClusterRequest), prepare=flavour_of_it),
    "report: no such cluster": Failure(
        "CLUSTER_NOT_FOUND", lambda site: site.root(pb.ReportNodesRequest(cluster="none", revision=1))
    ),
    "report: stale": Failure(
        "STALE_REVISION", lambda site: site.report(4), prepare=lambda site: site.report(5, node("n", cpu=1))
    ),
    "report: changes since another": Failure(
        "STALE_REVISION",
        lambda site: site.root(pb.ReportNodesRequest(cluster=site.cluster, revision=9, base_revision=4)),
        prepare=lambda site: site.report(5, node("n", cpu=1)),
    ),
    "report: changes since later": Failure(
        "INVALID_ARGUMENT",
        lambda site: site.root(pb.ReportNodesRequest(cluster=site.cluster, revision=2, base_revision=2)),
        "base_revision",
    ),
    "report: gone from all": Failure(
        "INVALID_ARGUMENT",
        lambda site: site.root(pb.ReportNodesRequest(cluster=site.cluster, revision=2, gone=["n"])),
        "gone",
    ),
    "report: malformed": Failure("INVALID_ARGUMENT", lambda site: site.report(1, node("")), "nodes[0].name"),
    "nodes: no such queue": Failure("QUEUE_NOT_FOUND", lambda site: site.root(pb.ListNodesRequest(queue="none"))),
    "nodes: token": Failure("PAGE_TOKEN_INVALID", lambda site: site.root(pb.ListNodesRequest(page_token="x"))),
    "nodes: size": Failure("INVALID_ARGUMENT", lambda site: site.root(pb.ListNodesRequest(page_size=-1)), "page_size"),
    "clusters: token": Failure("PAGE_TOKEN_INVALID", lambda site: site.root(pb.ListClustersRequest(page_token="x"))),
    "clusters: size": Failure(
        "INVALID_ARGUMENT", lambda site: site.root(pb.ListClustersRequest(page_size=-1)), "page_size"
    ),
}


@pytest.mark.parametrize("failure", [pytest.param(failure, id=name) for name, failure in FAILURES.items()])
async def test_each_failure_of_the_contract_says_what_and_where(site: QueueSite, failure: Failure) -> None:
    if failure.prepare is not None:
        await failure.prepare(site)
    before = await get(site)
    with pytest.raises(Problem) as failed:
        await failure.call(site)
    assert failed.value.reason == failure.reason
    assert failed.value.code is not Code.INTERNAL
    assert [violation.field for violation in failed.value.violations] == ([failure.field] if failure.field else [])
    assert await get(site) == before
