"""The reference of every way a call can fail, from the comments in protos/ and the tree of problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from paddleflow import problems
from reference import contract
from reference.contract import Source
from reference.rpc import cell

INTRODUCTION = """\
# Errors

A failed call has a gRPC status code, which says how to react, and in its details a `google.rpc.ErrorInfo` whose
`reason` says what exactly happened; its `domain` is `paddleflow.<service>`. Where input is to blame, a
`google.rpc.BadRequest` names each field. Where waiting helps, a `google.rpc.RetryInfo` says how long.

The Python client raises the class of the reason, so that `except QueueNotFound` and `except NotFound` both work. A
reason that the client does not know yet becomes the class of its code.

## Codes

| code | what to do | class |
|---|---|---|
"""
REACTIONS = {
    problems.Code.INVALID_ARGUMENT: "mend the fields that are named; a retry cannot help",
    problems.Code.UNAUTHENTICATED: "log in, then retry",
    problems.Code.PERMISSION_DENIED: "ask root for it",
    problems.Code.NOT_FOUND: "look at the name",
    problems.Code.ALREADY_EXISTS: "choose another name, or use what is there",
    problems.Code.FAILED_PRECONDITION: "do first what the message says",
    problems.Code.ABORTED: "read again, decide again",
    problems.Code.OUT_OF_RANGE: "start the watch again without a token",
    problems.Code.RESOURCE_EXHAUSTED: "retry after the delay",
    problems.Code.UNAVAILABLE: "retry; with the same `request_id` that is safe",
    problems.Code.DEADLINE_EXCEEDED: "retry with the same `request_id`, or with more time",
    problems.Code.INTERNAL: "retry once, then report the id in the message",
}


def page(sources: Sequence[Source]) -> str:
    codes = [f"| {code} | {reaction} | `{general(code).__name__}` |" for code, reaction in REACTIONS.items()]
    return "\n".join([INTRODUCTION + "\n".join(codes), "", *(line for source in sources for line in reasons(source))])


def general(code: problems.Code) -> type[problems.Problem]:
    """The class of a code: the one just below the root."""
    return next(found for found in problems.Problem.__subclasses__() if found.code is code)


def reasons(source: Source) -> Iterator[str]:
    for number, enum in enumerate(source.file.enum_type):
        if not enum.name.endswith("Reason") or not source.file.name.endswith("/errors.proto"):
            continue
        yield from (f"## Reasons of {source.file.package}", "", "| reason | code | class | |", "|---|---|---|---|")
        for place, value in list(enumerate(enum.value))[1:]:
            reason = value.name.removeprefix(enum.value[0].name.removesuffix("UNSPECIFIED"))
            problem = specific(reason)
            text = cell(source.comment(contract.ENUM, number, contract.VALUE, place))
            yield f"| `{reason}` | {problem.code} | `{problem.__name__}` | {text} |"
        yield ""


def specific(reason: str) -> type[problems.Problem]:
    """The class of a reason: the one that has no others below it, if there is one."""
    found = [problem for problem in problems.tree() if problem.reason == reason and is_shared(problem)]
    return next((problem for problem in found if not any(map(is_shared, problem.__subclasses__()))), found[0])


def is_shared(problem: type[problems.Problem]) -> bool:
    """True if clients know the class. A service may have some of its own, which never reach a client."""
    return problem.__module__.startswith(problems.__name__)
