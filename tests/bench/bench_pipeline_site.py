"""The stack that pipelines are measured on, and the pipelines that run there."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import psutil

from fixtures_pipelines import OVER, PipelineSite, opened_pipelines, own_pipelines
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from support.figures import Figure
from support.pipeline_process import PipelineProcess
from support.servers import PostgresServer, ValkeyServer

PARALLELISM = 16
"""Steps at once: the same for all that is compared."""
PATIENCE = 1200.0


def chain(length: int, command: str = "true") -> str:
    """Steps one after the other."""
    steps = [f"  s{at}: {{command: '{command}'{f', deps: s{at - 1}' if at else ''}}}" for at in range(length)]
    return _document("chain", steps)


def fan(width: int, command: str = "true") -> str:
    """One step, many that depend on it, and one that depends on these."""
    middle = [f"  m{at}: {{command: '{command}', deps: first}}" for at in range(width)]
    last = ",".join(f"m{at}" for at in range(width))
    return _document(
        "fan", [f"  first: {{command: '{command}'}}", *middle, f"  last: {{command: '{command}', deps: '{last}'}}"]
    )


def layers(nodes: int, width: int, edges: int, command: str = "true") -> str:
    """Layers of so many steps, each of which depends on so many of the layer before, chosen by chance."""
    chance = random.Random(7)
    steps = []
    for at in range(nodes):
        layer = at // width
        above = range((layer - 1) * width, layer * width)
        deps = ",".join(f"n{dep}" for dep in sorted(chance.sample(above, min(edges, width)))) if layer else ""
        steps.append(f"  n{at}: {{command: '{command}'{f', deps: {chr(39)}{deps}{chr(39)}' if deps else ''}}}")
    return _document("layers", steps)


def loop(items: int) -> str:
    """A step that is repeated."""
    listed = ",".join(map(str, range(items)))
    return _document("loop", [f"  each: {{command: 'true', loop_argument: [{listed}]}}"])


def _document(name: str, steps: list[str], parallelism: int = PARALLELISM) -> str:
    return "\n".join([f"name: {name}", "docker_env: none", f"parallelism: {parallelism}", "entry_points:", *steps])


class Site:
    """The services of the measurement, as root calls them."""

    def __init__(self, process: PipelineProcess, site: PipelineSite) -> None:
        self.process = process
        self.site = site

    async def start(self, text: str, *, real: bool = False, filesystem: str = "") -> str:
        """A run; returns its id."""
        executor = run_pb2.EXECUTOR_JOBS if real else run_pb2.EXECUTOR_NOTHING
        source = pipeline_pb2.Source(document=text, filesystem=filesystem)
        request = run_pb2.CreateRunRequest(source=source, executor=executor)
        made: run_pb2.Run = (await self.site.root(request)).run
        return made.id

    async def over(self, id_: str) -> run_pb2.Run:
        """The run, once it is over and has succeeded."""
        deadline = time.monotonic() + PATIENCE
        while (run := (await self.site.root(run_pb2.GetRunRequest(id=id_))).run).state not in OVER:
            assert time.monotonic() < deadline, run.steps
            await asyncio.sleep(0.05)
        assert run.state == run_pb2.RUN_STATE_SUCCEEDED, run.message
        found: run_pb2.Run = run
        return found

    async def seconds(self, text: str, *, real: bool = False, filesystem: str = "") -> float:
        """How long a run takes from its acceptance to its end, by its own times."""
        run = await self.over(await self.start(text, real=real, filesystem=filesystem))
        return (run.finish_time.ToMicroseconds() - run.create_time.ToMicroseconds()) / 1e6

    def memory(self) -> float:
        """Of the pipeline service, in MiB."""
        return float(self._own.memory_full_info().uss) / 2**20

    def processor(self) -> float:
        """Seconds that the pipeline service has computed."""
        return sum(self._own.cpu_times()[:2])

    @property
    def _own(self) -> psutil.Process:
        (own,) = (each for each in psutil.Process().children(recursive=True) if "pf_pipeline" in each.cmdline())
        return own


def of(part: Callable[[Site], Awaitable[list[Figure]]]) -> Callable[[], list[Figure]]:
    """The same, on a stack of its own."""

    async def measured(process: PipelineProcess) -> list[Figure]:
        async with opened_pipelines(process) as site:
            return await part(Site(process, site))

    def figures() -> list[Figure]:
        with _services() as process:
            return asyncio.run(measured(process))

    return figures


@contextmanager
def _services() -> Iterator[PipelineProcess]:
    """A stack of its own, whose Postgres survives a crash of the machine."""
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    postgres.start()
    valkey.start()
    with own_pipelines(postgres, valkey) as process:
        yield process
    postgres.remove()
    valkey.remove()
