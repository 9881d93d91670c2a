"""The reference of pipelines in Python, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

from paddleflow import pipeline
from paddleflow.pipeline.dsl import component, io_types, names

INTRODUCTION = f"""\
# Pipelines in Python

Everything here is imported from `paddleflow.pipeline`. [The howto](../howto/dsl.md) shows how it is used. What is wrong
raises `paddleflow.common.exception.PaddleFlowSDKException` with the code `{names.DSL_ERROR}`.

| name of | has to match |
|---|---|
| a pipeline | `{names.PIPELINE_NAME}` |
| a step or DAG | `{names.COMPONENT_NAME}` |
| a parameter, artifact or result | `{names.VARIABLE_NAME}` |
| a variable | `{names.ENVIRONMENT_NAME}` |

A `Duration` is a number of seconds, a `timedelta`, or text such as `90s`, `10m` or `1h30m`. A `ConfigPath` is the path
of a configuration file, or nothing for the usual one.
"""
CLASSES: tuple[type, ...] = (
    pipeline.Pipeline,
    pipeline.ContainerStep,
    pipeline.DAG,
    pipeline.Artifact,
    pipeline.Parameter,
    pipeline.Result,
    io_types.LoopArgument,
    pipeline.CacheOptions,
    pipeline.FSScope,
    pipeline.FSOptions,
    pipeline.MainFS,
    pipeline.ExtraFS,
    pipeline.FailureOptions,
    pipeline.Retry,
    pipeline.Approval,
)
SHARED = (component.Component,)
"""Whose members are told of once, and not again with each class below it."""
CONSTANTS = ("PF_RUN_ID", "PF_STEP_NAME", "PF_USER_NAME", "PF_LOOP_ARGUMENT", "FAIL_FAST", "FAIL_CONTINUE")
# What is done for users, and what only the compiler asks for.
HIDDEN = frozenset({"set_base_info", "given_to", "placed_in", "known_as", "rename", "dependences", "root", "parent"})


def page() -> str:
    lines = [INTRODUCTION, "## Values", "", "| name | value |", "|---|---|"]
    lines += [f"| `{name}` | `{getattr(pipeline, name)}` |" for name in CONSTANTS]
    for each in CLASSES:
        lines += chapter(each)
    lines += ["", "## Steps and DAGs", "", "What a `ContainerStep` and a `DAG` have both.", ""]
    lines += [line for each in SHARED for line in members(each)]
    return "\n".join(lines)


def chapter(documented: type) -> Iterator[str]:
    yield from ("", f"## {documented.__name__}", "")
    if documented is not io_types.LoopArgument:
        yield from ("```python", *signature(documented.__name__, documented), "```", "")
    yield from prose(inspect.getdoc(documented) or "")
    yield ""
    yield from members(documented)


def members(documented: type) -> Iterator[str]:
    """What users call on it, or look at."""
    shared = {name for each in SHARED if each in documented.__mro__[1:] for name in vars(each)}
    for name, member in vars(documented).items():
        if name.startswith("_") or name in HIDDEN or name in shared:
            continue
        if name == "compile" and documented is not pipeline.Pipeline:
            continue
        if isinstance(member, property):
            settable = ", can be set" if member.fset else ""
            yield f"- `{name}`{settable}: {sentence(member)}"
        elif inspect.isfunction(member):
            yield f"- `{called(name, member)}`: {sentence(member)}"


def signature(name: str, function: Callable[..., object]) -> list[str]:
    """How it is called: in one line, or a line for each argument."""
    whole = called(name, function)
    return [whole] if len(whole) <= 100 else [f"{name}(", *(f"    {each}," for each in arguments(function)), ")"]


def called(name: str, function: Callable[..., object]) -> str:
    return f"{name}({', '.join(arguments(function))})"


def arguments(function: Callable[..., object]) -> list[str]:
    found = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    written = [_argument(each) for each in found]
    named = [at for at, each in enumerate(found) if each.kind is each.KEYWORD_ONLY]
    return [*written[: named[0]], "*", *written[named[0] :]] if named else written


def _argument(argument: inspect.Parameter) -> str:
    star = "*" if argument.kind is argument.VAR_POSITIONAL else ""
    kind = "" if argument.annotation in ("Any", "object") else f": {argument.annotation}"
    if argument.default is argument.empty:
        return f"{star}{argument.name}{kind}"
    default = argument.default.__name__ if isinstance(argument.default, type) else repr(argument.default)
    return f"{argument.name}{kind} = {default}" if kind else f"{argument.name}={default}"


def sentence(member: object) -> str:
    """Its docstring in one line."""
    return inline(" ".join((inspect.getdoc(member) or "").split()))


def prose(text: str) -> Iterator[str]:
    """A docstring as Markdown: what stands below two colons is a program."""
    for part in re.split(r"(?<=::)\n\n((?:(?:    .*)?\n?)+)", text):
        if part.startswith("    "):
            yield from ("", "```python", *inspect.cleandoc(part).splitlines(), "```", "")
        else:
            yield from inline(part.removesuffix(":") if part.endswith("::") else part).strip("\n").splitlines()


def inline(text: str) -> str:
    return re.sub(r"``(.+?)``", r"`\1`", text)
