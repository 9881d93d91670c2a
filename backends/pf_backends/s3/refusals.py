"""What object stores say when they do not do something."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

from pf_backends.errors import changed, failure, unreachable, unsupported
from pf_backends.s3.documents import detail, error_words
from pf_backends.s3.settings import Keys
from pf_backends.wire.messages import Answer

_LONGEST = 300
"""Characters of a store's own words."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_PASSING_CODES = frozenset(
    (
        "ConditionalRequestConflict",
        "InternalError",
        "OperationAborted",
        "RequestTimeout",
        "RequestTimeTooSkewed",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
    )
)
_PASSING = frozenset((429, 500, 502, 503, 504))
EXPIRED = frozenset(("ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "TokenRefreshRequired"))
"""Keys that the store knows no more have been replaced."""
SKEWED = "RequestTimeTooSkewed"
_BY_CODE: Mapping[str, int] = {
    "AccessDenied": errno.EACCES,
    "EntityTooLarge": errno.EFBIG,
    "ExistingObjectIsDirectory": errno.EISDIR,
    "KeyTooLongError": errno.ENAMETOOLONG,
    "NoSuchBucket": errno.ENOENT,
    "NoSuchKey": errno.ENOENT,
    "NoSuchUpload": errno.ENOENT,
    "ObjectParentIsFile": errno.ENOTDIR,
    "QuotaExceeded": errno.EDQUOT,
    "XAdminUserNotFound": errno.EACCES,
    "XMinioStorageFull": errno.ENOSPC,
}
_BY_STATUS: Mapping[int, int] = {
    400: errno.EINVAL,
    401: errno.EACCES,
    403: errno.EACCES,
    404: errno.ENOENT,
    409: errno.EBUSY,
    413: errno.EFBIG,
    416: errno.EINVAL,
    507: errno.ENOSPC,
}


def code_of(answer: Answer) -> str:
    return error_words(answer.body)[0]


def is_passing(answer: Answer, code: str) -> bool:
    """True if another attempt may succeed."""
    return answer.status in _PASSING or code in _PASSING_CODES


def refusal(path: str, answer: Answer, keys: Keys | None) -> OSError:
    """What an answer that is no success means."""
    code, message = error_words(answer.body)
    words = without_secrets(_words(answer, code, message), keys)
    if answer.status == 412 or code == "PreconditionFailed":
        return changed(path, "there is another version by now, or something where nothing was to be")
    if answer.status in (405, 501) or code == "NotImplemented":
        return unsupported(path, words)
    number = _BY_CODE.get(code) or _BY_STATUS.get(answer.status)
    return failure(number, path, words) if number else unreachable(path, words)


def refusal_of_key(path: str, code: str, message: str) -> OSError:
    """Why one of many objects was not removed."""
    return failure(_BY_CODE.get(code, errno.EIO), path, f"{code}: {message}"[:_LONGEST])


def without_secrets(words: str, keys: Keys | None) -> str:
    for secret in (keys.token, keys.secret, keys.access) if keys else ():
        words = words.replace(secret, "…") if secret else words
    return _UNPRINTABLE.sub(" ", words)[:_LONGEST]


def _words(answer: Answer, code: str, message: str) -> str:
    elsewhere = answer.headers.get("x-amz-bucket-region") or (detail(answer.body, "Region") if code else "")
    if answer.status in (301, 302, 307, 308) or code == "AuthorizationHeaderMalformed":
        where = f"; the bucket is in the region {elsewhere}" if elsewhere else ""
        return f"the store sends to another place, which is not followed: {code or answer.status}{where}"
    return f"{code}: {message}" if code else f"the store answers {answer.status}"
