"""TLS of a server and of its own calls to others, from files that may be replaced while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc

from paddleflow.channel import Tls
from pf_kit.start import CannotStart


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """Certificates, in PEM. New contents of the files are used for new connections, without a restart."""

    certificate: Path | None = None
    """The server's certificate chain. Empty: connections are not encrypted, which is right for Unix sockets and for
    loopback only."""
    key: Path | None = None
    """The private key of the certificate."""
    client_ca: Path | None = None
    """Certificates of those who sign clients' certificates. If set, only clients with such a certificate may connect
    (mutual TLS); they need their tokens all the same."""
    ca: Path | None = None
    """Certificates of those who sign the certificates of other servers, for calls to them. Empty: those that are
    commonly trusted."""

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("the certificate and its key must be set together")
        if self.client_ca is not None and self.certificate is None:
            raise ValueError("client_ca needs a certificate and its key")

    @property
    def enabled(self) -> bool:
        return self.certificate is not None


class _Files:
    """The contents of certificate files, read again when one of them has changed."""

    def __init__(self, certificate: Path, key: Path, client_ca: Path | None) -> None:
        self._certificate = certificate
        self._key = key
        self._client_ca = client_ca
        self._stamp: tuple[int, ...] = ()

    def read(self) -> grpc.ServerCertificateConfiguration:
        self._stamp = self._stamps()
        return grpc.ssl_server_certificate_configuration(
            [(self._key.read_bytes(), self._certificate.read_bytes())],
            root_certificates=self._client_ca.read_bytes() if self._client_ca else None,
        )

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """What to use from now on; None if the files are as they were, or are being replaced at this moment."""
        try:
            return self.read() if self._stamps() != self._stamp else None
        except OSError:
            return None

    def _stamps(self) -> tuple[int, ...]:
        paths = [path for path in (self._certificate, self._key, self._client_ca) if path]
        return tuple(number for path in paths for number in (path.stat().st_mtime_ns, path.stat().st_ino))


def server_credentials(settings: TlsSettings) -> grpc.ServerCredentials | None:
    """What a server proves itself with; None if it does not."""
    if settings.certificate is None or settings.key is None:
        return None
    files = _Files(settings.certificate, settings.key, settings.client_ca)
    try:
        first = files.read()
    except OSError as error:
        raise CannotStart(f"cannot read {error.filename}, which TLS needs: {error.strerror}") from error
    return grpc.dynamic_ssl_server_credentials(
        first,
        files.changed,  # type: ignore[arg-type]  # the stub forgets that None means unchanged
        require_client_authentication=settings.client_ca is not None,
    )


def client_tls(settings: TlsSettings) -> Tls | None:
    """How this process calls other servers of the installation; None without encryption.

    Whoever names those to trust wants to be sure whom tokens are sent to, with or without a certificate of its own.
    """
    if settings.ca is None and settings.certificate is None:
        return None
    ca, certificate, key = (
        path.read_bytes() if path else None for path in (settings.ca, settings.certificate, settings.key)
    )
    return Tls(ca=ca, certificate=certificate, key=key)
