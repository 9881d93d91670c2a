"""What commands share that wait: a time that ends it, and how far it is."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import click


@contextmanager
def alarm(patience: timedelta | None) -> Iterator[threading.Event]:
    """Interrupts what is done meanwhile, as Ctrl-C would, when the time is over; then the event is set."""
    rung = threading.Event()
    if patience is None:
        yield rung
        return

    def ring() -> None:
        rung.set()
        _thread.interrupt_main()

    timer = threading.Timer(min(patience.total_seconds(), threading.TIMEOUT_MAX), ring)
    timer.daemon = True
    timer.start()
    try:
        yield rung
    finally:
        timer.cancel()


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Says how far it is: on a terminal in one line that moves, else in a line for each word."""
    if not sys.stderr.isatty():
        yield lambda words: click.echo(words, err=True)
        return
    from rich.console import Console  # noqa: PLC0415 -- loads rich
    from rich.markup import escape  # noqa: PLC0415 -- as above

    with Console(stderr=True).status("") as status:
        yield lambda words: status.update(escape(words))
