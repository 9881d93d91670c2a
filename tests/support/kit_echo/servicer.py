"""The echo service on the wire. It is so small that its use cases and its store are here too."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from paddleflow.problems import NotFound
from pf_kit.events import Event, Fact
from pf_kit.memory import tables
from pf_kit.mutation import Mutations
from pf_kit.unit import Change, Database, View
from pf_kit.watch import Watches
from support.kit_echo.stubs import echo_pb2

# The stubs are made while the tests run, so their types are not known before.
Message = Any


async def greet(text: str) -> str:
    return text


class EchoServicer:
    """Keeps notes, and answers with what `answer` makes of a text."""

    def __init__(self, database: Database, mutations: Mutations, watches: Watches) -> None:
        self._database = database
        self._mutations = mutations
        self._watches = watches
        self.answer: Callable[[str], Awaitable[str]] = greet

    async def PutNote(self, request: Message, _context: object) -> Message:
        async def work(change: Change) -> Message:
            tables(change).table("notes")[request.note.name] = request.note.text
            change.emit(request.note)
            return echo_pb2.PutNoteResponse(note=request.note)

        subject = f"note/{request.note.name}"
        return await self._mutations.run(request, echo_pb2.PutNoteResponse, locks=[subject], subject=subject, work=work)

    async def GetNote(self, request: Message, _context: object) -> Message:
        text = tables(self._database.newest).table("notes").get(request.name)
        if text is None:
            raise NotFound(f"There is no note {request.name!r}.")
        return echo_pb2.GetNoteResponse(note=echo_pb2.Note(name=request.name, text=text))

    async def WatchNotes(self, request: Message, _context: object) -> AsyncGenerator[Message, None]:
        async for page in self._watches.watch(request.resume_token, existing=existing, changes=changes):
            yield echo_pb2.WatchNotesResponse(
                notes=page.messages, resume_token=page.resume_token, bookmark=page.bookmark
            )

    async def Hello(self, request: Message, _context: object) -> Message:
        return echo_pb2.HelloResponse(text=await self.answer(request.text))

    Govern = Serve = Lead = Hello


async def existing(view: View) -> Sequence[Message]:
    return [echo_pb2.Note(name=name, text=text) for name, text in tables(view).table("notes").items()]


async def changes(event: Event) -> Sequence[Message]:
    return [echo_pb2.Note.FromString(event.fact.payload)]


def encode(event: object) -> Fact:
    note: Message = event
    return Fact("echo.v1.Note", f"note/{note.name}", 1, note.SerializeToString())
