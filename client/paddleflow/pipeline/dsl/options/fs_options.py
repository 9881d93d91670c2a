"""Filesystems that steps see."""

from __future__ import annotations

from collections.abc import Sequence

from paddleflow.pipeline.dsl.names import refused


class ExtraFS:
    """A filesystem that a step sees beside the main one: what is below `sub_path` in it, at `mount_path`."""

    def __init__(
        self,
        name: str,
        sub_path: str | None = None,
        mount_path: str | None = None,
        read_only: bool = False,
    ) -> None:
        self.name = name
        self.sub_path = sub_path
        self.mount_path = mount_path
        self.read_only = read_only

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        if not isinstance(self.read_only, bool):
            raise refused(f"read_only of the filesystem {self.name} is {self.read_only!r}: it has to be True or False")
        return {**_place(self), "read_only": self.read_only}


class MainFS(ExtraFS):
    """The filesystem in which steps begin and in which artifacts lie. Steps can write to it."""

    def __init__(self, name: str, sub_path: str | None = None, mount_path: str | None = None) -> None:
        super().__init__(name, sub_path, mount_path)

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        return _place(self)


class FSOptions:
    """The main filesystem of a pipeline, and those that all of its steps see beside it."""

    main_fs: MainFS | None
    extra_fs: list[ExtraFS] | None

    def __init__(self, main_fs: MainFS | None = None, extra_fs: Sequence[ExtraFS] | ExtraFS | None = None) -> None:
        self.main_fs = _main(main_fs) if main_fs else None
        self.extra_fs = extra_filesystems("FSOptions", extra_fs) if extra_fs else None

    def compile(self) -> dict[str, object]:
        """What the language says of it."""
        said: dict[str, object] = {}
        if self.main_fs:
            said["main_fs"] = _main(self.main_fs).compile()
        if self.extra_fs:
            said["extra_fs"] = [extra.compile() for extra in extra_filesystems("FSOptions", self.extra_fs)]
        return said


def extra_filesystems(whose: str, given: object) -> list[ExtraFS]:
    """The filesystems, one or several; raises if something else is among them."""
    several = given if isinstance(given, list | tuple) else (given,)
    found = [each for each in several if isinstance(each, ExtraFS)]
    if len(found) < len(several):
        wrong = next(each for each in several if not isinstance(each, ExtraFS))
        raise refused(f"extra_fs of {whose} holds {wrong!r}: each has to be ExtraFS(name, …)")
    return found


def _main(given: object) -> MainFS:
    if not isinstance(given, MainFS):
        raise refused(f"main_fs of FSOptions is {given!r}: it has to be MainFS(name, …)")
    return given


def _place(filesystem: ExtraFS) -> dict[str, object]:
    if not filesystem.name:
        raise refused(f"a {type(filesystem).__name__} names no filesystem: give it a name")
    said = {"name": filesystem.name, "sub_path": filesystem.sub_path, "mount_path": filesystem.mount_path}
    return {key: value for key, value in said.items() if value}
