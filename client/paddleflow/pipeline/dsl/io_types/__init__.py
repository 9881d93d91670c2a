"""What goes into components and comes out of them."""

from __future__ import annotations

from paddleflow.pipeline.dsl.io_types.artifact import Artifact
from paddleflow.pipeline.dsl.io_types.dicts import (
    EnvDict,
    InputArtifactDict,
    OutputArtifactDict,
    ParameterDict,
    ResultDict,
)
from paddleflow.pipeline.dsl.io_types.loop_argument import LoopArgument
from paddleflow.pipeline.dsl.io_types.loop_item import LoopItem
from paddleflow.pipeline.dsl.io_types.parameter import Parameter
from paddleflow.pipeline.dsl.io_types.placeholder import (
    MENTION,
    ArtifactPlaceholder,
    LoopPlaceholder,
    ParameterPlaceholder,
    Placeholder,
    ResultPlaceholder,
    mentioned,
)
from paddleflow.pipeline.dsl.io_types.result import Result

__all__ = [
    "MENTION",
    "Artifact",
    "ArtifactPlaceholder",
    "EnvDict",
    "InputArtifactDict",
    "LoopArgument",
    "LoopItem",
    "LoopPlaceholder",
    "OutputArtifactDict",
    "Parameter",
    "ParameterDict",
    "ParameterPlaceholder",
    "Placeholder",
    "Result",
    "ResultDict",
    "ResultPlaceholder",
    "mentioned",
]
