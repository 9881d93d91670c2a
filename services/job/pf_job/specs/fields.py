"""What the fields of a spec may hold: functions that yield a violation for each thing wrong.

Fields are named as in documents: `flavour.cpu`, `flavour.scalarResources.nvidia.com/gpu`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from posixpath import normpath

from paddleflow.problems import Violation
from pf_job.specs.domain import CPU, MEMORY
from pf_kit.fields import shown

LARGEST_AMOUNT = 10**18
LONGEST_TIME = timedelta(days=3650)
MOST_LABELS = 64
MOST_RESOURCES = 64
MOST_VARIABLES = 1000
ANNOTATION_LENGTH = 4096
PATH_LENGTH = 4096
"""Bytes that Linux takes as a path."""
VARIABLE_BYTES = 128 * 1024 - 1
"""Linux takes no longer text as one argument or variable, and ends each with a NUL."""
ENVIRONMENT_BYTES = 512 * 1024

_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", re.ASCII)
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,255}", re.ASCII)
_RESOURCE = re.compile(r"[A-Za-z0-9./_-]{1,128}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def span(field: str, time: timedelta | None, least: timedelta, most: timedelta = LONGEST_TIME) -> Iterator[Violation]:
    """A time that may be left out."""
    if time is not None and not least <= time <= most:
        yield Violation(field, f"must be from {_seconds(least)} to {_seconds(most)}, and is {_seconds(time)}")


def label_pairs(field: str, pairs: Mapping[str, str]) -> Iterator[Violation]:
    """Labels as Kubernetes has them."""
    yield from few_pairs(field, pairs)
    for key, value in _first(pairs):
        yield from _label_key(field, key)
        if value and not _LABEL.fullmatch(value):
            rule = "letters, digits and '-_.', beginning and ending with a letter or digit, at most 63 characters"
            yield Violation(f"{field}.{key[:80]}", f"must be {rule}")


def annotation_pairs(field: str, pairs: Mapping[str, str]) -> Iterator[Violation]:
    yield from few_pairs(field, pairs)
    for key, value in _first(pairs):
        yield from _label_key(field, key)
        if len(value) > ANNOTATION_LENGTH:
            yield Violation(f"{field}.{key[:80]}", f"must have at most {ANNOTATION_LENGTH} characters")
        elif "\0" in value:
            yield Violation(f"{field}.{key[:80]}", "must not contain NUL")


def variables(field: str, env: Mapping[str, str]) -> Iterator[Violation]:
    """Names and values of an environment."""
    if len(env) > MOST_VARIABLES:
        yield Violation(field, f"must have at most {MOST_VARIABLES} variables, and has {len(env)}")
        return
    for name, value in env.items():
        yield from variable_name(field, name)
        if "\0" in value:
            yield Violation(f"{field}.{name[:80]}", "must not contain NUL")
        elif size(name) + size(value) + 1 > VARIABLE_BYTES:
            yield Violation(f"{field}.{name[:80]}", f"must have at most {VARIABLE_BYTES} bytes, the name included")


def variable_name(field: str, name: str) -> Iterator[Violation]:
    if not _VARIABLE.fullmatch(name):
        rule = "begins with a letter or '_', and goes on with letters, digits, '_', '.' and '-'"
        yield Violation(field, f"a name {rule}, at most 256 characters; this is {shown(name)}")


def amounts(field: str, resources: Mapping[str, int]) -> Iterator[Violation]:
    """Names and amounts of resources."""
    if len(resources) > MOST_RESOURCES:
        yield Violation(field, f"must name at most {MOST_RESOURCES} resources, and names {len(resources)}")
        return
    for name, amount in resources.items():
        if not _RESOURCE.fullmatch(name):
            rule = "a resource's name is 1 to 128 letters, digits and './-_'"
            yield Violation(field, f"{rule}, and this is {shown(name)}")
        elif not 0 <= amount <= LARGEST_AMOUNT:
            yield Violation(amount_field(field, name), f"must be from 0 to 10^18, and is {amount}")


def amount_field(field: str, resource: str) -> str:
    """The place of a resource in a flavour."""
    told = {CPU: "cpu", MEMORY: "mem"}.get(resource)
    return f"{field}.{told}" if told else f"{field}.scalarResources.{resource}"


def absolute_path(field: str, path: str) -> Iterator[Violation]:
    """A path that leads from the root to something below it, and never up."""
    if not path.startswith("/"):
        yield Violation(field, "must begin with '/'")
    elif normpath(path) in ("/", "//"):
        yield Violation(field, "must not be '/'")
    yield from _downward(field, path)


def inner_path(field: str, path: str) -> Iterator[Violation]:
    """A path inside of something."""
    if path.startswith("/"):
        yield Violation(field, "must be a path inside the filesystem, and not begin with '/'")
    yield from _downward(field, path)


def size(text: str) -> int:
    """Bytes that it takes on a machine."""
    return len(text.encode(errors="surrogatepass"))


def _downward(field: str, path: str) -> Iterator[Violation]:
    if size(path) > PATH_LENGTH:
        yield Violation(field, f"must have at most {PATH_LENGTH} bytes")
    elif ".." in path.split("/"):
        yield Violation(field, "must not contain '..'")
    elif _CONTROL.search(path):
        yield Violation(field, "must not contain control characters")


def few_pairs(field: str, pairs: Mapping[str, str]) -> Iterator[Violation]:
    """Labels or annotations, of which there are not too many."""
    if len(pairs) > MOST_LABELS:
        yield Violation(field, f"must have at most {MOST_LABELS} pairs, and has {len(pairs)}")


def _first(pairs: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(pairs.items())[:MOST_LABELS]


def _label_key(field: str, key: str) -> Iterator[Violation]:
    prefix, _, name = key.rpartition("/")
    if not _LABEL.fullmatch(name) or ((prefix or key.startswith("/")) and not _is_dns_name(prefix)):
        rule = "a key is at most 63 letters, digits and '-_.', after a name of DNS and '/' if there is a prefix"
        yield Violation(field, f"{rule}; this is {shown(key)}")


def _is_dns_name(text: str) -> bool:
    return len(text) <= 253 and _DNS_NAME.fullmatch(text) is not None


def _seconds(time: timedelta) -> str:
    return f"{time.total_seconds():g}s"
