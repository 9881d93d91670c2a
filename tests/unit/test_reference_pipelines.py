"""The reference of documents of pipelines says what the code does."""

from __future__ import annotations

import re

import pytest

from pf_pipeline.documents import keys
from pf_pipeline.documents.reading import read
from pf_pipeline.plans.planning import plan
from pf_pipeline.plans.requests import Request
from reference import pipeline_yaml

PAGE = pipeline_yaml.page()


def test_its_example_is_a_pipeline() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert list(plan(read(example), Request()).entry_points) == ["pick", "press"]


def test_a_key_that_is_not_told_is_noticed() -> None:
    with pytest.raises(LookupError, match="more must be told here"):
        list(pipeline_yaml.section("Steps", "", {**keys.STEP, "more": "more"}, pipeline_yaml.STEP))


def test_every_place_is_told_with_all_its_keys() -> None:
    for known in (keys.DOCUMENT, keys.STEP, keys.DAG, keys.CACHE, keys.RETRY, keys.APPROVAL, keys.MOUNT):
        assert [name for name in known if f"`{name}`" not in PAGE and name not in ("extraFs",)] == []


def test_links_lead_somewhere() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^## (.*)$", PAGE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([a-z-]+)\)", PAGE)) <= headings
