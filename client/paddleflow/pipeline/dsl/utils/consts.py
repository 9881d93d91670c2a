"""The names that the original gives to patterns, codes and the outermost DAG."""

from __future__ import annotations

from paddleflow.pipeline.dsl.names import COMPONENT_NAME as COMPONENT_NAME_REGEX
from paddleflow.pipeline.dsl.names import DSL_ERROR as PipelineDSLError  # noqa: N811 -- the original's name
from paddleflow.pipeline.dsl.names import ENTRY_POINT_NAME
from paddleflow.pipeline.dsl.names import PIPELINE_NAME as PIPELINE_NAME_REGEX
from paddleflow.pipeline.dsl.names import VARIABLE_NAME as VARIBLE_NAME_REGEX

__all__ = [
    "COMPONENT_NAME_REGEX",
    "ENTRY_POINT_NAME",
    "PIPELINE_NAME_REGEX",
    "VARIBLE_NAME_REGEX",
    "PipelineDSLError",
]
