"""Lines of a file of cases, in chunks, without ever holding the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_LINE_BYTES = 16 << 20
CHUNK_ROWS = 256
CHUNK_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank.

    Attributes:
        number: from 1, blank lines counted.
        content: its bytes without the line end; None when it is longer than MAX_LINE_BYTES.
        end: bytes of the file up to its end.
    """

    number: int
    content: bytes | None
    end: int


def read_lines(stream: BinaryIO) -> Iterator[Line]:
    """Lines of the file in order; blank ones are left out."""
    number = end = 0
    while piece := stream.readline(MAX_LINE_BYTES):
        number += 1
        end += len(piece)
        content: bytes | None = piece
        while not piece.endswith(b"\n") and (piece := stream.readline(MAX_LINE_BYTES)):
            content = None
            end += len(piece)
        if content is not None:
            content = content.removeprefix(_BYTE_ORDER_MARK if number == 1 else b"").strip()
        if content != b"":
            yield Line(number, content, end)


def in_chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Lists of at most CHUNK_ROWS lines, and of about CHUNK_BYTES at most unless one line is longer."""
    chunk: list[Line] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line.content or b"")
        if len(chunk) >= CHUNK_ROWS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
