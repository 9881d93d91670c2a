"""The original's calls about runs, artifacts and cached results, over the typed client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

from paddleflow.compat.answers import answer
from paddleflow.compat.run_infos import ArtifactInfo, RunCacheInfo, RunInfo
from paddleflow.models.artifacts import ArtifactFilter, ArtifactUse, CachedResultFilter
from paddleflow.models.pipelines import Source
from paddleflow.models.runs import FailureStrategy, RunFilter, RunOptions, RunState
from paddleflow.original import member
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.sync import PaddleFlow


class RunList(TypedDict):
    """A page of runs."""

    runList: list[RunInfo]
    nextMarker: str | None


class ArtifactList(TypedDict):
    """A page of artifacts."""

    artifactList: list[ArtifactInfo]
    nextMarker: str | None


class RunCacheList(TypedDict):
    """A page of cached results."""

    runCacheList: list[RunCacheInfo]
    nextMarker: str | None


class RunCalls:
    """What `Client` does with runs."""

    _paddleflow: PaddleFlow

    @answer
    def create_run(
        self,
        fs_name: str | None = None,
        username: str | None = None,
        run_name: str | None = None,
        desc: str | None = None,
        run_yaml_path: str | None = None,
        run_yaml_raw: bytes | str | None = None,
        pipeline_id: str | None = None,
        pipeline_version_id: str | int | None = None,
        param: Mapping[str, object] | None = None,
        disabled: str | Sequence[str] | None = None,
        docker_env: str | None = None,
        failure_options: Mapping[str, str] | str | None = None,
    ) -> str:
        """Runs a document: a text, a version of a pipeline, or a file of the filesystem; returns the id of the run."""
        source = Source(
            document=document_of(run_yaml_raw),
            pipeline_id=pipeline_id or "",
            pipeline_version=version_number(pipeline_version_id),
            path=run_yaml_path or "",
            filesystem=fs_name or "",
        )
        options: RunOptions = {
            "name": run_name or "",
            "description": desc or "",
            "owner": username or "",
            "parameters": param or {},
            "disabled": words(disabled),
            "docker_env": docker_env or "",
            "failure_strategy": _strategy(failure_options),
        }
        return self._paddleflow.runs.create(source, **options).id

    @answer
    def list_run(
        self,
        fs_name: str | None = None,
        username: str | None = None,
        run_id: str | None = None,
        run_name: str | None = None,
        status: str | None = None,
        maxsize: int = 100,
        marker: str | None = None,
    ) -> RunList:
        """Runs, newest first; each filter may be a list with commas."""
        chosen: RunFilter = {
            "filesystems": words(fs_name),
            "owners": words(username),
            "ids": words(run_id),
            "names": words(run_name),
            "states": [member(RunState, word, "status") for word in words(status)],
        }
        page = self._paddleflow.runs.page(maxsize, marker or "", **chosen)
        return {"runList": [RunInfo.of(each) for each in page.items], "nextMarker": page.next_token or None}

    @answer
    def show_run(self, run_id: str) -> RunInfo:
        """A run with all its nodes."""
        return RunInfo.whole(self._paddleflow.runs.get(run_id), self._paddleflow.runs.nodes(run_id))

    @answer
    def stop_run(self, run_id: str, force: bool = False) -> None:
        """Ends what a run does; with `force` also the step that runs at the end."""
        self._paddleflow.runs.stop(run_id, force=force)

    @answer
    def retry_run(self, run_id: str) -> str:
        """Does again what did not succeed; returns the id of the new run."""
        return self._paddleflow.runs.retry(run_id).id

    @answer
    def delete_run(self, run_id: str, check_cache: bool | None = None) -> None:
        """Forgets a run that is over; unless `check_cache` is False, not one whose results others took."""
        self._paddleflow.runs.delete(run_id, keep_if_used=check_cache is not False)

    @answer
    def list_artifact(
        self,
        user_filter: str | None = None,
        fs_filter: str | None = None,
        run_filter: str | None = None,
        type_filter: str | None = None,
        path_filter: str | None = None,
        maxkeys: int | None = None,
        marker: str | None = None,
    ) -> ArtifactList:
        """Which step read or wrote what; types are input and output, paths begin as the filter says."""
        chosen: ArtifactFilter = {
            **_of(user_filter, fs_filter, run_filter),
            "uses": [member(ArtifactUse, word, "type_filter") for word in words(type_filter)],
            "path_prefixes": words(path_filter),
        }
        page = self._paddleflow.artifacts.event_page(int(maxkeys or 0), marker or "", **chosen)
        found = [ArtifactInfo.of(each) for each in page.items]
        return {"artifactList": found, "nextMarker": page.next_token or None}

    @answer
    def list_cache(
        self,
        user_filter: str | None = None,
        fs_filter: str | None = None,
        run_filter: str | None = None,
        max_keys: int | None = None,
        marker: str | None = None,
    ) -> RunCacheList:
        """Results that may be used again."""
        chosen = _of(user_filter, fs_filter, run_filter)
        page = self._paddleflow.artifacts.cached_page(int(max_keys or 0), marker or "", **chosen)
        found = [RunCacheInfo.of(each) for each in page.items]
        return {"runCacheList": found, "nextMarker": page.next_token or None}

    @answer
    def show_cache(self, cache_id: str) -> RunCacheInfo:
        return RunCacheInfo.of(self._paddleflow.artifacts.get_cached(cache_id))

    @answer
    def delete_cache(self, cache_id: str) -> None:
        """Forgets a result, so that it is made again."""
        self._paddleflow.artifacts.delete_cached(cache_id)


def document_of(raw: bytes | str | None) -> str:
    """The text of a document that is given as it is."""
    try:
        return raw.decode() if isinstance(raw, bytes) else raw or ""
    except UnicodeDecodeError as error:
        raise InvalidArgument.of(Violation("yaml_raw", "is not in UTF-8")) from error


def version_number(told: str | int | None) -> int:
    """The version that a text or a number means; 0 for the newest."""
    text = str(told or 0)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InvalidArgument.of(Violation("pipeline_version_id", f"{text[:20]!r} is no number of a version"))
    return int(text)


def words(told: str | Iterable[str] | None) -> list[str]:
    """What a list, or a text with commas, holds."""
    texts = told.split(",") if isinstance(told, str) else told or ()
    return [text.strip() for text in texts if text.strip()]


def _strategy(told: Mapping[str, str] | str | None) -> FailureStrategy:
    word = told.get("strategy") if isinstance(told, Mapping) else told
    return member(FailureStrategy, word, "failure_options") if word else FailureStrategy.UNSPECIFIED


def _of(user: str | None, filesystem: str | None, run: str | None) -> CachedResultFilter:
    return {"owners": words(user), "filesystems": words(filesystem), "run_ids": words(run)}
