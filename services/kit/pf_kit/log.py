"""Logs: one JSON object a line, never with a secret."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from pf_kit.call import CURRENT
from pf_kit.clock import Clock

MASK = "***"

_SECRET_NAMES = re.compile(r"passw|secret|token$|authorization|credential|private_key|access_key|^dsn$", re.IGNORECASE)
# What looks like a secret wherever it stands: tokens, the values of secret-looking names, passwords in URLs.
_SECRET_TEXTS = (
    (re.compile(r"(?i)\b(bearer)\s+\S+"), rf"\1 {MASK}"),
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"), MASK),
    (
        re.compile(
            r"(?i)\b(\w*(?:password|secret|credential|access_key)\w*\"?'?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;)}]+)"
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s/@]+@"), rf"\1:{MASK}@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), MASK),
)
# What every record has; all else was given as `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def redact(text: str) -> str:
    """The text with everything masked that looks like a secret."""
    for pattern, mask in _SECRET_TEXTS:
        text = pattern.sub(mask, text)
    return text


def redact_value(name: str, value: object) -> object:
    """The value of a field, masked if its name or its text says that it is secret."""
    if _SECRET_NAMES.search(name):
        return MASK
    match value:
        case bool() | int() | float() | None:
            return value
        case Mapping():
            return {str(key): redact_value(str(key), each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [redact_value("", each) for each in value]
        case _:
            return redact(str(value))


class Ration:
    """Allows so many lines in a second, and counts those that are left out."""

    def __init__(self, each_second: int, clock: Clock) -> None:
        self._each_second = each_second
        self._clock = clock
        self._second = 0
        self._written = 0
        self._left_out = 0

    def take(self) -> int | None:
        """How many were left out since the last line, if this one may be written; None if it is left out too."""
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second, self._written = second, 0
        if self._written >= self._each_second:
            self._left_out += 1
            return None
        self._written += 1
        left_out, self._left_out = self._left_out, 0
        return left_out


class JsonFormatter(logging.Formatter):
    """Writes a record with its extra fields, and the call that it belongs to."""

    def __init__(self, service: str) -> None:
        super().__init__()
        self._service = service

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "service": self._service,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        call = CURRENT.get(None)
        if call is not None:
            line |= {"method": call.method, "trace": call.trace}
        line |= {name: redact_value(name, value) for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logging(service: str, level: str, stream: TextIO = sys.stderr) -> None:
    """Makes this process log in JSON; to be called once, before anything else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(service))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
