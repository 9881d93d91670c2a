"""Which failures of a backend are final: all others pass, as on a machine that has no descriptors left for a while."""

from __future__ import annotations

import errno

from pf_backends.errors import Changed, Unreachable, Unsupported
from pf_fuse.staging.disk import DiskFailed

_REFUSALS = frozenset(
    (
        errno.E2BIG,
        errno.EACCES,
        errno.EDQUOT,
        errno.EEXIST,
        errno.EFBIG,
        errno.EILSEQ,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.EMLINK,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOSYS,
        errno.ENOTDIR,
        errno.ENOTEMPTY,
        errno.EOPNOTSUPP,
        errno.EPERM,
        errno.EROFS,
        errno.EXDEV,
    )
)
"""What backends say of what they were asked for, and would say again."""


def is_refusal(error: OSError) -> bool:
    """False if another attempt may succeed: what waits for that is neither put aside nor given up.

    A full place refuses; a full local disk does not, as what fills it is what waits.
    """
    if isinstance(error, Unreachable | DiskFailed):
        return False
    return isinstance(error, Changed | Unsupported) or error.errno in _REFUSALS
