"""Keys of an object store that have expired: replaced, waited for, or refused."""

from __future__ import annotations

import threading

import pytest

from pf_backends.errors import Unreachable
from pf_backends.s3.settings import Keys
from support.backend_places import content
from support.scripted_store import Asked, Told, error, scripted

OLD, NEW = Keys("tester", "first", "token-1"), Keys("tester", "second", "token-2")


def wants_new_keys(asked: Asked) -> Told:
    if asked.headers.get("x-amz-security-token") != NEW.token:
        return Told(400) if asked.method == "HEAD" else error("ExpiredToken", 400)
    return Told(body=b"abc", headers={"etag": '"e"'})


def test_keys_that_have_expired_are_renewed_once_for_all() -> None:
    renewals: list[int] = []

    def renew() -> Keys:
        renewals.append(1)
        return NEW

    with scripted(wants_new_keys, renew=renew, keys=OLD, attempts=4) as backend:
        readers = [threading.Thread(target=content, args=(backend, "a")) for _ in range(8)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert backend.stat("a").version == "e"
        assert renewals == [1]


def test_what_tells_no_reason_has_keys_renewed_too() -> None:
    with scripted(wants_new_keys, renew=lambda: NEW, keys=OLD) as backend:
        assert backend.stat("a").version == "e"


def test_keys_that_have_expired_are_refused_where_nobody_renews_them() -> None:
    with scripted(wants_new_keys, keys=OLD) as backend:
        with pytest.raises(OSError, match="ExpiredToken") as refused:
            content(backend, "a")
        assert not isinstance(refused.value, Unreachable)
        assert OLD.token not in str(refused.value)


def test_keys_that_have_expired_are_refused_where_there_will_be_no_others() -> None:
    with scripted(wants_new_keys, renew=lambda: None, keys=OLD) as backend:
        with pytest.raises(OSError, match="ExpiredToken") as refused:
            backend.put("a", b"abc")
        assert not isinstance(refused.value, Unreachable)


def test_a_store_is_not_to_be_reached_until_expired_keys_are_renewed() -> None:
    told = [OLD]
    with scripted(wants_new_keys, renew=lambda: told[-1], keys=OLD) as backend:
        with pytest.raises(Unreachable, match=r"ExpiredToken.*keys") as failed:
            backend.put("a", b"abc")
        assert OLD.token not in str(failed.value)
        with pytest.raises(Unreachable, match="ExpiredToken"):
            backend.stat("a")
        told.append(NEW)
        backend.put("a", b"abc")
        assert backend.stat("a").version == "e"


def test_what_is_forbidden_is_not_taken_for_expired_keys() -> None:
    def forbids(asked: Asked) -> Told:
        return Told(403) if asked.method == "HEAD" else error("AccessDenied", 403)

    with scripted(forbids, renew=lambda: OLD, keys=OLD) as backend:
        with pytest.raises(PermissionError):
            backend.stat("a")
        with pytest.raises(PermissionError):
            backend.put("a", b"abc")


def test_who_calls_as_nobody_has_no_keys_that_expire() -> None:
    callers: list[str] = []

    def forbids(asked: Asked) -> Told:
        callers.append(asked.headers.get("authorization", ""))
        return Told(403)

    with scripted(forbids, renew=lambda: Keys("", ""), keys=None) as backend:
        for _ in range(2):
            with pytest.raises(PermissionError):
                backend.stat("a")
    assert set(callers) == {""}


def test_keys_that_expire_while_it_is_tried_what_a_store_checks_are_renewed() -> None:
    checked: list[str | None] = []

    def store(asked: Asked) -> Told:
        if "x-amz-checksum-crc32" not in asked.headers:
            return Told(body=b"<ListBucketResult/>")
        checked.append(asked.headers.get("x-amz-security-token"))
        return error("ExpiredToken", 400) if checked[-1] != NEW.token else error("InvalidArgument", 400)

    with scripted(store, renew=lambda: NEW, keys=OLD) as backend:
        backend.check()
    assert checked == [OLD.token, NEW.token]
