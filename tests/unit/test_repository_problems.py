"""Every reason of a failure is in the contract and in the tree of problems."""

from __future__ import annotations

from google.protobuf.descriptor import EnumDescriptor

from paddleflow import problems
from paddleflow.auth.v1 import errors_pb2 as auth_errors
from paddleflow.common.v1 import errors_pb2 as common_errors
from paddleflow.queue.v1 import errors_pb2 as queue_errors

ENUMS = (
    common_errors.DESCRIPTOR.enum_types_by_name["Reason"],
    auth_errors.DESCRIPTOR.enum_types_by_name["AuthReason"],
    queue_errors.DESCRIPTOR.enum_types_by_name["QueueReason"],
)


def reasons(enum: EnumDescriptor) -> list[str]:
    unspecified, *names = (value.name for value in enum.values)
    return [name.removeprefix(unspecified.removesuffix("UNSPECIFIED")) for name in names]


def test_contract_and_problems_have_the_same_reasons() -> None:
    promised = [reason for enum in ENUMS for reason in reasons(enum)]
    assert sorted(promised) == sorted(set(promised)), "no reason is in two enums"
    assert set(promised) == {problem.reason for problem in problems.tree()}


def test_every_problem_has_the_code_of_its_parent() -> None:
    for parent in list(problems.tree())[1:]:
        assert {child.code for child in parent.__subclasses__()} <= {parent.code}


def test_every_problem_can_be_imported_from_one_place() -> None:
    assert {problem.__name__ for problem in problems.tree()} <= set(problems.__all__)
