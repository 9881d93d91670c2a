"""Whose flavours are."""

from __future__ import annotations

import pytest

from paddleflow.problems import PermissionDenied
from pf_kit.principal import Principal, PrincipalKind
from pf_queue.clusters.domain import Flavour
from pf_queue.clusters.flavours import Flavours
from pf_queue.clusters.store import TREE_LOCK
from pf_queue.resources import Resources
from support.stores import memory_stores

DRAFT = Flavour(name="f", resources=Resources({"cpu": 1, "memory": 1}))


async def test_what_a_service_makes_is_not_for_the_user_of_its_name() -> None:
    database, stores = memory_stores()
    flavours = Flavours(store=stores.flavours, clusters=stores.clusters)
    async with database.change(TREE_LOCK) as change:
        service = Principal(PrincipalKind.SERVICE, "jobs", root=True)
        assert (await flavours.create(change, service, DRAFT)).creator == "service/jobs"
        with pytest.raises(PermissionDenied, match="was made by 'service/jobs'"):
            await flavours.delete(change, Principal(PrincipalKind.USER, "jobs"), "f", "")


async def test_what_a_service_makes_for_a_user_is_the_users() -> None:
    database, stores = memory_stores()
    flavours = Flavours(store=stores.flavours, clusters=stores.clusters)
    async with database.change(TREE_LOCK) as change:
        acting = Principal(PrincipalKind.USER, "alice", acting_service="jobs")
        assert (await flavours.create(change, acting, DRAFT)).creator == "alice"
