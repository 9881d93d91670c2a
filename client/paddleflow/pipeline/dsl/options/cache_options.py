"""Whether and when results of earlier runs are used again."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.pipeline.dsl.names import refused


class FSScope:
    """Files that decide whether a step is the same as an earlier one: those below `path` in the filesystem `name`.
    Several paths are joined by commas; none is the whole filesystem.
    """

    def __init__(self, name: str, path: str | None = None) -> None:
        self.name = name
        self.path = path

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        if not self.name:
            raise refused("an FSScope names no filesystem: give it a name")
        return {"name": self.name, "path": self.path} if self.path else {"name": self.name}


class CacheOptions:
    """How results of earlier runs are used again: of a pipeline for all of its steps, or of a step for itself.

    `max_expired_time` is for how many seconds a result counts, -1: for ever. `version` is to be changed when old
    results are not to be used any more; parameters and variables named in `ignore` do not count; `mode` is "content" or
    "mtime", how it is told whether files changed; `share` is whose results are used: of the same "source", of the same
    "pipeline" or of the same "owner".
    """

    def __init__(
        self,
        enable: bool | None = False,
        fs_scope: Sequence[FSScope] | FSScope | None = None,
        max_expired_time: int | None = -1,
        *,
        version: str | None = None,
        ignore: Sequence[str] | None = None,
        mode: str | None = None,
        share: str | None = None,
    ) -> None:
        self.enable = None if enable is None else bool(enable)
        # A scope may still be set or added, so they are looked at when the pipeline is compiled.
        self.fs_scope = None if fs_scope is None else list(_several(fs_scope))
        self.max_expired_time = None if max_expired_time is None else int(max_expired_time)
        self.version = version
        self.ignore = ignore
        self.mode = mode
        self.share = share

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        _check_word("mode", self.mode, ("content", "mtime"))
        _check_word("share", self.share, ("source", "pipeline", "owner"))
        said: dict[str, object] = {
            "enable": self.enable,
            "fs_scope": self._scopes(),
            "max_expired_time": self.max_expired_time,
            "version": self.version,
            "ignore": None if self.ignore is None else list(self.ignore),
            "mode": self.mode,
            "share": self.share,
        }
        return {key: value for key, value in said.items() if value is not None}

    def _scopes(self) -> list[dict[str, object]] | None:
        if self.fs_scope is None:
            return None
        return [_scope(each) for each in _several(self.fs_scope)]


def _several(given: object) -> Sequence[object]:
    return given if isinstance(given, list | tuple) else (given,)


def _scope(given: object) -> dict[str, object]:
    if not isinstance(given, FSScope):
        raise refused(f"fs_scope of CacheOptions holds {given!r}: each has to be FSScope(name, path)")
    return given.compile()


def _check_word(field: str, word: str | None, words: tuple[str, ...]) -> None:
    if word is not None and word not in words:
        raise refused(f"{field} of CacheOptions is {word!r}: it has to be one of {', '.join(words)}")
