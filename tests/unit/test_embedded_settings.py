"""The configuration of an embedded Postgres."""

from __future__ import annotations

from pathlib import Path

import pytest

from pf_kit.embedded.postgres_settings import access, configuration, identities


def settings(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: value.strip("'") for name, _, value in (line.partition(" = ") for line in lines)}


def test_nothing_listens_on_the_network_and_every_commit_is_on_the_disk() -> None:
    found = settings(configuration(18, Path("/run/pf")))
    assert found["listen_addresses"] == ""
    assert found["fsync"] == "on"
    assert found["unix_socket_permissions"] == "0700"
    assert found["unix_socket_directories"] == "/run/pf"


@pytest.mark.parametrize(("major", "known"), [(15, False), (17, False), (18, True), (19, True)])
def test_what_only_newer_versions_know_is_left_out_of_older_ones(major: int, known: bool) -> None:
    assert ("io_method" in settings(configuration(major, Path("/run")))) == known


def test_a_quote_or_backslash_in_a_path_stays_itself() -> None:
    assert r"unix_socket_directories = '/it''s\\here'" in configuration(18, Path(r"/it's\here"))


def test_only_the_named_accounts_may_connect_each_once() -> None:
    assert access() == "local all all peer map=paddleflow\n"
    assert (
        identities(["root", "postgres", "root"]) == 'paddleflow "postgres" paddleflow\npaddleflow "root" paddleflow\n'
    )
