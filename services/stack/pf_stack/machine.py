"""What is said when the machine itself does not do what it was asked for."""

from __future__ import annotations

import errno

from pf_kit.embedded.refusal import Refusal

REMEDIES = {
    errno.EACCES: "Run pf as the owner of the data folder.",
    errno.EPERM: "Run pf as the owner of the data folder.",
    errno.ENOSPC: "Make room on that disk, then try again.",
    errno.EDQUOT: "Make room on that disk, then try again.",
    errno.EROFS: "Choose a data folder that can be written to with --data.",
}


def of_machine(problem: OSError) -> Refusal:
    """The refusal of an operating system, in words."""
    where = f"{problem.filename}: " if problem.filename is not None else ""
    return Refusal(
        f"{where}{problem.strerror or problem}", REMEDIES.get(problem.errno or 0, "Mend it, then try again.")
    )
