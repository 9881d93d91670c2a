"""All that is wrong with a document, each thing with the file, the line and the column where it stands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from paddleflow.models.pipelines import DocumentProblem, Source
from paddleflow.problems import DocumentInvalid, InvalidArgument, Problem, Violation

if TYPE_CHECKING:
    from paddleflow.sync import PaddleFlow

USUAL_FILE = "./run.yaml"
"""The file of a filesystem that is meant if nothing is said."""
_PLACE = re.compile(r"(.*) \(line (\d+), column (\d+)\)", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Document:
    """A document, and what people call it."""

    source: Source
    name: str

    @classmethod
    def local(cls, path: str, filesystem: str = "") -> Document:
        """A file of this machine; `-` is the input."""
        try:
            text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
            source = Source(document=text.decode(), filesystem=filesystem)
        except OSError as error:
            raise InvalidArgument.of(Violation("file", f"{path} cannot be read: {error.strerror}")) from error
        except UnicodeDecodeError as error:
            raise InvalidArgument.of(Violation("file", f"{path} is not in UTF-8")) from error
        if not text.strip():
            # Nothing would mean the usual file of the filesystem.
            raise InvalidArgument.of(Violation("file", f"{path} is empty"))
        return cls(source, "the input" if path == "-" else path)

    @classmethod
    def kept(cls, pipeline_id: str, version: int) -> Document:
        """A version of a pipeline; 0 is the newest."""
        source = Source(pipeline_id=pipeline_id, pipeline_version=version)
        return cls(source, f"{pipeline_id}-{version}" if version else pipeline_id)

    def on(self, filesystem: str) -> Document:
        """The same, with this main filesystem."""
        return replace(self, source=replace(self.source, filesystem=filesystem))

    @classmethod
    def stored(cls, filesystem: str, path: str) -> Document:
        """A file of a filesystem."""
        return cls(Source(path=path, filesystem=filesystem), path or USUAL_FILE)


@contextmanager
def telling_all(paddleflow: PaddleFlow, document: Document) -> Iterator[None]:
    """Tells each thing that is wrong with a document in a line of its own, with its place."""
    try:
        yield
    except DocumentInvalid as problem:
        checked = _checked(paddleflow, document)
        known = (_problem(each) for each in problem.violations)
        found = [*checked, *(each for each in known if each not in checked and not (checked and _cut(each)))]
        message = told(document.name, found) if found else problem.message
        raise DocumentInvalid(message, violations=problem.violations) from problem


def told(name: str, problems: Sequence[DocumentProblem]) -> str:
    """A sentence about the one thing that is wrong, or a list."""
    lines = sorted(problems, key=lambda each: (each.line, each.column))
    if len(lines) == 1:
        return line_of(name, lines[0])
    return "\n".join([f"{len(lines)} things are wrong with {name}:", *(f"  {line_of(name, each)}" for each in lines)])


def line_of(name: str, problem: DocumentProblem) -> str:
    """As compilers say it, so that editors find the place."""
    place = f"{name}:{problem.line}:{problem.column}: " if problem.line else ""
    path = f"{problem.path}: " if problem.path else ""
    return f"{place}{path}{problem.message}"


def _checked(paddleflow: PaddleFlow, document: Document) -> Sequence[DocumentProblem]:
    """What the service says if it is asked for all: a refusal holds only so much."""
    try:
        return paddleflow.pipelines.validate(document.source)
    except Problem:
        return ()


def _cut(problem: DocumentProblem) -> bool:
    """True if it only says that there are more."""
    return not problem.path and problem.message.endswith("more problems")


def _problem(violation: Violation) -> DocumentProblem:
    path = "" if violation.field == "file" else violation.field
    if match := _PLACE.fullmatch(violation.description):
        return DocumentProblem(path, match[1], int(match[2]), int(match[3]))
    return DocumentProblem(path, violation.description)
