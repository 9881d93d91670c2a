"""What becomes of files that are looked up: some programs open each, others only want to know how large they are.

Where files are opened, a small one may be brought here at once when it is looked up: whoever asks for its bytes is told
of its version by the way, which saves asking for that alone.
"""

from __future__ import annotations

_FOLDERS = 4096
_MANY = 64
"""Files; what was before them counts less and less."""


class Habits:
    """Of each folder, how many of its files were looked up and opened lately. The caller holds the lock of the tree."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[int, int]] = {}

    def looked_up(self, folder: int) -> None:
        """The backend has to be asked of a file."""
        looked, opened = self._counts.get(folder, (0, 0))
        self._note(folder, (looked + 1, opened))

    def opened(self, folder: int) -> None:
        """A file was opened to be read."""
        looked, opened = self._counts.get(folder, (0, 0))
        self._note(folder, (looked, opened + 1))

    def opens(self, folder: int) -> bool:
        """True if who looks up files of the folder mostly opens them."""
        looked, opened = self._counts.get(folder, (0, 0))
        return bool(opened) and 2 * opened >= looked

    def _note(self, folder: int, counts: tuple[int, int]) -> None:
        if len(self._counts) >= _FOLDERS and folder not in self._counts:
            self._counts.clear()
        looked, opened = counts
        self._counts[folder] = (looked // 2, opened // 2) if max(counts) > _MANY else counts
