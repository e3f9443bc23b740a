"""Messages between ``audit.analyst.reader`` and the process that it starts."""

from __future__ import annotations

import socket
import struct
from typing import Final

HEADER: Final = struct.Struct(">cI")
"""The kind of a message, and how many bytes follow."""

REQUEST: Final = b"r"
"""What is to be done, as JSON."""
OUTPUT: Final = b"o"
"""A part of the result."""
DONE: Final = b"d"
"""The answer to a request, as JSON."""
FAILED: Final = b"f"
"""What went wrong, as JSON: a class of ``audit.errors``, or of a limit, and the text."""
DEFECT: Final = b"x"
"""A traceback."""

LARGEST: Final = 1 << 20
"""Bytes of a result that are sent at a time."""


def send(peer: socket.socket, kind: bytes, content: bytes | memoryview) -> None:
    """Send one message."""
    peer.sendall(HEADER.pack(kind, len(content)))
    peer.sendall(content)


def receive(peer: socket.socket) -> tuple[bytes, bytes, list[int]] | None:
    """One message: its kind, its content, and descriptors; None: the other end is closed."""
    head, descriptors, _, _ = socket.recv_fds(peer, HEADER.size, 1)
    head += _exactly(peer, HEADER.size - len(head)) if head else b""
    if len(head) < HEADER.size:
        return None
    kind, size = HEADER.unpack(head)
    content = _exactly(peer, size)
    return None if len(content) < size else (kind, content, descriptors)


def _exactly(peer: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size and (part := peer.recv(min(size - len(parts), LARGEST))):
        parts += part
    return bytes(parts)
