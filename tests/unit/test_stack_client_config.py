"""The configuration of the client."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_stack.client_config import Entry, configure_client, merge, read_entry, users_config
from pf_stack.endpoints import Endpoint
from pf_stack.layout import Layout

ENDPOINT = Endpoint(8999, 20000, Path("/srv/run/queue.sock"))
OTHER = Endpoint(20001, 20002, Path("/srv/other/queue.sock"))
OURS = Entry("unix:/srv/run/queue.sock", "", "root", "s3cret%")
MOVED = Entry("unix:/srv/other/queue.sock", "", "root", "s3cret%")
USERS = "[user]\nname = alice\npassword = mine\n\n[server]\npaddleflow_server_host = example.org\n"


def test_an_entry_is_written_into_an_empty_file_and_read_again() -> None:
    text = merge("", None, OURS)
    assert text is not None
    assert read_entry(text) == OURS


@settings(deadline=None)
@given(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1))
def test_any_password_is_read_as_it_was_written(password: str) -> None:
    entry = Entry("127.0.0.1", "8999", "root", password)
    text = merge("", None, entry)
    assert text is not None
    assert read_entry(text) == entry


def test_our_own_entry_is_replaced_and_other_sections_stay() -> None:
    before = merge("[proxy]\nhost = p\n", None, OURS)
    assert before is not None
    after = merge(before, OURS, MOVED)
    assert after is not None
    assert read_entry(after) == MOVED
    assert "host = p" in after


@pytest.mark.parametrize(
    "text",
    [
        USERS,
        "[user]\nname = root\n",
        "[server]\npaddleflow_server_host = example.org\n",
        "no ini file at all",
    ],
)
def test_an_entry_of_the_users_own_is_never_touched(text: str) -> None:
    assert merge(text, OURS, MOVED) is None
    assert merge(text, None, OURS) is None


def test_the_entry_of_another_stack_is_not_ours() -> None:
    text = merge("", None, MOVED)
    assert text is not None
    assert merge(text, None, OURS) is None


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "data" / "client").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_default_data_folder_configures_the_users_client(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, ENDPOINT, {}, "s3cret%")
    file = home / ".paddleflow" / "paddleflow.ini"
    assert read_entry(file.read_text()) == OURS == read_entry(layout.client_config.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "paddleflow queue list" in hint


def test_a_later_start_moves_the_entry_to_the_new_place(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    configure_client(layout, ENDPOINT, {}, "s3cret%")
    configure_client(layout, OTHER, {}, None)
    assert read_entry((home / ".paddleflow" / "paddleflow.ini").read_text()) == MOVED


def test_other_services_are_named_as_they_come_move_and_go(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    file = home / ".paddleflow" / "paddleflow.ini"
    configure_client(layout, ENDPOINT, {}, "s3cret%")
    for others in ({"fs": ENDPOINT}, {"fs": OTHER, "more": ENDPOINT}, {}):
        configure_client(layout, ENDPOINT, others, None)
        entry = read_entry(file.read_text())
        assert entry == replace(OURS, services={name: endpoint.target for name, endpoint in others.items()})
        assert entry == read_entry(layout.client_config.read_text())


def test_services_that_the_user_named_are_the_users(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    file = home / ".paddleflow" / "paddleflow.ini"
    configure_client(layout, ENDPOINT, {"fs": ENDPOINT}, "s3cret%")
    edited = file.read_text().replace(f"fs = {ENDPOINT.target}", "fs = elsewhere:8998")
    file.write_text(edited)
    configure_client(layout, ENDPOINT, {"fs": OTHER}, None)
    assert file.read_text() == edited


def test_the_users_own_entry_stays_and_the_hint_names_ours(tmp_path: Path, home: Path) -> None:
    file = home / ".paddleflow" / "paddleflow.ini"
    file.parent.mkdir(parents=True)
    file.write_text(USERS)
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, ENDPOINT, {}, "s3cret%")
    assert file.read_text() == USERS
    assert hint.endswith(f"export PADDLEFLOW_CONFIG={layout.client_config}")


def test_another_data_folder_leaves_the_home_alone(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=False)
    assert str(layout.client_config) in configure_client(layout, ENDPOINT, {}, "s3cret%")
    assert list(home.iterdir()) == []
    assert read_entry(layout.client_config.read_text()) == OURS


def test_without_a_known_password_nothing_is_written(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    assert "127.0.0.1:8999" in configure_client(layout, ENDPOINT, {}, None)
    assert not layout.client_config.exists()
    assert list(home.iterdir()) == []


def test_a_file_that_is_a_link_stays_one(tmp_path: Path, home: Path) -> None:
    real = tmp_path / "dotfiles.ini"
    real.write_text("")
    file = home / ".paddleflow" / "paddleflow.ini"
    file.parent.mkdir(parents=True)
    file.symlink_to(real)
    configure_client(Layout(tmp_path / "data", is_default=True), ENDPOINT, {}, "s3cret%")
    assert file.is_symlink()
    assert read_entry(real.read_text()) == OURS


def test_an_entry_that_named_the_port_is_ours_too(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    text = merge("", None, Entry("127.0.0.1", "8999", "root", "s3cret%"))
    assert text is not None
    users_config().parent.mkdir()
    for file in (layout.client_config, users_config()):
        file.write_text(text)
    configure_client(layout, ENDPOINT, {}, None)
    assert read_entry(users_config().read_text()) == OURS


def obstruct_folder(folder: Path) -> None:
    folder.write_text("a file in its place")


def obstruct_file(folder: Path) -> None:
    (folder / "paddleflow.ini").mkdir(parents=True)


def obstruct_text(folder: Path) -> None:
    folder.mkdir()
    (folder / "paddleflow.ini").write_bytes(b"[user]\nname = \xff\n")


def obstruct_home(folder: Path) -> None:
    folder.parent.rmdir()


@pytest.mark.parametrize("obstruct", [obstruct_folder, obstruct_file, obstruct_text, obstruct_home])
def test_a_home_that_cannot_be_written_to_is_told_in_a_line_and_left_alone(
    tmp_path: Path, home: Path, obstruct: Callable[[Path], None]
) -> None:
    obstruct(home / ".paddleflow")
    before = sorted(home.rglob("*"))
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, ENDPOINT, {}, "s3cret%")
    assert hint.startswith(f"The client is not configured, since {users_config()} cannot be written (")
    assert hint.endswith(f"export PADDLEFLOW_CONFIG={layout.client_config}")
    assert "\n" not in hint
    assert sorted(home.rglob("*")) == before
    assert read_entry(layout.client_config.read_text()) == OURS


def test_a_home_of_somebody_elses_gets_no_password_of_ours(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = pwd.getpwuid(os.geteuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: own.__class__((*own[:5], str(home), own.pw_shell)))
    monkeypatch.setenv("HOME", str(somebody_elses(tmp_path)))
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, ENDPOINT, {}, "s3cret%")
    assert read_entry((home / ".paddleflow" / "paddleflow.ini").read_text()) == OURS
    assert hint.endswith(f"export PADDLEFLOW_CONFIG={layout.client_config}")


def somebody_elses(tmp_path: Path) -> Path:
    """A folder of another account's."""
    if os.geteuid() != 0:
        return Path("/")
    folder = tmp_path / "alice"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    return folder
