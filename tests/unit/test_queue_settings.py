from __future__ import annotations

from base64 import b64encode
from datetime import timedelta

import pytest

from pf_kit.settings import SettingsError, load
from pf_queue.settings import QueueSettings

GIVEN = {
    "PF_QUEUE_DATABASE_DSN": "postgresql://localhost",
    "PF_QUEUE_REDIS": "redis://localhost",
    "PF_QUEUE_SERVER_LISTEN": "127.0.0.1:0,unix:/run/queue.sock",
    "PF_QUEUE_SIGNING_KEY": "pem",
    "PF_QUEUE_CREDENTIAL_KEY": b64encode(bytes(32)).decode(),
}


def settings(**given: str) -> QueueSettings:
    return load(QueueSettings, "PF_QUEUE", GIVEN | {f"PF_QUEUE_{name.upper()}": value for name, value in given.items()})


def test_a_few_settings_are_enough() -> None:
    plain = settings()
    assert plain.server.listen == ("127.0.0.1:0", "unix:/run/queue.sock")
    assert plain.vault_key == bytes(32)
    assert plain.seeds
    assert plain.database.migrate
    assert (plain.kept.events, plain.kept.requests, plain.kept.audit) == (
        timedelta(days=7),
        timedelta(hours=48),
        timedelta(days=400),
    )


@pytest.mark.parametrize("missing", GIVEN)
def test_each_of_the_few_is_needed(missing: str) -> None:
    with pytest.raises(SettingsError, match=rf"^{missing}\w*: must be set"):
        load(QueueSettings, "PF_QUEUE", {name: value for name, value in GIVEN.items() if name != missing})


@pytest.mark.parametrize("key", ["", "not base64!", b64encode(bytes(31)).decode(), b64encode(bytes(33)).decode()])
def test_the_key_of_credentials_must_be_one(key: str) -> None:
    with pytest.raises(SettingsError, match="PF_QUEUE_"):
        settings(credential_key=key)


def test_secrets_are_not_in_what_is_shown() -> None:
    shown = repr(settings(database_dsn="postgresql://u:hush@host", signing_key="hush"))
    assert "hush" not in shown
