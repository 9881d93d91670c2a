"""Restores a back-up into a new data folder."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import asyncpg

from pf_kit.embedded.accounts import this_account
from pf_kit.embedded.backends import embedded_postgres
from pf_kit.embedded.child import Program, clean_environment
from pf_kit.embedded.component import complete, running
from pf_kit.embedded.folders import Locked, locked
from pf_kit.embedded.postgres import Postgres
from pf_kit.embedded.refusal import Refusal
from pf_kit.postgres.epoch import new_epoch
from pf_stack.archive import Manifest, extract_archive
from pf_stack.backup import DATABASE, kept_files
from pf_stack.layout import Layout
from pf_stack.setup import claim

SCHEMAS = """
select namespace.nspname from pg_class as class
join pg_namespace as namespace on namespace.oid = class.relnamespace
where class.relname = 'install' and class.relkind = 'r'
order by 1
"""
"""The services' schemas: each has a row that names its life."""

Step: TypeAlias = Callable[[str], AbstractContextManager[None]]
"""Shows that something is under way."""


async def restore(layout: Layout, file: Path, step: Step) -> Manifest:
    """Makes a new data folder of a back-up; on failure leaves the folder as it was."""
    existed = layout.data.exists()
    _require(not existed or not any(layout.data.iterdir()), layout)
    claim(layout)
    with _locked_for_us(layout):
        # Looked at again: only under the lock is it certain that nobody else has put anything there meanwhile.
        _require(not layout.cluster.exists() and not layout.restoring.exists(), layout)
        with _undone_on_failure(layout, existed=existed):
            layout.restoring.mkdir(mode=0o700)
            with step("check the back-up"):
                manifest = extract_archive(file, layout.restoring)
            await _load(layout, step)
            _place(layout)
    return manifest


def _require(empty: bool, layout: Layout) -> None:
    if not empty:
        raise Refusal(f"{layout.data} is not empty", "Restore into a new folder: pf restore FILE --data DIR")


@contextmanager
def _locked_for_us(layout: Layout) -> Iterator[None]:
    """Holds the folder's lock within the block."""
    with ExitStack() as held:
        try:
            held.enter_context(locked(layout.lock))
        except Locked:
            raise Refusal(f"another pf command uses {layout.data}", "Restore into a folder of its own.") from None
        yield


async def _load(layout: Layout, step: Step) -> None:
    postgres = embedded_postgres(layout.data, layout.sockets)
    with step("make a database"):
        await postgres.prepare()
    async with running(postgres, layout.log(postgres.name)):
        with step("load the data"):
            await complete(_pg_restore(postgres, layout.restoring / DATABASE), said="")
        with step("begin a new epoch"):
            await _begin_epochs(postgres.dsn)


def _pg_restore(postgres: Postgres, dump: Path) -> Program:
    options = ("--no-owner", "--exit-on-error", f"--dbname={postgres.dsn}", str(dump))
    return Program(
        argv=(str(postgres.binaries.folder / "pg_restore"), *options),
        environment=clean_environment(),
        folder=dump.parent,
        account=this_account(),
        death_signal=signal.SIGTERM,
        stop=((signal.SIGTERM, 10.0),),
    )


async def _begin_epochs(dsn: str) -> None:
    """Tells everybody who followed the events that they must start over: some that they saw never happened here."""
    connection = await asyncpg.connect(dsn)
    try:
        for row in await connection.fetch(SCHEMAS):
            await new_epoch(connection, row["nspname"])
    finally:
        await connection.close()


def _place(layout: Layout) -> None:
    """Puts the files in their place; without the folder they came in, the data folder counts as whole."""
    for name, place in kept_files(layout).items():
        if (layout.restoring / name).exists():
            (layout.restoring / name).rename(place)
            place.chmod(0o600)
    shutil.rmtree(layout.restoring)


@contextmanager
def _undone_on_failure(layout: Layout, *, existed: bool) -> Iterator[None]:
    """Removes what was made if the block fails; to be used under the folder's lock, in a folder that was empty."""
    try:
        yield
    except BaseException:
        for entry in layout.data.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if not existed:
            layout.data.rmdir()
        raise
