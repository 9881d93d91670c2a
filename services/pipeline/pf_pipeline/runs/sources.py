"""Documents of runs, from wherever pipelines find them."""

from __future__ import annotations

from pf_kit.unit import Database
from pf_pipeline.pipelines import sources
from pf_pipeline.runs.domain import Source
from pf_pipeline.runs.ports import Found, Wanted


class GivenDocuments:
    """Fulfils `Documents`."""

    def __init__(self, *, database: Database, documents: sources.Documents) -> None:
        self._database = database
        self._documents = documents

    async def find(self, owner: str, wanted: Wanted) -> Found:
        asked = sources.Source(
            document=wanted.document,
            pipeline_id=wanted.pipeline_id,
            pipeline_version=wanted.pipeline_version,
            path=wanted.path,
            filesystem=wanted.filesystem,
        )
        given = await self._documents.read(self._database.newest, owner, asked)
        return Found(text=given.text, source=_source(given), filesystem=wanted.filesystem)


def _source(given: sources.Given) -> Source:
    if given.version is None:
        return Source(document=not given.path, path=given.path)
    return Source(pipeline_id=given.pipeline_id, pipeline_version=given.version.number)
