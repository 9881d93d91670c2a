"""The configuration of the client."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pf_stack.client_config import Entry, configure_client, merge, read_entry
from pf_stack.layout import Layout

OURS = Entry("127.0.0.1", 8999, "root", "s3cret%")
MOVED = Entry("127.0.0.1", 20001, "root", "s3cret%")
USERS = "[user]\nname = alice\npassword = mine\n\n[server]\npaddleflow_server_host = example.org\n"


def test_an_entry_is_written_into_an_empty_file_and_read_again() -> None:
    text = merge("", None, OURS)
    assert text is not None
    assert read_entry(text) == OURS


@settings(deadline=None)
@given(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1))
def test_any_password_is_read_as_it_was_written(password: str) -> None:
    entry = Entry("127.0.0.1", 8999, "root", password)
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
    return tmp_path / "home"


def test_the_default_data_folder_configures_the_users_client(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, "127.0.0.1", 8999, "s3cret%")
    file = home / ".paddleflow" / "paddleflow.ini"
    assert read_entry(file.read_text()) == OURS == read_entry(layout.client_config.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert "paddleflow queue list" in hint


def test_a_later_start_moves_the_entry_to_the_new_port(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    configure_client(layout, "127.0.0.1", 8999, "s3cret%")
    configure_client(layout, "127.0.0.1", 20001, None)
    assert read_entry((home / ".paddleflow" / "paddleflow.ini").read_text()) == MOVED


def test_the_users_own_entry_stays_and_the_hint_names_ours(tmp_path: Path, home: Path) -> None:
    file = home / ".paddleflow" / "paddleflow.ini"
    file.parent.mkdir(parents=True)
    file.write_text(USERS)
    layout = Layout(tmp_path / "data", is_default=True)
    hint = configure_client(layout, "127.0.0.1", 8999, "s3cret%")
    assert file.read_text() == USERS
    assert hint.endswith(f"export PADDLEFLOW_CONFIG={layout.client_config}")


def test_another_data_folder_leaves_the_home_alone(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=False)
    assert str(layout.client_config) in configure_client(layout, "127.0.0.1", 8999, "s3cret%")
    assert not home.exists()
    assert read_entry(layout.client_config.read_text()) == OURS


def test_without_a_known_password_nothing_is_written(tmp_path: Path, home: Path) -> None:
    layout = Layout(tmp_path / "data", is_default=True)
    assert "127.0.0.1:8999" in configure_client(layout, "127.0.0.1", 8999, None)
    assert not layout.client_config.exists()
    assert not home.exists()


def test_a_file_that_is_a_link_stays_one(tmp_path: Path, home: Path) -> None:
    real = tmp_path / "dotfiles.ini"
    real.write_text("")
    file = home / ".paddleflow" / "paddleflow.ini"
    file.parent.mkdir(parents=True)
    file.symlink_to(real)
    configure_client(Layout(tmp_path / "data", is_default=True), "127.0.0.1", 8999, "s3cret%")
    assert file.is_symlink()
    assert read_entry(real.read_text()) == OURS
