"""The original's calls about pipelines over the typed client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from paddleflow.compat.answers import answer
from paddleflow.compat.runs import document_of, version_number, words
from paddleflow.models.pipelines import Pipeline, PipelineVersion, Source
from paddleflow.original import original_time
from paddleflow.sync import PaddleFlow


@dataclass(frozen=True, slots=True)
class PipelineInfo:
    """A pipeline."""

    pipeline_id: str
    name: str
    username: str
    desc: str
    create_time: str
    update_time: str

    @classmethod
    def of(cls, pipeline: Pipeline) -> PipelineInfo:
        times = original_time(pipeline.create_time), original_time(pipeline.update_time)
        return cls(pipeline.id, pipeline.name, pipeline.owner, pipeline.description, *times)


@dataclass(frozen=True, slots=True)
class PipelineVersionInfo:
    """A version of a pipeline; a list does not tell its document."""

    pipeline_version_id: str
    pipeline_id: str
    fs_name: str
    yaml_path: str
    pipeline_yaml: str
    username: str
    create_time: str
    update_time: str

    @classmethod
    def of(cls, version: PipelineVersion) -> PipelineVersionInfo:
        made = original_time(version.create_time)
        return cls(
            pipeline_version_id=str(version.number),
            pipeline_id=version.pipeline_id,
            fs_name=version.filesystem,
            yaml_path=version.path,
            pipeline_yaml=version.document,
            username=version.author,
            create_time=made,
            update_time=made,
        )


class PipelineCreated(TypedDict):
    """The names of a new pipeline."""

    name: str
    pplID: str
    pplVerID: str


class PipelineUpdated(TypedDict):
    """The names of a new version."""

    pipelineID: str
    pipelineVersionID: str


class PipelineList(TypedDict):
    """A page of pipelines."""

    pipelineList: list[PipelineInfo]
    nextMarker: str | None


class PipelineShown(TypedDict):
    """A pipeline, and a page of its versions."""

    pipelineInfo: PipelineInfo
    pipelineVersionList: list[PipelineVersionInfo]
    nextMarker: str | None


class PipelineVersionShown(TypedDict):
    """A pipeline, and one version with its document."""

    pipelineInfo: PipelineInfo
    pipelineVersionInfo: PipelineVersionInfo


class PipelineCalls:
    """What `Client` does with pipelines."""

    _paddleflow: PaddleFlow

    @answer
    def create_pipeline(
        self,
        fs_name: str | None = None,
        yaml_path: str | None = None,
        desc: str | None = None,
        username: str | None = None,
        yaml_raw: bytes | str | None = None,
    ) -> PipelineCreated:
        """Keeps a document: a text, or a file of the filesystem."""
        made = self._paddleflow.pipelines.create(
            _source(fs_name, yaml_path, yaml_raw), description=desc or "", owner=username or ""
        )
        return {"name": made.pipeline.name, "pplID": made.pipeline.id, "pplVerID": str(made.version.number)}

    @answer
    def list_pipeline(
        self,
        user_filter: str | None = None,
        name_filter: str | None = None,
        max_keys: int | None = None,
        marker: str | None = None,
    ) -> PipelineList:
        """Pipelines, newest first; each filter may be a list with commas."""
        page = self._paddleflow.pipelines.page(
            int(max_keys or 0), marker or "", owners=words(user_filter), names=words(name_filter)
        )
        return {"pipelineList": [PipelineInfo.of(each) for each in page.items], "nextMarker": page.next_token or None}

    @answer
    def show_pipeline(
        self,
        pipeline_id: str,
        fs_filter: str | None = None,
        max_keys: int | None = None,
        marker: str | None = None,
    ) -> PipelineShown:
        """A pipeline and its versions."""
        page = self._paddleflow.pipelines.version_page(
            pipeline_id, int(max_keys or 0), marker or "", filesystems=words(fs_filter)
        )
        return {
            "pipelineInfo": PipelineInfo.of(self._paddleflow.pipelines.get(pipeline_id)),
            "pipelineVersionList": [PipelineVersionInfo.of(each) for each in page.items],
            "nextMarker": page.next_token or None,
        }

    @answer
    def delete_pipeline(self, pipeline_id: str) -> None:
        self._paddleflow.pipelines.delete(pipeline_id)

    @answer
    def update_pipeline(
        self,
        pipeline_id: str,
        fs_name: str | None = None,
        yaml_path: str | None = None,
        username: str | None = None,  # noqa: ARG002 -- a pipeline has one owner, whoever adds versions to it
        desc: str | None = None,
        yaml_raw: bytes | str | None = None,
    ) -> PipelineUpdated:
        """Adds a version; the description changes if one is given."""
        source = _source(fs_name, yaml_path, yaml_raw)
        changed = self._paddleflow.pipelines.update(pipeline_id, source, description=desc)
        return {"pipelineID": changed.pipeline.id, "pipelineVersionID": str(changed.version.number)}

    @answer
    def show_pipeline_version(self, pipeline_id: str, pipeline_version_id: str | int) -> PipelineVersionShown:
        version = self._paddleflow.pipelines.version(pipeline_id, version_number(pipeline_version_id))
        return {
            "pipelineInfo": PipelineInfo.of(self._paddleflow.pipelines.get(pipeline_id)),
            "pipelineVersionInfo": PipelineVersionInfo.of(version),
        }

    @answer
    def delete_pipeline_version(self, pipeline_id: str, pipeline_version_id: str | int) -> None:
        self._paddleflow.pipelines.delete_version(pipeline_id, version_number(pipeline_version_id))


def _source(fs_name: str | None, yaml_path: str | None, raw: bytes | str | None) -> Source:
    return Source(document=document_of(raw), path=yaml_path or "", filesystem=fs_name or "")
