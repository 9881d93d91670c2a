"""Settings: frozen dataclasses read once from the environment.

A field's variable is the prefix and the field's name in capitals; a field that is a dataclass adds its name to the
prefix. The sentence below a field says what it is, its unit, and why its default is what it is; the reference of
settings is made of these sentences. A field without a default must be set.

Types: ``str``, ``int``, ``float``, ``bool``, ``Path``, enums, ``tuple[str, ...]`` (separated by commas), `Secret`,
each of these ``| None`` (empty means None), and numbers in ``Annotated[int, Between(1, 9)]``.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeGuard, TypeVar, get_type_hints

from pf_kit.setting_types import Kind, show
from pf_kit.source import field_texts


class Settings(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


T = TypeVar("T", bound=Settings)


class SettingsError(Exception):
    """Settings that cannot be used; the message has a line for each mistake."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, for the reference."""

    variable: str
    type: str
    """What its value looks like, in words."""
    default: str | None
    """None if the setting must be set."""
    text: str


def load(cls: type[T], prefix: str, environ: Mapping[str, str]) -> T:
    """The settings in the environment; SettingsError names all that is wrong with them at once."""
    reader = _Reader(environ, [])
    settings = reader.build(cls, prefix)
    mistakes = reader.mistakes + list(_unknown(cls, prefix, environ))
    if settings is None or mistakes:
        raise SettingsError("\n".join(mistakes))
    return settings


def describe(cls: type[Settings], prefix: str) -> list[Setting]:
    """All settings of the class, in the order in which they are written."""
    return [
        Setting(leaf.variables[-1], leaf.kind.expected, _default(leaf.field), leaf.text)
        for leaf in _leaves(cls, prefix)
    ]


def values(settings: Settings, prefix: str) -> dict[str, str]:
    """The settings by variable, as text; secrets are masked."""
    shown: dict[str, str] = {}
    for field in dataclasses.fields(settings):
        value, variable = getattr(settings, field.name), _variable(prefix, field.name)
        shown |= values(value, variable) if _is_settings(type(value)) else {variable: show(value)}
    return shown


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A field that is set by a variable of its own."""

    variable: str
    field: dataclasses.Field[Any]
    kind: Kind
    text: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that set it; the last one is the one to recommend."""
        return (self.variable, f"{self.variable}_FILE") if self.kind.secret else (self.variable,)


def _variable(prefix: str, name: str) -> str:
    return f"{prefix}_{name.upper()}"


def _leaves(cls: type[Settings], prefix: str) -> Iterator[_Leaf]:
    hints, texts = get_type_hints(cls, include_extras=True), field_texts(cls)
    for field in dataclasses.fields(cls):
        hint, variable = hints[field.name], _variable(prefix, field.name)
        if _is_settings(hint):
            yield from _leaves(hint, variable)
        else:
            yield _Leaf(variable, field, Kind.of(hint), texts.get(field.name, ""))


def _is_settings(hint: object) -> TypeGuard[type[Settings]]:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _unknown(cls: type[Settings], prefix: str, environ: Mapping[str, str]) -> Iterator[str]:
    known = [variable for leaf in _leaves(cls, prefix) for variable in leaf.variables]
    for variable in sorted(environ):
        if variable.startswith(f"{prefix}_") and variable not in known:
            close = difflib.get_close_matches(variable, known, n=1)
            yield f"{variable}: no such setting" + (f"; did you mean {close[0]}?" if close else "")


def _default(field: dataclasses.Field[Any]) -> str | None:
    if field.default_factory is not dataclasses.MISSING:
        return show(field.default_factory())
    return None if field.default is dataclasses.MISSING else show(field.default)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads settings and gathers what is wrong with them."""

    environ: Mapping[str, str]
    mistakes: list[str]

    def build(self, cls: type[T], prefix: str) -> T | None:
        before = len(self.mistakes)
        given: dict[str, object] = {}
        hints = get_type_hints(cls, include_extras=True)
        for field in dataclasses.fields(cls):
            hint, variable = hints[field.name], _variable(prefix, field.name)
            if _is_settings(hint):
                given[field.name] = self.build(hint, variable)
            elif (text := self._text(variable, Kind.of(hint), field)) is not None:
                given[field.name] = self._value(variable, Kind.of(hint), text)
        return self._made(cls, prefix, given) if len(self.mistakes) == before else None

    def _made(self, cls: type[T], prefix: str, given: Mapping[str, object]) -> T | None:
        try:
            return cls(**given)
        except ValueError as error:
            self.mistakes.append(f"{prefix}_*: {error}")
            return None

    def _text(self, variable: str, kind: Kind, field: dataclasses.Field[Any]) -> str | None:
        """What is written in the environment, or in the file it names; None if the default holds."""
        text = self.environ.get(variable)
        path = self.environ.get(f"{variable}_FILE") if kind.secret else None
        if text is not None and path is not None:
            self.mistakes.append(f"{variable}: is set, and {variable}_FILE too; set one of them")
        elif path is not None:
            text = self._file(f"{variable}_FILE", Path(path))
        elif text is None and _default(field) is None:
            self.mistakes.append(f"{variable}{'_FILE' if kind.secret else ''}: must be set: {kind.expected}")
        return text

    def _file(self, variable: str, path: Path) -> str | None:
        try:
            return path.read_text().removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            self.mistakes.append(f"{variable}: cannot read {path}: {error}")
            return None

    def _value(self, variable: str, kind: Kind, text: str) -> object:
        try:
            return kind.parse(text)
        except ValueError:
            shown = "its value" if kind.secret else repr(text)
            self.mistakes.append(f"{variable}: {shown} is not {kind.expected}")
            return None
