"""What keeps a service from starting."""

from __future__ import annotations


class CannotStart(Exception):
    """The service cannot start as it is set up; the text says why, and what to do."""
