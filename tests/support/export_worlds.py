"""Runs a plan by the engine's own decisions and the real language, with commands as processes and files in a folder."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pf_pipeline.engine.core import restoring
from pf_pipeline.engine.core.happening import (
    Effect,
    Event,
    JobSeen,
    JobState,
    Launch,
    Read,
    ReadResults,
    ResultsRead,
    Told,
)
from pf_pipeline.engine.core.state import Semaphores
from pf_pipeline.engine.speaking import RunWords, words_of
from pf_pipeline.plans.domain import Plan, Planned, PlannedDag
from pf_pipeline.plans.values import result_of
from pf_pipeline.runs.domain import Node, Order, Run, RunLife
from support.run_worlds import BEGIN, World


@dataclass
class DoingWorld(World):
    """Does what a run wants, really."""

    folder: Path = field(kw_only=True)

    def __post_init__(self) -> None:
        order = Order(name=self.plan.name, strategy=self.plan.strategy)
        run = Run(id="run-000001", owner="ada", order=order, life=RunLife(create_time=BEGIN))
        self.words: RunWords = words_of(run, self.plan)
        self.state = restoring.new_state(run, self.plan, self.words, Semaphores(), BEGIN)

    def do(self, effect: Effect) -> list[Event]:
        match effect:
            case Read():
                return [Told(effect.path, {file: (self.folder / file).read_text() for file in effect.files})]
            case Launch():
                return [
                    JobSeen(effect.node.path, effect.node.attempt, JobState.RUNNING),
                    JobSeen(effect.node.path, effect.node.attempt, self._run(effect.node)),
                ]
            case ReadResults():
                files = effect.node.work.result_files
                told = {
                    name: result_of(result, name, (self.folder / files[name]).read_text())
                    for name, result in effect.planned.results.items()
                }
                return [ResultsRead(effect.node.path, told)]
            case _:
                return super().do(effect)

    def _run(self, node: Node) -> JobState:
        work = node.work
        for path in (*work.outputs.values(), *work.result_files.values()):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["/bin/sh", "-c", self._here(work.command)], cwd=self.folder, env=self._env(node), capture_output=True
        )
        return JobState.FAILED if done.returncode else JobState.SUCCEEDED

    def _env(self, node: Node) -> Mapping[str, str]:
        work = node.work
        system = {"PF_RUN_ID": self.run.id, "PF_USER_NAME": "ada", "PF_STEP_NAME": node.name}
        if work.loop_argument is not None:
            system["PF_LOOP_ARGUMENT"] = str(work.loop_argument)
        results = {f"PF_RESULT_{name.upper()}": str(self.folder / path) for name, path in work.result_files.items()}
        return {**os.environ, **work.env, **system, **results}

    def _here(self, text: str) -> str:
        """Paths in the folder, in the place of those at which jobs see the filesystem."""
        return text.replace(self.words.ground.mount_path, str(self.folder))

    def never_begun(self) -> Iterator[str]:
        """Steps of DAGs that were left out, and handlers for which there was no reason."""
        begun = set(self.nodes)
        yield from (path for path in _steps("", self.plan.entry_points) if not _has(begun, path))
        yield from (step.name for step in self.plan.on_exit if f"on_exit/{step.name}" not in begun)


def _steps(above: str, nodes: Mapping[str, Planned]) -> Iterator[str]:
    for name, node in nodes.items():
        path = f"{above}.{name}" if above else name
        if isinstance(node, PlannedDag):
            yield from _steps(path, node.children)
        else:
            yield path


def _has(begun: set[str], path: str) -> bool:
    """Whether there is a node at the path, in whatever iteration."""
    return any(re.sub(r"\[\d+\]", "", each) == path for each in begun)


def run_here(plan: Plan, folder: Path) -> DoingWorld:
    """The run, when it is over."""
    world = DoingWorld(plan, folder=folder)
    world.begin().finish()
    return world
