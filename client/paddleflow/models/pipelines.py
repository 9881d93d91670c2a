"""Pipelines: documents that say what is to be run in which order, with all their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict


class DrawingForm(StrEnum):
    """How a graph is drawn."""

    UNSPECIFIED = ""
    """As SVG."""
    SVG = "svg"
    MERMAID = "mermaid"
    """Text that Markdown pages show as a picture."""


class ExportTarget(StrEnum):
    """A system that a document is written for."""

    UNSPECIFIED = ""
    ARGO = "argo"
    """A Workflow of Argo Workflows, as YAML."""
    AIRFLOW = "airflow"
    """A DAG of Airflow, as a Python program."""


class Fidelity(StrEnum):
    """Whether a thing means the same in another system."""

    UNSPECIFIED = ""
    EXACT = "exact"
    EMULATED = "emulated"
    """It has the same effect by other means, or nearly."""
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a document comes from.

    If several are given, `document` goes before `pipeline_id`, and that before `path`; if none is, the path is
    ``./run.yaml``.
    """

    document: str = ""
    """The document itself, as YAML or as JSON."""
    pipeline_id: str = ""
    pipeline_version: int = 0
    """0: the newest."""
    path: str = ""
    """A file of the filesystem."""
    filesystem: str = ""
    """The main filesystem by name, or ``owner/name``; empty: the one that the document names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A document with a name, which has versions. All of it is told by the server."""

    id: str
    name: str
    description: str = ""
    owner: str = ""
    newest_version: int = 0
    create_time: datetime | None = None
    update_time: datetime | None = None
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineVersion:
    """A document as it was at one time. It never changes."""

    pipeline_id: str
    number: int
    document: str = ""
    """As it was written; lists do not tell it."""
    digest: str = ""
    """SHA-256 of what it means, however it is written."""
    filesystem: str = ""
    """The main filesystem; empty if there is none."""
    path: str = ""
    """The file it was read from; empty if it was given as it is."""
    author: str = ""
    create_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class VersionedPipeline:
    """A pipeline, and one of its versions."""

    pipeline: Pipeline
    version: PipelineVersion


@dataclass(frozen=True, slots=True)
class DocumentProblem:
    """One thing that is wrong with a document."""

    path: str
    """The names on the way to it."""
    message: str
    line: int = 0
    """From 1; 0 if it is not in one place."""
    column: int = 0


@dataclass(frozen=True, slots=True)
class ExportFinding:
    """What became of one thing of a document in the words of another system."""

    path: str
    fidelity: Fidelity
    message: str = ""
    """What differs."""


@dataclass(frozen=True, slots=True)
class Export:
    """A document in the words of another system."""

    text: str
    file_name: str
    findings: Sequence[ExportFinding] = ()
    """About each thing that is not exact."""


class PipelineFilter(TypedDict, total=False):
    """Which pipelines to list; filters that are given must all match."""

    owners: Sequence[str]
    names: Sequence[str]
