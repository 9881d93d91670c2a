"""A file of a filesystem that a program writes; it appears, whole, when it is closed."""

from __future__ import annotations

import io
import os
from types import TracebackType
from typing import Any

from paddleflow.direct.ports import Files


class Writer(io.BufferedIOBase):
    """What `PaddleFlowFileSystem.open` gives for writing."""

    def __init__(self, files: Files, path: str, inner: str, *, only_new: bool, autocommit: bool) -> None:
        """`path` with the name of the filesystem, `inner` without."""
        super().__init__()
        self.path = path
        self.autocommit = autocommit
        self._files, self._inner, self._only_new = files, inner, only_new
        self._new = files.write(inner)
        self._process = os.getpid()
        self._at = 0
        self._over = False

    def write(self, data: Any) -> int:
        if self.closed:
            raise ValueError("the file is closed")
        view = memoryview(data).cast("B")
        self._new.write(view)
        self._at += len(view)
        return len(view)

    def tell(self) -> int:
        return self._at

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self.autocommit:
            self.commit()

    def commit(self) -> None:
        """Now it is there. A copy of the file in a process that was forked is not the one that counts."""
        if not self._over and self._process == os.getpid():
            self._over = True
            self._files.commit(self._new, self._inner, only_new=self._only_new)

    def discard(self) -> None:
        """It never was."""
        if not self._over and self._process == os.getpid():
            self._over = True
            self._new.discard()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # Half of what was meant is worse than nothing.
            self.discard()
        self.close()


class Appender(io.BytesIO):
    """Adds to the end of a file when it is closed, where the place can do that."""

    def __init__(self, files: Files, inner: str, offset: int) -> None:
        super().__init__()
        self._files, self._inner, self._offset = files, inner, offset

    def close(self) -> None:
        if not self.closed:
            body = self.getvalue()
            super().close()
            if body:
                self._files.append(self._inner, body, self._offset)
