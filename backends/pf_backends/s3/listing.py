"""Lists objects, as folders and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from pf_backends.entries import Entry, Kind, Page, Upload
from pf_backends.errors import unreachable
from pf_backends.s3.calls import Ask, Caller
from pf_backends.s3.documents import document, texts
from pf_backends.s3.keys import Keys, file_entry, folder_entry, time_of_list
from pf_backends.s3.remembered import Remembered

_MOST = 1000
"""Keys of a page, which stores allow."""
Read = Callable[[str], str]


def inside(caller: Caller, keys: Keys, remembered: Remembered, folder: str, rest: str, limit: int) -> Page:
    """What is in a folder."""
    said = _said(caller, folder, keys.inside(folder), rest, limit, delimiter="/")
    return _onward(folder, rest, remembered.page(said, partial(_inside, keys, folder)))


def _inside(keys: Keys, folder: str, said: bytes) -> Page:
    root = document(said)
    read = _reader(root)
    files = {entry.path: entry for entry in _files(root, keys, read)}
    folders = {entry.path: entry for entry in _folders(root, keys, read)}
    # An object and a folder of one name: the object is what is found by the name.
    return Page(list((folders | files).values()), _rest(folder, root))


def below(caller: Caller, keys: Keys, folder: str, rest: str, limit: int) -> Page:
    """The files below a folder, and the folders that have markers."""
    root = _listed(caller, folder, keys.inside(folder), rest, limit)
    read = _reader(root)
    found = (_entry(keys, read(key), *facts) for key, *facts in _told(root, "Key", "Size", "LastModified", "ETag"))
    entries = [entry for entry in found if entry is not None and entry.path != folder]
    return _onward(folder, rest, Page(entries, _rest(folder, root)))


def first_below(caller: Caller, keys: Keys, folder: str, limit: int = 1) -> list[str]:
    """The first keys below a folder, among them that of its marker."""
    root = _listed(caller, folder, keys.inside(folder), "", limit)
    read = _reader(root)
    return [read(key) for (key,) in _told(root, "Key")]


def uploads(caller: Caller, keys: Keys, folder: str) -> Iterator[Upload]:
    """The uploads under way below a folder."""
    marker = ("", "")
    while True:
        query = [("uploads", ""), ("prefix", keys.inside(folder)), ("encoding-type", "url")]
        query += [
            (name, value) for name, value in zip(("key-marker", "upload-id-marker"), marker, strict=True) if value
        ]
        root = document(caller.call(Ask("GET", folder, query=query)).body)
        read = _reader(root)
        for each in root.findall("Upload"):
            key, upload, begun = texts(each, "Key", "UploadId", "Initiated")
            path = keys.path(read(key))
            if path is not None:
                yield Upload(path, upload, time_of_list(begun))
        following = texts(root, "NextKeyMarker", "NextUploadIdMarker")
        before, marker = marker, (read(following[0]), following[1])
        if root.findtext("IsTruncated") != "true" or marker == before:
            return


def _listed(caller: Caller, folder: str, prefix: str, rest: str, limit: int) -> ET.Element:
    return document(_said(caller, folder, prefix, rest, limit))


def _said(caller: Caller, folder: str, prefix: str, rest: str, limit: int, delimiter: str = "") -> bytes:
    query = [("list-type", "2"), ("encoding-type", "url"), ("max-keys", str(min(limit, _MOST)))]
    told = (("prefix", prefix), ("delimiter", delimiter), ("continuation-token", rest))
    query += [(name, value) for name, value in told if value]
    return caller.call(Ask("GET", folder, query=query)).body


def _files(root: ET.Element, keys: Keys, read: Read) -> Iterator[Entry]:
    for key, *facts in _told(root, "Key", "Size", "LastModified", "ETag"):
        entry = _entry(keys, read(key), *facts)
        if entry is not None and entry.kind is Kind.FILE:
            yield entry


def _entry(keys: Keys, key: str, size: str, modified: str, etag: str) -> Entry | None:
    """What an object is; None if it can have no name here. The markers of folders end with a slash."""
    path = keys.path(key.removesuffix("/"))
    if path is None or key.endswith("/"):
        return None if path is None else folder_entry(path)
    return file_entry(path, size, time_of_list(modified), etag)


def _folders(root: ET.Element, keys: Keys, read: Read) -> Iterator[Entry]:
    for each in root.findall("CommonPrefixes"):
        path = keys.path(read(each.findtext("Prefix") or "").removesuffix("/"))
        if path is not None:
            yield folder_entry(path)


def _told(root: ET.Element, *names: str) -> Iterator[list[str]]:
    for each in root.findall("Contents"):
        yield [each.findtext(name) or "" for name in names]


def _rest(folder: str, root: ET.Element) -> str:
    if root.findtext("IsTruncated") != "true":
        return ""
    rest = root.findtext("NextContinuationToken")
    if not rest:
        raise unreachable(folder, "the store tells only some of what is there, and not how to ask for the rest")
    return rest


def _onward(folder: str, rest: str, page: Page) -> Page:
    """A page that was asked for so. Unreachable if the one that follows would be the same again, and so on for ever."""
    if rest and page.rest == rest:
        raise unreachable(folder, "the store goes on with its list where it was before")
    return page


def _reader(root: ET.Element) -> Read:
    """What keys were encoded as: characters that XML does not have would break it otherwise."""
    return unquote_plus if (root.findtext("EncodingType") or "").lower() == "url" else str
