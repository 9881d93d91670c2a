"""QueueService over a real socket: what each method does, and each failure that its contract lists."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from paddleflow.problems import (
    Code,
    Immutable,
    InvalidArgument,
    ParentNotFound,
    Problem,
    QueueNotFound,
    QueueNotGranted,
    RequestIdReused,
    tree,
)
from paddleflow.queue.v1 import cluster_pb2
from paddleflow.queue.v1 import queue_pb2 as pb
from support.queue_site import QueueSite, node

GI = 2**30


async def test_a_queue_is_what_its_maker_says_and_what_holds_where_nothing_is_said(site: QueueSite) -> None:
    made = await site.create("q", max={"cpu": 4_000}, labels={"stage": "prod"})
    assert (made.name, made.cluster, made.namespace) == (site.name("q"), site.cluster, "default")
    assert (made.quota_type, made.isolation) == (pb.QUOTA_TYPE_ELASTIC, pb.ISOLATION_LOGICAL)
    assert (made.weight, made.priority, made.state) == (100, 0, pb.QUEUE_STATE_OPEN)
    assert made.preemption_policy == pb.PREEMPTION_POLICY_RECLAIM_AND_PRIORITY
    assert made.order_policy == pb.ORDER_POLICY_BEST_EFFORT
    assert dict(made.effective_max.amounts) == {"cpu": 4_000}
    assert dict(made.labels) == {"stage": "prod"}
    assert made.create_time == made.update_time
    assert made.create_time.seconds > 0
    made.used.SetInParent()
    assert await site.get("q") == made


async def test_ceilings_are_shown_as_they_are_inherited(site: QueueSite) -> None:
    await site.create("top", max={"cpu": 8_000, "memory": GI})
    low = await site.create("low", "top", max={"cpu": 2_000})
    assert dict(low.effective_max.amounts) == {"cpu": 2_000, "memory": GI}
    await site.update("top", max={"cpu": 8_000, "memory": 2 * GI, "gpu": 1})
    assert dict((await site.get("low")).effective_max.amounts) == {"cpu": 2_000, "memory": 2 * GI, "gpu": 1}
    assert (await site.get("low")).etag == low.etag


async def test_an_isolated_queue_is_guaranteed_all_it_may_have(site: QueueSite) -> None:
    await site.report(1, node("n1", queue=site.name("iso"), cpu=8_000))
    made = await site.create("iso", isolation=pb.ISOLATION_PHYSICAL, max={"cpu": 8_000})
    assert made.min == made.max == made.effective_max
    changed = await site.update("iso", "max.amounts.cpu", max={"cpu": 6_000})
    assert dict(changed.min.amounts) == dict(changed.max.amounts) == {"cpu": 6_000}


async def test_an_update_changes_what_the_mask_names(site: QueueSite) -> None:
    before = await site.create("q", max={"cpu": 4_000, "memory": GI}, labels={"a": "1", "b": "2"})
    after = await site.update(
        "q", "weight", "max.amounts.cpu", "labels.a", weight=7, priority=9, max={"cpu": 5_000}, labels={}
    )
    assert (after.weight, after.priority) == (7, 0)
    assert dict(after.max.amounts) == {"cpu": 5_000, "memory": GI}
    assert dict(after.labels) == {"b": "2"}
    assert after.etag != before.etag
    assert after.create_time == before.create_time
    assert after.update_time.ToNanoseconds() > before.update_time.ToNanoseconds()


async def test_an_update_that_changes_nothing_is_no_change(site: QueueSite) -> None:
    before = await site.create("q", max={"cpu": 4_000})
    assert await site.update("q", "max", "weight", max={"cpu": 4_000}, weight=100) == before


async def test_a_queue_moves_with_what_is_below_it(site: QueueSite) -> None:
    for word, parent in (("a", ""), ("b", ""), ("child", "a"), ("leaf", "child")):
        await site.create(word, parent)
    moved = await site.update("child", "parent", parent="b")
    assert moved.parent == site.name("b")
    assert (await site.get("leaf")).parent == site.name("child")
    assert (await site.update("child", "parent")).parent == ""


async def test_a_new_queue_belongs_to_the_cluster_of_the_one_above(site: QueueSite) -> None:
    await site.create("top")
    child = await site.create("child", "top", cluster="")
    assert (child.cluster, child.parent) == (site.cluster, site.name("top"))
    with pytest.raises(ParentNotFound, match="there is no queue"):
        await site.create("orphan", "none", cluster="")
    with pytest.raises(InvalidArgument, match=r"queue\.cluster: must be given, because there are several"):
        await site.create("other", cluster="")


async def test_a_deleted_queue_is_gone_and_its_name_free(site: QueueSite) -> None:
    made = await site.create("q")
    await site.root(pb.DeleteQueueRequest(name=made.name, etag=made.etag))
    with pytest.raises(QueueNotFound):
        await site.get("q")
    again = await site.create("q")
    assert int(again.etag, 16) > int(made.etag, 16) + 1


@pytest.mark.parametrize(
    ("method", "state"),
    [
        (pb.HoldQueueRequest, pb.QUEUE_STATE_HELD),
        (pb.DrainQueueRequest, pb.QUEUE_STATE_DRAINING),
        (pb.CloseQueueRequest, pb.QUEUE_STATE_CLOSED),
    ],
)
async def test_states_change_and_come_back(site: QueueSite, method: Callable[..., Any], state: pb.QueueState) -> None:
    made = await site.create("q")
    turned = (await site.root(method(name=made.name))).queue
    assert turned.state == state
    assert turned.etag != made.etag
    assert (await site.root(method(name=made.name))).queue == turned
    opened = (await site.root(pb.OpenQueueRequest(name=made.name))).queue
    assert opened.state == pb.QUEUE_STATE_OPEN
    assert (await site.root(pb.OpenQueueRequest(name=made.name))).queue == opened


async def test_lists_are_filtered_and_come_in_pages(site: QueueSite) -> None:
    await site.create("top", labels={"x": "1"})
    names = [(await site.create(f"q{number}", "top")).name for number in range(5)]
    await site.root(pb.HoldQueueRequest(name=names[0]))
    chosen = pb.ListQueuesRequest(cluster=site.cluster, parent=site.name("top"), page_size=2)
    pages = [[queue.name for queue in page] async for page in site.root.pages(chosen, "queues")]
    assert pages == [names[:2], names[2:4], names[4:]]
    for request, found in {
        pb.ListQueuesRequest(cluster=site.cluster, states=[pb.QUEUE_STATE_HELD]).SerializeToString(): names[:1],
        pb.ListQueuesRequest(name_prefix=f"q3-{site.tag}").SerializeToString(): names[3:4],
        pb.ListQueuesRequest(cluster=site.cluster, labels={"x": "1"}).SerializeToString(): [site.name("top")],
        pb.ListQueuesRequest(cluster=site.cluster, namespace="none").SerializeToString(): [],
    }.items():
        listed = await site.root.all(pb.ListQueuesRequest.FromString(request), "queues")
        assert [queue.name for queue in listed] == found


async def test_a_repeated_request_gets_the_first_reply(site: QueueSite) -> None:
    request = pb.CreateQueueRequest(queue=site.draft("q"), request_id=uuid.uuid4().hex)
    first = await site.root(request)
    await site.update("q", weight=5)
    assert await site.root(request) == first
    request.queue.weight = 7
    with pytest.raises(RequestIdReused):
        await site.root(request)


async def test_users_see_what_is_granted_to_them(site: QueueSite) -> None:
    user, caller = await site.add_user()
    for word in ("mine", "theirs"):
        await site.create(word)
    await site.grant(user, "mine")
    listed = await caller.all(pb.ListQueuesRequest(page_size=1), "queues")
    assert [queue.name for queue in listed] == [site.name("mine")]
    assert (await caller(pb.GetQueueRequest(name=site.name("mine")))).queue == listed[0]
    with pytest.raises(QueueNotGranted, match="is not granted to"):
        await caller(pb.GetQueueRequest(name=site.name("theirs")))
    with pytest.raises(QueueNotFound):
        await caller(pb.GetQueueRequest(name=site.name("nowhere")))
    await site.ungrant(user, "mine")
    assert await caller.all(pb.ListQueuesRequest(), "queues") == []


async def test_grants_go_with_their_queue(site: QueueSite) -> None:
    user, caller = await site.add_user()
    await site.create("q")
    await site.grant(user, "q")
    await site.root(pb.DeleteQueueRequest(name=site.name("q")))
    await site.create("q")
    assert await caller.all(pb.ListQueuesRequest(), "queues") == []


@pytest.mark.parametrize("field", ["cluster", "namespace", "quota_type", "isolation"])
async def test_what_is_fixed_may_be_named_as_it_is(site: QueueSite, field: str) -> None:
    await site.create("q")
    change: dict[str, Any] = {
        "cluster": "other",
        "namespace": "other",
        "quota_type": pb.QUOTA_TYPE_CAPABILITY,
        "isolation": pb.ISOLATION_PHYSICAL,
    }
    with pytest.raises(Immutable):
        await site.update("q", field, **{field: change[field]})
    await site.update("q", field, "weight", namespace="default", weight=3)


Step = Callable[[QueueSite], Awaitable[Any]]


@dataclass(frozen=True)
class Failure:
    """A line of a contract's table."""

    reason: str
    call: Step
    field: str = ""
    prepare: Step | None = None


def create(word: str = "new", parent: str = "", **fields: Any) -> Step:
    return lambda site: site.create(word, parent, **fields)


def update(word: str, *mask: str, **fields: Any) -> Step:
    return lambda site: site.update(word, *mask, **fields)


def call(method: Callable[..., Any], **fields: Any) -> Step:
    return lambda site: site.root(method(name=site.name("q"), **fields))


def steps(*each: Step) -> Step:
    async def all_of_them(site: QueueSite) -> None:
        for step in each:
            await step(site)

    return all_of_them


def report(**capacity: Any) -> Step:
    return lambda site: site.report(1, node("n1", **capacity))


async def only_one_namespace(site: QueueSite) -> None:
    request = cluster_pb2.UpdateClusterRequest(cluster=cluster_pb2.Cluster(name=site.cluster, namespaces=["a"]))
    request.update_mask.paths.append("namespaces")
    await site.root(request)


TOP = create("top", min={"cpu": 4_000}, max={"cpu": 8_000})
CHILD = create("q", "top", min={"cpu": 3_000}, max={"cpu": 6_000})
FAILURES: dict[str, Failure] = {
    "create: malformed": Failure("INVALID_ARGUMENT", create("Bad"), "queue.name"),
    "create: negative": Failure("INVALID_ARGUMENT", create(max={"cpu": -1}), "queue.max.amounts.cpu"),
    "create: name taken": Failure("QUEUE_EXISTS", create("q"), prepare=create("q")),
    "create: no such cluster": Failure("CLUSTER_NOT_FOUND", create(cluster="nowhere")),
    "create: no such parent": Failure("PARENT_NOT_FOUND", create(parent="nowhere"), "queue.parent"),
    "create: parent in another cluster": Failure(
        "PARENT_NOT_FOUND", create(cluster="default-cluster", parent="q"), "queue.parent", create("q")
    ),
    "create: too deep": Failure(
        "TREE_TOO_DEEP",
        create(parent="q15"),
        "queue.parent",
        steps(*(create(f"q{n}", f"q{n - 1}" if n else "") for n in range(16))),
    ),
    "create: not declared": Failure(
        "RESOURCE_NOT_DECLARED", create(parent="top", max={"gpu": 1}), "queue.max.amounts.gpu", TOP
    ),
    "create: not on any machine": Failure(
        "RESOURCE_NOT_DECLARED", create(max={"gpu": 1}), "queue.max.amounts.gpu", report(cpu=1)
    ),
    "create: min above max": Failure(
        "MIN_EXCEEDS_MAX", create(min={"cpu": 2}, max={"cpu": 1}), "queue.min.amounts.cpu"
    ),
    "create: max above the parent's": Failure(
        "MAX_EXCEEDS_PARENT", create(parent="top", max={"cpu": 8_001}), "queue.max.amounts.cpu", TOP
    ),
    "create: guarantees above the parent's": Failure(
        "MIN_EXCEEDS_PARENT", create(parent="top", min={"cpu": 1_001}), "queue.min.amounts.cpu", steps(TOP, CHILD)
    ),
    "create: guarantees above the machines": Failure(
        "MIN_EXCEEDS_CLUSTER", create(min={"cpu": 5_000}), "queue.min.amounts.cpu", report(cpu=4_999)
    ),
    "create: lends too much": Failure(
        "LEND_EXCEEDS_MIN",
        create(min={"cpu": 1}, max={"cpu": 1}, lend_limit={"cpu": 2}),
        "queue.lend_limit.amounts.cpu",
    ),
    "create: flat with a guarantee": Failure(
        "QUOTA_TYPE", create(quota_type=pb.QUOTA_TYPE_CAPABILITY, min={"cpu": 1}, max={"cpu": 1}), "queue.min"
    ),
    "create: isolated below another": Failure(
        "PHYSICAL_ISOLATION",
        create(parent="top", isolation=pb.ISOLATION_PHYSICAL, max={"cpu": 1}),
        "queue.parent",
        TOP,
    ),
    "create: namespace": Failure("NAMESPACE_NOT_ALLOWED", create(namespace="b"), "queue.namespace", only_one_namespace),
    "get: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.GetQueueRequest)),
    "list: size": Failure("INVALID_ARGUMENT", lambda site: site.root(pb.ListQueuesRequest(page_size=-1)), "page_size"),
    "list: token": Failure("PAGE_TOKEN_INVALID", lambda site: site.root(pb.ListQueuesRequest(page_token="x"))),
    "update: malformed": Failure("INVALID_ARGUMENT", update("q", weight=-1), "queue.weight", create("q")),
    "update: weight of nothing": Failure("INVALID_ARGUMENT", update("q", weight=0), "queue.weight", create("q")),
    "update: no such field": Failure("INVALID_ARGUMENT", update("q", "colour"), "update_mask", create("q")),
    "update: no field": Failure(
        "INVALID_ARGUMENT",
        lambda site: site.root(pb.UpdateQueueRequest(queue=site.draft("q"))),
        "update_mask",
        create("q"),
    ),
    "update: no such queue": Failure("QUEUE_NOT_FOUND", update("q", weight=1)),
    "update: etag": Failure("ETAG_MISMATCH", update("q", "weight", etag="0"), prepare=create("q")),
    "update: no such parent": Failure("PARENT_NOT_FOUND", update("q", parent="none"), "queue.parent", create("q")),
    "update: children uncovered": Failure(
        "CHILDREN_UNCOVERED", update("top", min={"cpu": 2_999}), "queue.min.amounts.cpu", steps(TOP, CHILD)
    ),
    "update: ceiling of children": Failure(
        "CHILDREN_UNCOVERED", update("top", max={"cpu": 5_999}), "queue.max.amounts.cpu", steps(TOP, CHILD)
    ),
    "update: cycle": Failure("QUEUE_CYCLE", update("top", parent="q"), "queue.parent", steps(TOP, CHILD)),
    "update: name": Failure("IMMUTABLE", update("q", "name"), "update_mask", create("q")),
    "update: fixed": Failure("IMMUTABLE", update("q", namespace="x"), "update_mask", create("q")),
    "delete: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.DeleteQueueRequest)),
    "delete: etag": Failure("ETAG_MISMATCH", call(pb.DeleteQueueRequest, etag="0"), prepare=create("q")),
    "delete: queues below": Failure(
        "QUEUE_HAS_CHILDREN", call(pb.DeleteQueueRequest), prepare=steps(create("q"), create("below", "q"))
    ),
    "open: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.OpenQueueRequest)),
    "close: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.CloseQueueRequest)),
    "hold: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.HoldQueueRequest)),
    "drain: no such queue": Failure("QUEUE_NOT_FOUND", call(pb.DrainQueueRequest)),
    "hold: closed": Failure(
        "QUEUE_STATE", call(pb.HoldQueueRequest), prepare=steps(create("q"), call(pb.CloseQueueRequest))
    ),
    "drain: closed": Failure(
        "QUEUE_STATE", call(pb.DrainQueueRequest), prepare=steps(create("q"), call(pb.CloseQueueRequest))
    ),
}
PROBLEMS = {problem.reason: problem for problem in tree() if problem.__doc__}


@pytest.mark.parametrize("failure", [pytest.param(failure, id=name) for name, failure in FAILURES.items()])
async def test_each_failure_of_the_contract_says_what_and_where(site: QueueSite, failure: Failure) -> None:
    if failure.prepare is not None:
        await failure.prepare(site)
    before = await site.root.all(pb.ListQueuesRequest(cluster=site.cluster), "queues")
    with pytest.raises(Problem) as failed:
        await failure.call(site)
    assert failed.value.reason == failure.reason
    assert failed.value.code is not Code.INTERNAL
    assert [violation.field for violation in failed.value.violations] == ([failure.field] if failure.field else [])
    assert await site.root.all(pb.ListQueuesRequest(cluster=site.cluster), "queues") == before
