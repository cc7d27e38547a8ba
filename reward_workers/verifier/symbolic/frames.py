"""How the verifier's processes talk over pipes: four bytes of length (big endian), then so many bytes of content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

HEAD_BYTES = 4


def frame(body: bytes) -> bytes:
    """The content with its length before it.

    >>> frame(b"ab")
    b'\\x00\\x00\\x00\\x02ab'
    """
    return len(body).to_bytes(HEAD_BYTES, "big") + body


def body_bytes(head: bytes) -> int:
    """The length that a head announces."""
    return int.from_bytes(head, "big")


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next content; None at the end of the stream."""
    head = stream.read(HEAD_BYTES)
    return stream.read(body_bytes(head)) if len(head) == HEAD_BYTES else None


def write_json(stream: BinaryIO, message: Mapping[str, Any]) -> None:
    """Send a message at once."""
    stream.write(frame(json.dumps(message).encode()))
    stream.flush()
