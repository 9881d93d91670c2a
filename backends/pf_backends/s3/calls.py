"""Calls to an object store: signed, and made again when that may help."""

from __future__ import annotations

import errno
import hashlib
import random
import threading
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import NamedTuple

from pf_backends.errors import Unreachable, failure, unreachable, unsupported
from pf_backends.s3.refusals import EXPIRED, SKEWED, code_of, is_passing, refusal, without_secrets
from pf_backends.s3.settings import Keys, Renew, S3Settings
from pf_backends.s3.signing import EMPTY, UNSIGNED, Call, Query, Signer, path_text, query_text
from pf_backends.wire.messages import Answer, Broken, Request, TooLong
from pf_backends.wire.pool import Pool

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0


class Ask(NamedTuple):
    """A call."""

    method: str
    path: str
    """What it is about, for messages."""
    key: str = ""
    query: Query = ()
    headers: Mapping[str, str] = MappingProxyType({})
    """By names in small letters."""
    body: memoryview | bytes = b""
    into: memoryview | None = None
    most: int = 1 << 24
    allowed: tuple[int, ...] = ()
    """Answers that are no failures, beside those of success."""
    checked: bool = False
    """The store compares the body with the checksum among the headers, which is signed: no digest is needed."""


class Attempts:
    """How often something is tried, and until when."""

    def __init__(self, limit: int, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self._limit = limit
        self._made = 0

    def again(self, path: str, why: str, pause: float = 0.0) -> None:
        """Waits for another attempt; Unreachable if there is none."""
        self._made += 1
        # By chance, so that those who were refused together do not come again together.
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**self._made)
        pause = max(pause, random.uniform(0, longest))  # noqa: S311, nobody gains by guessing it
        if self._made >= self._limit or time.monotonic() + pause > self.deadline:
            raise unreachable(path, f"{why} (attempt {self._made})")
        time.sleep(pause)


class Caller:
    """Makes the calls. For many threads."""

    def __init__(self, settings: S3Settings, pool: Pool, renew: Renew | None = None) -> None:
        self._settings = settings
        self._pool = pool
        self._signer = Signer(settings.region)
        self._renew = renew
        self._guard = threading.Lock()
        self._keys = settings.keys
        self._ahead = 0.0
        """Seconds by which the clock of the store is ahead of the one here."""
        self._closed = False
        authority = settings.endpoint.authority
        self._host = authority if settings.path_style else f"{settings.bucket}.{authority}"
        self._top = f"/{settings.bucket}/" if settings.path_style else "/"

    def close(self) -> None:
        self._closed = True
        self._pool.close()

    def attempts(self, size: int = 0) -> Attempts:
        """For a call that moves so many bytes."""
        return Attempts(self._settings.attempts, self._settings.deadline + size / self._settings.slowest)

    def call(self, ask: Ask, attempts: Attempts | None = None) -> Answer:
        """The answer, which is one of success or allowed.

        Fails as the port says; and with Broken if some of the bytes of a file came: they need not come again.
        """
        attempts = attempts or self.attempts(memoryview(ask.body).nbytes + len(ask.into or b""))
        while True:
            keys = self._keys
            try:
                answer = self._pool.exchange(self._request(ask, keys), attempts.deadline)
            except Unreachable as error:
                attempts.again(self._place(ask), self._why(ask, error))
                continue
            if answer.successful or (answer.status in ask.allowed and code_of(answer) not in EXPIRED):
                return answer
            self._judge(ask, answer, keys, attempts)

    def request(self, ask: Ask) -> bytes:
        """What is sent to ask for something now, by whoever sends it himself."""
        return self._request(ask, self._keys).head

    def source(self, key: str) -> str:
        """What a copy names its source by."""
        return path_text(f"/{self._settings.bucket}/{key}")

    def _place(self, ask: Ask) -> str:
        """What a failure is told against."""
        return ask.path or self._settings.address

    def _why(self, ask: Ask, error: Unreachable) -> str:
        """What went wrong, if it may go better another time; else it is raised."""
        if self._closed:
            raise unreachable(self._place(ask), "the backend was closed")
        if not isinstance(error, Broken):
            return error.strerror or str(error)
        if error.count and ask.into is not None:
            raise error
        if isinstance(error, TooLong) and "range" in ask.headers:
            raise unsupported(ask.path, "the store reads whole files only")
        if isinstance(error, TooLong):
            raise failure(errno.EFBIG, ask.path, f"has more than {ask.most} bytes")
        return f"{self._host} {error.why}"

    def _judge(self, ask: Ask, answer: Answer, keys: Keys | None, attempts: Attempts) -> None:
        """Returns when it should be tried again."""
        code = code_of(answer)
        found = refusal(self._place(ask), answer, keys)
        why = without_secrets(found.strerror or "", keys)
        # What has no body does not tell that keys have expired.
        unseen = ask.method == "HEAD" and answer.status in (400, 403)
        fresh = self._fresh(keys) if code in EXPIRED or unseen else None
        mended = fresh not in (None, keys) or (code == SKEWED and self._adjusted(answer))
        if mended or is_passing(answer, code):
            attempts.again(self._place(ask), why, _asked_pause(answer))
            return
        if fresh and unseen:
            # With a body it does.
            self.call(ask._replace(method="GET", headers={"range": "bytes=0-0"}, allowed=(404, 416)), attempts)
            if self._keys is not keys:
                attempts.again(self._place(ask), why)
                return
        elif fresh:
            raise unreachable(self._place(ask), f"{why} (other keys are not told yet)")
        raise found

    def _fresh(self, old: Keys | None) -> Keys | None:
        """The keys by now, which are the old ones if there are no others yet; None if there never will be."""
        if self._renew is None or old is None:
            return None
        with self._guard:
            if self._keys is not old:
                return self._keys
            fresh = self._renew()
            self._keys = fresh or old
            return fresh

    def _adjusted(self, answer: Answer) -> bool:
        try:
            told = parsedate_to_datetime(answer.headers.get("date", ""))
        except ValueError:
            return False
        self._ahead = told.timestamp() - time.time()
        return True

    def _request(self, ask: Ask, keys: Keys | None) -> Request:
        path, query = path_text(self._top + ask.key), query_text(ask.query) if ask.query else ""
        ours = {name: value for name, value in ask.headers.items() if name.startswith("x-amz-")}
        others = "".join([f"{name}: {value}\r\n" for name, value in ask.headers.items() if name not in ours])
        call = Call(ask.method, self._host, path, query, self._payload(ask), ours)
        lines = self._signer.lines(call, keys, time.time() + self._ahead)
        size = memoryview(ask.body).nbytes
        length = f"content-length: {size}\r\n" if size or ask.method in ("PUT", "POST") else ""
        target = f"{path}?{query}" if query else path
        head = f"{ask.method} {target} HTTP/1.1\r\n{lines}{others}{length}\r\n"
        return Request(head.encode(), ask.body, ask.into, ask.most, ask.method == "HEAD")

    def _payload(self, ask: Ask) -> str:
        if not memoryview(ask.body).nbytes:
            return EMPTY
        # Over TLS nobody can change it; without, the digest or a checksum is what makes the store notice.
        return UNSIGNED if ask.checked or self._settings.endpoint.tls else hashlib.sha256(ask.body).hexdigest()


def _asked_pause(answer: Answer) -> float:
    """Seconds for which the store asks to be left alone."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isdecimal() else 0.0
