"""Which filesystems a pipeline is going to use."""

from __future__ import annotations

from pf_pipeline.pipelines.domain import PipelineVersion
from pf_pipeline.uses.finding import names_of


def test_the_filesystems_of_a_pipeline_are_those_of_all_its_steps() -> None:
    document = """
        name: many
        fs_options: {main_fs: {name: main}, extra_fs: [{name: lent}]}
        entry_points:
          all: {entry_points: {one: {command: "true", extra_fs: [{name: inner}]}}}
        post_process: {mail: {command: "true", extra_fs: [{name: lent}, {name: last}]}}
    """
    version = PipelineVersion(pipeline=1, number=1, document=document, digest="", filesystem="main", path="", author="")
    assert names_of(version) == {"main", "lent", "inner", "last"}
