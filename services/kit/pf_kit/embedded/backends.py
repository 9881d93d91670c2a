"""Both backends, as they lie in a data folder."""

from __future__ import annotations

from pathlib import Path

from pf_kit.embedded import postgres, valkey
from pf_kit.embedded.accounts import Account, backend_account, require_passage, this_account
from pf_kit.embedded.binaries import VALKEY_SERVERS, Binaries, find_postgres, find_valkey
from pf_kit.embedded.copies import copied
from pf_kit.embedded.folders import PASSABLE, own_folder
from pf_kit.embedded.postgres import Postgres
from pf_kit.embedded.processes import vacate
from pf_kit.embedded.valkey import Valkey

BACKENDS = ("postgres", "valkey")
"""Their names."""
PRIVATE = 0o700


def embedded_postgres(home: Path, sockets: Path) -> Postgres:
    """A Postgres with its data below one folder and its socket below another; both are made if they are missing."""
    account = claim_folders(home, sockets)
    binaries = _within_reach(find_postgres(), home, account)
    return Postgres(binaries, home / "postgres", home / "postgres-settings", sockets / "postgres", account)


def embedded_valkey(home: Path, sockets: Path) -> Valkey:
    """A Valkey with its data below one folder and its socket below another; both are made if they are missing."""
    account = claim_folders(home, sockets)
    binaries = _within_reach(find_valkey(), home, account)
    return Valkey(binaries, home / "valkey", sockets / "valkey", account)


def claim_folders(home: Path, sockets: Path) -> Account:
    """Makes the two folders, or sees that they are ours; the account that runs the backends in them."""
    account = backend_account([home / "postgres", home / "valkey"])
    for folder in (home, sockets):
        own_folder(folder, PRIVATE if account == this_account() else PASSABLE)
        require_passage(folder, account)
    return account


async def vacate_backends(home: Path) -> None:
    """Ends what runs on the data below a folder without anybody keeping it."""
    await vacate(home / "postgres", postgres.PROGRAMS, postgres.LEFTOVERS)
    await vacate(home / "valkey", VALKEY_SERVERS, valkey.LEFTOVERS)


def _within_reach(binaries: Binaries, home: Path, account: Account) -> Binaries:
    if account == this_account():
        return binaries
    copies = home / "bin"
    own_folder(copies, PASSABLE)
    return copied(binaries, copies)
