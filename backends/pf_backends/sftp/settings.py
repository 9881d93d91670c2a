"""What must be known to reach files over SSH."""

from __future__ import annotations

from dataclasses import dataclass, field

from pf_backends.reach import ANYWHERE, Reach


@dataclass(frozen=True, slots=True)
class SftpSettings:
    """A server, who calls, and where the files are."""

    host: str
    port: int
    user: str
    path: str = ""
    """The folder that is the top, without slashes around it, from the root of the server on."""
    password: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    """In PEM or as OpenSSH writes it."""
    host_key: str = ""
    """The server's, as in ``SHA256:…``, or as OpenSSH writes public keys. Empty: the one that it has at first."""
    reach: Reach = ANYWHERE
    deadline: float = 60.0
    """Seconds for a call, beside the time that its bytes take."""
    slowest: int = 1 << 20
    """Bytes per second: what takes longer than that, and the deadline, has failed."""

    @property
    def address(self) -> str:
        """What people call it."""
        return f"sftp://{self.user}@{self.host}:{self.port}/{self.path}"
