"""Node, holder and client are updated one by one: they understand each other, or say clearly that they do not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddleflow.sockets import listening
from pf_csi.held import Held, State
from pf_csi.holder import client, hello
from pf_csi.holder.client import HolderClient
from pf_csi.holder.hello import OWN, Hello, check_understood, hello_of
from pf_csi.holder.lanes import Lanes
from pf_csi.holder.server import HolderServer
from pf_csi.holder.supervisor import Patience, Supervisor
from pf_csi.node.domain import Wish
from pf_csi.node.telling import settings_of, told
from pf_csi.options import Options
from pf_csi.places import Place
from pf_csi.refusals import Refusal, Why
from pf_fuse.holder.messages import Adopt, Come, Misunderstood, decode
from pf_fuse.settings import MountSettings, read_settings
from support.csi_parts import NoClients

NEWER = Hello(OWN.speaks + 3, OWN.oldest, "9.9")
TOO_NEW = Hello(OWN.speaks + 9, OWN.speaks + 1, "99.0")
PLACE = Place("s3://bucket")
WISH = Wish("vol", "/target", "pod", PLACE, Options())


@asynccontextmanager
async def answering(path: Path, answer: Mapping[str, Any]) -> AsyncIterator[HolderClient]:
    """Somebody who says the same whatever is asked."""

    async def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(as_said(answer))
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(come, sock=listening(path))
    try:
        yield HolderClient(path)
    finally:
        server.close()


def as_said(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def said_by(other: Hello) -> Mapping[str, Any]:
    return {"hello": hello.told(other)}


@pytest.mark.parametrize("other", [Hello(), OWN, NEWER, Hello(program="0.1")])
def test_neighbouring_versions_understand_each_other(other: Hello) -> None:
    check_understood(hello_of({**said_by(other), "more": 1}), "pf-csi holder")


def test_who_says_nothing_of_versions_is_an_early_one() -> None:
    assert hello_of({"do": "held"}) == Hello()
    assert hello_of({"hello": {"speaks": 3, "new": "word"}}).speaks == 3


@pytest.mark.parametrize(
    ("other", "update"), [(TOO_NEW, "update whoever asks"), (Hello(0, 0, "0"), "update pf-csi holder 0")]
)
def test_versions_that_have_nothing_in_common_are_named(other: Hello, update: str) -> None:
    with pytest.raises(Refusal, match=update) as refused:
        check_understood(other, "pf-csi holder")
    assert refused.value.why is Why.PENDING, "nothing is undone"
    assert other.program in refused.value.text
    assert OWN.program in refused.value.text


async def test_a_node_reads_what_a_newer_holder_says(tmp_path: Path) -> None:
    of_one = {"key": "k", "state": "resting", "generation": 2, "place": "/p", "why": "TIRED", "text": "", "more": [1]}
    async with answering(tmp_path / "s", {**said_by(NEWER), "all": {"k": of_one}, "changes": 1}) as asking:
        assert await asking.held() == {"k": Held("k", State.BEGINNING, 2, "/p")}
    async with answering(tmp_path / "t", {**said_by(NEWER), "refused": "TIRED", "text": "words"}) as asking:
        with pytest.raises(Refusal, match="words") as refused:
            await asking.release("k")
        assert refused.value.why is Why.PENDING


async def test_a_node_says_that_it_does_not_understand_its_holder(tmp_path: Path) -> None:
    async with answering(tmp_path / "s", {**said_by(TOO_NEW), "held": None}) as asking:
        with pytest.raises(Refusal, match=r"pf-csi holder 99\.0"):
            await asking.hold("k", {})


@pytest.mark.parametrize("answer", [{"all": {"k": {"place": "/"}}, "changes": 1}, {"all": 3, "changes": 1}, {}, []])
async def test_nonsense_of_a_holder_is_a_refusal(tmp_path: Path, answer: Any) -> None:
    async with answering(tmp_path / "s", answer) as asking:
        with pytest.raises(Refusal):
            await asking.held()


async def test_who_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    listener = listening(tmp_path / "s")
    asking = HolderClient(tmp_path / "s", client.Patience(0.1, 0.1))
    for question in (asking.held(), asking.changed(), asking.hold("k", {}), asking.release("k"), asking.renew("k", {})):
        with pytest.raises(Refusal, match="does not answer"):
            await question
    listener.close()


async def test_a_holder_says_what_it_does_not_understand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    supervisor = Supervisor(NoClients(), lambda key: "/" + key, Lanes(), Patience())
    serving = await HolderServer(supervisor).serve(listening(tmp_path / "s"))
    asking = HolderClient(tmp_path / "s")
    assert await asking.held() == {}
    monkeypatch.setattr(client, "encode", lambda _: as_said({"do": "dance"}))
    with pytest.raises(Refusal, match="does not know 'dance': update it"):
        await asking.held()
    monkeypatch.setattr(client, "encode", lambda question: as_said({**said_by(TOO_NEW), **question}))
    with pytest.raises(Refusal, match=r"pf-csi node 99\.0"):
        await asking.held()
    serving.close()


def test_a_client_is_told_only_what_is_not_as_usual() -> None:
    assert set(told(WISH, WISH.place if isinstance(WISH.place, Place) else Place(""))) == {
        "url",
        "properties",
        "source",
    }
    other = Wish("vol", "/target", "pod", Place("s3://b", size=5), Options(uid=7, read_only=True, quota=1), "csi-1")
    said = told(other, Place("s3://b", size=5))
    assert {name: said[name] for name in ("uid", "readOnly", "quota", "size", "record")} == {
        "uid": 7,
        "readOnly": True,
        "quota": 1,
        "size": 5,
        "record": "csi-1",
    }


def test_what_is_usual_is_the_same_for_the_client() -> None:
    usual = {field.encode_name: field.default for field in msgspec.structs.fields(MountSettings)}
    for name, value in settings_of(Options()).items():
        if name != "cacheSize":
            assert usual[name] == value, name


def test_a_client_names_a_setting_that_only_a_newer_one_knows() -> None:
    told_more = {"place": "/p", "url": "u", "state": "/s", "cache": {"folders": ["/c"]}, "newer": 1}
    with pytest.raises(ValueError, match=rf"`newer`.*this is version {OWN.program}"):
        read_settings(json.dumps(told_more).encode())


def test_those_of_a_mount_let_pass_what_a_newer_one_says() -> None:
    assert decode(b'["Come", {"version": "9", "newer": 1}]') == Come("9")
    adopt = decode(b'["Adopt", {"minor": 1, "features": 2, "largest": 3, "kept": "", "registered": [[1, 2, 3]]}]')
    assert adopt == Adopt(1, 2, 3, "", [(1, 2, 3)], version="")
    for packet in (b'["Keep", {"text": 1}]', b'["Newer", {}]', b"[]", b"x"):
        with pytest.raises(Misunderstood):
            decode(packet)
