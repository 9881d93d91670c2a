"""FlavourService over a real socket: what each method does, and each failure that its contract lists."""

from __future__ import annotations

from typing import Any

import pytest

from paddleflow.auth.v1 import auth_pb2
from paddleflow.problems import (
    ClusterNotFound,
    EtagMismatch,
    FlavourExists,
    FlavourNotFound,
    Immutable,
    InvalidArgument,
    PageTokenInvalid,
    PermissionDenied,
)
from paddleflow.queue.v1 import cluster_pb2 as pb
from support.callers import Caller
from support.queue_site import QueueSite, amounts


def draft(site: QueueSite, word: str = "f", cluster: str = "", **resources: int) -> pb.Flavour:
    made = pb.Flavour(name=site.name(word), cluster=cluster)
    made.resources.amounts.update(resources or {"cpu": 1_000, "memory": 2**30})
    return made


async def create(caller: Caller, flavour: pb.Flavour) -> pb.Flavour:
    made: pb.Flavour = (await caller(pb.CreateFlavourRequest(flavour=flavour))).flavour
    return made


async def update(caller: Caller, flavour: pb.Flavour, *mask: str) -> pb.Flavour:
    request = pb.UpdateFlavourRequest(flavour=flavour)
    request.update_mask.paths.extend(mask)
    changed: pb.Flavour = (await caller(request)).flavour
    return changed


async def test_the_first_flavours_are_those_of_the_original(site: QueueSite) -> None:
    found = await site.root.all(pb.ListFlavoursRequest(name_prefix="flavour"), "flavours")
    gpu = "nvidia.com/gpu"
    assert {each.name: dict(each.resources.amounts) for each in found} == {
        "flavour1": {"cpu": 1_000, "memory": 2**30},
        "flavour2": {"cpu": 4_000, "memory": 8 * 2**30, gpu: 1},
        "flavour3": {"cpu": 4_000, "memory": 8 * 2**30, gpu: 2},
    }
    assert {each.creator for each in found} == {"root"}


async def test_a_flavour_is_for_all_to_see_and_for_its_maker_and_root_to_change(site: QueueSite) -> None:
    user, maker = await site.add_user()
    _, other = await site.add_user("bo")
    made = await create(maker, draft(site))
    assert (made.creator, made.cluster) == (user, "")
    assert (await other(pb.GetFlavourRequest(name=made.name))).flavour == made
    wanted = draft(site, cpu=2_000, memory=1)
    for refused in (
        pb.UpdateFlavourRequest(flavour=wanted, update_mask={"paths": ["resources"]}),  # type: ignore[arg-type]  # a dictionary will do
        pb.DeleteFlavourRequest(name=made.name),
    ):
        with pytest.raises(PermissionDenied, match=f"was made by '{user}'"):
            await other(refused)
    changed = await update(maker, wanted, "resources")
    assert dict(changed.resources.amounts) == {"cpu": 2_000, "memory": 1}
    assert changed.etag != made.etag
    assert (await update(site.root, draft(site, cpu=3), "resources.amounts.cpu")).resources.amounts["cpu"] == 3
    await maker(pb.DeleteFlavourRequest(name=made.name, etag=""))
    with pytest.raises(FlavourNotFound):
        await site.root(pb.GetFlavourRequest(name=made.name))


async def test_a_flavour_may_be_for_one_cluster(site: QueueSite) -> None:
    bound = await create(site.root, draft(site, "bound", site.cluster))
    free = await create(site.root, draft(site, "free"))
    everywhere = pb.ListFlavoursRequest(cluster="default-cluster", page_size=1)
    here = pb.ListFlavoursRequest(cluster=site.cluster, page_size=1)
    names = [each.name for each in await site.root.all(everywhere, "flavours")]
    assert free.name in names
    assert bound.name not in names
    names = [each.name for each in await site.root.all(here, "flavours")]
    assert {free.name, bound.name} <= set(names)
    assert (await update(site.root, draft(site, "bound"), "cluster")).cluster == ""


async def test_the_flavours_of_a_deleted_user_go_to_root_not_to_the_next_of_that_name(site: QueueSite) -> None:
    user, maker = await site.add_user()
    made = await create(maker, draft(site))
    await site.root(auth_pb2.DeleteUserRequest(name=user))
    left = (await site.root(pb.GetFlavourRequest(name=made.name))).flavour
    assert (left.creator, left.etag == made.etag) == ("root", False)
    _, next_one = await site.add_user()
    with pytest.raises(PermissionDenied):
        await next_one(pb.DeleteFlavourRequest(name=made.name))


async def test_an_update_that_changes_nothing_is_no_change(site: QueueSite) -> None:
    made = await create(site.root, draft(site))
    assert await update(site.root, draft(site), "resources", "cluster") == made


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"name": "a b"}, "flavour.name"),
        ({"resources": amounts({"cpu": 1})}, "flavour.resources.amounts.memory"),
        ({"resources": amounts({"cpu": 1, "memory": -1})}, "flavour.resources.amounts.memory"),
    ],
)
async def test_malformed_fields_are_named(site: QueueSite, fields: dict[str, Any], path: str) -> None:
    good: dict[str, Any] = {"name": site.name("f"), "resources": amounts({"cpu": 1, "memory": 1})}
    with pytest.raises(InvalidArgument) as refused:
        await create(site.root, pb.Flavour(**good | fields))
    assert [violation.field for violation in refused.value.violations] == [path]


async def test_each_failure_of_the_contract(site: QueueSite) -> None:
    made = await create(site.root, draft(site))
    with pytest.raises(FlavourExists):
        await create(site.root, draft(site))
    with pytest.raises(ClusterNotFound) as refused:
        await create(site.root, draft(site, "new", "no\0where"))
    assert [violation.field for violation in refused.value.violations] == ["flavour.cluster"]
    with pytest.raises(ClusterNotFound):
        await update(site.root, draft(site, "f", "nowhere"), "cluster")
    for missing in (pb.GetFlavourRequest(name="none"), pb.DeleteFlavourRequest(name="none")):
        with pytest.raises(FlavourNotFound):
            await site.root(missing)
    with pytest.raises(FlavourNotFound):
        await update(site.root, draft(site, "none"), "cluster")
    with pytest.raises(EtagMismatch):
        await update(site.root, pb.Flavour(name=made.name, etag="0"), "cluster")
    with pytest.raises(EtagMismatch):
        await site.root(pb.DeleteFlavourRequest(name=made.name, etag="0"))
    with pytest.raises(InvalidArgument, match="must be above 0"):
        await update(site.root, draft(site, memory=1), "resources.amounts.cpu")
    with pytest.raises(Immutable):
        await update(site.root, draft(site), "name")
    with pytest.raises(InvalidArgument, match="'creator' is not a field that can be changed"):
        await update(site.root, draft(site), "creator")
    with pytest.raises(InvalidArgument, match="page_size"):
        await site.root(pb.ListFlavoursRequest(page_size=-1))
    with pytest.raises(PageTokenInvalid):
        await site.root(pb.ListFlavoursRequest(page_token="x"))
    assert (await site.root(pb.GetFlavourRequest(name=made.name))).flavour == made
