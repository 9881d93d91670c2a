"""Dockerfiles are read as engines read them, and what is not known is refused."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from kube.images import Image, write
from kube.recipes import NotUnderstood, Stage, Step, read
from support.repository import ROOT

TEXT = """\
# What it is.
FROM debian:bookworm-slim AS build
ENV A=1 B="two words"
RUN first && \\
    second
WORKDIR /src
COPY one two ./

FROM debian:bookworm-slim
COPY --from=build /opt/a /opt/b
ENV PATH=/opt/bin:$A
ENV PATH=/first:$PATH
LABEL title="A title"
USER 10001:10001
CMD ["a", "b"]
"""


def test_stages_have_steps_in_their_order() -> None:
    build, last = read(TEXT)
    told = {"A": "1", "B": "two words"}
    assert (build.name, build.base) == ("build", "debian:bookworm-slim")
    assert build.steps == (
        Step("RUN", ("first &&      second",), variables=told),
        Step("COPY", ("one", "two", "./"), folder="/src"),
    )
    assert last.steps == (Step("COPY", ("/opt/a", "/opt/b"), source="build"),)


def test_settings_are_those_of_containers() -> None:
    assert read(TEXT)[1].settings == {
        "Labels": {"title": "A title"},
        "User": "10001:10001",
        "Cmd": ["a", "b"],
        "Env": ["PATH=/first:/opt/bin:$A"],
    }


@pytest.mark.parametrize("line", ["VOLUME /data", "CMD a b", "COPY --chown=1 a b", "ADD a b"])
def test_what_is_not_known_is_refused(line: str) -> None:
    with pytest.raises(NotUnderstood):
        read(f"FROM debian\n{line}\n")


@pytest.mark.parametrize("name", ["csi", "fuse"])
def test_the_images_of_the_project_are_understood(name: str) -> None:
    stages = read((ROOT / "deploy" / "docker" / f"{name}.Dockerfile").read_text())
    copied = [word for stage in stages for step in stage.steps if is_of_project(step) for word in step.words[:-1]]
    assert [word for word in copied if not (ROOT / word).exists()] == []
    assert user_of(stages[-1]) == "10001:10001"


def test_an_archive_names_what_it_has(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        tar.add(__file__, "file")
    write(Image(("a:1", "b:2"), layer, {"User": "1"}), tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as tar:
        (manifest,) = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
        configuration = json.load(tar.extractfile(manifest["Config"]))  # type: ignore[arg-type]
        assert set(tar.getnames()) == {"manifest.json", manifest["Config"], *manifest["Layers"]}
    assert manifest["RepoTags"] == ["a:1", "b:2"]
    assert configuration["config"] == {"User": "1"}
    assert configuration["rootfs"]["diff_ids"] == [f"sha256:{manifest['Layers'][0].split('/')[0]}"]


def is_of_project(step: Step) -> bool:
    return step.kind == "COPY" and not step.source


def user_of(stage: Stage) -> object:
    return stage.settings["User"]
