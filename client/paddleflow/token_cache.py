"""Tokens of logins, kept in the user's home for the next command."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# A token about to end is as good as none: the call it is for takes time as well.
MARGIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class FileTokenCache:
    """One file for each server and user, readable by its owner only.

    Being a cache, it never fails: what cannot be read is not there, what cannot be written is not kept.
    """

    folder: Path
    address: str
    user: str

    @property
    def path(self) -> Path:
        digest = hashlib.sha256(f"{self.user}\0{self.address}".encode()).hexdigest()[:32]
        return self.folder / f"{digest}.json"

    def read(self) -> str:
        try:
            kept = json.loads(self.path.read_text())
            return str(kept["secret"]) if float(kept["expires"]) > time.time() + MARGIN_SECONDS else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def write(self, secret: str, expires: float) -> None:
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # mkstemp makes the file 0600 from the start; renaming makes the change whole.
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            written = Path(name)
            try:
                with os.fdopen(handle, "w") as file:
                    json.dump({"secret": secret, "expires": expires, "server": self.address, "user": self.user}, file)
                written.replace(self.path)
            finally:
                # Still there only if it could not be written wholly, and then it may hold the secret.
                written.unlink(missing_ok=True)

    def drop(self, secret: str) -> None:
        if self.read() == secret:
            with contextlib.suppress(OSError):
                self.path.unlink()
