"""Messages over a stream socket: a header with lengths, then JSON, then raw bytes.

The layout of a message, integers little-endian::

    uint32  length of the JSON text
    uint32  number of blobs
    uint64  length of each blob
    bytes   the JSON text, then the blobs

JSON carries no code, so nothing that arrives can do anything but fail to parse.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Sequence

from polygym.runtime.worker.job_messages import Json

_HEADER = struct.Struct("<II")
_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20


class ChannelClosedError(Exception):
    """The other end is gone."""


class Channel:
    """One end of a conversation.

    ``before_receive`` is called before every wait for bytes; the supervisor looks there whether its
    parent is still alive.
    """

    def __init__(
        self, connection: socket.socket, before_receive: Callable[[], None] | None = None
    ) -> None:
        """Take over a connected stream socket."""
        self._socket = connection
        self._before_receive = before_receive

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def send(self, body: Json, blobs: Sequence[bytes | memoryview] = ()) -> None:
        """Send one message.

        Raises:
            ChannelClosedError: nobody will receive it.
        """
        text = json.dumps(body).encode()
        lengths = b"".join(_LENGTH.pack(len(blob)) for blob in blobs)
        try:
            self._socket.sendall(_HEADER.pack(len(text), len(blobs)) + lengths + text)
            for blob in blobs:
                self._socket.sendall(blob)
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self) -> tuple[Json, list[bytes]]:
        """Wait for one message and return its JSON and its blobs.

        Raises:
            ChannelClosedError: the other end is gone, or what it sent is not a message.
        """
        text_length, count = _HEADER.unpack(self._exactly(_HEADER.size))
        lengths = [_LENGTH.unpack(self._exactly(_LENGTH.size))[0] for _ in range(count)]
        text = self._exactly(text_length)
        blobs = [self._exactly(length) for length in lengths]
        try:
            body = json.loads(text)
        except ValueError as error:
            raise ChannelClosedError(f"expected a JSON object: {error}") from error
        if not isinstance(body, dict):
            raise ChannelClosedError(f"expected a JSON object, found {body!r}")
        return body, blobs

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            if self._before_receive is not None:
                self._before_receive()
            try:
                chunk = self._socket.recv(min(size - len(received), _CHUNK))
            except OSError as error:
                raise ChannelClosedError(str(error)) from error
            if not chunk:
                raise ChannelClosedError("the other end closed the connection")
            received += chunk
        return bytes(received)
