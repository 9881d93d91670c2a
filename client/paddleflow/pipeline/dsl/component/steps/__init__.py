"""Components that run something."""

from __future__ import annotations

from paddleflow.pipeline.dsl.component.steps.container_step import ContainerStep
from paddleflow.pipeline.dsl.component.steps.step import Step

__all__ = ["ContainerStep", "Step"]
