"""What object stores write in XML, and what they read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from pf_backends.errors import unreachable

_NAMESPACE = re.compile(rb"\sxmlns=(\"[^\"]*\"|'[^']*')")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def document(body: bytes) -> ET.Element:
    """Reads a document, without the names of its namespaces. Unreachable if it is none."""
    # What could make it large, or lead elsewhere, is said in a DOCTYPE; a zero byte is of an encoding that hides one.
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body or b"\0" in body:
        raise unreachable("", "the answer is no plain XML")
    try:
        return ET.fromstring(_NAMESPACE.sub(b"", body, count=1))  # noqa: S314, see above
    # The latter two: it is in an encoding that nobody knows, or that cannot be read in pieces.
    except (ET.ParseError, LookupError, ValueError) as error:
        raise unreachable("", f"the answer is no XML: {error}") from None


def error_words(body: bytes) -> tuple[str, str]:
    """The code and the words of an error; empty if the body is none."""
    if b"<Error" not in body[:1000]:
        return "", ""
    try:
        read = document(body)
    except OSError:
        return "", ""
    if read.tag != "Error":
        return "", ""
    return read.findtext("Code") or "", read.findtext("Message") or ""


def detail(body: bytes, name: str) -> str:
    """A word of what was answered, as the region where the bucket is; empty if it does not say."""
    try:
        return document(body).findtext(name) or ""
    except OSError:
        return ""


def to_complete(parts: Iterable[tuple[int, str, str]]) -> bytes:
    """Names the parts of an upload by number, tag and checksum, if they have one."""
    inner = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(tag)}</ETag>{_with_checksum(checksum)}</Part>"
        for number, tag, checksum in parts
    )
    return f"<CompleteMultipartUpload>{inner}</CompleteMultipartUpload>".encode()


def _with_checksum(checksum: str) -> str:
    return f"<ChecksumCRC32>{escape(checksum)}</ChecksumCRC32>" if checksum else ""


def to_delete(keys: Iterable[str]) -> bytes:
    """Names objects to be removed."""
    inner = "".join(f"<Object><Key>{_escaped(key)}</Key></Object>" for key in keys)
    return f"<Delete><Quiet>true</Quiet>{inner}</Delete>".encode()


def can_be_named(key: str) -> bool:
    """True if XML has all the characters of a key."""
    return _NOT_IN_XML.search(key) is None


def not_deleted(body: bytes) -> Mapping[str, tuple[str, str]]:
    """By key, the code and the words of each error in the answer to a `to_delete`."""
    return {
        each.findtext("Key") or "": (each.findtext("Code") or "", each.findtext("Message") or "")
        for each in document(body).findall("Error")
    }


def texts(element: ET.Element, *names: str) -> Sequence[str]:
    return [element.findtext(name) or "" for name in names]


def _escaped(key: str) -> str:
    # What reads XML makes one kind of line end of all.
    return escape(key, {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
