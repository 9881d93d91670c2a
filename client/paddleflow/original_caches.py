"""How filesystems are cached, in the words of the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from paddleflow.models.mounts import FilesystemCache, MetaDriver
from paddleflow.original import Json, member
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import CPU, MEMORY, format_amount, parse_amount

LABEL, EXTRA = "nodeAffinity.", "extraConfig."
"""Begin words that each stand for one of many."""
_FLAGS = {"true": True, "false": False}


def _flag(word: str, text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise InvalidArgument.of(Violation(word, f"{text!r} is neither true nor false"))
    return _FLAGS[text.lower()]


def _bytes(_word: str, text: str) -> int:
    return parse_amount(MEMORY, text)


def _cores(_word: str, text: str) -> int:
    return parse_amount(CPU, text)


def _folders(_word: str, text: str) -> tuple[str, ...]:
    return tuple(folder for folder in text.split(",") if folder)


def _driver(word: str, text: str) -> MetaDriver:
    return member(MetaDriver, {"mem": "memory"}.get(text, text), word)


_WORDS: Mapping[str, tuple[str, Callable[[str, str], object]]] = {
    "cacheDir": ("folders", _folders),
    "metaDriver": ("meta_driver", _driver),
    "blockSize": ("block_size", _bytes),
    "quota": ("size", _bytes),
    "size": ("size", _bytes),
    "cleanCache": ("clean", _flag),
    "debug": ("debug", _flag),
    "cpuLimit": ("cpu", _cores),
    "memoryLimit": ("memory", _bytes),
}


def read_cache(words: Mapping[str, str]) -> FilesystemCache:
    """What words say of a cache. Raises InvalidArgument naming each that says nothing."""
    if unknown := [word for word in words if word not in _WORDS and not word.startswith((LABEL, EXTRA))]:
        known = ", ".join((*_WORDS, f"{LABEL}LABEL", f"{EXTRA}OPTION"))
        raise InvalidArgument.of(*(Violation(word, f"is none of {known}") for word in unknown))
    fields: dict[str, Any] = {
        _WORDS[word][0]: _WORDS[word][1](word, text) for word, text in words.items() if word in _WORDS
    }
    return FilesystemCache(**fields, node_labels=_begun(LABEL, words), extra=_begun(EXTRA, words))


def cache_words(cache: FilesystemCache) -> dict[str, Json]:
    """The same in the words of the original; what is left open is not told."""
    return dict(_told(cache))


def _told(cache: FilesystemCache) -> Iterator[tuple[str, Json]]:
    if cache.folders:
        yield "cacheDir", ",".join(cache.folders)
    if cache.meta_driver:
        yield "metaDriver", "mem" if cache.meta_driver is MetaDriver.MEMORY else "disk"
    for word, amount in (("blockSize", cache.block_size), ("size", cache.size), ("memoryLimit", cache.memory)):
        if amount:
            yield word, format_amount(MEMORY, amount)
    if cache.cpu:
        yield "cpuLimit", format_amount(CPU, cache.cpu)
    yield "cleanCache", cache.clean
    yield "debug", cache.debug
    for begin, pairs in ((LABEL, cache.node_labels), (EXTRA, cache.extra)):
        for name, value in pairs.items():
            yield begin + name, value


def _begun(begin: str, words: Mapping[str, str]) -> dict[str, str]:
    return {word.removeprefix(begin): text for word, text in words.items() if word.startswith(begin)}
