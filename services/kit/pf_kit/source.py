"""What a class says about its fields, in the source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise


def field_texts(cls: type[object]) -> dict[str, str]:
    """The text that stands below each field of a class, on one line."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    body = [statement for each in tree.body if isinstance(each, ast.ClassDef) for statement in each.body]
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
