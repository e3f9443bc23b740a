"""Messages between ``audit.analyst.reader`` and its process."""

import socket
import struct
from typing import Final

HEADER: Final = struct.Struct(">cI")
"""Kind of the message, and number of bytes that follow."""

REQUEST: Final = b"r"  # JSON
OUTPUT: Final = b"o"  # part of the result
DONE: Final = b"d"  # the answer, as JSON
FAILED: Final = b"f"  # JSON: a class of ``audit.errors`` or of a limit, and the text
DEFECT: Final = b"x"  # a traceback

LARGEST: Final = 1 << 20
"""Maximum bytes of a result per message."""


def send(peer: socket.socket, kind: bytes, content: bytes | memoryview) -> None:
    """Send one message."""
    peer.sendall(HEADER.pack(kind, len(content)))
    peer.sendall(content)


def receive(peer: socket.socket) -> tuple[bytes, bytes, list[int]] | None:
    """Return kind, content and descriptors of a message, or None if the other end is closed."""
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
