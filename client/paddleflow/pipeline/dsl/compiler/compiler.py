"""From a program to a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike

from paddleflow.common.exception import PaddleFlowSDKException
from paddleflow.pipeline.dsl.compiler.files import write
from paddleflow.pipeline.dsl.compiler.plain import plain
from paddleflow.pipeline.dsl.compiler.program import Program
from paddleflow.pipeline.dsl.compiler.reading import Reading
from paddleflow.pipeline.dsl.compiler.rendering import Document, Rendering
from paddleflow.pipeline.dsl.compiler.tree import Tree
from paddleflow.pipeline.dsl.component import DAG, Component, ContainerStep, Step
from paddleflow.pipeline.dsl.names import refused
from paddleflow.pipeline.dsl.options import CacheOptions, FailureOptions, FSOptions, Options, compiled

_KEYS = (
    *("name", "docker_env", "parallelism", "entry_points", "post_process", "on_exit"),
    *("cache", "failure_options", "fs_options", "semaphores", "notify"),
)

_OPTIONS: Mapping[str, type[Options]] = {
    "cache": CacheOptions,
    "failure_options": FailureOptions,
    "fs_options": FSOptions,
}


class Compiler:
    """Makes documents of pipelines. Neither the pipeline nor its components are changed."""

    def compile(self, pipeline: Program, save_path: str | PathLike[str] | None = None) -> dict[str, object]:
        """The document of the pipeline, written to the path if one is given.

        Raises one exception that names all that is wrong.
        """
        problems: list[str] = []
        said = _document(pipeline, problems)
        if problems:
            listed = "".join(f"\n  {problem}" for problem in problems)
            raise refused(f"the pipeline {pipeline.name} cannot be compiled:{listed}")
        document = {key: said[key] for key in _KEYS if said.get(key) not in (None, "", [], {})}
        if save_path is not None:
            write(document, save_path)
        return document


def _document(pipeline: Program, problems: list[str]) -> Document:
    root = pipeline.root
    if root is None:
        raise refused(
            f"the pipeline {pipeline.name} has no steps: call the function that it decorates, then compile that"
        )
    if not root.entry_points:
        problems.append("pipeline: there is no step in it")
    return {
        "entry_points": _entry_points(pipeline, root, problems),
        "post_process": _post_process(pipeline, root, problems),
        "on_exit": _on_exit(pipeline, root, problems),
        **_settings(pipeline, problems),
    }


def _entry_points(pipeline: Program, root: DAG, problems: list[str]) -> Document:
    reading = Reading(Tree(root), pipeline.env)
    reading.read(root=False)
    components = Rendering(reading).components(root)
    problems += reading.problems
    if not pipeline.docker_env:
        problems += [
            f"step {reading.wiring.tree.path(step)}: it has no docker_env, and the pipeline has none either"
            for step in reading.wiring.tree.components
            if _lacks_image(step)
        ]
    return components


def _lacks_image(component: Component) -> bool:
    if not isinstance(component, ContainerStep):
        return isinstance(component, Step)
    only_approved = component.approval is not None and not component.command
    return not (component.docker_env or component.job or only_approved)


def _post_process(pipeline: Program, root: DAG, problems: list[str]) -> Document:
    step = pipeline.get_post_process()
    return {} if step is None else {step.name: _afterwards(pipeline, root, step, "post_process", problems)}


def _on_exit(pipeline: Program, root: DAG, problems: list[str]) -> Document:
    handlers: Document = {}
    for step, when in pipeline.exit_handlers:
        if step.name in handlers:
            problems.append(f"on_exit: there are two steps named {step.name}; give one of them another name")
        said = _afterwards(pipeline, root, step, "on_exit", problems)
        handlers[step.name] = said if when == "always" else {**said, "when": when}
    return handlers


def _afterwards(pipeline: Program, root: DAG, step: Step, where: str, problems: list[str]) -> Document:
    """A step that runs when all else is over: it knows nobody, and nobody knows it."""
    problems += [f"{where} {step.name}: {why}" for why in _not_afterwards(step, root)]
    reading = Reading(Tree(step), pipeline.env)
    reading.read(root=True)
    said = Rendering(reading).component(step)
    problems += [problem.replace("step ", f"{where} ", 1) for problem in reading.problems]
    return said


def _not_afterwards(step: Step, root: DAG) -> Iterator[str]:
    if step.name in root.entry_points:
        yield "a component of the pipeline has the same name; give one of them another"
    if step.condition is not None:
        yield "it cannot have a condition"
    if step.loop_argument is not None:
        yield "it cannot be repeated"
    if step.cache_options is not None:
        yield "it cannot be cached"
    if step.dependences:
        yield "it cannot be put after others: it runs when all of them have ended"
    if step.inputs:
        yield "it cannot have input artifacts"


def _settings(pipeline: Program, problems: list[str]) -> Document:
    """What the pipeline says beside its components."""
    given: Mapping[str, object] = {
        "name": pipeline.name,
        "docker_env": pipeline.docker_env,
        "parallelism": pipeline.parallelism,
        "cache": pipeline.cache_options,
        "failure_options": pipeline.failure_options,
        "fs_options": pipeline.fs_options,
        "semaphores": pipeline.semaphores,
        "notify": pipeline.notify,
    }
    said: Document = {}
    for key, value in given.items():
        try:
            said[key] = plain(compiled(value, _OPTIONS[key]) if key in _OPTIONS else value)
        except PaddleFlowSDKException as error:
            problems.append(f"pipeline: {error.message}")
    return said
