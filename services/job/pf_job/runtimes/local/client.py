"""A connection to the runner, which is started if there is none."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from paddleflow.problems import Unavailable
from pf_job.runtimes.local import layout
from pf_job.runtimes.local.frames import Inbox, Message, encode
from pf_job.runtimes.local.server import CREDENTIALS
from pf_job.runtimes.local.settings import VERSION, RunnerSettings

COMMAND = (sys.executable, "-P", "-m", "pf_job.runtimes.local.runner")
PIECE = 2**18
ANSWER_SECONDS = 60.0
"""That a runner may take for an answer, whatever it is asked: its disk may be slow."""
REST_SECONDS = 2.0
"""That a runner may take to end."""
PASSED_ON = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG")
"""Variables that the runner needs to find its own modules."""


class Wire:
    """An open connection. It hands each answer to whoever waits for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[Message | None]] = {}
        self._inbox = Inbox()
        self._reading = asyncio.create_task(self._read(reader))

    @property
    def is_open(self) -> bool:
        return not self._reading.done()

    async def ask(self, message: Message) -> Message:
        """The answer. Raises Unavailable and FrameTooLong. A runner that gives none in time is ended: whoever asks next
        starts another, which takes its replicas on.
        """
        number, answers = self._send(message)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return _reply(await answers.get())
        except TimeoutError:
            await self._give_up()
            raise Unavailable(f"the runner did not answer within {ANSWER_SECONDS:.0f} s, and was ended") from None
        finally:
            del self._waiting[number]

    async def listen(self, message: Message) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """All that is told after an answer. Raises Unavailable."""
        number, answers = self._send(message)
        try:
            _reply(await answers.get())
            while (told := await answers.get()) is not None:
                yield told["seen"]
            raise _lost()
        finally:
            del self._waiting[number]

    async def end(self) -> None:
        """Waits until the other side is gone."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        # The task may have been cancelled before it had begun.
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _send(self, message: Message) -> tuple[int, asyncio.Queue[Message | None]]:
        if not self.is_open:
            raise _lost()
        number = next(self._numbers)
        data = encode({**message, "id": number})
        answers = self._waiting[number] = asyncio.Queue()
        self._writer.write(data)
        return number, answers

    async def _give_up(self) -> None:
        """Ends the other side, which has the connection open and thus its process id, and waits until it is gone."""
        known = self._writer.get_extra_info("socket").getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size
        )
        pid = int(CREDENTIALS.unpack(known)[0])
        # 0 is somebody in another namespace of processes.
        if pid > 0 and self.is_open:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            await self.end()
        await self.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            with suppress(OSError):
                while data := await reader.read(PIECE):
                    for message in self._inbox.feed(data):
                        self._hand_over(message)
        finally:
            self._writer.close()
            for answers in self._waiting.values():
                answers.put_nowait(None)

    def _hand_over(self, message: Message) -> None:
        waiting = self._waiting.get(message["id"])
        if waiting is not None:
            waiting.put_nowait(message)


def _reply(message: Message | None) -> Message:
    if message is None:
        raise _lost()
    if "fault" in message:
        raise Unavailable(message["fault"])
    reply: Message = message["reply"]
    return reply


def _lost() -> Unavailable:
    return Unavailable("the connection to the runner is lost")


class Client:
    """Keeps a connection to the runner of a data folder."""

    def __init__(self, data: Path, settings: RunnerSettings, command: Sequence[str] = COMMAND) -> None:
        self._data = data
        self._settings = settings
        self._command = command
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()

    async def ask(self, message: Message) -> Message:
        """The answer, also if the runner has to be started for it or dies meanwhile: all it is asked may be repeated.

        Raises Unavailable.
        """
        wire = await self.wire()
        try:
            return await wire.ask(message)
        except Unavailable:
            if wire.is_open:
                raise
        return await (await self.wire()).ask(message)

    async def wire(self) -> Wire:
        """An open connection to a runner with these settings. Raises Unavailable."""
        async with self._connecting:
            if self._wire is None or not self._wire.is_open:
                self._wire = await self._connect()
            return self._wire

    async def retire(self) -> None:
        """Ends the runner, if one answers."""
        wire = self._wire if self._wire is not None and self._wire.is_open else await self._open()
        if wire is not None:
            with suppress(Unavailable):
                await wire.ask({"do": "retire"})
            await wire.close()

    async def rest(self) -> None:
        """Ends the runner if one answers for which there is nothing to do."""
        wire = await self._open()
        if wire is not None:
            with suppress(Unavailable, TimeoutError):
                async with asyncio.timeout(REST_SECONDS):
                    if (await wire.ask({"do": "rest"}))["rests"]:
                        await wire.end()
            await wire.close()

    async def own_wire(self) -> Wire:
        """A connection for whoever listens, to be closed when nobody does any more. Raises Unavailable."""
        known = await self.wire()
        wire = await self._open()
        if wire is None:
            # The runner is gone, and the other connection may not have noticed yet.
            await known.close()
            await self.wire()
            wire = await self._open()
        if wire is None:
            raise _lost()
        return wire

    async def close(self) -> None:
        if self._wire is not None:
            await self._wire.close()

    async def _connect(self) -> Wire:
        wire = await self._open()
        if wire is not None and not await self._suits(wire):
            await wire.close()
            wire = None
        if wire is None:
            await self._start()
            wire = await self._open()
        if wire is None:
            raise Unavailable(f"the runner of {self._data} was started and does not answer")
        return wire

    async def _open(self) -> Wire | None:
        """None if no runner listens."""
        try:
            folder = os.open(self._data, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        try:
            # The path through the handle is short, however long that of the folder is.
            return Wire(*await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{layout.SOCKET}"))
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        finally:
            os.close(folder)

    async def _suits(self, wire: Wire) -> bool:
        """Whether a runner is the one to be spoken to; another one retires, and the next takes its replicas on."""
        with suppress(Unavailable):
            told = await wire.ask({"do": "hello"})
            if told["version"] == VERSION and RunnerSettings.decode(told["settings"]) == self._settings:
                return True
            await wire.ask({"do": "retire"})
        return False

    async def _start(self) -> None:
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._data / layout.RUNNER_LOG).open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                str(self._data),
                self._settings.encode(),
                cwd="/",
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            status = await process.wait()
        if status and await self._is_refused():
            raise Unavailable(f"the runner of {self._data} cannot be started; see {self._data / layout.RUNNER_LOG}")

    async def _is_refused(self) -> bool:
        """Whether nobody listens; otherwise another client was faster."""
        wire = await self._open()
        if wire is None:
            return True
        await wire.close()
        return False
