"""What steps of all kinds have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddleflow.pipeline.dsl.component.component import Component
from paddleflow.pipeline.dsl.io_types import Artifact
from paddleflow.pipeline.dsl.options import CacheOptions, ExtraFS, extra_filesystems


class Step(Component):
    """A component that runs something."""

    _type = "step"

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Artifact] | None = None,
        outputs: Mapping[str, Artifact] | None = None,
        parameters: Mapping[str, Any] | None = None,
        cache_options: CacheOptions | None = None,
        condition: str | None = None,
        loop_argument: object = None,
        extra_fs: Sequence[ExtraFS] | ExtraFS | None = None,
        *,
        max_parallel: int | None = None,
    ) -> None:
        self.cache_options = cache_options
        self.extra_fs: list[ExtraFS] = extra_filesystems(name, extra_fs) if extra_fs else []
        super().__init__(name, inputs, outputs, parameters, condition, loop_argument, max_parallel=max_parallel)
