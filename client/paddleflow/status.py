"""Problems on the wire: ``google.rpc.Status`` with ``ErrorInfo``, ``BadRequest`` and ``RetryInfo``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import grpc
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # ships no types

from paddleflow.problems import Code, Internal, Problem, Unavailable, Violation, tree

DETAILS_KEY = "grpc-status-details-bin"

# Trailers above 8 KiB are refused by gRPC, which would hide the problem itself. A message is sent twice, once
# percent-encoded (up to three characters a byte), so its share is small.
MAX_MESSAGE = 800
MAX_DETAILS = 2_500
LARGER = "message larger than max"
"""What gRPC says of a request or an answer that is."""
TOO_LARGE = "it has more than the 4 MiB that one call may carry; shorten it, or do it in parts"


class Failure(Protocol):
    """What grpc and grpc.aio tell of a call that failed."""

    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str | None: ...
    def trailing_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...


def status_code(problem: Problem) -> grpc.StatusCode:
    return grpc.StatusCode[problem.code.value]


def status_message(problem: Problem) -> str:
    """The problem's sentence, cut so that it fits into a trailer."""
    return problem.message if len(problem.message) <= MAX_MESSAGE else f"{problem.message[: MAX_MESSAGE - 1]}…"


def encode(problem: Problem, domain: str) -> bytes:
    """The problem as the bytes of a ``google.rpc.Status``."""
    status = status_pb2.Status(code=status_code(problem).value[0], message=status_message(problem))
    for detail in _details(problem, domain):
        if status.ByteSize() + detail.ByteSize() <= MAX_DETAILS + MAX_MESSAGE:
            status.details.add().Pack(detail)
    return bytes(status.SerializeToString())


def _details(problem: Problem, domain: str) -> Iterator[Message]:
    yield error_details_pb2.ErrorInfo(reason=problem.reason, domain=domain, metadata=problem.metadata)
    if problem.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(round(problem.retry_after * 1000))
        yield retry
    if problem.violations:
        yield _bad_request(problem.violations)


def _bad_request(violations: Sequence[Violation]) -> error_details_pb2.BadRequest:
    """As many of the violations as fit."""
    request = error_details_pb2.BadRequest()
    for violation in violations:
        request.field_violations.add(field=violation.field, description=violation.description)
        if request.ByteSize() > MAX_DETAILS // 2:
            del request.field_violations[-1]
            break
    return request


def problem_of(failure: Failure) -> Problem:
    """The problem that a failed call stands for."""
    details = next((value for key, value in failure.trailing_metadata() or () if key == DETAILS_KEY), None)
    status = _parse(details) if isinstance(details, bytes) else None
    message = failure.details() or ""
    if status is None:
        return _kind(failure.code(), "")(TOO_LARGE if LARGER in message else message)
    return _decode(status, failure.code(), message)


def refused(code: str, reason: str, message: str, metadata: Mapping[str, str]) -> Problem:
    """The problem that one refusal in a reply stands for; `code` is the name of gRPC's status code."""
    kind = _kind(grpc.StatusCode[code], reason) if code in grpc.StatusCode.__members__ else Internal
    return kind(message, metadata={**metadata, **_unknown(kind, reason)})


def _parse(details: bytes) -> status_pb2.Status | None:
    try:
        return status_pb2.Status.FromString(details)
    except DecodeError:
        return None


def _decode(status: status_pb2.Status, code: grpc.StatusCode, message: str) -> Problem:
    info = _detail(status, error_details_pb2.ErrorInfo)
    request = _detail(status, error_details_pb2.BadRequest)
    retry = _detail(status, error_details_pb2.RetryInfo)
    kind = _kind(code, info.reason)
    return kind(
        message,
        violations=tuple(Violation(each.field, each.description) for each in request.field_violations),
        retry_after=retry.retry_delay.ToMilliseconds() / 1000 if retry.HasField("retry_delay") else None,
        metadata={**info.metadata, **_unknown(kind, info.reason)},
    )


def _unknown(kind: type[Problem], reason: str) -> Mapping[str, str]:
    """A reason that the class does not tell, for the metadata."""
    return {"reason": reason} if reason != kind.reason else {}


def _detail(status: status_pb2.Status, kind: type[error_details_pb2.ErrorInfo]) -> error_details_pb2.ErrorInfo:
    """The status's detail of this kind; an empty one if it has none."""
    detail = kind()
    for packed in status.details:
        if packed.Unpack(detail):
            break
    return detail


def _kind(status: grpc.StatusCode, reason: str) -> type[Problem]:
    """The class of this reason; of this code, if a newer server gives a reason that is not known here."""
    if status is grpc.StatusCode.CANCELLED:
        return Unavailable
    if status.name not in Code.__members__:
        return Internal
    same_code = [kind for kind in tree() if kind.code == Code(status.name)]
    same_reason = [kind for kind in same_code if kind.reason == reason]
    # Of two classes with one reason the one that derives from the other is what servers raise.
    parents = {parent for kind in same_reason for parent in kind.__mro__[1:]}
    leaves = [kind for kind in same_reason if kind not in parents]
    return [*leaves, *same_code][0]
