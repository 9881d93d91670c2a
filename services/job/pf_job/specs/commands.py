"""What a replica is started with: its arguments and its folder."""

from __future__ import annotations

import re

from pf_job.specs.domain import Work

SHELL = "sh"
MOUNT_PATH = "PF_MOUNT_PATH"
NO_FOLDER = "NONE"
"""As `PF_MOUNT_PATH`: a replica does not start in its first filesystem."""

_SHELL_FIRST = re.compile(r"\s*(?:ba)?sh\s+-c\s+(?P<rest>[^'\"\s].*)", re.DOTALL)


def argv(work: Work) -> tuple[str, ...]:
    """The program and its arguments; none, if the image is to say it.

    Arguments are handed over as they are: the shell sees them as its parameters, never as a part of the text.
    """
    if not work.command:
        return work.args
    return shell(shell_text(work.command), work.args)


def shell(text: str, args: tuple[str, ...]) -> tuple[str, ...]:
    """A text for the shell, arguments appended to its last command."""
    if not args:
        return (SHELL, "-c", text)
    return (SHELL, "-c", f'{text.rstrip()} "$@"', SHELL, *args)


def shell_text(command: str) -> str:
    """The text for the shell. `sh -c` and `bash -c` before it are taken away, unless a quote follows.

    So `bash -c python train.py` runs `python train.py` as it always did, which a shell would take for `python` alone;
    while a text that is quoted means the same to a shell, and stays as it is.
    """
    found = _SHELL_FIRST.fullmatch(command)
    return found["rest"] if found else command


def cwd(work: Work) -> str:
    """The folder it starts in: its first filesystem, unless `PF_MOUNT_PATH` is NONE. Empty: none in particular."""
    if work.env.get(MOUNT_PATH, "").upper() == NO_FOLDER:
        return ""
    return next((mount.path for mount in work.mounts), "")
