"""Pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, ParamSpec

from paddleflow.documents.writing import to_yaml
from paddleflow.pipeline.dsl.compiler import Compiler
from paddleflow.pipeline.dsl.component import DAG, Component, Step
from paddleflow.pipeline.dsl.component.component import close_dag, open_dag
from paddleflow.pipeline.dsl.io_types import EnvDict, Parameter
from paddleflow.pipeline.dsl.names import ENTRY_POINT_NAME, PIPELINE_NAME, check_name, refused
from paddleflow.pipeline.dsl.options import CacheOptions, FailureOptions, FSOptions
from paddleflow.pipeline.dsl.submission import logged_in

if TYPE_CHECKING:
    # These bring all of the client with them, which who only compiles does not need.
    from paddleflow.compat import Client
    from paddleflow.compat.answers import Answer
    from paddleflow.compat.pipelines import PipelineCreated, PipelineUpdated

P = ParamSpec("P")
ConfigPath = str | PathLike[str] | None
WHEN = ("always", "succeeded", "failed")
"""When an exit handler runs."""


class Pipeline:
    """A pipeline.

    It decorates the function that makes its steps; calling that function gives a pipeline with them::

        @Pipeline(name="count", docker_env="python:3.11", parallelism=5)
        def count(path="/data"):
            ContainerStep(name="lines", command="wc -l {{path}}", parameters={"path": path})

        count(path="/other").run(fs_name="data")

    `parallelism` is how many steps run at once. `docker_env`, `env` and `cache_options` hold for all steps that do not
    say otherwise. `failure_options` say what becomes of others when a step fails, `fs_options` which filesystems there
    are.

    `semaphores` are counters by name, which steps of all runs of the owner hold: how many at once. `on_exit` are steps
    that run when a run is over. `notify` is who is told then: ``{"webhook": URL, "secret": {"file": PATH}}`` or
    ``{"command": TEXT}``.
    """

    def __init__(
        self,
        name: str,
        parallelism: int | None = None,
        docker_env: str | None = None,
        env: Mapping[str, str | Parameter] | None = None,
        cache_options: CacheOptions | None = None,
        failure_options: FailureOptions | None = None,
        fs_options: FSOptions | None = None,
        *,
        semaphores: Mapping[str, int] | None = None,
        on_exit: Sequence[Step] = (),
        notify: Sequence[Mapping[str, object]] = (),
    ) -> None:
        if parallelism is not None and (isinstance(parallelism, bool) or parallelism < 1):
            raise refused(f"the parallelism of the pipeline {name} is {parallelism!r}: it has to be at least 1")
        self.name = name
        self.docker_env = docker_env
        self.parallelism = parallelism
        self.cache_options = cache_options
        self.failure_options = failure_options
        self.fs_options = fs_options
        self.semaphores: Mapping[str, int] = dict(semaphores or {})
        self.notify = tuple(notify)
        self._env = EnvDict(self)
        self.add_env(env)
        self._entry_points: DAG | None = None
        self._post_process: dict[str, Step] = {}
        self._exit_handlers: list[tuple[Step, str]] = []
        for step in on_exit:
            self.add_exit_handler(step)
        self._client: Client | None = None
        self._client_config: ConfigPath = None

    def __call__(self, func: Callable[P, object]) -> Callable[P, Pipeline]:
        @wraps(func)
        def made(*args: P.args, **kwargs: P.kwargs) -> Pipeline:
            pipeline, root = self._copied(), _root()
            with root:
                func(*args, **kwargs)
            pipeline.root = root
            return pipeline

        return made

    def _copied(self) -> Pipeline:
        """A pipeline of its own with the same settings."""
        twin = Pipeline(
            self.name,
            self.parallelism,
            self.docker_env,
            self.env,
            self.cache_options,
            self.failure_options,
            self.fs_options,
            semaphores=self.semaphores,
            notify=self.notify,
        )
        for step, when in self._exit_handlers:
            twin.add_exit_handler(step, when)
        for step in self._post_process.values():
            twin.set_post_process(step)
        return twin

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = check_name("a pipeline", name, PIPELINE_NAME)

    @property
    def env(self) -> EnvDict:
        """The variables of all of its steps."""
        return self._env

    def add_env(self, env: Mapping[str, str | Parameter] | None) -> None:
        """Adds variables; those of the same name are replaced."""
        self._env.update(env or {})

    @property
    def root(self) -> DAG | None:
        """Holds what stands at the top; None before the decorated function was called."""
        return self._entry_points

    @root.setter
    def root(self, root: DAG) -> None:
        self._entry_points = root

    @property
    def entry_points(self) -> dict[str, Component]:
        """What stands at the top of it, by name."""
        return self._entry_points.entry_points if self._entry_points else {}

    def set_post_process(self, step: Step) -> None:
        """Lets this step run when all others have ended, however they did; there is one at most."""
        self._post_process = {_a_step("post_process", step).name: step}

    def get_post_process(self) -> Step | None:
        """The step that runs when all others have ended."""
        return next(iter(self._post_process.values()), None)

    def add_exit_handler(self, step: Step, when: str = "always") -> None:
        """Lets this step run when the run is over: always, or only if it "succeeded" or "failed"."""
        if when not in WHEN:
            raise refused(f"the exit handler {step.name} cannot run {when!r}: it has to be one of {', '.join(WHEN)}")
        self._exit_handlers.append((_a_step("on_exit", step), when))

    @property
    def exit_handlers(self) -> Sequence[tuple[Step, str]]:
        """The steps that run when the run is over, and when they do."""
        return tuple(self._exit_handlers)

    def compile(self, save_path: str | PathLike[str] | None = None) -> dict[str, object]:
        """The document of this pipeline, written to the path if one is given: as YAML or JSON, as its ending says.

        Raises PaddleFlowSDKException, which names all that is wrong.
        """
        return Compiler().compile(self, save_path)

    def run(
        self,
        config: ConfigPath = None,
        username: str | None = None,
        fs_name: str | None = None,
        run_name: str | None = None,
        desc: str | None = None,
        disabled: Sequence[str | Component] | str | None = None,
        *,
        param: Mapping[str, object] | None = None,
    ) -> Answer[str]:
        """Runs it; returns ``(True, id of the run)`` or ``(False, message)``.

        `config` is a configuration file, `username` the user on whose behalf root runs it. `disabled` are steps and
        DAGs to be left out: themselves, or their names after those of the DAGs they are in, joined by dots. `param` are
        values of parameters.
        """
        document = self._yaml()
        left_out = self._left_out(disabled)
        return self._logged_in(config).create_run(
            fs_name, username, run_name, desc, run_yaml_raw=document, param=param, disabled=left_out
        )

    def create(
        self, config: ConfigPath = None, username: str | None = None, desc: str | None = None
    ) -> Answer[PipelineCreated]:
        """Registers it; returns ``(True, its name and ids)`` or ``(False, message)``."""
        document = self._yaml()
        return self._logged_in(config).create_pipeline(username=username, desc=desc, yaml_raw=document)

    def update(
        self, pipeline_id: str, config: ConfigPath = None, username: str | None = None, desc: str | None = None
    ) -> Answer[PipelineUpdated]:
        """Adds it as a version of a pipeline; returns ``(True, ids)`` or ``(False, message)``."""
        document = self._yaml()
        return self._logged_in(config).update_pipeline(pipeline_id, username=username, desc=desc, yaml_raw=document)

    def _yaml(self) -> bytes:
        return to_yaml(self.compile()).encode()

    def _logged_in(self, config: ConfigPath) -> Client:
        if self._client is None or self._client_config != config:
            self._client, self._client_config = logged_in(config), config
        return self._client

    def _left_out(self, disabled: Sequence[str | Component] | str | None) -> str | None:
        """The names as a run takes them."""
        given: Iterable[str | Component] = disabled.split(",") if isinstance(disabled, str) else disabled or ()
        names = [
            (each.full_name if isinstance(each, Component) else each.strip()).removeprefix(f"{ENTRY_POINT_NAME}.")
            for each in given
        ]
        there = set(_paths(self.entry_points, ""))
        if unknown := [name for name in names if name not in there]:
            present = ", ".join(sorted(there))
            raise refused(f"the pipeline {self.name} has no {', '.join(unknown)} to be disabled; it has {present}")
        return ",".join(names) or None


def _root() -> DAG:
    # Also if this pipeline is made inside of another DAG, it is none of that DAG's components.
    token = open_dag(None)
    try:
        return DAG(name=ENTRY_POINT_NAME)
    finally:
        close_dag(token)


def _a_step(where: str, step: object) -> Step:
    if not isinstance(step, Step):
        raise refused(f"{where} has to be a step, not {step!r}")
    return step


def _paths(components: Mapping[str, Component], before: str) -> Iterable[str]:
    for name, component in components.items():
        yield before + name
        if isinstance(component, DAG):
            yield from _paths(component.entry_points, f"{before}{name}.")
