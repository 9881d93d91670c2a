"""The configuration of the command line client, so that it works as soon as the stack is up."""

from __future__ import annotations

import configparser
import io
from dataclasses import dataclass, replace
from pathlib import Path

from pf_stack.files import write_private
from pf_stack.layout import Layout

SECTIONS = ("user", "server")


@dataclass(frozen=True, slots=True)
class Entry:
    """Where to log in, and as whom."""

    host: str
    port: int
    name: str
    password: str


def users_config() -> Path:
    """The file that the client reads if it is told of no other."""
    return Path.home() / ".paddleflow" / "paddleflow.ini"


def merge(text: str, before: Entry | None, now: Entry) -> str | None:
    """The text with the entry in place of the one we wrote before; None if it is to stay as the user wrote it.

    Other sections stay. An entry counts as a whole: our password must never go to somebody else's server.
    """
    parser = _parser(text)
    if parser is None:
        return None
    if any(parser.has_section(section) for section in SECTIONS):
        found = _entry(parser)
        if found is None or found not in (before, now):
            return None
    parser["user"] = {"name": now.name, "password": now.password}
    parser["server"] = {"paddleflow_server_host": now.host, "paddleflow_server_port": str(now.port)}
    rendered = io.StringIO()
    parser.write(rendered)
    return rendered.getvalue()


def read_entry(text: str) -> Entry | None:
    """The entry in a configuration file; None if it has none, or only a part of one."""
    parser = _parser(text)
    return _entry(parser) if parser is not None else None


def configure_client(layout: Layout, host: str, port: int, password: str | None) -> str:
    """Lets the client reach this stack as root; how to do so, in words.

    A password is known only when the stack starts for the first time; later starts go on with the one written then.
    """
    before = read_entry(_read(layout.client_config))
    if password is not None:
        now = Entry(host, port, "root", password)
    elif before is not None:
        now = replace(before, host=host, port=port)
    else:
        return f"Log in at {host}:{port} with a password that was valid when the back-up was made."
    _write(layout.client_config, before, now)
    if layout.is_default and _write(users_config(), before, now):
        return "The client is configured. Try: paddleflow queue list"
    return f"Let the client use this stack: export PADDLEFLOW_CONFIG={layout.client_config}"


def _write(file: Path, before: Entry | None, now: Entry) -> bool:
    """False if the file holds an entry of the user's own, which stays."""
    text = merge(_read(file), before, now)
    if text is None:
        return False
    if text != _read(file):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link stays one: users keep such files elsewhere.
        write_private(file.resolve(), text.encode())
    return True


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _parser(text: str) -> configparser.ConfigParser | None:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return parser


def _entry(parser: configparser.ConfigParser) -> Entry | None:
    try:
        user, server = parser["user"], parser["server"]
        port = int(server["paddleflow_server_port"])
        return Entry(server["paddleflow_server_host"], port, user["name"], user["password"])
    except (KeyError, ValueError):
        return None
