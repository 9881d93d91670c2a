"""Input that means harm, over a real socket: each a precise refusal, and nothing stored."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message

from paddleflow.channel import MAX_MESSAGE_BYTES
from paddleflow.problems import (
    Code,
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
    Problem,
    ResourceExhausted,
    TokenInvalid,
    TokenMissing,
)
from paddleflow.queue.v1 import cluster_pb2, queue_pb2
from support.callers import Caller
from support.queue_site import QueueSite

HUGE = "x" * 1_000_000
NAMES = [
    "",
    "Capital",
    "-dash",
    "dash-",
    "a" * 64,
    "a b",
    "ä",
    "nul\0",
    "line\n",
    "../../etc",
    "' or 1=1 --",
    "%",
    HUGE,
]
MiB = 1024 * 1024


async def everything(site: QueueSite) -> list[Message]:
    queues = await site.root.all(queue_pb2.ListQueuesRequest(cluster=site.cluster), "queues")
    clusters = await site.root.all(cluster_pb2.ListClustersRequest(names=[site.cluster]), "clusters")
    return [*queues, *clusters]


async def refused(site: QueueSite, request: Message) -> Problem:
    before = await everything(site)
    with pytest.raises(Problem) as found:
        await site.root(request)
    assert found.value.code is not Code.INTERNAL, found.value.message
    assert len(found.value.message) < 2_000
    assert await everything(site) == before
    return found.value


@pytest.mark.parametrize("name", NAMES, ids=ascii)
async def test_names_that_cannot_be_are_refused_or_not_found(site: QueueSite, name: str) -> None:
    problem = await refused(site, queue_pb2.CreateQueueRequest(queue=queue_pb2.Queue(name=name, cluster=site.cluster)))
    assert [violation.field for violation in problem.violations] == ["queue.name"]
    mask = queue_pb2.UpdateQueueRequest(queue=queue_pb2.Queue(name=name))
    mask.update_mask.paths.append("weight")
    for request in (
        queue_pb2.GetQueueRequest(name=name),
        queue_pb2.DeleteQueueRequest(name=name),
        queue_pb2.OpenQueueRequest(name=name),
        queue_pb2.HoldQueueRequest(name=name),
        queue_pb2.DrainQueueRequest(name=name),
        queue_pb2.CloseQueueRequest(name=name),
        mask,
        cluster_pb2.GetClusterRequest(name=name + "\0"),
        cluster_pb2.DeleteClusterRequest(name=name + "\0", cascade=True),
        cluster_pb2.GetFlavourRequest(name=name + "\0"),
        cluster_pb2.DeleteFlavourRequest(name=name + "\0"),
    ):
        assert (await refused(site, request)).code is Code.NOT_FOUND


@pytest.mark.parametrize("field", ["min", "max", "lend_limit", "max_per_user"])
@pytest.mark.parametrize(
    "amounts",
    [
        {"cpu": -1},
        {"cpu": -(2**63)},
        {"cpu": 10**18 + 1},
        {"cpu": 2**63 - 1},
        {"": 1},
        {"nul\0": 1},
        {HUGE: 1},
        {f"r{number}": 1 for number in range(10_000)},
    ],
    ids=lambda amounts: ascii(amounts)[:20],
)
async def test_amounts_that_cannot_be_are_refused(site: QueueSite, field: str, amounts: dict[str, int]) -> None:
    fields: dict[str, Any] = {field: amounts}
    problem = await refused(site, queue_pb2.CreateQueueRequest(queue=site.draft("q", **fields)))
    assert isinstance(problem, InvalidArgument)
    assert [violation.field.startswith(f"queue.{field}") for violation in problem.violations] == [True]


async def test_the_largest_amounts_do_not_overflow_when_they_are_added(site: QueueSite) -> None:
    await site.create("top", min={"cpu": 10**18}, max={"cpu": 10**18})
    await site.create("a", "top", min={"cpu": 10**18})
    problem = await refused(site, queue_pb2.CreateQueueRequest(queue=site.draft("b", "top", min={"cpu": 10**18})))
    assert problem.reason == "MIN_EXCEEDS_PARENT"
    assert problem.metadata["amount"] == str(2 * 10**18)


async def test_filters_and_tokens_that_mean_harm(site: QueueSite) -> None:
    for text in ("nul\0", HUGE):
        for request in (
            queue_pb2.ListQueuesRequest(cluster=text),
            queue_pb2.ListQueuesRequest(name_prefix=text),
            queue_pb2.ListQueuesRequest(labels={text: ""}),
            cluster_pb2.ListClustersRequest(names=[text]),
            cluster_pb2.ListFlavoursRequest(cluster=text),
            cluster_pb2.ListNodesRequest(clusters=[text]),
            cluster_pb2.ListNodesRequest(labels={"k": text}),
        ):
            assert isinstance(await refused(site, request), InvalidArgument)
    for token in ("x", HUGE, "\0"):
        assert isinstance(await refused(site, queue_pb2.ListQueuesRequest(page_token=token)), PageTokenInvalid)
    found = await site.root.all(queue_pb2.ListQueuesRequest(name_prefix="' or true --"), "queues")
    assert found == []


async def test_a_page_token_is_good_for_its_own_list_only(site: QueueSite) -> None:
    for word in ("a", "b", "c"):
        await site.create(word)
    mine = queue_pb2.ListQueuesRequest(cluster=site.cluster, page_size=1)
    token = (await site.root(mine)).next_page_token
    other = queue_pb2.ListQueuesRequest(cluster=site.cluster, name_prefix="a", page_size=1, page_token=token)
    assert isinstance(await refused(site, other), PageTokenInvalid)
    elsewhere = cluster_pb2.ListClustersRequest(page_size=1, page_token=token)
    assert isinstance(await refused(site, elsewhere), PageTokenInvalid)


async def test_a_message_of_10_mib_is_refused_and_the_next_one_served(site: QueueSite) -> None:
    assert 10 * MiB > MAX_MESSAGE_BYTES
    huge = cluster_pb2.Cluster(name=site.name("huge"), type=cluster_pb2.CLUSTER_TYPE_LOCAL, description="x" * 10 * MiB)
    with pytest.raises(ResourceExhausted):
        await site.root(cluster_pb2.CreateClusterRequest(cluster=huge))
    assert len(await everything(site)) == 1


async def test_a_message_just_below_the_limit_is_read_and_judged(site: QueueSite) -> None:
    large = site.draft("q", labels={"k": "x" * (MAX_MESSAGE_BYTES - 4_096)})
    problem = await refused(site, queue_pb2.CreateQueueRequest(queue=large))
    assert [violation.field for violation in problem.violations] == ["queue.labels.k"]


async def test_masks_that_mean_harm(site: QueueSite) -> None:
    await site.create("q")
    for paths in (["x" * 100_000], ["weight"] * 100_000, ["max.amounts." + HUGE], ["labels." + "\0"], ["__class__"]):
        request = queue_pb2.UpdateQueueRequest(queue=site.draft("q", weight=3))
        request.update_mask.paths.extend(paths)
        if paths[0].startswith(("max.amounts.", "labels.")):
            # Taking away what is not there changes nothing, whatever it is called.
            assert (await site.root(request)).queue == await site.told("q")
        else:
            assert isinstance(await refused(site, request), InvalidArgument)


async def test_nobody_and_strangers_are_kept_out(site: QueueSite) -> None:
    request = queue_pb2.GetQueueRequest(name="default-queue")
    with pytest.raises(TokenMissing):
        await site.anyone(request)
    for secret in ("nonsense", HUGE[:5_000], site.root.secret[:-4] + "AAAA"):
        with pytest.raises(TokenInvalid):
            await Caller(site.channel, secret)(request)


async def test_users_change_nothing_of_others(site: QueueSite) -> None:
    user, caller = await site.add_user()
    await site.create("q")
    await site.grant(user, "q")
    before = await everything(site)
    for request in (
        queue_pb2.CreateQueueRequest(queue=site.draft("new")),
        queue_pb2.UpdateQueueRequest(queue=site.draft("q")),
        queue_pb2.DeleteQueueRequest(name=site.name("q")),
        queue_pb2.CloseQueueRequest(name=site.name("q")),
        cluster_pb2.DeleteClusterRequest(name=site.cluster, cascade=True),
        cluster_pb2.ReportNodesRequest(cluster=site.cluster, revision=1),
    ):
        with pytest.raises(PermissionDenied):
            await caller(request)
    assert await everything(site) == before
