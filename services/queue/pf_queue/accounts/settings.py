"""What an administrator can choose about accounts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from pf_kit.setting_types import Between, Secret
from pf_queue.accounts.domain import Lifetimes


@dataclass(frozen=True, slots=True)
class AccountSettings:
    """Users and tokens."""

    login_hours: Annotated[float, Between(0.001, 8784)] = 24.0
    """Hours that the token of a login lasts. A day: people log in once a day, and a token left behind somewhere is
    dead on the next."""
    longest_token_days: Annotated[float, Between(0.001, 3660)] = 365.0
    """Days that a token can last at most, whatever is asked for. A year: whoever runs a program must look after its
    token now and then."""
    password_threads: Annotated[int, Between(1, 64)] = 2
    """How many passwords are checked at the same time; each takes a core for some 40 ms and 16 MiB of memory."""
    root_password: Secret | None = None
    """The password that the user root gets when the service starts for the first time. Without it one is made up and
    printed, once."""

    def __post_init__(self) -> None:
        if self.lifetimes.default > self.lifetimes.maximum:
            raise ValueError("login_hours is longer than longest_token_days")

    @property
    def lifetimes(self) -> Lifetimes:
        return Lifetimes(timedelta(hours=self.login_hours), timedelta(days=self.longest_token_days))
