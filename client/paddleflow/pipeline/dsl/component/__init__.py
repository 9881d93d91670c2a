"""What pipelines consist of."""

from __future__ import annotations

from paddleflow.pipeline.dsl.component.component import Component
from paddleflow.pipeline.dsl.component.dag import DAG
from paddleflow.pipeline.dsl.component.steps import ContainerStep, Step

__all__ = ["DAG", "Component", "ContainerStep", "Step"]
