"""What programs import from here in the original."""

from __future__ import annotations

import re


def validate_string_by_regex(string: str, regex: str) -> bool:
    """Whether the text matches, from its beginning on."""
    return re.match(regex, string) is not None
