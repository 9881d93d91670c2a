"""What an administrator can choose about notices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """Whom the service may tell that a run is over."""

    webhooks: tuple[str, ...] = ()
    """Hosts and networks that webhooks may lead to although their addresses are not public: ``hooks.example.com``,
    ``.example.com`` for all below it, ``10.1.2.3``, ``10.0.0.0/8``. Public addresses are always allowed."""
