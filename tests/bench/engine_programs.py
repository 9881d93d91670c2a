"""Other engines, each installed for itself and driven by a program, on a Postgres and a Valkey of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import psutil

from bench.engines.taking import DATABASE
from support.servers import PostgresServer, ValkeyServer, short_folder

ROOT = Path(__file__).parents[2]
INSTALL = Path(__file__).parent / "engines" / "install.sh"
INSTALL_PATIENCE = 300.0


@dataclass(frozen=True)
class Engine:
    """Another engine."""

    title: str
    folder: str
    """What is installed, in `.cache/engines`."""
    program: str
    """A module of `bench.engines`."""
    patience: float
    """Seconds for all that is measured of it."""
    durable: bool = True
    """True if nothing that is done is lost with the machine."""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """One measurement."""

    what: str
    seconds: float
    how: str
    done: int
    """How wide the fan-out was."""
    processes: bool
    """True if steps ran in processes of their own."""


@dataclass(frozen=True)
class Measured:
    """What became of the measurements of an engine."""

    results: Sequence[Result]
    trouble: str = ""
    """Why there are no more of them; empty if these are all."""


def measured(engine: Engine, chain: int, fan: int) -> Measured:
    """Runs the program of an engine, and ends all that it leaves behind."""
    if trouble := _installed(engine):
        return Measured([], trouble)
    try:
        with _ground() as (folder, settings):
            sizes = {"BENCH_CHAIN": str(chain), "BENCH_FAN": str(fan)}
            trouble = _run(engine, folder, {**settings, **sizes, **engine.settings})
            return Measured(_results(folder / "results"), trouble)
    except AssertionError as problem:
        return Measured([], f"its servers do not start: {problem}")


def _results(file: Path) -> Sequence[Result]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [Result(**json.loads(line)) for line in lines]


def _installed(engine: Engine) -> str:
    """Why it cannot be installed; empty if it is."""
    try:
        done = subprocess.run([INSTALL, engine.folder], capture_output=True, text=True, timeout=INSTALL_PATIENCE)
    except subprocess.TimeoutExpired:
        return f"it was not installed after {INSTALL_PATIENCE:g} s"
    return f"it cannot be installed: {_last(done.stderr)}" if done.returncode else ""


@contextmanager
def _ground() -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A folder and servers of its own, and where they are."""
    postgres, valkey, folder = PostgresServer(durable=True), ValkeyServer(), short_folder()
    settings = {
        "BENCH_FOLDER": str(folder),
        "BENCH_POSTGRES": str(postgres.folder),
        "BENCH_VALKEY": valkey.url.removeprefix("unix://"),
    }
    try:
        postgres.start()
        valkey.start()
        asyncio.run(_create_database(postgres))
        yield folder, settings
    finally:
        postgres.remove()
        valkey.remove()
        shutil.rmtree(folder)


async def _create_database(postgres: PostgresServer) -> None:
    connection = await asyncpg.connect(postgres.dsn())
    await connection.execute(f"create database {DATABASE}")
    await connection.close()


def _run(engine: Engine, folder: Path, settings: Mapping[str, str]) -> str:
    """Runs the program; tells what went wrong."""
    python = ROOT / ".cache" / "engines" / engine.folder / "bin" / "python"
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT / "tests"), "HOME": str(folder)}
    log = folder / "log"
    with log.open("wb") as output:
        program = subprocess.Popen(
            [python, "-m", f"bench.engines.{engine.program}"],
            env=environment,
            cwd=folder,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            status = program.wait(engine.patience)
        except subprocess.TimeoutExpired:
            return f"it was not done after {engine.patience:g} s"
        finally:
            _end(program, folder)
    return f"its program ended with status {status}: {_last(log.read_text(errors='replace'))}" if status else ""


def _end(program: subprocess.Popen[bytes], folder: Path) -> None:
    """Ends the program and all that it has started."""
    program.kill()
    left = [each for each in psutil.process_iter() if _is_of(each, program.pid, folder)]
    program.wait()
    for each in left:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(left, timeout=20)


def _is_of(process: psutil.Process, session: int, folder: Path) -> bool:
    """By its session, or by what it was told, as some leave the first and some write over the second."""
    try:
        return os.getsid(process.pid) == session or process.environ().get("BENCH_FOLDER") == str(folder)
    except (psutil.Error, ProcessLookupError):
        return False


def _last(log: str) -> str:
    return next((line.strip()[:100] for line in reversed(log.splitlines()) if line.strip()), "it said nothing")
