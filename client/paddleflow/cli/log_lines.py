"""Prints what replicas have written: bytes as they are, or line by line if there are several replicas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import click

from paddleflow.models.logs import LogChunk, LogReplica


def print_bytes(chunks: Iterable[LogChunk], output: BinaryIO) -> None:
    """The log of one replica, as it is."""
    for chunk in told(chunks):
        output.write(chunk.data)
        output.flush()


def print_lines(chunks: Iterable[LogChunk], output: BinaryIO) -> None:
    """Each line with whose it is. One without an end gets one, so that the next one is told apart."""
    for replica, line in lines(told(chunks)):
        output.write(f"{replica.role}/{replica.index}: ".encode() + line.removesuffix(b"\n") + b"\n")
        output.flush()


def print_objects(chunks: Iterable[LogChunk], output: BinaryIO) -> None:
    """Each line as an object, for programs. What is not UTF-8 is replaced."""
    for replica, line in lines(told(chunks)):
        text = line.removesuffix(b"\n").decode(errors="replace")
        names = {"attempt": replica.attempt, "role": str(replica.role), "index": replica.index}
        entry = {**names, "restart": replica.restart, "line": text}
        output.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        output.flush()


def told(chunks: Iterable[LogChunk]) -> Iterator[LogChunk]:
    """The chunks; says beside them how much is not kept."""
    for chunk in chunks:
        if chunk.lost:
            name = f"{chunk.replica.role}/{chunk.replica.index}"
            click.echo(f"{chunk.lost} bytes that {name} has written are not kept any more", err=True)
        yield chunk


def lines(chunks: Iterable[LogChunk]) -> Iterator[tuple[LogReplica, bytes]]:
    """Whole lines, each with whose it is; the rest of a log without an end of line comes when that log is over."""
    rests: dict[LogReplica, bytes] = {}
    for chunk in chunks:
        *whole, rest = (rests.pop(chunk.replica, b"") + chunk.data).split(b"\n")
        for line in whole:
            yield chunk.replica, line + b"\n"
        if rest and chunk.end:
            yield chunk.replica, rest
        elif rest:
            rests[chunk.replica] = rest
    yield from rests.items()
