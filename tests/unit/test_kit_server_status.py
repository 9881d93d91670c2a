"""Problems on the wire."""

from __future__ import annotations

from dataclasses import dataclass

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.address import target
from paddleflow.problems import (
    Internal,
    InvalidArgument,
    NotFound,
    Problem,
    QueueNotFound,
    ResourceExhausted,
    Unavailable,
    Violation,
    tree,
)
from paddleflow.status import DETAILS_KEY, encode, problem_of, status_code, status_message

PARENTS = {parent for kind in tree() for parent in kind.__mro__[1:]}
LEAVES = [kind for kind in tree() if kind not in PARENTS]


@dataclass
class Failed:
    """A call that failed, as gRPC shows it."""

    status: grpc.StatusCode
    message: str | None
    trailing: tuple[tuple[str, str | bytes], ...] = ()

    def code(self) -> grpc.StatusCode:
        return self.status

    def details(self) -> str | None:
        return self.message

    def trailing_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return self.trailing


def sent(problem: Problem) -> Problem:
    details = encode(problem, "paddleflow.test")
    assert len(details) <= 3_400, "gRPC refuses trailers above 8 KiB"
    assert len(status_message(problem).encode()) <= 3_300
    return problem_of(Failed(status_code(problem), status_message(problem), ((DETAILS_KEY, details),)))


@pytest.mark.parametrize("kind", LEAVES)
def test_every_problem_arrives_as_itself(kind: type[Problem]) -> None:
    arrived = sent(kind("what happened", retry_after=1.5, metadata={"queue": "a"}))
    assert type(arrived) is kind
    assert (arrived.message, arrived.retry_after) == ("what happened", 1.5)
    assert arrived.metadata == {"queue": "a"}


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=2000),
    st.lists(st.builds(Violation, st.text(max_size=80), st.text(max_size=300)), max_size=40),
    st.none() | st.floats(0, 10_000),
)
def test_any_problem_fits_and_keeps_what_fits(
    message: str, violations: list[Violation], retry_after: float | None
) -> None:
    arrived = sent(InvalidArgument(message or "x", violations=tuple(violations), retry_after=retry_after))
    assert isinstance(arrived, InvalidArgument)
    assert arrived.violations == tuple(violations[: len(arrived.violations)])
    assert (arrived.retry_after is None) == (retry_after is None)


def test_a_reason_of_a_newer_server_gives_the_problem_of_its_code() -> None:
    class QueueOnFire(NotFound):
        """Not known to the client."""

        reason = "QUEUE_ON_FIRE"

    details = encode(QueueOnFire("fire"), "paddleflow.queue").replace(b"QUEUE_ON_FIRE", b"QUEUE_ON_MOON")
    arrived = problem_of(Failed(grpc.StatusCode.NOT_FOUND, "fire", ((DETAILS_KEY, details),)))
    assert type(arrived) is NotFound
    assert arrived.metadata == {"reason": "QUEUE_ON_MOON"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, Unavailable),
        (grpc.StatusCode.CANCELLED, Unavailable),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, ResourceExhausted),
        (grpc.StatusCode.UNIMPLEMENTED, Internal),
        (grpc.StatusCode.UNKNOWN, Internal),
        (grpc.StatusCode.INTERNAL, Problem),
    ],
)
def test_a_failure_without_details_gives_the_problem_of_its_code(status: grpc.StatusCode, kind: type[Problem]) -> None:
    arrived = problem_of(Failed(status, "connection refused"))
    assert isinstance(arrived, kind)
    assert arrived.message == "connection refused"


def test_who_sends_too_much_at_once_is_told_what_to_do() -> None:
    said = "Sent message larger than max (5000000 vs. 4194304)"
    arrived = problem_of(Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, said))
    assert isinstance(arrived, ResourceExhausted)
    assert "4 MiB" in arrived.message


@given(st.binary())
def test_broken_details_are_passed_over(details: bytes) -> None:
    arrived = problem_of(Failed(grpc.StatusCode.NOT_FOUND, "gone", ((DETAILS_KEY, details),)))
    assert isinstance(arrived, NotFound)


def test_the_class_decides_what_a_caller_catches() -> None:
    with pytest.raises(NotFound):
        raise sent(QueueNotFound())


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("localhost:8000", "dns:///localhost:8000"),
        ("10.0.0.1:1", "dns:///10.0.0.1:1"),
        ("[::1]:65535", "dns:///[::1]:65535"),
        ("unix:/run/pf.sock", "unix:/run/pf.sock"),
        ("unix:///run/pf.sock", "unix:/run/pf.sock"),
        ("dns:///a:1", "dns:///a:1"),
        ("ipv4:10.0.0.1:1,10.0.0.2:1", "ipv4:10.0.0.1:1,10.0.0.2:1"),
    ],
)
def test_addresses(address: str, expected: str) -> None:
    assert target(address) == expected


@pytest.mark.parametrize(
    "address",
    ["", "localhost", "localhost:", "localhost:0", "a:65536", "http://a:1", "unix:run/pf.sock", "a b:1", ":1"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"address|absolute path"):
        target(address)
