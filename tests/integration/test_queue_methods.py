"""Every method of the service is called here once, over a socket, and every change is on record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from paddleflow.auth.v1 import auth_pb2
from paddleflow.common.v1 import access_pb2, event_pb2, info_pb2
from paddleflow.problems import PermissionDenied, TokenMissing
from paddleflow.queue.v1 import admission_pb2, cluster_pb2, queue_pb2
from pf_kit.access import EXEMPT, Access, rules
from support.admission_site import ADMITTED, FINISHED, AdmissionSite
from support.callers import METHODS, SERVICES, Caller, path_of
from support.queue_site import PASSWORD, QueueSite, node
from support.waiting import eventually

Step = Callable[[QueueSite], Awaitable[Any]]
RULES = rules(SERVICES)


def as_root(make: Callable[[QueueSite], Any]) -> Step:
    return lambda site: site.root(make(site))


async def first(site: QueueSite, request: Any) -> Any:
    stream = site.root.watch(request)
    try:
        return await anext(stream)
    finally:
        await stream.aclose()


def on_queue(method: Callable[..., Any]) -> Step:
    async def step(site: QueueSite) -> Any:
        await site.create("q")
        return await site.root(method(name=site.name("q")))

    return step


def flavour(site: QueueSite) -> cluster_pb2.Flavour:
    made = cluster_pb2.Flavour(name=site.name("f"))
    made.resources.amounts.update(cpu=1, memory=1)
    return made


def on_flavour(make: Callable[[QueueSite], Any]) -> Step:
    async def step(site: QueueSite) -> Any:
        await site.root(cluster_pb2.CreateFlavourRequest(flavour=flavour(site)))
        return await site.root(make(site))

    return step


def on_user(make: Callable[[str], Any]) -> Step:
    async def step(site: QueueSite) -> Any:
        name, _ = await site.add_user()
        return await site.root(make(name))

    return step


def on_grant(make: Callable[[auth_pb2.Grant], Any] | None) -> Step:
    async def step(site: QueueSite) -> Any:
        user, _ = await site.add_user()
        await site.create("q")
        await site.grant(user, "q")
        return await site.root(make(site.grant_of(user, "q"))) if make else None

    return step


async def revoke(site: QueueSite) -> Any:
    token = (await site.root(auth_pb2.CreateTokenRequest())).token
    return await site.root(auth_pb2.RevokeTokenRequest(id=token.id))


def update_queue(site: QueueSite) -> queue_pb2.UpdateQueueRequest:
    request = queue_pb2.UpdateQueueRequest(queue=site.draft("q", weight=5))
    request.update_mask.paths.append("weight")
    return request


def update_cluster(site: QueueSite) -> cluster_pb2.UpdateClusterRequest:
    request = cluster_pb2.UpdateClusterRequest(cluster=cluster_pb2.Cluster(name=site.cluster, source="here"))
    request.update_mask.paths.append("source")
    return request


def update_flavour(site: QueueSite) -> cluster_pb2.UpdateFlavourRequest:
    request = cluster_pb2.UpdateFlavourRequest(flavour=flavour(site))
    request.update_mask.paths.append("resources")
    return request


async def change_queue(site: QueueSite) -> Any:
    await site.create("q")
    return await site.root(update_queue(site))


def on_workload(make: Callable[[AdmissionSite], Any]) -> Step:
    """With one workload that is admitted."""

    async def step(site: QueueSite) -> Any:
        admission = AdmissionSite(site)
        await admission.prepare("q")
        await admission.submit(admission.workload("j", "q"))
        await eventually(lambda: _is_admitted(admission))
        return await site.root(make(admission))

    return step


async def _is_admitted(admission: AdmissionSite) -> bool:
    return (await admission.get("j")).state == ADMITTED


async def resume(site: QueueSite) -> Any:
    """What waits goes on waiting."""
    admission = AdmissionSite(site)
    await admission.prepare("q")
    await site.root(queue_pb2.HoldQueueRequest(name=site.name("q")))
    await admission.submit(admission.workload("j", "q"))
    return await site.root(admission_pb2.ResumeWorkloadRequest(key=admission.key("j")))


def release(admission: AdmissionSite) -> admission_pb2.ReleaseWorkloadsRequest:
    key = admission.key("j")
    ended = admission_pb2.Release(key=key, grant_id=f"{key.job_id}/1", outcome=FINISHED)
    return admission_pb2.ReleaseWorkloadsRequest(releases=[ended])


def running(admission: AdmissionSite) -> admission_pb2.ReportRunningRequest:
    key = admission.key("j")
    return admission_pb2.ReportRunningRequest(
        reports=[admission_pb2.RunningReport(key=key, grant_id=f"{key.job_id}/1")]
    )


def resize(admission: AdmissionSite) -> admission_pb2.ResizeWorkloadRequest:
    key = admission.key("j")
    return admission_pb2.ResizeWorkloadRequest(key=key, grant_id=f"{key.job_id}/1")


async def update(site: QueueSite) -> Any:
    """What waits may change."""
    admission = AdmissionSite(site)
    await admission.prepare("q")
    await site.root(queue_pb2.HoldQueueRequest(name=site.name("q")))
    await admission.submit(admission.workload("j", "q"))
    return await site.root(admission_pb2.UpdateWorkloadRequest(key=admission.key("j"), priority=5))


async def submit(site: QueueSite) -> Any:
    admission = AdmissionSite(site)
    await admission.prepare("q")
    return await site.root(admission_pb2.SubmitWorkloadsRequest(workloads=[admission.workload("j", "q")]))


SUCCESSES: Mapping[str, Step] = {
    "auth.v1.AuthService/Login": lambda site: site.anyone(auth_pb2.LoginRequest(user="root", password="rootpass1")),
    "auth.v1.AuthService/WhoAmI": as_root(lambda site: auth_pb2.WhoAmIRequest()),
    "auth.v1.AuthService/CreateToken": as_root(lambda site: auth_pb2.CreateTokenRequest()),
    "auth.v1.AuthService/ListTokens": as_root(lambda site: auth_pb2.ListTokensRequest()),
    "auth.v1.AuthService/RevokeToken": revoke,
    "auth.v1.AuthService/ListVerificationKeys": as_root(lambda site: auth_pb2.ListVerificationKeysRequest()),
    "auth.v1.AuthService/CheckToken": as_root(lambda site: auth_pb2.CheckTokenRequest(id="x")),
    "auth.v1.AuthService/CheckAccess": as_root(
        lambda site: auth_pb2.CheckAccessRequest(user="u", kind=auth_pb2.RESOURCE_KIND_QUEUE, resource="q")
    ),
    "auth.v1.UserService/CreateUser": as_root(
        lambda site: auth_pb2.CreateUserRequest(user=auth_pb2.User(name=f"u{site.tag}"), password=PASSWORD)
    ),
    "auth.v1.UserService/GetUser": as_root(lambda site: auth_pb2.GetUserRequest(name="root")),
    "auth.v1.UserService/ListUsers": as_root(lambda site: auth_pb2.ListUsersRequest()),
    "auth.v1.UserService/SetPassword": on_user(
        lambda name: auth_pb2.SetPasswordRequest(name=name, new_password="another1")
    ),
    "auth.v1.UserService/DeleteUser": on_user(lambda name: auth_pb2.DeleteUserRequest(name=name)),
    "auth.v1.UserService/WatchUsers": lambda site: first(site, auth_pb2.WatchUsersRequest()),
    "auth.v1.GrantService/CreateGrant": on_grant(None),
    "auth.v1.GrantService/ListGrants": as_root(lambda site: auth_pb2.ListGrantsRequest()),
    "auth.v1.GrantService/DeleteGrant": on_grant(lambda grant: auth_pb2.DeleteGrantRequest(grant=grant)),
    "auth.v1.GrantService/WatchGrants": lambda site: first(site, auth_pb2.WatchGrantsRequest()),
    "common.v1.InfoService/GetInfo": as_root(lambda site: info_pb2.GetInfoRequest()),
    "common.v1.AuditService/ListAuditRecords": as_root(lambda site: info_pb2.ListAuditRecordsRequest()),
    "common.v1.EventService/ListEvents": as_root(lambda site: event_pb2.ListEventsRequest(limit=1)),
    "common.v1.EventService/GetEventHead": as_root(lambda site: event_pb2.GetEventHeadRequest()),
    "queue.v1.AdmissionService/SubmitWorkloads": submit,
    "queue.v1.AdmissionService/ReleaseWorkloads": on_workload(release),
    "queue.v1.AdmissionService/ResizeWorkload": on_workload(resize),
    "queue.v1.AdmissionService/UpdateWorkload": update,
    "queue.v1.AdmissionService/ReportRunning": on_workload(running),
    "queue.v1.AdmissionService/ResumeWorkload": resume,
    "queue.v1.AdmissionService/GetWorkload": on_workload(
        lambda admission: admission_pb2.GetWorkloadRequest(key=admission.key("j"))
    ),
    "queue.v1.AdmissionService/ListWorkloads": on_workload(
        lambda admission: admission_pb2.ListWorkloadsRequest(queue=admission.site.name("q"))
    ),
    "queue.v1.AdmissionService/GetPosition": on_workload(
        lambda admission: admission_pb2.GetPositionRequest(key=admission.key("j"))
    ),
    "queue.v1.AdmissionService/ExplainWorkload": on_workload(
        lambda admission: admission_pb2.ExplainWorkloadRequest(key=admission.key("j"))
    ),
    "queue.v1.AdmissionService/Simulate": on_workload(
        lambda admission: admission_pb2.SimulateRequest(workloads=[admission.workload("k", "q")])
    ),
    "queue.v1.AdmissionService/ListLoads": as_root(lambda site: admission_pb2.ListLoadsRequest()),
    "queue.v1.AdmissionService/ListDecisions": as_root(lambda site: admission_pb2.ListDecisionsRequest()),
    "queue.v1.AdmissionService/WatchWorkloads": lambda site: first(site, admission_pb2.WatchWorkloadsRequest()),
    "queue.v1.ClusterService/CreateCluster": as_root(
        lambda site: cluster_pb2.CreateClusterRequest(
            cluster=cluster_pb2.Cluster(name=site.name("new"), type=cluster_pb2.CLUSTER_TYPE_LOCAL)
        )
    ),
    "queue.v1.ClusterService/GetCluster": as_root(lambda site: cluster_pb2.GetClusterRequest(name=site.cluster)),
    "queue.v1.ClusterService/ListClusters": as_root(lambda site: cluster_pb2.ListClustersRequest()),
    "queue.v1.ClusterService/UpdateCluster": as_root(update_cluster),
    "queue.v1.ClusterService/DeleteCluster": as_root(lambda site: cluster_pb2.DeleteClusterRequest(name=site.cluster)),
    "queue.v1.ClusterService/ReportNodes": lambda site: site.report(1, node("n1", cpu=1)),
    "queue.v1.ClusterService/ListNodes": as_root(lambda site: cluster_pb2.ListNodesRequest()),
    "queue.v1.ClusterService/WatchClusters": lambda site: first(site, cluster_pb2.WatchClustersRequest()),
    "queue.v1.FlavourService/CreateFlavour": as_root(
        lambda site: cluster_pb2.CreateFlavourRequest(flavour=flavour(site))
    ),
    "queue.v1.FlavourService/GetFlavour": as_root(lambda site: cluster_pb2.GetFlavourRequest(name="flavour1")),
    "queue.v1.FlavourService/ListFlavours": as_root(lambda site: cluster_pb2.ListFlavoursRequest()),
    "queue.v1.FlavourService/UpdateFlavour": on_flavour(update_flavour),
    "queue.v1.FlavourService/DeleteFlavour": on_flavour(
        lambda site: cluster_pb2.DeleteFlavourRequest(name=site.name("f"))
    ),
    "queue.v1.FlavourService/WatchFlavours": lambda site: first(site, cluster_pb2.WatchFlavoursRequest()),
    "queue.v1.QueueService/CreateQueue": lambda site: site.create("q"),
    "queue.v1.QueueService/GetQueue": as_root(lambda site: queue_pb2.GetQueueRequest(name="default-queue")),
    "queue.v1.QueueService/ListQueues": as_root(lambda site: queue_pb2.ListQueuesRequest()),
    "queue.v1.QueueService/UpdateQueue": change_queue,
    "queue.v1.QueueService/DeleteQueue": on_queue(queue_pb2.DeleteQueueRequest),
    "queue.v1.QueueService/OpenQueue": on_queue(queue_pb2.OpenQueueRequest),
    "queue.v1.QueueService/HoldQueue": on_queue(queue_pb2.HoldQueueRequest),
    "queue.v1.QueueService/DrainQueue": on_queue(queue_pb2.DrainQueueRequest),
    "queue.v1.QueueService/CloseQueue": on_queue(queue_pb2.CloseQueueRequest),
    "queue.v1.QueueService/WatchQueues": lambda site: first(site, queue_pb2.WatchQueuesRequest()),
}


def short(path: str) -> str:
    return path.removeprefix("/paddleflow.")


async def test_every_method_that_the_server_has_is_called_here(site: QueueSite) -> None:
    """What the server has, it says itself, by reflection."""
    stub = reflection_pb2_grpc.ServerReflectionStub(site.channel)  # type: ignore[arg-type]  # the stubs know no asyncio
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    stream = stub.ServerReflectionInfo()  # type: ignore[operator]  # has no types
    await stream.write(request)
    answer = await stream.read()
    await stream.done_writing()
    served = {service.name for service in answer.list_services_response.service} - EXEMPT
    assert served == {service.full_name for service in SERVICES}
    assert set(SUCCESSES) == {short(path_of(method)) for method in METHODS.values()}


def test_every_method_has_a_rule() -> None:
    assert {short(path) for path in RULES} == set(SUCCESSES)
    assert all(rule.access in Access for rule in RULES.values())


async def records(site: QueueSite) -> list[info_pb2.AuditRecord]:
    reply = await site.root(info_pb2.ListAuditRecordsRequest(page_size=5))
    return list(reply.records)


@pytest.mark.parametrize("path", list(SUCCESSES))
async def test_a_method_answers_and_what_it_changes_is_on_record(site: QueueSite, path: str) -> None:
    newest = (await records(site))[0].id
    await SUCCESSES[path](site)
    recorded = [record for record in await records(site) if record.id > newest and short(record.method) == path]
    assert len(recorded) == RULES[f"/paddleflow.{path}"].mutation
    for record in recorded:
        assert record.actor == "user/root"
        assert record.peer
        kind, _, name = record.subject.partition("/")
        assert kind in {"user", "token", "grant", "queue", "cluster", "flavour", "workload"}
        assert name


@pytest.mark.parametrize("path", [path for path, rule in RULES.items() if not rule.streaming])
async def test_whoever_may_not_call_is_kept_out(site: QueueSite, path: str) -> None:
    method = next(method for method in METHODS.values() if path_of(method) == path)
    request = method.input_type._concrete_class()  # type: ignore[attr-defined]  # noqa: SLF001  # made by protobuf
    access = RULES[path].access
    if access is not Access.ANYONE:
        with pytest.raises(TokenMissing):
            await site.anyone(request)
    if access in (Access.ROOT, Access.SERVICE):
        user = await user_of(site)
        with pytest.raises(PermissionDenied):
            await user(request)
    assert access_pb2.Access.Name(access.value).startswith("ACCESS_")


async def user_of(site: QueueSite) -> Caller:
    return (await site.add_user())[1]
