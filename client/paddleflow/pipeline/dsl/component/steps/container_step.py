"""Steps that run a command in a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddleflow.pipeline.dsl.component.steps.step import Step
from paddleflow.pipeline.dsl.io_types import Artifact, EnvDict, Parameter, ResultDict
from paddleflow.pipeline.dsl.options import Approval, CacheOptions, Duration, ExtraFS, Retry, duration


class ContainerStep(Step):
    """Runs `command` in the image `docker_env`.

    `inputs` are artifacts of other components by name, `outputs` are ``Artifact()`` by name, `parameters` are texts,
    numbers, lists, or parameters of other components. In the command ``{{name}}`` stands for a parameter or for the
    path of an artifact. `env` are variables; `cache_options` go before those of the pipeline; `extra_fs` are
    filesystems beside the main one. `condition` says whether the step runs, `loop_argument` for what it is repeated.

    `retry` tries it again when it fails, `timeout` bounds each try, and `pending_timeout` the wait until it starts.
    `approval` lets somebody agree first. `semaphores` are held while it runs; `max_parallel` bounds how many iterations
    run at once. `results` are small values that it writes, by name. `job` holds fields of the document of a job, for
    jobs of more than one process.
    """

    def __init__(
        self,
        name: str,
        docker_env: str | None = None,
        command: str | None = None,
        inputs: Mapping[str, Artifact] | None = None,
        outputs: Mapping[str, Artifact] | None = None,
        parameters: Mapping[str, Any] | None = None,
        env: Mapping[str, str | Parameter] | None = None,
        cache_options: CacheOptions | None = None,
        condition: str | None = None,
        loop_argument: object = None,
        extra_fs: Sequence[ExtraFS] | ExtraFS | None = None,
        *,
        retry: Retry | int | None = None,
        timeout: Duration | None = None,
        pending_timeout: Duration | None = None,
        approval: Approval | None = None,
        semaphores: Sequence[str] | str = (),
        max_parallel: int | None = None,
        results: Mapping[str, Any] | None = None,
        job: Mapping[str, object] | None = None,
    ) -> None:
        self.docker_env = docker_env
        self.command = command
        self.retry = Retry(retry) if isinstance(retry, int) else retry
        self.timeout = None if timeout is None else duration(f"the timeout of {name}", timeout)
        self.pending_timeout = (
            None if pending_timeout is None else duration(f"the pending_timeout of {name}", pending_timeout)
        )
        self.approval = approval
        self.semaphores = (semaphores,) if isinstance(semaphores, str) else tuple(semaphores)
        self.job = job
        super().__init__(
            name,
            inputs,
            outputs,
            parameters,
            cache_options,
            condition,
            loop_argument,
            extra_fs,
            max_parallel=max_parallel,
        )
        self._env, self._results = EnvDict(self), ResultDict(self)
        self.add_env(env)
        self._results.update(self._given("results", results))

    @property
    def env(self) -> EnvDict:
        """Its variables by name."""
        return self._env

    def add_env(self, env: Mapping[str, str | Parameter] | None) -> None:
        """Adds variables; those of the same name are replaced."""
        self._env.update(env or {})

    @property
    def results(self) -> ResultDict:
        """Its results by name."""
        return self._results
