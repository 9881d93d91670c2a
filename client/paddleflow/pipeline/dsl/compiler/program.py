"""What the compiler is to know of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from paddleflow.pipeline.dsl.component import DAG, Step
from paddleflow.pipeline.dsl.options import CacheOptions, FailureOptions, FSOptions


class Program(Protocol):
    """A pipeline, as a program made it."""

    docker_env: str | None
    parallelism: int | None
    cache_options: CacheOptions | None
    failure_options: FailureOptions | None
    fs_options: FSOptions | None
    semaphores: Mapping[str, int]
    notify: tuple[Mapping[str, object], ...]

    @property
    def name(self) -> str: ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def root(self) -> DAG | None:
        """Holds what stands at the top; None before the function of the pipeline was called."""

    @property
    def exit_handlers(self) -> Sequence[tuple[Step, str]]:
        """Steps that run when the run is over, and when they do."""

    def get_post_process(self) -> Step | None: ...
