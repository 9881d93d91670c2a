"""Documents that are made to do harm take little time and memory, and are refused or read."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.jobs.documents import read_spec
from paddleflow.problems import InvalidArgument

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 15)
)
MERGES = "a: &a {" + ", ".join(f"k{number}: 1" for number in range(20_000)) + "}\nb: [" + "{<<: *a}, " * 20_000 + "]"
NAMES = st.sampled_from(["members", "role", "env", "flavour", "cpu", "fs", "limits", "run", "extensionTemplate"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=30,
)
HOSTILE = {
    "aliases of aliases": LAUGHS,
    "a long text again and again": f"env:\n  A: &a {'x' * 2**20}\n" + "".join(f"  A{n}: *a\n" for n in range(1000)),
    "merged again and again": MERGES,
    "itself": "extensionTemplate: &a {b: *a}",
    "merged into itself": "env: &a {<<: *a}",
    "lists in lists": "extensionTemplate: {a: " + "[" * 100_000,
    "lists in lists of JSON": '{"extensionTemplate": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}",
    "objects in objects": "extensionTemplate: " + "{a: " * 100_000,
    "indented deeper and deeper": "".join(f"{' ' * level}a:\n" for level in range(1500)),
    "deep through an alias": f"a: &a {'[' * 20}{']' * 20}\nextensionTemplate: {{a: {'[' * 20}*a{']' * 20}}}",
    "very many values": "args: [" + "1," * 500_000 + "]",
    "more than is read": "command: " + "x" * 3 * 2**20,
    "no text": b"\xff\xfe\x00\xd8",
    "control characters": "command: a\0b",
    "half of a character": "command: \ud800",
    "keys that are no names": "? [a]\n: b",
    "code": "command: !!python/object/apply:os.system [id]",
}  # fmt: skip


@pytest.mark.parametrize("parser", ["fast", "slow"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_document_that_does_harm_is_refused_quickly(
    text: str | bytes, parser: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parser == "slow":
        monkeypatch.delattr("yaml.CSafeLoader", raising=False)
    began = time.perf_counter()
    with pytest.raises(InvalidArgument) as caught:
        read_spec(text)
    assert time.perf_counter() - began < 20
    assert len(str(caught.value)) < 10_000


def test_a_refusal_takes_little_memory() -> None:
    tracemalloc.start()
    try:
        for text in (LAUGHS, MERGES):
            with pytest.raises(InvalidArgument):
                read_spec(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200 * 2**20


def test_a_long_text_is_read() -> None:
    assert len(read_spec("command: " + "x" * 2**20).command) == 2**20
    assert len(read_spec(json.dumps({"command": "\n" * 2**19})).command) == 2**19


def test_as_deep_as_a_message_can_be_is_read_and_travels() -> None:
    told: object = 1
    for _ in range(22):
        told = {"a": told}
    spec = read_spec(json.dumps({"extensionTemplate": told}))
    assert type(spec).FromString(spec.SerializeToString()) == spec


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_anything_is_read_or_refused(text: str | bytes) -> None:
    with suppress(InvalidArgument):
        read_spec(text)


@given(JSON)
def test_any_json_is_read_or_refused(told: object) -> None:
    with suppress(InvalidArgument):
        read_spec(json.dumps(told))
