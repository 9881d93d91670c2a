"""Between the messages of LinkService and values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from paddleflow.fs.v1 import link_pb2 as pb
from paddleflow.problems import Violation
from pf_fs.convert import KINDS, place_problem
from pf_fs.domain import Kind
from pf_fs.links.domain import Link
from pf_fs.links.service import LinkDraft
from pf_fs.paths import sub_path, sub_path_violations
from pf_fs.properties import property_violations
from pf_fs.urls import is_served, place_of, scheme_of, url_violations
from pf_kit.fields import MOST_VIOLATIONS, require
from pf_kit.wire import timestamp


def link_message(link: Link) -> pb.Link:
    return pb.Link(
        filesystem_id=link.filesystem_id,
        path=str(link.path),
        url=link.url,
        properties=link.properties,
        secret_properties=link.secrets.names,
        kind=KINDS[link.kind],
        create_time=timestamp(link.create_time),
    )


def link_draft_of(message: pb.Link) -> LinkDraft:
    """The link to be made. InvalidArgument names each field that cannot be; FilesystemKindNotServed too."""
    if found := tuple(_violations(message))[:MOST_VIOLATIONS]:
        raise place_problem(message.url).of(*found)
    return LinkDraft(sub_path(message.path), place_of(message.url), dict(message.properties))


def link_path_of(text: str) -> PurePosixPath:
    """Where a link is. InvalidArgument if none can be there."""
    require(_path_violations("path", text))
    return sub_path(text)


def _violations(message: pb.Link) -> Iterator[Violation]:
    yield from _path_violations("link.path", message.path)
    yield from url_violations("link.url", message.url)
    if is_served(scheme := scheme_of(message.url)):
        yield from property_violations(Kind(scheme), message.properties, "link")


def _path_violations(field: str, text: str) -> Iterator[Violation]:
    yield from sub_path_violations(field, text)
    if not sub_path(text).parts:
        yield Violation(field, "must name a folder in the filesystem, not the filesystem itself")
