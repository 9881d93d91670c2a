"""Properties of filesystems on the command line, where secrets should not be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from paddleflow.cli.parameters import password
from paddleflow.cli.table import Form
from paddleflow.cli.verbs import Invocation

LARGEST_FILE = 64 * 1024
"""Bytes of a file with a value: a larger one is none."""


def read_properties(ctx: click.Context, _: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The properties among the values of -o, which everywhere else names a form of the output."""
    properties = dict[str, str]()
    for text in given:
        key, separator, value = text.partition("=")
        if separator and key:
            properties[key] = _value(key, value)
        elif text in list(Form):
            ctx.ensure_object(Invocation).form = Form(text)
        else:
            # Not the text itself: it may be a secret with a slip before it.
            raise click.BadParameter("a value is not a property such as key=value")
    return properties


property_option = click.option(
    "-o",
    "--option",
    "properties",
    metavar="KEY=VALUE",
    multiple=True,
    callback=read_properties,
    help="A property. Repeatable.",
)


def _value(key: str, text: str) -> str:
    match text[:1]:
        case "-" if text == "-":
            return password(None if _asks() else "-", key, confirm=False)
        case ("@" | "$") as mark if text.startswith(mark * 2):
            return text[1:]
        case "@":
            return _of_file(key, Path(text[1:]))
        case "$":
            return _of_environment(key, text[1:])
        case _:
            return text


def _asks() -> bool:
    return sys.stdin.isatty()


def _of_file(key: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise click.BadParameter(f"{key}: {path} cannot be read: {error.strerror}") from None
    if len(found) > LARGEST_FILE:
        raise click.BadParameter(f"{key}: {path} has more than {LARGEST_FILE} bytes")
    try:
        return found.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise click.BadParameter(f"{key}: {path} is not text in UTF-8") from None


def _of_environment(key: str, name: str) -> str:
    if (found := os.environ.get(name)) is None:
        raise click.BadParameter(f"{key}: there is no variable {name} in the environment")
    return found
