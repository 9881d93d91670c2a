"""From programs to documents."""

from __future__ import annotations

from paddleflow.pipeline.dsl.compiler.compiler import Compiler

__all__ = ["Compiler"]
