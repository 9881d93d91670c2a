"""The life of a service's process: settings, logs, signals, and an end without harm."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import uvloop

from paddleflow.problems import Problem
from pf_kit.log import set_up_logging
from pf_kit.server import ServiceServer
from pf_kit.settings import Settings, SettingsError, describe, load, values
from pf_kit.start import CannotStart

logger = logging.getLogger(__name__)


class Level(StrEnum):
    """Which lines the log has."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ProcessSettings(Settings, Protocol):
    """What the settings of every service have."""

    @property
    def log_level(self) -> Level:
        """From which level on lines stand in the log."""


S = TypeVar("S", bound=ProcessSettings)
Loops = Mapping[str, Callable[[], Awaitable[None]]]


class Stop:
    """Whether the process has been told to stop."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.serving = False
        """True once there is something that must be ended gently."""


@dataclass(frozen=True, slots=True)
class Program(Generic[S]):
    """A service as a command."""

    name: str
    """The service, for example ``queue``."""
    version: str
    prefix: str
    """With which its variables begin, for example ``PF_QUEUE``."""
    settings: type[S]
    main: Callable[[S, Stop], Awaitable[None]]
    """Builds the service and calls `serve`."""


def run(program: Program[S], arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs the command; gives its exit code."""
    wish = _parser(program).parse_args(arguments)
    try:
        settings = load(program.settings, program.prefix, environ)
    except SettingsError as error:
        sys.stderr.write(f"pf-{program.name}: the settings are wrong\n{error}\n")
        return 2
    if wish.print_config:
        sys.stdout.writelines(f"{name}={value}\n" for name, value in values(settings, program.prefix).items())
        return 0
    set_up_logging(program.name, settings.log_level)
    return uvloop.run(_live(program, settings))


async def serve(server: ServiceServer, loops: Loops, stop: Stop) -> None:
    """Serves until the process is told to stop. A loop that ends, for whatever reason, ends the process."""
    async with server.serving(), asyncio.TaskGroup() as group:
        tasks = [group.create_task(_endless(name, loop)) for name, loop in {**server.loops, **loops}.items()]
        stop.serving = True
        await stop.asked.wait()
        await server.drain()
        for task in tasks:
            task.cancel()


class LoopEnded(Exception):
    """Something that runs for as long as the process does has come to an end."""


async def _endless(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    try:
        await loop()
    except Exception:
        logger.critical("a loop crashed", extra={"loop": name}, exc_info=True)
        raise
    raise LoopEnded(name)


async def _live(program: Program[S], settings: S) -> int:
    stop = Stop()
    life = asyncio.ensure_future(program.main(settings, stop))
    _heed_signals(stop, life)
    try:
        await life
    except asyncio.CancelledError:
        logger.warning("stopped before the end")
        return 0 if not stop.serving else 1
    except (Problem, CannotStart) as error:
        logger.critical("cannot serve", extra={"why": str(error)})
        return 1
    except Exception:  # the last one to tell
        logger.critical("crashed", exc_info=True)
        return 1
    logger.info("stopped")
    return 0


def _heed_signals(stop: Stop, life: asyncio.Future[None]) -> None:
    """The first signal ends the process gently, a second one, or one before it serves, at once."""

    def heed() -> None:
        if stop.serving and not stop.asked.is_set():
            stop.asked.set()
        else:
            life.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, heed)


def _parser(program: Program[S]) -> argparse.ArgumentParser:
    rows = describe(program.settings, program.prefix)
    reference = "\n".join(f"{row.variable}\n    {row.text}" for row in rows)
    parser = argparse.ArgumentParser(
        prog=f"pf-{program.name}",
        description=f"Runs PaddleFlow's {program.name} service. It is set by environment variables.",
        epilog=reference.replace("%", "%%"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"pf-{program.name} {program.version}")
    parser.add_argument("--print-config", action="store_true", help="show the settings, secrets masked, and leave")
    return parser
