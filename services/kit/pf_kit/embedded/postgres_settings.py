"""The configuration files of an embedded Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

USER = "paddleflow"
"""Name of the only role, and of the map that says which accounts of the machine may use it."""

PORT = 5432
"""Names the socket's file; nothing listens on the network."""

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "maintenance_work_mem": "32MB",
    "huge_pages": "off",
    "fsync": "on",
    "max_wal_size": "512MB",
    # Nothing replicates from here: no sender processes, no more in the log than recovery needs.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "jit": "off",
    # A forgotten transaction would hold back clean-up and every reader of events.
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
}

SETTINGS_SINCE: Mapping[int, Mapping[str, str]] = {
    # Asynchronous reads gain nothing on one small machine, and their worker processes cost memory.
    18: {"io_method": "sync"},
}
"""What only newer versions know, by the version that brought it."""


def configuration(major: int, sockets: Path) -> str:
    """postgresql.conf."""
    newer = [settings for version, settings in SETTINGS_SINCE.items() if major >= version]
    known = {**SETTINGS, "unix_socket_directories": str(sockets)}
    for settings in newer:
        known |= settings
    lines = [f"{name} = {_quoted(value)}" for name, value in known.items()]
    return "\n".join(("# Written at each start. To change a setting use ALTER SYSTEM, which wins.", *lines, ""))


def access() -> str:
    """pg_hba.conf: only over the socket, only as the account of the machine that one really is."""
    return f"local all all peer map={USER}\n"


def identities(accounts: Iterable[str]) -> str:
    """pg_ident.conf: the accounts that may connect."""
    return "".join(f'{USER} "{account}" {USER}\n' for account in sorted(set(accounts)))


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
