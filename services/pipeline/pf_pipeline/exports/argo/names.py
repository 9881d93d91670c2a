"""Names as Argo and Kubernetes take them."""

from __future__ import annotations

import re
from collections.abc import Container

_DNS = re.compile(r"[^a-z0-9-]+")


def dns_name(text: str, longest: int = 50) -> str:
    """As much of a text as a name in Kubernetes may hold."""
    return _DNS.sub("-", text.lower())[:longest].strip("-") or "x"


def unused(name: str, used: Container[str]) -> str:
    """The name, with a number behind it if it is taken. Names of components may end with `-`, those of Argo not."""
    bare = name.rstrip("-") or "x"
    made, number = bare, 2
    while made in used:
        made, number = f"{bare}-{number}", number + 1
    return made
