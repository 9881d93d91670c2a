"""What users may write of a backend, and what they are told if it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from pf_backends.errors import Malformed
from pf_backends.local.backend import LocalBackend
from pf_backends.opening import Surroundings, open_backend
from pf_backends.s3.backend import S3Backend

GOOD = {"endpoint": "http://store:9000", "accessKey": "AK", "secretKey": "very/secret+"}


def test_an_object_store_is_opened_by_the_names_of_old() -> None:
    properties = GOOD | {"region": "bj", "s3ForcePathStyle": "true", "insecureSkipVerify": "false", "dirMode": "0755"}
    backend = open_backend("s3://bucket/some//path/", properties)
    assert isinstance(backend, S3Backend)
    assert backend.address == "s3://bucket/some/path at http://store:9000"
    backend = open_backend("bos://bucket", GOOD | {"sts": "false", "duration": "60", "acl": "private"})
    assert backend.address == "bos://bucket at http://store:9000"


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("store", "https://store"),
        ("store:9000", "https://store:9000"),
        ("https://store/", "https://store"),
        ("http://store:80", "http://store"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://[2001:db8::1]:9000", "https://[2001:db8::1]:9000"),
    ],
)
def test_an_endpoint_is_a_host(endpoint: str, address: str) -> None:
    assert open_backend("s3://b", {"endpoint": endpoint}).address == f"s3://b at {address}"


NO_ENDPOINTS = ["", "ftp://x", "http://", "http://x/path", "http://u:p@x", "http://x?q", "x:0", "x:99999", "x:", "a b"]
NO_ENDPOINTS += ["x\r\nHost:y", "[x]"]


@pytest.mark.parametrize("endpoint", NO_ENDPOINTS)
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(Malformed, match="endpoint must be a host"):
        open_backend("s3://b", {"endpoint": endpoint})


def test_all_that_is_wrong_is_told_at_once_and_no_secret() -> None:
    wrong = {
        "endpont": "x",
        "accessKey": "AK\r\nX-Evil: 1",
        "sessionToken": "the-token",
        "insecureSkipVerify": "maybe",
        "region": "a b",
        "ca": "nothing",
    }
    with pytest.raises(Malformed) as refused:
        open_backend("s3://host:1/x", wrong)
    words = str(refused.value)
    for expected in (
        "'endpont' is no property; did you mean endpoint?",
        "endpoint must be",
        "secretKey must be given, because accessKey is",
        "insecureSkipVerify must be true or false",
        "region must be",
        "ca must be",
        "must name a bucket",
    ):
        assert expected in words
    assert "the-token" not in words
    assert "Evil" not in words


@pytest.mark.parametrize(
    "url", ["", "s3", "s3:/b", "s3://u:p@b", "s3://b/../c", "s3://b/a\nb", "juicefs://b", "S3://b"]
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(Malformed):
        open_backend(url, GOOD)


def test_a_folder_is_opened(tmp_path: Path) -> None:
    assert isinstance(open_backend(f"local://{tmp_path}", {}), LocalBackend)
    with pytest.raises(FileNotFoundError):
        open_backend(f"local://{tmp_path}/no", {})
    for url in ("local://", "local:///", "local://host/path"):
        with pytest.raises(Malformed, match="absolute path"):
            open_backend(url, {})


@pytest.mark.parametrize("kind", ["cfs", "glusterfs", "afs"])
def test_what_the_machine_has_mounted_is_a_folder(kind: str, tmp_path: Path) -> None:
    backend = open_backend(f"{kind}://host/path", {}, Surroundings(folder=str(tmp_path)))
    backend.put("a", b"")
    assert (tmp_path / "a").exists()
    with pytest.raises(Malformed, match="mount"):
        open_backend(f"{kind}://host/path", {})
