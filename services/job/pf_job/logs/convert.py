"""Between the messages of the contract and the values of the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from paddleflow.job.v1 import log_pb2
from paddleflow.problems import InvalidArgument, Violation
from pf_job.logs.domain import (
    Beginning,
    Bounds,
    Choice,
    Chunk,
    Info,
    Offset,
    Position,
    Query,
    Since,
    Start,
    TailBytes,
    TailLines,
)
from pf_job.logs.search import ANYTHING, Search
from pf_job.runtimes.port import ReplicaKey
from pf_job.specs.convert import ROLES
from pf_job.specs.domain import Role
from pf_kit.times import time_of

ID_LENGTH = 512
LARGEST = 2**60
"""More bytes than a log has; an offset so large is still one for every file system."""
MOST_LINES = 1_000_000
"""To be looked for from the end."""
MOST_TEXTS = 16
LONGEST_TEXT = 1024
"""In bytes."""
MOST_POSITIONS = 10_000

NUMBERS: Mapping[int, Role] = {number: role for role, number in ROLES.items()}
AMOUNTS = (
    ("tail_lines", MOST_LINES),
    ("tail_bytes", LARGEST),
    ("offset", LARGEST),
    ("max_lines", LARGEST),
    ("max_bytes", LARGEST),
)


def choice_of(message: log_pb2.LogChoice) -> Choice:
    """Which logs are meant. InvalidArgument names each field that cannot be."""
    _refuse(_choice_violations(message))
    return Choice(
        job=message.id,
        attempt=message.attempt,
        role=NUMBERS[message.role] if message.role else "",
        index=message.index if message.HasField("index") else None,
        restart=message.restart if message.HasField("restart") else None,
    )


def query_of(request: log_pb2.ReadLogRequest) -> Query:
    """What is asked for. InvalidArgument names each field that cannot be."""
    _refuse((*_choice_violations(request.choice), *_violations(request)))
    choice = choice_of(request.choice)
    search = request.search
    return Query(
        choice=choice,
        start=_start(request),
        bounds=Bounds(request.max_lines, request.max_bytes),
        until=_microseconds("until", request) if request.HasField("until") else None,
        search=Search(tuple(search.texts), search.ignore_case) if search.texts else None,
        follow=request.follow,
        later=request.later,
        positions={position.key: position for position in _positions(choice.job, request)},
    )


def chunk_message(chunk: Chunk) -> log_pb2.ReadLogResponse:
    at = chunk.position
    return log_pb2.ReadLogResponse(
        offset=chunk.offset,
        data=chunk.data,
        lost=chunk.lost,
        position=log_pb2.LogPosition(
            replica=_replica(at.key), offset=at.offset, lines=at.lines, bytes=at.bytes, end=at.end
        ),
    )


def info_message(info: Info) -> log_pb2.LogInfo:
    return log_pb2.LogInfo(
        replica=_replica(info.key),
        size=info.size,
        kept_from=info.kept_from,
        complete=info.complete,
        lines=info.lines,
    )


def _replica(key: ReplicaKey) -> log_pb2.LogReplica:
    role = ROLES[Role(key.role)]
    return log_pb2.LogReplica(attempt=key.attempt, role=role, index=key.index, restart=key.restart)


def _positions(job: str, request: log_pb2.ReadLogRequest) -> Iterator[Position]:
    for message in request.positions:
        replica = message.replica
        key = ReplicaKey(job, replica.attempt, NUMBERS[replica.role], replica.index, replica.restart)
        yield Position(key, message.offset, message.lines, message.bytes, message.end)


def _start(request: log_pb2.ReadLogRequest) -> Start:
    match request.WhichOneof("from"):
        case "tail_lines":
            return TailLines(request.tail_lines)
        case "tail_bytes":
            return TailBytes(request.tail_bytes)
        case "offset":
            return Offset(request.offset)
        case "since":
            return Since(_microseconds("since", request))
        case _:
            return Beginning()


def _microseconds(field: str, request: log_pb2.ReadLogRequest) -> int:
    stamp = getattr(request, field)
    time_of(field, stamp)
    # Nothing was written before the epoch, and no runtime knows of times before it.
    return max(0, int(stamp.ToMicroseconds()))


def _choice_violations(message: log_pb2.LogChoice) -> Iterator[Violation]:
    if not 0 < len(message.id) <= ID_LENGTH or "\0" in message.id:
        yield Violation("choice.id", f"must be text of 1 to {ID_LENGTH} characters")
    if message.role and message.role not in NUMBERS:
        yield Violation("choice.role", "is none that this server knows")
    for field in ("attempt", "index", "restart"):
        if getattr(message, field) < 0:
            yield Violation(f"choice.{field}", "must not be negative")


def _violations(request: log_pb2.ReadLogRequest) -> Iterator[Violation]:
    for field, most in AMOUNTS:
        if not 0 <= getattr(request, field) <= most:
            yield Violation(field, f"must be from 0 to {most}")
    if request.later and not request.follow:
        yield Violation("later", "means something only with `follow`")
    is_span = request.HasField("until") and request.HasField("since")
    if is_span and _microseconds("until", request) < _microseconds("since", request):
        yield Violation("until", "must not lie before `since`")
    if len(request.search.texts) > MOST_TEXTS:
        yield Violation("search.texts", f"must be at most {MOST_TEXTS} texts")
    for n, text in enumerate(request.search.texts[:MOST_TEXTS]):
        yield from _text_violations(f"search.texts[{n}]", text)
    if len(request.positions) > MOST_POSITIONS:
        yield Violation("positions", f"must be at most {MOST_POSITIONS}")
    elif not all(map(_can_be, request.positions)):
        yield Violation("positions", "must be positions that were told before")


def _text_violations(field: str, text: str) -> Iterator[Violation]:
    if not text.strip(ANYTHING):
        yield Violation(field, "must have something in it to look for")
    if "\n" in text:
        yield Violation(field, "must not reach beyond a line")
    if len(text.encode()) > LONGEST_TEXT:
        yield Violation(field, f"must have at most {LONGEST_TEXT} bytes")


def _can_be(message: log_pb2.LogPosition) -> bool:
    replica = message.replica
    return (
        replica.attempt > 0
        and replica.role in NUMBERS
        and min(replica.index, replica.restart) >= 0
        and all(0 <= amount <= LARGEST for amount in (message.offset, message.lines, message.bytes))
    )


def _refuse(violations: Iterator[Violation] | tuple[Violation, ...]) -> None:
    if wrong := tuple(violations):
        raise InvalidArgument.of(*wrong)
