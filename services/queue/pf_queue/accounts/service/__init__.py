"""What can be done with users, tokens and grants.

Methods that take a `Change` are one step of it: whoever calls them holds the lock `LOCK` of the store.
"""

from __future__ import annotations

from pf_queue.accounts.service.credentials import Credentials
from pf_queue.accounts.service.grants import Grants, Resources
from pf_queue.accounts.service.tokens import Tokens
from pf_queue.accounts.service.users import Users

__all__ = ["Credentials", "Grants", "Resources", "Tokens", "Users"]
