"""``paddleflow fs mount`` and its like: filesystems on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from paddleflow.cli.fs_options import FOLDERS, NAME, OWNER, PLACE, SIZE, chosen_size, snapshot_place
from paddleflow.cli.fs_reporter import Reported, begin
from paddleflow.cli.verbs import Invocation, Verb, pass_invocation
from paddleflow.direct.describing import Asks, renewal
from paddleflow.mounted import unmount
from paddleflow.mounting import LOG, MountOptions, settings_of, start, state_folder
from paddleflow.problems import InvalidArgument, Violation
from paddleflow.quantity import MEMORY, parse_amount

_SECONDS, _OCTAL, _TEXT, _SIZE = "seconds", "octal", "text", "size"
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "attr-timeout": ("lasts", _SECONDS),
    "entry-timeout": ("lasts", _SECONDS),
    "uid": ("uid", ""),
    "gid": ("gid", ""),
    "dir-mode": ("folderMode", _OCTAL),
    "file-mode": ("fileMode", _OCTAL),
    "metrics": ("metrics", _TEXT),
    "porters": ("porters", ""),
    "quota": ("quota", _SIZE),
    "quota-files": ("quotaFiles", ""),
    "writeback": ("writeback", _SIZE),
    "writeback-age": ("writebackAge", _SECONDS),
}
"""Words of -o, what the program that mounts calls them, and how they are read."""


@click.command("mount", cls=Verb, output=["--output"])
@NAME
@PLACE
@OWNER
@click.option("-r", "--read-only", is_flag=True, help="Nobody writes by this mount.")
@click.option("--dataset", is_flag=True, help="Nobody changes what lies there while it is mounted; read-only and fast.")
@click.option(
    "--snapshot", metavar="FILE|:PATH", default="",
    help="Mount the dataset as it was when `fs snapshot` wrote this; its server is not asked what there is.",
)  # fmt: skip
@click.option("--sub-path", default="", help="Only this folder of the filesystem.")
@FOLDERS
@SIZE
@click.option("--quota", default="", help="How much may lie there, such as 100Gi, as far as this mount knows.")
@click.option("-o", "--option", "words", metavar="KEY=VALUE", multiple=True, help=f"One of {', '.join(_OPTIONS)}.")
@pass_invocation
def mount(
    invocation: Invocation,
    name: str,
    place: Path,
    username: str,
    read_only: bool,
    dataset: bool,
    snapshot: str,
    sub_path: str,
    folders: tuple[Path, ...],
    cache_size: str,
    quota: str,
    words: tuple[str, ...],
) -> None:
    """Mount a filesystem at the folder PATH of this machine.

    The mount stays until `paddleflow fs umount PATH`, also when this machine's network does not. What was read is kept
    on the local disk for the next time.
    """
    dataset = dataset or bool(snapshot)
    options = MountOptions(
        read_only=read_only or dataset,
        dataset=dataset,
        snapshot=snapshot_place(snapshot),
        cache_folders=[folder.absolute() for folder in folders],
        cache_size=chosen_size(cache_size),
        more=_more((*words, f"quota={quota}") if quota else words),
    )
    described = invocation.paddleflow().filesystems.describe_mount(
        name, owner=username, sub_path=sub_path, read_only=options.read_only
    )
    config = str(invocation.config.absolute()) if invocation.config else ""
    asks = Asks(config, name, username, sub_path, options.read_only)
    settings = {**settings_of(described, place, options, os.environ), "renewal": renewal(asks)}
    start(settings, os.environ)
    log = state_folder(place, os.environ) / LOG
    begin(
        Reported(
            name=name,
            owner=username,
            filesystem_id=described.filesystem_id,
            etag=described.etag,
            place=str(place),
            state=str(log.parent),
            read_only=settings["readOnly"],
            config=config,
        ),
        os.environ,
    )
    invocation.printer.success(f"fs[{name}] mounted at {place}; what it has to say is in {log}")


@click.command("umount", cls=Verb)
@PLACE
@click.option("-f", "--force", is_flag=True, help="Also while programs use it: they may go on, nobody new comes in.")
@pass_invocation
def umount(invocation: Invocation, place: Path, force: bool) -> None:
    """Unmount PATH; returns when all that was written is uploaded."""
    unmount(place, os.environ, force=force)
    invocation.printer.success(f"{place} unmounted")


def _more(words: tuple[str, ...]) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in _OPTIONS:
            raise InvalidArgument.of(Violation(key, f"is none of {', '.join(_OPTIONS)}"))
        name, kind = _OPTIONS[key]
        found[name] = _value(key, kind, text)
    return found


def _value(key: str, kind: str, text: str) -> float | int | str:
    if kind == _TEXT:
        return text
    if kind == _SIZE:
        return parse_amount(MEMORY, text)
    try:
        return float(text.removesuffix("s")) if kind == _SECONDS else int(text, 8 if kind == _OCTAL else 10)
    except ValueError:
        raise InvalidArgument.of(Violation(key, f"{text!r} is no number")) from None
