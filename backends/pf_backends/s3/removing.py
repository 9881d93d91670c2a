"""Removes many objects with one call."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence

from pf_backends.errors import Unsupported
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.documents import can_be_named, error_words, not_deleted, to_delete
from pf_backends.s3.keys import Keys
from pf_backends.s3.refusals import refusal, refusal_of_key
from pf_backends.wire.messages import Answer

_AT_ONCE = 1000


def remove_many(caller: Caller, keys: Keys, paths: Sequence[str]) -> Sequence[OSError | None]:
    """Fulfils `Backend.remove_many`."""
    found: dict[str, OSError] = {}
    together: list[tuple[str, str]] = []
    for path in paths:
        try:
            key = keys.of(path)
        except OSError as error:
            found[path] = error
            continue
        if can_be_named(key):
            together.append((path, key))
        else:
            found |= _one(caller, path, key)
    for start in range(0, len(together), _AT_ONCE):
        found |= _many(caller, together[start : start + _AT_ONCE])
    return [found.get(path) for path in paths]


def _many(caller: Caller, named: Sequence[tuple[str, str]]) -> Mapping[str, OSError]:
    body = to_delete(key for _, key in named)
    digest = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()
    ask = Ask("POST", named[0][0], query=[("delete", "")], headers={"content-md5": digest}, body=body)
    try:
        return _refused(caller.call(ask), named)
    except Unsupported:
        # Not all stores have it.
        return {path: error for path, key in named for error in _one(caller, path, key).values()}
    except OSError as error:
        return {path: error for path, _ in named}


def _refused(answer: Answer, named: Sequence[tuple[str, str]]) -> Mapping[str, OSError]:
    """What was not removed. That may be any of them where the store does not tell by their names."""
    # Stores begin their answer before they know how it ends.
    if error_words(answer.body)[0]:
        return {path: refusal(path, answer, None) for path, _ in named}
    told = not_deleted(answer.body)
    strange = next((told[key] for key in told.keys() - {key for _, key in named}), None)
    return {path: refusal_of_key(path, *why) for path, key in named if (why := told.get(key, strange))}


def _one(caller: Caller, path: str, key: str) -> Mapping[str, OSError]:
    try:
        caller.call(Ask("DELETE", path, key, allowed=(404,)))
    except OSError as error:
        return {path: error}
    return {}
