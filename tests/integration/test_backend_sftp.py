"""What only servers have that are reached over SSH."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from pf_backends.entries import Condition
from pf_backends.errors import Malformed, Unreachable
from pf_backends.opening import open_backend
from pf_backends.reach import Reach
from pf_backends.sftp.backend import SftpBackend
from support.backend_places import content, listed, names, put_all, read
from support.fault_proxy import Fault, Kind, fault_proxy
from support.s3_servers import free_ports
from support.sftp_server import PASSWORD, USER, SftpServer

Open = Callable[..., SftpBackend]


@pytest.fixture
def server() -> Iterator[SftpServer]:
    made = SftpServer()
    yield made
    made.stop()


@pytest.fixture
def opened(server: SftpServer, tmp_path: Path) -> Iterator[Open]:
    """Opens backends on a folder, with other settings than the usual."""
    with ExitStack() as stack:

        def opening(**settings: object) -> SftpBackend:
            told: dict[str, Any] = {"path": str(tmp_path).strip("/"), **settings}
            backend = SftpBackend(replace(server.settings, **told))
            stack.callback(backend.close)
            return backend

        yield opening


def test_a_wrong_password_is_refused_and_not_shown(opened: Open) -> None:
    with pytest.raises(PermissionError) as refused:
        opened(password="wrong-password").check()
    assert "wrong-password" not in str(refused.value)
    assert PASSWORD not in repr(opened()._settings) + opened().address  # noqa: SLF001


def test_another_server_is_not_spoken_to(opened: Open, server: SftpServer) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(PermissionError, match="another key"):
        opened(host_key=other.get_fingerprint()).check()
    opened(host_key=server.host_key.export_public_key().decode()).check()
    trusting = opened(host_key="")
    trusting.check()
    server.restart(other)
    with pytest.raises(PermissionError, match="another key"):
        trusting.check()


def test_a_server_may_be_started_again(opened: Open, server: SftpServer) -> None:
    backend = opened()
    backend.put("a", b"abc")
    server.restart()
    assert content(backend, "a") == b"abc"
    put_all(backend, [f"{number:03}" for number in range(250)])
    page = backend.list("", limit=150)
    server.restart()
    with pytest.raises(Unreachable):
        backend.list("", rest=page.rest)
    assert len(listed(backend)) == 251


def test_a_server_that_is_not_there_is_told(opened: Open) -> None:
    (port,) = free_ports(1)
    with pytest.raises(Unreachable, match="refused"):
        opened(port=port).check()


@pytest.mark.parametrize("after", [0, 1000, 20_000])
def test_a_connection_that_is_reset_is_made_again(opened: Open, server: SftpServer, after: int) -> None:
    body = b"x" * 500_000
    opened().put("a", body)
    with fault_proxy(server.port) as proxy:
        backend = opened(port=proxy.port)
        proxy.next(Fault(Kind.RESET, after))
        assert content(backend, "a") == body
        proxy.always = Fault(Kind.RESET, after)
        proxy.next()
        with pytest.raises(Unreachable, match="reset"):
            content(backend, "a")


def test_a_connection_that_is_reset_as_it_is_made_has_done_nothing(opened: Open, server: SftpServer) -> None:
    with fault_proxy(server.port) as proxy:
        backend = opened(port=proxy.port)
        proxy.next(Fault(Kind.RESET, 1000))
        backend.put("a", b"abc", condition=Condition(absent=True))
        assert content(backend, "a") == b"abc"


def test_a_server_that_says_nothing_is_not_waited_for_ever(opened: Open, server: SftpServer) -> None:
    with fault_proxy(server.port) as proxy:
        opened().put("a", b"x" * 500_000)
        backend = opened(port=proxy.port, deadline=1.0)
        proxy.always = Fault(Kind.STALL, 20_000)
        began = time.monotonic()
        with pytest.raises(Unreachable):
            read(backend, "a", 0, 500_000)
        assert time.monotonic() - began < 4


def test_no_link_leads_out(opened: Open, tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "secret").write_text("secret")
    (top / "inner").mkdir()
    for name, target in (("out", ".."), ("root", "/"), ("in", "inner")):
        (top / name).symlink_to(target)
    (top / "file").symlink_to("../secret")
    backend = opened(path=str(top).strip("/"))
    for path in ("out/secret", "root/etc/passwd", "file"):
        with pytest.raises(OSError, match=path):
            content(backend, path)
    with pytest.raises(PermissionError):
        backend.list("out")
    with pytest.raises(PermissionError):
        backend.put("out/made", b"")
    backend.put("in/a", b"abc")
    assert content(backend, "inner/a") == b"abc"


def test_a_write_that_is_refused_leaves_nothing(opened: Open, tmp_path: Path) -> None:
    backend = opened()
    backend.put("a", b"one")
    with pytest.raises(OSError, match="a"):
        backend.put("a", b"two", condition=Condition(absent=True))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    (tmp_path / ".pf~left").touch()
    assert names(listed(backend)) == ["a"]


def test_a_folder_with_only_hidden_things_is_empty(opened: Open, tmp_path: Path) -> None:
    backend = opened()
    for name in ("left", "kept"):
        backend.make_folder(name)
        (tmp_path / name / ".pf~left").touch()
    backend.remove_folder("left")
    backend.put("kept/a", b"")
    with pytest.raises(OSError, match="not empty"):
        backend.remove_folder("kept")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "kept",
        "kept/.pf~left",
        "kept/a",
    ]


def test_closing_ends_calls_under_way(opened: Open) -> None:
    backend = opened()
    backend.check()
    backend.close()
    backend.close()
    with pytest.raises(Unreachable, match="closed"):
        backend.stat("a")


def test_the_own_network_can_be_closed(opened: Open) -> None:
    with pytest.raises(PermissionError, match="operator"):
        opened(reach=Reach(internal=False)).check()


def test_a_server_is_opened_by_its_url(server: SftpServer, tmp_path: Path) -> None:
    properties = {"user": USER, "password": PASSWORD, "hostKey": server.host_key.get_fingerprint()}
    backend = open_backend(f"sftp://127.0.0.1:{server.port}{tmp_path}", properties)
    backend.put("a", b"abc")
    assert (tmp_path / "a").read_bytes() == b"abc"
    backend.close()


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Malformed) as refused:
        open_backend("sftp://a:b:c/path", {"usr": "x"})
    for words in ("did you mean user", "must name a server", "password must be given", "user must be given"):
        assert words in str(refused.value)
    wrong = {"user": "x", "privateKey": "secret nonsense", "hostKey": "ssh-rsa nonsense"}
    with pytest.raises(Malformed) as refused:
        open_backend("sftp://host/path", wrong)
    assert "privateKey must be" in str(refused.value)
    assert "hostKey must be" in str(refused.value)
    assert "nonsense" not in str(refused.value)
