"""Documents, as whoever takes runs wants them."""

from __future__ import annotations

from dataclasses import dataclass

from pf_kit.unit import Database
from pf_pipeline.owners import Owner
from pf_pipeline.pipelines import sources
from pf_pipeline.runs.domain import Source
from pf_pipeline.runs.ports import Found, Wanted


@dataclass(frozen=True, slots=True)
class RunDocuments:
    """Fulfils `Documents` of runs."""

    database: Database
    documents: sources.Documents

    async def find(self, owner: Owner, wanted: Wanted) -> Found:
        asked = sources.Source(
            document=wanted.document,
            pipeline_id=wanted.pipeline_id,
            pipeline_version=wanted.pipeline_version,
            path=wanted.path,
            filesystem=wanted.filesystem,
        )
        given = await self.documents.read(self.database.newest, owner, asked)
        version = given.version.number if given.version else 0
        source = Source(
            document=bool(wanted.document), pipeline_id=given.pipeline_id, pipeline_version=version, path=given.path
        )
        return Found(text=given.text, source=source, filesystem=wanted.filesystem)
