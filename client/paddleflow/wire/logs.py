"""Logs of jobs to and from the wire."""

from __future__ import annotations

from paddleflow.job.v1 import log_pb2
from paddleflow.models.job_specs import Role
from paddleflow.models.logs import LogChoice, LogChunk, LogInfo, LogOptions, LogReplica
from paddleflow.problems import InvalidArgument
from paddleflow.wire.base import build, time_to_wire
from paddleflow.wire.job_specs import ROLE

BEGINNINGS = ("tail_lines", "tail_bytes", "offset", "since")


def choice_to_wire(id_: str, chosen: LogChoice) -> log_pb2.LogChoice:
    return build(
        log_pb2.LogChoice,
        id=id_,
        attempt=chosen.get("attempt", 0),
        role=ROLE.number(chosen.get("role", Role.UNSPECIFIED)),
        index=chosen.get("index"),
        restart=chosen.get("restart"),
    )


def read_request(id_: str, options: LogOptions) -> log_pb2.ReadLogRequest:
    """What asks for logs. Raises InvalidArgument if they are to begin in two ways."""
    if len(beginnings := [name for name in BEGINNINGS if name in options]) > 1:
        raise InvalidArgument(f"A log cannot begin both by {' and by '.join(beginnings)}")
    texts, until = options.get("texts", ()), options.get("until")
    search = build(log_pb2.LogSearch, texts=texts, ignore_case=options.get("ignore_case", False))
    request = build(
        log_pb2.ReadLogRequest,
        choice=choice_to_wire(id_, options),
        until=time_to_wire("until", until) if until else None,
        max_lines=options.get("max_lines", 0),
        max_bytes=options.get("max_bytes", 0),
        search=search if texts else None,
        follow=options.get("follow", False),
        later=options.get("later", False),
    )
    request.MergeFrom(_beginning(options))
    return request


def _beginning(options: LogOptions) -> log_pb2.ReadLogRequest:
    if "tail_lines" in options:
        return build(log_pb2.ReadLogRequest, tail_lines=options["tail_lines"])
    if "tail_bytes" in options:
        return build(log_pb2.ReadLogRequest, tail_bytes=options["tail_bytes"])
    if "offset" in options:
        return build(log_pb2.ReadLogRequest, offset=options["offset"])
    if "since" in options:
        return build(log_pb2.ReadLogRequest, since=time_to_wire("since", options["since"]))
    return log_pb2.ReadLogRequest()


def chunk_from_wire(message: log_pb2.ReadLogResponse) -> LogChunk:
    replica = replica_from_wire(message.position.replica)
    return LogChunk(replica, message.offset, message.data, message.lost, message.position.end)


def info_from_wire(message: log_pb2.LogInfo) -> LogInfo:
    lines = message.lines if message.HasField("lines") else None
    return LogInfo(replica_from_wire(message.replica), message.size, message.kept_from, message.complete, lines)


def replica_from_wire(message: log_pb2.LogReplica) -> LogReplica:
    return LogReplica(message.attempt, ROLE.member(message.role), message.index, message.restart)
