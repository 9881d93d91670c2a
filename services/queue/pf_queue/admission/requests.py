"""What requests ask for, checked: whatever is wrong raises InvalidArgument naming each field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from paddleflow.problems import Violation
from paddleflow.queue.v1 import admission_pb2 as pb
from paddleflow.queue.v1 import workload_pb2
from pf_kit.fields import dns_label, plain_text, require
from pf_kit.times import time_of
from pf_queue.admission.convert import DECISIONS, STATES, key_of, outcome_of, spec_of
from pf_queue.admission.domain import Key, Spec
from pf_queue.admission.fields import (
    MOST_AT_ONCE,
    at_once,
    change_violations,
    key_violations,
    repeated_keys,
    spec_violations,
)
from pf_queue.admission.listing import WorkloadFilter
from pf_queue.admission.service import Ending
from pf_queue.admission.store import DecisionFilter
from pf_queue.admission.supposing import Supposed
from pf_queue.clusters.convert import given_node
from pf_queue.clusters.fields import node_violations
from pf_queue.fields import FILTER_LENGTH
from pf_queue.quota.convert import given_queue
from pf_queue.quota.fields import queue_violations


def specs(request: pb.SubmitWorkloadsRequest) -> Sequence[Spec]:
    require(at_once("workloads", request.workloads))
    return _checked_specs(request.workloads)


def _checked_specs(messages: Sequence[workload_pb2.Workload]) -> Sequence[Spec]:
    found = [spec_of(message) for message in messages]
    require(
        chain.from_iterable(spec_violations(f"workloads[{index}]", spec) for index, spec in enumerate(found)),
        repeated_keys("workloads", [spec.key for spec in found]),
    )
    return found


def endings(request: pb.ReleaseWorkloadsRequest) -> Sequence[Ending]:
    require(at_once("releases", request.releases))
    keys = [key_of(release.key) for release in request.releases]
    require(
        chain.from_iterable(key_violations(f"releases[{index}].key", each) for index, each in enumerate(keys)),
        repeated_keys("releases", keys),
    )
    return [_ending(index, release) for index, release in enumerate(request.releases)]


def _ending(index: int, release: pb.Release) -> Ending:
    outcome = outcome_of(f"releases[{index}].outcome", release.outcome)
    if outcome is None:
        require([Violation(f"releases[{index}].outcome", "must be set")])
        raise AssertionError
    return Ending(key_of(release.key), release.grant_id, outcome)


def sizes(request: pb.ResizeWorkloadRequest) -> tuple[Key, Mapping[str, int]]:
    found = key(request.key)
    names = [grant.role for grant in request.roles]
    if len(set(names)) < len(names):
        require([Violation("roles", "name a role twice")])
    require(Violation("roles", f"surplus of {grant.role!r} is below 0") for grant in request.roles if grant.surplus < 0)
    return found, {grant.role: grant.surplus for grant in request.roles}


def change(request: pb.UpdateWorkloadRequest) -> Key:
    found = key_of(request.key)
    require(key_violations("key", found), change_violations(request.priority, request.revision))
    return found


def reports(request: pb.ReportRunningRequest) -> Sequence[tuple[Key, str]]:
    require(at_once("reports", request.reports))
    keys = [key_of(report.key) for report in request.reports]
    require(chain.from_iterable(key_violations(f"reports[{index}].key", each) for index, each in enumerate(keys)))
    return [(each, report.grant_id) for each, report in zip(keys, request.reports, strict=True)]


def key(message: workload_pb2.WorkloadKey, least: int = 1) -> Key:
    found = key_of(message)
    require(key_violations("key", found, least))
    return found


def workload_filter(request: pb.ListWorkloadsRequest) -> WorkloadFilter:
    states = {value: state for state, value in STATES.items()}
    require(
        dns_label("queue", request.queue),
        plain_text("user", request.user, FILTER_LENGTH),
        (Violation("states", f"{value} is no state") for value in request.states if value not in states),
    )
    return WorkloadFilter(request.queue, frozenset(states[value] for value in request.states), request.user)


def require_load_filter(request: pb.ListLoadsRequest) -> None:
    require(plain_text("cluster", request.cluster, FILTER_LENGTH), plain_text("queue", request.queue, FILTER_LENGTH))


def decision_filter(request: pb.ListDecisionsRequest) -> DecisionFilter:
    kinds = {value: kind for kind, value in DECISIONS.items()}
    require(
        plain_text("queue", request.queue, FILTER_LENGTH),
        plain_text("job_id", request.job_id, FILTER_LENGTH),
        (Violation("kinds", f"{value} is no kind of decision") for value in request.kinds if value not in kinds),
    )
    return DecisionFilter(
        queues=frozenset({request.queue}) if request.queue else None,
        job=request.job_id,
        kinds=frozenset(kinds[value] for value in request.kinds),
        since=time_of("since", request.since) if request.HasField("since") else None,
    )


def supposed(request: pb.SimulateRequest) -> tuple[Sequence[Spec], Supposed]:
    if len(request.workloads) > MOST_AT_ONCE:
        require(at_once("workloads", request.workloads))
    queues = [given_queue(message) for message in request.queues]
    require(chain.from_iterable(queue_violations(queue) for queue in queues))
    nodes = [given_node(message.cluster, message) for message in request.nodes]
    require(node_violations(nodes))
    gone = frozenset((node.cluster, node.name) for node in request.gone)
    return _checked_specs(request.workloads), Supposed({queue.name: queue for queue in queues}, nodes, gone)


def watched(request: pb.WatchWorkloadsRequest) -> frozenset[str]:
    require(chain.from_iterable(dns_label("queues", queue) for queue in request.queues))
    return frozenset(request.queues)
