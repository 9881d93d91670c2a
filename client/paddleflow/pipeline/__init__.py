"""Pipelines as Python programs.

::

    from paddleflow.pipeline import Artifact, ContainerStep, Pipeline

    @Pipeline(name="greeting", docker_env="python:3.11")
    def greeting(name="world"):
        write = ContainerStep(name="write", command="echo hello {{name}} > {{text}}",
                              parameters={"name": name}, outputs={"text": Artifact()})
        ContainerStep(name="read", command="cat {{text}}", inputs={"text": write.outputs["text"]})

    greeting().compile("run.yaml")

The stubs of the contract lie in `paddleflow.pipeline.v1`. Names are loaded when they are first used, so that importing
the stubs loads none of this.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddleflow.pipeline.dsl import (
        DAG,
        FAIL_CONTINUE,
        FAIL_FAST,
        PF_LOOP_ARGUMENT,
        PF_RUN_ID,
        PF_STEP_NAME,
        PF_USER_NAME,
        Approval,
        Artifact,
        CacheOptions,
        ContainerStep,
        ExtraFS,
        FailureOptions,
        FSOptions,
        FSScope,
        MainFS,
        Parameter,
        Pipeline,
        Result,
        Retry,
    )

__all__ = [
    "DAG",
    "FAIL_CONTINUE",
    "FAIL_FAST",
    "PF_LOOP_ARGUMENT",
    "PF_RUN_ID",
    "PF_STEP_NAME",
    "PF_USER_NAME",
    "Approval",
    "Artifact",
    "CacheOptions",
    "ContainerStep",
    "ExtraFS",
    "FSOptions",
    "FSScope",
    "FailureOptions",
    "MainFS",
    "Parameter",
    "Pipeline",
    "Result",
    "Retry",
]


if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise take any name for one of this package.
    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("paddleflow.pipeline.dsl"), name)


def __dir__() -> list[str]:
    return __all__
