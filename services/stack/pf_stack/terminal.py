"""What the commands say, with colours and progress on a terminal and as plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.status import Status

from pf_stack.messages import Message, Ready, Starting, Up


class Progress:
    """Shows how a stack starts."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("", console=console) if console.is_terminal else None
        self._under_way: list[str] = []

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, message: Message) -> None:
        match message:
            case Starting(name):
                self._under_way.append(name)
            case Ready(name, seconds):
                self._under_way.remove(name)
                self._console.print(f"  [green]✓[/] {name:<10} {seconds:5.2f} s")
            case Up():
                self._welcome(message)
        if self._status is not None:
            self._status.update(f"starting {', '.join(self._under_way)}")

    def _welcome(self, message: Up) -> None:
        """How to go on, once the stack is up."""
        self._console.print(f"PaddleFlow is up after {message.seconds:.2f} s.")
        if message.password is not None:
            self._console.print(f"Password of root: [bold]{message.password}[/]   (shown this once)")
        self._console.print(message.hint, markup=False)


@contextmanager
def step(console: Console, text: str) -> Iterator[None]:
    """Shows that something is under way, and then how long it took."""
    begin = time.monotonic()
    with console.status(text):
        yield
    console.print(f"  [green]✓[/] {text:<20} {time.monotonic() - begin:5.2f} s")
