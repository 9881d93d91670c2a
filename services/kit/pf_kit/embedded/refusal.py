"""What is said when this machine does not let a backend run."""

from __future__ import annotations


class Refusal(Exception):
    """Something stands in the way that only the user can clear."""

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        """What to do about it: a command where there is one, else a sentence."""
        super().__init__(f"{what}\n{remedy}")
