"""Settings from the environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest

from pf_kit.server import ServerSettings
from pf_kit.setting_types import Between, Secret
from pf_kit.settings import SettingsError, describe, load, values


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    """A part."""

    dsn: Secret
    """Where the database is."""
    size: Annotated[int, Between(1, 10)] = 3
    """How many connections;
    three are enough."""


@dataclass(frozen=True, slots=True)
class Outer:
    """A whole."""

    inner: Inner
    names: tuple[str, ...] = ("a", "b")
    """Names."""
    folder: Path | None = None
    """A folder."""
    seconds: float = 2.5
    """Seconds."""
    quick: bool = False
    """Whether."""
    colour: Colour = Colour.RED
    """Which."""
    more: tuple[str, ...] = field(default_factory=tuple)
    """More."""

    def __post_init__(self) -> None:
        if self.seconds < 0:
            raise ValueError("seconds must not be negative")


DSN = {"PF_X_INNER_DSN": "postgresql://u:hidden@h/d"}


def mistakes(**environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(Outer, "PF_X", environ)
    return str(caught.value).splitlines()


def test_each_type_is_read() -> None:
    settings = load(
        Outer,
        "PF_X",
        {
            **DSN,
            "PF_X_INNER_SIZE": "10",
            "PF_X_NAMES": "c, d",
            "PF_X_FOLDER": "/data",
            "PF_X_SECONDS": "0.5",
            "PF_X_QUICK": "Yes",
            "PF_X_COLOUR": "blue",
            "OTHER": "is not ours",
        },
    )
    inner = Inner(Secret("postgresql://u:hidden@h/d"), 10)
    assert settings == Outer(inner, ("c", "d"), Path("/data"), 0.5, quick=True, colour=Colour.BLUE)


def test_defaults_hold() -> None:
    assert load(Outer, "PF_X", DSN) == Outer(Inner(Secret("postgresql://u:hidden@h/d")))


def test_an_empty_text_means_none_where_none_may_be() -> None:
    assert load(Outer, "PF_X", {**DSN, "PF_X_FOLDER": ""}).folder is None


def test_a_secret_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "dsn").write_text("from a file\n")
    settings = load(Outer, "PF_X", {"PF_X_INNER_DSN_FILE": str(tmp_path / "dsn")})
    assert settings.inner.dsn.reveal() == "from a file"


def test_all_mistakes_are_told_at_once() -> None:
    assert mistakes(PF_X_INNER_SIZE="11", PF_X_NAME="x", PF_X_QUICK="perhaps", PF_X_COLOUR="green") == [
        "PF_X_INNER_DSN_FILE: must be set: a secret text",
        "PF_X_INNER_SIZE: '11' is not a whole number from 1 to 10",
        "PF_X_QUICK: 'perhaps' is not true or false",
        "PF_X_COLOUR: 'green' is not one of red, blue",
        "PF_X_NAME: no such setting; did you mean PF_X_NAMES?",
    ]


@pytest.mark.parametrize("text", ["", "x", "1.5", "0"])
def test_a_wrong_number_is_refused(text: str) -> None:
    assert mistakes(**DSN, PF_X_INNER_SIZE=text) == [
        f"PF_X_INNER_SIZE: {text!r} is not a whole number from 1 to 10",
    ]


def test_a_check_over_fields_is_told_with_the_prefix() -> None:
    assert mistakes(**DSN, PF_X_SECONDS="-1") == ["PF_X_*: seconds must not be negative"]


def test_a_missing_secret_file_is_told(tmp_path: Path) -> None:
    (line,) = mistakes(PF_X_INNER_DSN_FILE=str(tmp_path / "none"))
    assert line.startswith(f"PF_X_INNER_DSN_FILE: cannot read {tmp_path / 'none'}: ")


def test_a_secret_given_twice_is_refused(tmp_path: Path) -> None:
    assert mistakes(**DSN, PF_X_INNER_DSN_FILE=str(tmp_path)) == [
        "PF_X_INNER_DSN: is set, and PF_X_INNER_DSN_FILE too; set one of them"
    ]


def test_secrets_are_never_shown() -> None:
    settings = load(Outer, "PF_X", DSN)
    assert "hidden" not in repr(settings)
    assert values(settings, "PF_X") == {
        "PF_X_INNER_DSN": "***",
        "PF_X_INNER_SIZE": "3",
        "PF_X_NAMES": "a,b",
        "PF_X_FOLDER": "",
        "PF_X_SECONDS": "2.5",
        "PF_X_QUICK": "false",
        "PF_X_COLOUR": "red",
        "PF_X_MORE": "",
    }


def test_the_reference_is_read_from_the_source() -> None:
    rows = {row.variable: row for row in describe(Outer, "PF_X")}
    assert rows["PF_X_INNER_DSN_FILE"].default is None
    assert rows["PF_X_INNER_SIZE"].text == "How many connections; three are enough."
    assert rows["PF_X_INNER_SIZE"].type == "a whole number from 1 to 10"
    assert rows["PF_X_NAMES"].default == "a,b"
    assert rows["PF_X_FOLDER"].type == "a path, or empty"


def test_every_setting_of_a_server_is_explained() -> None:
    rows = describe(ServerSettings, "PF_QUEUE_SERVER")
    assert {row.variable for row in rows} >= {"PF_QUEUE_SERVER_LISTEN", "PF_QUEUE_SERVER_TLS_KEY"}
    assert not [row.variable for row in rows if not row.text]


def test_half_a_pair_of_certificate_and_key_is_refused() -> None:
    with pytest.raises(SettingsError, match="PF_Q_TLS_\\*: the certificate and its key must be set together"):
        load(ServerSettings, "PF_Q", {"PF_Q_LISTEN": "127.0.0.1:0", "PF_Q_TLS_KEY": "/k"})
