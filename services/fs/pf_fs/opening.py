"""Opens backends by the URLs and properties of filesystems."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from pf_backends.errors import Malformed
from pf_backends.port import Backend
from pf_backends.reach import Reach
from pf_backends.s3.backend import S3Backend
from pf_backends.s3.settings import Keys, S3Settings
from pf_backends.wire.messages import Endpoint
from pf_fs.domain import Kind
from pf_fs.properties import endpoint_host
from pf_fs.urls import Place, place_of

DEADLINE = 12.0
"""Seconds for what a server is asked: less than a call may last."""
_REGION = "us-east-1"


def open_backend(url: str, properties: Mapping[str, str], reach: Reach) -> Backend:
    """The backend of a place behind a server. Raises Malformed."""
    place = place_of(url)
    if place.kind not in (Kind.S3, Kind.BOS):
        raise Malformed(f"filesystems of kind {place.kind} cannot be opened by this service yet")
    return S3Backend(_s3_settings(place, properties, reach))


def _s3_settings(place: Place, properties: Mapping[str, str], reach: Reach) -> S3Settings:
    return S3Settings(
        _endpoint(properties["endpoint"]),
        place.authority,
        str(place.path).strip("/"),
        scheme=place.kind,
        region=properties.get("region", _REGION),
        path_style=properties.get("s3ForcePathStyle", "true") == "true",
        keys=_keys(properties),
        verify=properties.get("insecureSkipVerify", "false") != "true",
        acl=properties.get("acl", ""),
        reach=reach,
        deadline=DEADLINE,
    )


def _keys(properties: Mapping[str, str]) -> Keys | None:
    if "accessKey" not in properties:
        return None
    return Keys(properties["accessKey"], properties["secretKey"], properties.get("sessionToken", ""))


def _endpoint(text: str) -> Endpoint:
    host = endpoint_host(text)
    if host is None:
        raise Malformed("endpoint names no host")
    tls = urlsplit(text).scheme != "http"
    return Endpoint(host.name, host.port or (443 if tls else 80), tls)
