"""What pipelines need of others: files, schedules, and whoever draws graphs and writes documents for other systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pf_kit.unit import View
from pf_pipeline.plans.domain import Plan


class Filesystems(Protocol):
    """Filesystems and documents in them, in the name of users."""

    async def find(self, user: str, name: str) -> str:
        """The id of the filesystem that a user means by a name; `owner/name` is that of another owner.

        Raises FilesystemNotFound, FilesystemNotGranted and FilesystemAmbiguous.
        """

    async def text(self, user: str, filesystem_id: str, path: str, longest: int) -> str:
        """A file as text. Raises DocumentUnreadable if it is not there, is longer, or is no text."""


class Uses(Protocol):
    """Who uses pipelines."""

    async def of(self, view: View, pipeline_id: str, version: int) -> Sequence[str]:
        """The names of schedules that are not over and use a version of a pipeline; 0: any of its versions."""


class Form(StrEnum):
    """How a graph is drawn."""

    SVG = "svg"
    MERMAID = "mermaid"


class Drawing(Protocol):
    """Draws graphs."""

    def __call__(self, plan: Plan, form: Form) -> str:
        """The drawing."""


class Target(StrEnum):
    """A system that documents are written for."""

    ARGO = "argo"
    AIRFLOW = "airflow"


class Fidelity(StrEnum):
    """Whether a thing means the same in another system."""

    EMULATED = "emulated"
    """It has the same effect by other means, or nearly."""
    LOST = "lost"
    """It is not there."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of one thing of a document that is not exact."""

    path: str
    """The names on the way to it."""
    fidelity: Fidelity
    message: str
    """What differs."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A document in the words of another system."""

    text: str
    file_name: str
    differences: tuple[Difference, ...]


class Exporting(Protocol):
    """Writes plans for other systems."""

    def __call__(self, plan: Plan, target: Target, *, strict: bool) -> Exported:
        """The plan there. Raises NotExportable if something has no counterpart, or, if strict, is not exact."""
