"""The stack that pipelines are measured on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import asyncpg
import psutil

from bench.report import Part
from fixtures_pipelines import OVER, PipelineSite, opened_pipelines, own_pipelines
from paddleflow.job.v1 import job_pb2
from paddleflow.pipeline.v1 import pipeline_pb2, run_pb2
from paddleflow.problems import Problem
from support.figures import Figure
from support.pipeline_process import PipelineProcess
from support.servers import PostgresServer, ValkeyServer

PAGE = 1000
LOOK_SECONDS = 0.05
REASON = 200
"""Characters of why something was not measured."""


class Site:
    """The services of the measurement, as root calls them."""

    def __init__(self, process: PipelineProcess, site: PipelineSite) -> None:
        self.process = process
        self.site = site

    async def start(self, text: str, *, real: bool = False) -> str:
        """A run; returns its id."""
        executor = run_pb2.EXECUTOR_JOBS if real else run_pb2.EXECUTOR_NOTHING
        source = pipeline_pb2.Source(document=text)
        request = run_pb2.CreateRunRequest(source=source, executor=executor)
        made: run_pb2.Run = (await self.site.root(request)).run
        return made.id

    async def over(self, id_: str) -> run_pb2.Run:
        """The run, once it is over and has succeeded."""
        (run,) = await self.all_over([id_])
        return run

    async def all_over(self, ids: Sequence[str]) -> Sequence[run_pb2.Run]:
        """Runs, once all of them are over and have succeeded."""
        request = run_pb2.ListRunsRequest(ids=ids, page_size=PAGE)
        while True:
            runs: Sequence[run_pb2.Run] = (await self.site.root(request)).runs
            if all(run.state in OVER for run in runs):
                assert {run.state for run in runs} == {run_pb2.RUN_STATE_SUCCEEDED}, [run.message for run in runs]
                return runs
            await asyncio.sleep(LOOK_SECONDS)

    async def seconds(self, text: str, *, real: bool = False) -> float:
        """How long a run takes from its acceptance to its end, by its own times."""
        return lasted(await self.over(await self.start(text, real=real)))

    async def job(self, id_: str) -> job_pb2.Job:
        """A job of a step."""
        job: job_pb2.Job = (await self.site.jobs(job_pb2.GetJobRequest(id=id_))).job
        return job

    def memory(self) -> float:
        """Of the pipeline service, in MiB."""
        return float(self._own.memory_full_info().uss) / 2**20

    def processor(self) -> float:
        """Seconds that the pipeline service has computed."""
        return sum(self._own.cpu_times()[:2])

    def processors(self) -> float:
        """Seconds that all services have computed, with Postgres and Valkey."""
        return sum(sum(each.cpu_times()[:2]) for each in psutil.Process().children(recursive=True))

    @asynccontextmanager
    async def database(self) -> AsyncIterator[asyncpg.Connection]:
        """The rows of the pipeline service."""
        settings = {"search_path": "pipeline"}
        connection = await asyncpg.connect(self.process.jobs.queue.dsn, server_settings=settings)
        try:
            yield connection
        finally:
            await connection.close()

    @property
    def _own(self) -> psutil.Process:
        (own,) = (each for each in psutil.Process().children(recursive=True) if "pf_pipeline" in each.cmdline())
        return own


def lasted(run: run_pb2.Run) -> float:
    """Seconds from the acceptance of a run to its end."""
    return (run.finish_time.ToMicroseconds() - run.create_time.ToMicroseconds()) / 1e6


def of(part: Callable[[Site], Awaitable[list[Figure]]], what: str, patience: float = 300.0) -> Part:
    """The same, on a stack of its own. A part that fails, or takes for ever, is told of and lets others go on."""

    async def measured(process: PipelineProcess) -> list[Figure]:
        async with asyncio.timeout(patience), opened_pipelines(process) as site:
            return await part(Site(process, site))

    def figures() -> list[Figure]:
        try:
            with _services() as process:
                return asyncio.run(measured(process))
        except TimeoutError:
            why = f"it takes more than {patience:g} s"
        except (AssertionError, Problem) as problem:
            why = str(problem)[:REASON]
        return [Figure(f"{what} was not measured: {why}", 0.0, "", at_least=1.0)]

    return figures


@contextmanager
def _services() -> Iterator[PipelineProcess]:
    """A stack of its own, whose Postgres survives a crash of the machine."""
    postgres, valkey = PostgresServer(durable=True), ValkeyServer()
    try:
        postgres.start()
        valkey.start()
        with own_pipelines(postgres, valkey) as process:
            yield process
    finally:
        postgres.remove()
        valkey.remove()
