"""What a watch calls the things that happen to workloads."""

from __future__ import annotations

import pytest

from paddleflow.common.v1 import event_pb2
from paddleflow.queue.v1 import workload_pb2
from pf_queue.admission.watching import change_message

KEY = workload_pb2.WorkloadKey(job_id="job", attempt=2)
ENDED = workload_pb2.Released(key=KEY, outcome=workload_pb2.RELEASE_OUTCOME_EVICTED)


@pytest.mark.parametrize(
    ("event", "version", "kind"),
    [
        (workload_pb2.WorkloadEvent(submitted=workload_pb2.Workload(key=KEY)), 2_000_000, "CREATED"),
        (workload_pb2.WorkloadEvent(updated=workload_pb2.Workload(key=KEY)), 2_000_001, "UPDATED"),
        (workload_pb2.WorkloadEvent(requeued=workload_pb2.Requeued(key=KEY)), 2_000_000, "CREATED"),
        (workload_pb2.WorkloadEvent(requeued=workload_pb2.Requeued(key=KEY)), 2_000_001, "UPDATED"),
        (workload_pb2.WorkloadEvent(admitted=workload_pb2.Admitted(key=KEY)), 2_000_001, "UPDATED"),
        (workload_pb2.WorkloadEvent(evicting=workload_pb2.Evicting(key=KEY)), 2_000_002, "UPDATED"),
        (workload_pb2.WorkloadEvent(released=workload_pb2.Released(key=KEY)), 2_000_002, "UPDATED"),
        (workload_pb2.WorkloadEvent(released=ENDED), 2_000_003, "DELETED"),
    ],
)
def test_an_attempt_begins_once_and_ends_once(event: workload_pb2.WorkloadEvent, version: int, kind: str) -> None:
    told = change_message(event, version)
    assert event_pb2.ChangeKind.Name(told.kind) == f"CHANGE_KIND_{kind}"
