"""Asks whoever keeps the mounts of this machine for the keys of one of them, whose client begins this program."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

from paddleflow.sockets import address


def main() -> None:
    """Reads which mount of whom from the standard input, and writes what is answered to the standard output."""
    told = json.load(sys.stdin)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        with address(Path(told["socket"])) as short:
            asking.connect(short)
        asking.sendall(told["mount"].encode() + b"\n")
        with asking.makefile("rb") as answer:
            sys.stdout.buffer.write(answer.read())


if __name__ == "__main__":
    main()
