"""Lines of a stream up to a length: what is longer is read and thrown away.

A client that sends a line without an end costs time, and no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class BoundedLine:
    """A line without its end; ``length`` is what it had where it was too long, else 0."""

    data: bytes
    length: int = 0


def bounded_lines(stream: BinaryIO, most: int) -> Iterator[BoundedLine]:
    r"""Yield the lines of a stream; of one with more than ``most`` bytes only its length.

    >>> import io
    >>> [(line.data, line.length) for line in bounded_lines(io.BytesIO(b"ab\nabcdef\nc"), 3)]
    [(b'ab', 0), (b'', 6), (b'c', 0)]
    """
    while data := stream.readline(most + 1):
        if data.endswith(b"\n") or len(data) <= most:
            yield BoundedLine(data.rstrip(b"\r\n"))
            continue
        length = len(data)
        while data and not data.endswith(b"\n"):
            data = stream.readline(most + 1)
            length += len(data)
        yield BoundedLine(b"", length - data.endswith(b"\n"))
