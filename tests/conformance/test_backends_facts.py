"""What every backend promises of what is kept beside the bytes of files."""

from __future__ import annotations

import pytest

from pf_backends.entries import Condition, Facts
from pf_backends.errors import Changed, Unsupported
from pf_backends.port import Backend
from support.backend_places import content

MOMENT = 1_600_000_000_123_456_789
ATTRIBUTES = {"user.colour": b"red", "user.raw": bytes(range(256))}


def able(backend: Backend) -> dict[str, bytes]:
    """The attributes that a backend keeps."""
    return ATTRIBUTES if backend.capabilities.attributes else {}


def moment(backend: Backend, kept: Facts) -> int:
    """The time that was meant, if the one that is kept is that one as exactly as the backend can."""
    assert kept.modified is not None
    exact = backend.capabilities.precision if backend.capabilities.modes else 1
    return MOMENT if 0 <= MOMENT - kept.modified < exact else kept.modified


def test_facts_are_kept_as_far_as_the_backend_can(backend: Backend) -> None:
    written = backend.put("a", b"abc", facts=Facts(modified=MOMENT, mode=0o640, attributes=able(backend)))
    assert written == backend.stat("a")
    kept = backend.attributes("a")
    assert moment(backend, kept) == MOMENT
    assert kept.mode == 0o640
    assert kept.attributes == able(backend)
    if backend.capabilities.modes:
        assert (written.mode, written.modified) == (0o640, kept.modified)
    else:
        assert written.mode is None


def test_facts_are_changed_one_by_one(backend: Backend) -> None:
    backend.put("a", b"abc", facts=Facts(mode=0o640, attributes=able(backend)))
    changed = backend.set_facts("a", Facts(modified=MOMENT))
    assert changed == backend.stat("a")
    kept = backend.attributes("a")
    assert (moment(backend, kept), kept.mode, kept.attributes) == (MOMENT, 0o640, able(backend))
    if backend.capabilities.attributes:
        backend.set_facts("a", Facts(attributes={"user.colour": b""}))
        assert backend.attributes("a").attributes == {"user.colour": b""}
    else:
        with pytest.raises(Unsupported):
            backend.set_facts("a", Facts(attributes={"user.colour": b""}))
    backend.set_facts("a", Facts(attributes={}))
    kept = backend.attributes("a")
    assert (moment(backend, kept), kept.mode, kept.attributes) == (MOMENT, 0o640, {})
    assert content(backend, "a") == b"abc"


def test_facts_of_uploads_are_kept(parted: Backend) -> None:
    attributes = able(parted)
    upload = parted.begin("a", facts=Facts(modified=MOMENT, mode=0o600, attributes=attributes))
    parted.finish(upload, [parted.send(upload, 1, b"abc")])
    kept = parted.attributes("a")
    assert (moment(parted, kept), kept.mode, kept.attributes) == (MOMENT, 0o600, attributes)


def test_a_copy_keeps_attributes(backend: Backend) -> None:
    if not backend.capabilities.copies:
        return
    backend.put("a", b"abc", facts=Facts(mode=0o640, attributes=ATTRIBUTES))
    backend.copy("a", "b")
    kept = backend.attributes("b")
    assert (kept.mode, kept.attributes) == (0o640, ATTRIBUTES)


def test_folders_keep_permissions_where_they_are_kept(backend: Backend) -> None:
    made = backend.make_folder("f", facts=Facts(mode=0o700))
    assert made.mode == (0o700 if backend.capabilities.modes else None)
    assert backend.set_facts("f", Facts(mode=0o750)) == backend.stat("f")


def test_there_is_room_or_no_telling(backend: Backend) -> None:
    room = backend.space()
    assert room is None or 0 <= room.free <= room.size


def test_facts_are_set_of_the_version_that_is_meant(backend: Backend) -> None:
    first = backend.put("f", b"one")
    later = Facts(modified=MOMENT, mode=0o640)
    changed = backend.set_facts("f", later, condition=Condition(version=first.version))
    assert changed == backend.stat("f")
    again = backend.set_facts("f", Facts(mode=0o600), condition=Condition(version=changed.version))
    assert again == backend.stat("f")
    theirs = backend.put("f", b"another")
    with pytest.raises(Changed):
        backend.set_facts("f", later, condition=Condition(version=again.version))
    assert backend.stat("f") == theirs
