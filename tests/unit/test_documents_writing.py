"""What is written as YAML is read as the same, by us and by others."""

from __future__ import annotations

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from paddleflow.documents.nodes import Fields, Limits, Listing, Node, parse
from paddleflow.documents.writing import to_yaml

TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=12) | st.text(
    alphabet=" \n\t:#-'\"\\{}[],&*!|>%@`~yesno0123456789._", max_size=12
)
SCALARS = TEXTS | st.booleans() | st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
KEYS = TEXTS.filter(lambda key: key != "<<")
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def plain(node: Node) -> object:
    if isinstance(node, Fields):
        return {name: plain(value) for name, value in node.items.items()}
    return [plain(item) for item in node.items] if isinstance(node, Listing) else node.value


@given(st.dictionaries(KEYS, VALUES, max_size=5))
@example({"a": "line\n  more\n", "b": " x\ny", "c": "x\n\n", "d": "x\n \ny", "e": "\tx\ny", "f": "x\n\ty"})
@example({"a": {"b": [{"c": 1, "d": []}, [[1], {}]]}, "e": [[], {}, "a, b"], "f": 1e-7, "g": 1e22})
@example({"a": "yes", "b": "010", "c": "1:30", "d": "0x1f", "e": "2030-01-01", "f": "a: b", "g": "a #b", "h": "a:"})
def test_what_is_written_is_read_as_the_same(value: dict[str, object]) -> None:
    text = to_yaml(value)
    assert plain(parse(text, Limits(depth=100))) == value


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_others_read_the_same(value: dict[str, object]) -> None:
    assert yaml.safe_load(to_yaml(value)) == value


def test_it_looks_as_if_a_person_had_written_it() -> None:
    value = {
        "name": "tea",
        "entry_points": {
            "boil": {"command": "boil {{water}} --for 3m", "parameters": {"water": "{{tap.litres}}", "hot": 1.5}},
            "pour": {"deps": "boil", "loop_argument": [1, 2, "three"], "command": "for cup; do\n  pour\ndone\n"},
        },
        "fs_options": {"main_fs": {"name": "disk"}, "extra_fs": [{"name": "attic", "read_only": True}]},
        "empty": {},
    }
    assert (
        to_yaml(value)
        == """\
name: tea
entry_points:
  boil:
    command: boil {{water}} --for 3m
    parameters:
      water: "{{tap.litres}}"
      hot: 1.5
  pour:
    deps: boil
    loop_argument: [1, 2, three]
    command: |
      for cup; do
        pour
      done
fs_options:
  main_fs:
    name: disk
  extra_fs:
    - name: attic
      read_only: true
empty: {}
"""
    )
