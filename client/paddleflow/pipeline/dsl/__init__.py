"""Pipelines as Python programs: see `paddleflow.pipeline`, which has the same names."""

from __future__ import annotations

from paddleflow.pipeline.dsl.component import DAG, ContainerStep
from paddleflow.pipeline.dsl.io_types import Artifact, Parameter, Result
from paddleflow.pipeline.dsl.options import (
    FAIL_CONTINUE,
    FAIL_FAST,
    Approval,
    CacheOptions,
    ExtraFS,
    FailureOptions,
    FSOptions,
    FSScope,
    MainFS,
    Retry,
)
from paddleflow.pipeline.dsl.pipeline import Pipeline
from paddleflow.pipeline.dsl.sys_params import PF_LOOP_ARGUMENT, PF_RUN_ID, PF_STEP_NAME, PF_USER_NAME

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
