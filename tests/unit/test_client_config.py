"""The user's configuration: the file, the variables over it, and what is made of them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import paddleflow
from paddleflow.config import Config, load_config, write_user
from paddleflow.configured import configured_connection
from paddleflow.connection import Connection
from paddleflow.problems import InvalidArgument
from support.certificates import Authority

FILE = """
[user]
name = root
password = 100%pass
[server]
paddleflow_server_host = example.org
paddleflow_server_port = 1234
"""


AUTHORITY = Authority("ca")
CERTIFICATE = AUTHORITY.certificate
KEY = AUTHORITY.issue(2).key


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "some.ini"
    path.write_text(text)
    return path


def test_the_files_of_the_original_are_read(home: Path) -> None:
    config = load_config(written(home, FILE), {})
    assert (config.address, config.user, config.password) == ("example.org:1234", "root", "100%pass")
    assert not config.tls


def test_without_a_file_there_are_defaults(home: Path) -> None:
    config = load_config(None, {})
    assert config.path == home / ".paddleflow" / "paddleflow.ini"
    assert (config.address, config.user, config.password, config.token) == ("127.0.0.1:8999", "", "", "")


def test_variables_stand_over_the_file(home: Path) -> None:
    environ = {
        "PADDLEFLOW_CONFIG": str(written(home, FILE)),
        "PADDLEFLOW_USER": "alice",
        "PADDLEFLOW_PASSWORD": "p",
        "PADDLEFLOW_TOKEN": "t",
        "PADDLEFLOW_SERVER_PORT": "99",
    }
    config = load_config(None, environ)
    assert (config.address, config.user, config.password, config.token) == ("example.org:99", "alice", "p", "t")


@pytest.mark.parametrize(("user", "secrets"), [("root", ("100%pass", "filed")), ("alice", ("", ""))])
def test_another_user_does_not_take_the_secrets_of_the_file(home: Path, user: str, secrets: tuple[str, str]) -> None:
    file = written(home, FILE.replace("[server]", "token = filed\n[server]"))
    config = load_config(file, {"PADDLEFLOW_USER": user})
    assert (config.user, config.password, config.token) == (user, *secrets)


@pytest.mark.parametrize("address", ["localhost", "host:99999", "http://host:1", "unix:rel", "a\nb:1", "höst:1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidArgument, match="address: "):
        paddleflow.connect(address)
    with pytest.raises(InvalidArgument):
        paddleflow.Client(address.replace(":1", ""), "root", "p", 99999)


@pytest.mark.parametrize("token", ["two\nlines", "two words", "schlüssel", "\udcff"])
def test_a_token_that_is_none_is_refused_and_not_told(token: str) -> None:
    with pytest.raises(InvalidArgument, match="token: ") as raised:
        Connection("localhost:1", token=token)
    assert token not in str(raised.value)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"cert": CERTIFICATE}, "must be given together"),
        ({"key": KEY}, "must be given together"),
        ({"ca": b"CA"}, "ca: holds no certificate"),
        ({"ca": CERTIFICATE[:80]}, "ca: holds no certificate"),
        ({"ca": b"\xff"}, "ca: holds no certificate"),
        ({"ca": KEY}, "ca: holds no certificate"),
        ({"cert": b"no", "key": KEY}, "cert: holds no certificate"),
        ({"cert": CERTIFICATE, "key": CERTIFICATE}, "key: holds no private key"),
    ],
)
def test_files_without_what_tls_needs_are_named(home: Path, files: dict[str, bytes], why: str) -> None:
    for name, content in files.items():
        (home / name).write_bytes(content)
    lines = "".join(f"{name} = {name}\n" for name in files)
    with pytest.raises(InvalidArgument, match=why):
        configured_connection(load_config(written(home, FILE + lines), {}))


def test_a_path_given_stands_over_the_variable(home: Path) -> None:
    assert load_config(written(home, FILE), {"PADDLEFLOW_CONFIG": "/nowhere"}).user == "root"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("::1", "[::1]:8999"),
        ("[::1]", "[::1]:8999"),
        ("unix:/run/pf.sock", "unix:/run/pf.sock"),
        ("10.0.0.1", "10.0.0.1:8999"),
        ("dns:///example.org:77", "dns:///example.org:77"),
        ("ipv4:10.0.0.1:77", "ipv4:10.0.0.1:77"),
    ],
)
def test_a_host_may_be_an_address_of_any_kind(home: Path, host: str, address: str) -> None:
    assert load_config(None, {"PADDLEFLOW_SERVER_HOST": host}).address == address


def test_tls_is_on_if_it_is_said_or_if_certificates_are_named(home: Path) -> None:
    assert load_config(None, {"PADDLEFLOW_TLS": "Yes"}).tls
    config = load_config(written(home, FILE + "ca = ca.pem\n"), {})
    assert (config.tls, config.ca) == (True, home / "ca.pem")
    assert not load_config(None, {"PADDLEFLOW_TLS": "off"}).tls


def test_certificates_are_read_when_a_connection_is_made(home: Path) -> None:
    (home / "ca.pem").write_bytes(CERTIFICATE)
    connection = configured_connection(load_config(written(home, FILE + "ca = ca.pem\n"), {}))
    assert connection.tls is not None
    assert connection.tls.ca == CERTIFICATE


@pytest.mark.parametrize(
    ("text", "environ", "why"),
    [
        ("", {"PADDLEFLOW_CONFIG": "/nowhere/x.ini"}, "there is no file /nowhere/x.ini"),
        ("no sections", {}, "cannot be read"),
        ("[server]\npaddleflow_server_port = many\n", {}, "'many' is not a port number"),
        ("[server]\ntls = perhaps\n", {}, "'perhaps' is neither true nor false"),
        ("[server]\npaddleflow_server_port = 99999\n", {}, "'99999' is not a port number"),
        ("[server]\npaddleflow_server_host = foo bar\n", {}, "'foo bar:8999' is not an address"),
        ("[server]\npaddleflow_server_host = h:1\n", {}, "'h:1' holds a port; write h, and paddleflow_server_port = 1"),
        ("[server]\npaddleflow_server_host = unix:rel\n", {}, "does not name an absolute path"),
        ("[server]\npaddleflow_server_host = http://example.org\n", {}, "is not an address"),
        ("[server]\npaddleflow_server_host = dns:///\n", {}, "names no host"),
        ("", {"PADDLEFLOW_USER": "\udcff"}, "PADDLEFLOW_USER: is not in UTF-8"),
    ],
)
def test_what_is_wrong_is_named(home: Path, text: str, environ: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidArgument, match=why):
        load_config(None if environ else written(home, text), environ)


def test_a_missing_certificate_is_named(home: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"ca\.pem cannot be read: No such file"):
        configured_connection(load_config(written(home, FILE + "ca = ca.pem\n"), {}))


def test_neither_password_nor_token_shows(home: Path) -> None:
    config = load_config(written(home, FILE), {"PADDLEFLOW_TOKEN": "sesame"})
    for shown in (repr(config), repr(configured_connection(config))):
        assert "100%pass" not in shown
        assert "sesame" not in shown


@pytest.mark.parametrize("host", ["unix:/run/pf.sock", "example.org", "::1"])
def test_a_file_written_after_a_login_leads_to_the_same_server(home: Path, host: str) -> None:
    before = load_config(None, {"PADDLEFLOW_SERVER_HOST": host, "PADDLEFLOW_SERVER_PORT": "77"})
    write_user(before, "alice")
    after = load_config(None, {})
    assert (after.address, after.user, after.password) == (before.address, "alice", "")
    assert stat.S_IMODE(after.path.stat().st_mode) == 0o600


def test_a_file_of_the_users_own_is_never_written_over(home: Path) -> None:
    path = written(home, FILE)
    config = load_config(path, {})
    with pytest.raises(FileExistsError):
        write_user(config, "alice")
    assert isinstance(config, Config)
    assert path.read_text() == FILE
