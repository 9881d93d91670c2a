"""Where everything lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pf_stack.layout import LONGEST_SOCKET, MAX_SOCKET_PATH, PLAIN, Layout, default_data, layout_of


def test_an_ordinary_users_data_lie_where_xdg_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/alice")
    assert default_data({}) == Path("/home/alice/.local/share/paddleflow")
    assert default_data({"XDG_DATA_HOME": "/srv/alice"}) == Path("/srv/alice/paddleflow")
    assert default_data({"XDG_DATA_HOME": "relative"}) == Path("/home/alice/.local/share/paddleflow")


def test_roots_data_lie_with_those_of_other_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data({"XDG_DATA_HOME": "/srv/alice"}) == Path("/var/lib/paddleflow")


def test_the_default_folder_is_known_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    environ = {"XDG_DATA_HOME": str(tmp_path)}
    (tmp_path / "link").symlink_to(tmp_path)
    assert layout_of(tmp_path / "link" / "paddleflow", environ).is_default
    assert layout_of(tmp_path / "x" / ".." / "paddleflow", environ).is_default
    assert not layout_of(tmp_path / "other", environ).is_default


def test_sockets_lie_in_the_data_folder_if_their_paths_stay_short() -> None:
    assert Layout(Path("/var/lib/paddleflow"), is_default=True).sockets == Path("/var/lib/paddleflow/run")


@pytest.mark.parametrize("length", [60, 72, 73, 74, 75, 76, 200])
def test_no_socket_path_is_too_long(length: int) -> None:
    layout = Layout(Path("/" + "x" * length), is_default=False)
    assert len(os.fsencode(f"{layout.sockets}{LONGEST_SOCKET}")) <= MAX_SOCKET_PATH


@pytest.mark.parametrize("name", ["a,b", "a b", "a%20b", "dä", "a?b", "a#b"])
def test_no_socket_path_needs_quoting(name: str) -> None:
    assert PLAIN.fullmatch(str(Layout(Path("/") / name, is_default=False).sockets))


def test_two_long_folders_have_their_sockets_apart() -> None:
    folders = [Layout(Path("/" + "x" * 90 + name), is_default=False).sockets for name in "ab"]
    assert folders[0] != folders[1]
    beginning = f"/tmp/paddleflow-{os.geteuid()}-"  # noqa: S108 - the path under test
    assert all(str(folder).startswith(beginning) for folder in folders)


def test_a_command_names_the_folder_unless_it_is_the_default() -> None:
    assert Layout(Path("/srv/a b"), is_default=True).command("up") == "pf up"
    assert Layout(Path("/srv/a b"), is_default=False).command("up") == "pf up --data '/srv/a b'"
