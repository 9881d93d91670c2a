"""Specs on the wire and back, whatever they hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct, Value
from hypothesis import HealthCheck, given, settings

from paddleflow.job.v1 import spec_pb2 as pb
from pf_job.specs.check import violations
from pf_job.specs.convert import FRAMEWORKS, PRIORITIES, ROLES, given_spec, spec_message, spec_violations
from pf_job.specs.defaults import filled
from pf_job.specs.domain import JobSpec, JobType
from support.job_specs import SPECS

UNKNOWN: Any = 99
"""What a newer client may send as the number of an enum."""
SLOW = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)


@SLOW
@given(SPECS)
def test_a_spec_survives_the_wire(spec: JobSpec) -> None:
    message = pb.JobSpec.FromString(spec_message(spec).SerializeToString())
    assert given_spec(message) == spec
    assert list(spec_violations(message)) == []


@SLOW
@given(SPECS)
def test_whatever_a_spec_holds_is_judged(spec: JobSpec) -> None:
    for job_type in JobType:
        assert all(wrong.field and wrong.description for wrong in violations(spec, job_type))


@SLOW
@given(SPECS)
def test_to_fill_in_twice_changes_nothing(spec: JobSpec) -> None:
    once = filled(spec, timedelta(days=7))
    assert filled(once, timedelta(days=1)) == once


def test_every_word_of_ours_is_one_of_the_contract() -> None:
    for ours, theirs in ((PRIORITIES, pb.Priority), (FRAMEWORKS, pb.Framework), (ROLES, pb.Role)):
        assert sorted([0, *ours.values()]) == sorted(theirs.values())


def test_an_empty_object_means_the_same_as_none() -> None:
    empty = pb.JobSpec(
        scheduling_policy=pb.SchedulingPolicy(),
        flavour=pb.Flavour(),
        limit_flavour=pb.LimitFlavour(flavour=pb.Flavour()),
        fs=pb.FilesystemMount(),
        extra_fs=[pb.FilesystemMount()],
        extension_template=Struct(),
        retry=pb.RetryPolicy(),
        limits=pb.TimeLimits(),
    )
    assert given_spec(empty) == JobSpec()


@pytest.mark.parametrize(
    ("message", "place"),
    [
        (pb.JobSpec(framework=UNKNOWN), "framework"),
        (
            pb.JobSpec(scheduling_policy=pb.SchedulingPolicy(priority=UNKNOWN)),
            "schedulingPolicy.priority",
        ),
        (pb.JobSpec(members=[pb.Member(role=pb.ROLE_WORKER), pb.Member(role=UNKNOWN)]), "members[1].role"),
        (pb.JobSpec(limits=pb.TimeLimits(run=Duration(seconds=10**12))), "limits.run"),
        (pb.JobSpec(retry=pb.RetryPolicy(max_backoff=Duration(seconds=1, nanos=-1))), "retry.maxBackoff"),
        (pb.JobSpec(extension_template=Struct(fields={"a": Value()})), "extensionTemplate"),
        (pb.JobSpec(extension_template=Struct(fields={"a": Value(number_value=float("nan"))})), "extensionTemplate"),
        (
            pb.JobSpec(members=[pb.Member(extension_template=Struct(fields={"a": Value()}))]),
            "members[0].extensionTemplate",
        ),
    ],
)
def test_what_no_spec_can_hold_is_named_and_left_out(message: pb.JobSpec, place: str) -> None:
    assert [wrong.field for wrong in spec_violations(message)] == [place]
    assert list(spec_violations(spec_message(given_spec(message)))) == []
