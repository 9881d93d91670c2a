"""Objects that a message holds as they are."""

from __future__ import annotations

import json
from pathlib import Path

from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from paddleflow.jobs.documents import read_spec
from paddleflow.jobs.render import to_yaml
from paddleflow.structs import LARGEST_WHOLE, plain
from paddleflow.wire.job_specs import spec_from_wire

WHOLE = st.integers(-LARGEST_WHOLE, LARGEST_WHOLE)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_whole_numbers_are_written_as_such(told: dict[str, object]) -> None:
    message = ParseDict(told, Struct())
    assert json.dumps(plain(message)) == json.dumps(told, sort_keys=True)


def test_fractions_stay_fractions() -> None:
    message = Struct()
    message.update({"ratio": 0.5, "huge": 1e300})
    assert plain(message) == {"ratio": 0.5, "huge": 1e300}


def test_what_an_object_of_kubernetes_counts_is_shown_as_it_was_written() -> None:
    spec = read_spec((Path(__file__).parents[1] / "data" / "jobs" / "spark.json").read_bytes())
    template = spec_from_wire(spec).extension_template
    assert "cores: 2\n" in to_yaml(spec)
    assert '{"cores": 2, "env": ' in json.dumps(template)
