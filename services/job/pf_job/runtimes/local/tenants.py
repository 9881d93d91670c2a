"""Which user each tenant's replicas run as: each one of its own, for ever."""

from __future__ import annotations

import json

from pf_job.runtimes.local import files, layout


class UsersExhausted(Exception):
    """There are more tenants than users to run them as."""


class Tenants:
    """The users of tenants, stored in the data folder."""

    def __init__(self, folder: int, first: int, count: int) -> None:
        self._folder = folder
        self._first = first
        self._count = count
        self._uids: dict[str, int] = json.loads(files.get(folder, layout.TENANTS) or b"{}")

    def uid(self, tenant: str) -> int:
        """Raises UsersExhausted."""
        found = self._uids.get(tenant)
        return self._enrol(tenant) if found is None else found

    def _enrol(self, tenant: str) -> int:
        uid = max((*self._uids.values(), self._first - 1)) + 1
        if uid >= self._first + self._count:
            raise UsersExhausted(f"all {self._count} users for tenants are taken; give the runner more")
        files.put(self._folder, layout.TENANTS, json.dumps({**self._uids, tenant: uid}).encode())
        self._uids[tenant] = uid
        return uid
