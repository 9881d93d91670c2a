"""AuthService, UserService and GrantService on the wire."""

from __future__ import annotations

from pf_kit.lists import Lists
from pf_queue.accounts.servicer.auth import AuthServicer
from pf_queue.accounts.servicer.grants import GrantServicer
from pf_queue.accounts.servicer.issuer import Issuer
from pf_queue.accounts.servicer.users import UserServicer

__all__ = ["AuthServicer", "GrantServicer", "Issuer", "Lists", "UserServicer"]
