"""Every reason of a failure is in the contract and in the tree of problems."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from google.protobuf.descriptor import EnumDescriptor

import paddleflow
from paddleflow import problems


def shared_problems() -> list[type[problems.Problem]]:
    """Those that clients know. A service may have some of its own that never reach a client."""
    return [problem for problem in problems.tree() if problem.__module__.startswith(problems.__name__)]


def reason_enums() -> Iterator[EnumDescriptor]:
    """The enum of reasons that each package of the contract has."""
    for path in sorted(Path(paddleflow.__file__).parent.glob("*/v1/errors_pb2.py")):
        module = import_module(f"paddleflow.{path.parent.parent.name}.v1.errors_pb2")
        (enum,) = module.DESCRIPTOR.enum_types_by_name.values()
        yield enum


def reasons(enum: EnumDescriptor) -> list[str]:
    unspecified, *names = (value.name for value in enum.values)
    return [name.removeprefix(unspecified.removesuffix("UNSPECIFIED")) for name in names]


def test_contract_and_problems_have_the_same_reasons() -> None:
    promised = [reason for enum in reason_enums() for reason in reasons(enum)]
    assert sorted(promised) == sorted(set(promised)), "no reason is in two enums"
    assert set(promised) == {problem.reason for problem in shared_problems()}


def test_every_problem_has_the_code_of_its_parent() -> None:
    for parent in shared_problems()[1:]:
        assert {child.code for child in parent.__subclasses__()} <= {parent.code}


def test_every_problem_can_be_imported_from_one_place() -> None:
    assert {problem.__name__ for problem in shared_problems()} <= set(problems.__all__)
