"""The configuration of the command line client, so that it works as soon as the stack is up."""

from __future__ import annotations

import configparser
import io
import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

from pf_stack.endpoints import Endpoint
from pf_stack.files import write_private
from pf_stack.layout import Layout

SECTIONS = ("user", "server", "services")


@dataclass(frozen=True, slots=True)
class Entry:
    """Where to log in, and as whom."""

    host: str
    """`unix:` and the path of a socket, or the name of a host."""
    port: str
    """Of a host; empty for a socket."""
    name: str
    password: str
    services: Mapping[str, str] = field(default_factory=dict)
    """Where the other services are, by name."""


def users_config() -> Path:
    """The file that the client of this account reads if it is told of no other.

    A HOME of somebody else's, as `sudo` may leave it, is no place for a password of ours.
    """
    home = Path.home()
    if _is_anothers(home):
        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    return home / ".paddleflow" / "paddleflow.ini"


def _is_anothers(home: Path) -> bool:
    try:
        return home.stat().st_uid != os.geteuid()
    except OSError:
        return False


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
    port = {"paddleflow_server_port": now.port} if now.port else {}
    parser["server"] = {"paddleflow_server_host": now.host, **port}
    parser.remove_section("services")
    if now.services:
        parser["services"] = now.services
    rendered = io.StringIO()
    parser.write(rendered)
    return rendered.getvalue()


def read_entry(text: str) -> Entry | None:
    """The entry in a configuration file; None if it has none, or only a part of one."""
    parser = _parser(text)
    return _entry(parser) if parser is not None else None


def configure_client(layout: Layout, endpoint: Endpoint, others: Mapping[str, Endpoint], password: str | None) -> str:
    """Lets the client reach this stack as root; how to do so, in words.

    It calls the Unix socket: a port of the loopback address can be somebody else's while the stack is down, who would
    be told the password. A password is known only when the stack starts for the first time; later starts go on with the
    one written then.
    """
    before = read_entry(_read(layout.client_config))
    services = {name: other.target for name, other in others.items()}
    if password is not None:
        now = Entry(endpoint.target, "", "root", password, services)
    elif before is not None:
        now = replace(before, host=endpoint.target, port="", services=services)
    else:
        return f"Log in at {endpoint.address} with a password that was valid when the back-up was made."
    _write(layout.client_config, before, now)
    use = f"export PADDLEFLOW_CONFIG={quote(str(layout.client_config))}"
    return _configure_user(before, now, use) if layout.is_default else f"Let the client use this stack: {use}"


def _configure_user(before: Entry | None, now: Entry, use: str) -> str:
    """Lets the user's own client reach the stack as far as that is possible, which the stack does not depend on."""
    file = users_config()
    try:
        written = _write(file, before, now)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not in UTF-8"
        return f"The client is not configured, since {file} cannot be written ({reason}): {use}"
    if not written:
        return f"Let the client use this stack: {use}"
    if file.parents[1] != Path.home():
        return f"The client is configured in {file}, which is not below $HOME; from here: {use}"
    return "The client is configured. Try: paddleflow queue list"


def _write(file: Path, before: Entry | None, now: Entry) -> bool:
    """False if the file holds an entry of the user's own, which stays."""
    held = _read(file)
    text = merge(held, before, now)
    if text is None:
        return False
    if text != held:
        # A home that does not exist is not made.
        file.parent.mkdir(mode=0o700, exist_ok=True)
        # A link stays one: users keep such files elsewhere.
        write_private(file.resolve(), text.encode())
    return True


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


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
        port = server.get("paddleflow_server_port", "")
        services = dict(parser["services"]) if parser.has_section("services") else {}
        return Entry(server["paddleflow_server_host"], port, user["name"], user["password"], services)
    except KeyError:
        return None
