"""The user's configuration: a file, and over it the variables of the environment.

The file is that of the original::

    [user]
    name = root
    password = …
    [server]
    paddleflow_server_host = 127.0.0.1
    paddleflow_server_port = 8999

and may hold more: in ``[user]`` a ``token`` instead of the password, in ``[server]`` ``tls = true``, ``ca``, ``cert``
and ``key`` (paths of PEM files; relative ones are looked up beside the configuration file). The host may be
``unix:/path/of/socket``. Services that are not where they usually are have their addresses in a section of their own::

    [services]
    fs = 127.0.0.1:18998
    job = 127.0.0.1:18997
    pipeline = 127.0.0.1:18996

The filesystem in which the command ``paddle`` stores packages is named in a section of its own::

    [package]
    fs = data

Every key can be given as a variable: PADDLEFLOW_USER, PADDLEFLOW_PASSWORD, PADDLEFLOW_TOKEN,
PADDLEFLOW_SERVER_HOST, PADDLEFLOW_SERVER_PORT, PADDLEFLOW_TLS, PADDLEFLOW_CA, PADDLEFLOW_CERT, PADDLEFLOW_KEY,
PADDLEFLOW_PACKAGE_FS. PADDLEFLOW_FS_SERVER is the address of the service `fs`, PADDLEFLOW_JOB_SERVER that of `job`,
PADDLEFLOW_PIPELINE_SERVER that of `pipeline`. PADDLEFLOW_CONFIG names the file. A PADDLEFLOW_USER who is not the user
of the file takes neither the password nor the token that are in it, and with another server than that of the file its
services do not count.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paddleflow.address import ENTRANCE, SCHEMES, SERVICES, target
from paddleflow.problems import InvalidArgument, Violation

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "8999"

# Variable, section and key of each setting.
_SOURCES = {
    "name": ("PADDLEFLOW_USER", "user", "name"),
    "password": ("PADDLEFLOW_PASSWORD", "user", "password"),
    "token": ("PADDLEFLOW_TOKEN", "user", "token"),
    "host": ("PADDLEFLOW_SERVER_HOST", "server", "paddleflow_server_host"),
    "port": ("PADDLEFLOW_SERVER_PORT", "server", "paddleflow_server_port"),
    "tls": ("PADDLEFLOW_TLS", "server", "tls"),
    "ca": ("PADDLEFLOW_CA", "server", "ca"),
    "cert": ("PADDLEFLOW_CERT", "server", "cert"),
    "key": ("PADDLEFLOW_KEY", "server", "key"),
    "package_fs": ("PADDLEFLOW_PACKAGE_FS", "package", "fs"),
}
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Config:
    """Where the server is, and who calls."""

    path: Path
    """The file; it need not exist."""
    address: str
    """``host:port`` or ``unix:/path/of/socket``."""
    services: Mapping[str, str]
    """The addresses of other services that are told, by name."""
    user: str
    password: str = field(repr=False)
    token: str = field(repr=False)
    tls: bool
    ca: Path | None
    cert: Path | None
    key: Path | None
    package_fs: str
    """The filesystem that packages are stored in; empty: none is named."""


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """The configuration by this file, by the one that PADDLEFLOW_CONFIG names, or by the usual one if it exists."""
    named = path or _path(environ.get("PADDLEFLOW_CONFIG", ""))
    file = named or Path.home() / ".paddleflow" / "paddleflow.ini"
    parser = _read(file, must_exist=named is not None)
    values = _values(parser, environ)
    beside = file.parent
    return Config(
        path=file,
        address=server_address(values["host"] or DEFAULT_HOST, values["port"] or DEFAULT_PORT),
        services=_services(parser, environ),
        user=values["name"],
        password=values["password"],
        token=values["token"],
        tls=_flag(values["tls"]) or any(values[name] for name in ("ca", "cert", "key")),
        ca=_path(values["ca"], beside),
        cert=_path(values["cert"], beside),
        key=_path(values["key"], beside),
        package_fs=values["package_fs"],
    )


def write_user(config: Config, user: str) -> None:
    """Writes a new configuration file for this user, who logs in with a token; fails if there is a file."""
    host, _, port = (config.address, "", "") if config.address.startswith(SCHEMES) else config.address.rpartition(":")
    lines = ["[user]", f"name = {user}", "[server]", f"paddleflow_server_host = {host.strip('[]')}"]
    config.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(config.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join([*lines, *([f"paddleflow_server_port = {port}"] if port else []), ""]))


def _read(file: Path, *, must_exist: bool) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(encoding="utf-8"), source=str(file))
    except FileNotFoundError:
        if must_exist:
            raise _refused("config", f"there is no file {file}; write it, or correct PADDLEFLOW_CONFIG") from None
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise _refused("config", f"{file} cannot be read: {error}") from error
    return parser


def _values(parser: configparser.RawConfigParser, environ: Mapping[str, str]) -> dict[str, str]:
    written = {name: _written(parser, name) for name in _SOURCES}
    given = {name: environ.get(variable, "") for name, (variable, _, _) in _SOURCES.items()}
    if given["name"] not in ("", written["name"]):
        # What the file proves is that the user of the file calls.
        written |= {"password": "", "token": ""}
    return {name: _text(_SOURCES[name][0], given[name] or written[name]) for name in _SOURCES}


def _services(parser: configparser.RawConfigParser, environ: Mapping[str, str]) -> dict[str, str]:
    # The password would go where the file says otherwise, though the server is another one.
    moved = any(environ.get(_SOURCES[name][0], "") not in ("", _written(parser, name)) for name in ("host", "port"))
    others = [name for name in SERVICES if name != ENTRANCE]
    found = {name: "" if moved else parser.get("services", name, fallback="").strip() for name in others}
    given = {name: environ.get(f"PADDLEFLOW_{name.upper()}_SERVER", "") for name in others}
    addresses = {name: _text(name, given[name] or found[name]) for name in others}
    return {name: _address(name, address) for name, address in addresses.items() if address}


def _written(parser: configparser.RawConfigParser, name: str) -> str:
    """What the file says."""
    _, section, key = _SOURCES[name]
    return parser.get(section, key, fallback="").strip()


def _text(variable: str, value: str) -> str:
    """The value, if it is text: bytes of the environment that are none come as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _refused(variable, "is not in UTF-8") from error
    return value


def server_address(host: str, port: str) -> str:
    """The address of the server; a host that is one already, as in ``unix:/path/of/socket``, has no port."""
    if not host.startswith(SCHEMES):
        name, _, told = host.partition(":")
        if told.isdecimal():
            apart = f"write {name}, and paddleflow_server_port = {told}"
            raise _refused("paddleflow_server_host", f"{host!r} holds a port; {apart}")
        if not (port.isdecimal() and port.isascii() and 0 < int(port[:6]) < 65536):
            raise _refused("paddleflow_server_port", f"{port!r} is not a port number")
        host = f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"
    return _address("paddleflow_server_host", host)


def _address(field: str, address: str) -> str:
    try:
        target(address)
    except ValueError as error:
        raise _refused(field, str(error)) from error
    return address


def _flag(word: str) -> bool:
    if word.lower() not in _WORDS | {"": False}:
        raise _refused("tls", f"{word!r} is neither true nor false")
    return _WORDS.get(word.lower(), False)


def _path(text: str, beside: Path = Path()) -> Path | None:
    return beside / Path(text).expanduser() if text else None


def _refused(field: str, description: str) -> InvalidArgument:
    return InvalidArgument.of(Violation(field, description))
