"""The protocol JSON lines: a request a line, a reply a line.

A request names a tool and its arguments; ``id`` is a text or an integer of the client's::

    {"id": 1, "tool": "load", "arguments": {"program": "gemm"}}
    {"id": 2, "tool": "measure", "arguments": {"session": "s1"}}
    {"cancel": 2}
    {"id": 3, "tool": "tools"}

Requests are done in their order, and each has one reply, with more members for some tools. While a
measurement runs, lines with ``progress`` say for how many seconds::

    {"id": 1, "ok": true, "status": "ok", "text": "session s1 ...", "session": "s1"}
    {"id": 2, "progress": {"seconds": 1.0, "message": "compiling and measuring"}}
    {"id": 2, "ok": false, "status": "cancelled", "text": "cancelled: ..."}

``status`` is that of a reply of a session (ok, illegal, unavailable, not understood, limit, no
budget, over), or cancelled, failed, malformed. The tool ``tools`` returns the schemas of all tools.
The server ends with the input, when all requests are done, or when nobody reads its output.
"""

from __future__ import annotations

import json
import select
import threading
from queue import SimpleQueue
from typing import Any, BinaryIO, TypeAlias

from polygym.text_interface.server.bounded_lines import BoundedLine, bounded_lines
from polygym.text_interface.server.limits import ServerLimits
from polygym.text_interface.server.service import Call, ToolResult, ToolService
from polygym.text_interface.server.tool_table import TOOLS

MALFORMED = "malformed"

_Id: TypeAlias = str | int | None
_EXPECTED = 'expected {"id": ..., "tool": ..., "arguments": {...}} or {"cancel": ID}'
_KEYS = {"id", "tool", "arguments"}
_LONGEST_ID = 200


class _MalformedError(Exception):
    """A request that is none; the message says what was expected."""


class JsonLinesServer:
    """A server of one client: a thread reads, another one does what is asked."""

    def __init__(self, stdin: BinaryIO, stdout: BinaryIO, limits: ServerLimits) -> None:
        self._stdin, self._stdout, self._limits = stdin, stdout, limits
        self._lock = threading.Lock()
        self._calls: dict[_Id, Call] = {}
        self._calls_lock = threading.Lock()
        self._requests: SimpleQueue[tuple[_Id, object, object, Call] | None] = SimpleQueue()
        self._is_unread = False

    def run(self) -> None:
        """Serve until the input ends, or nobody reads the output."""
        reader = threading.Thread(target=self._read, name="requests", daemon=True)
        reader.start()
        with ToolService(self._limits) as service:
            while (request := self._requests.get()) is not None and not self._is_unread:
                identity, tool, arguments, call = request
                if tool == "tools":
                    result = _tool_list()
                else:
                    result = service.call(tool, arguments, call)
                with self._calls_lock:
                    del self._calls[identity]
                self._reply(identity, result)

    def _read(self) -> None:
        try:
            for line in bounded_lines(self._stdin, self._limits.request_bytes):
                if line.data.strip() or line.length:
                    self._take(line)
        except (OSError, ValueError):  # the input is closed
            pass
        finally:
            self._requests.put(None)

    def _take(self, line: BoundedLine) -> None:
        """Accept a request, or reply that it is none."""
        identity: _Id = None
        try:
            request = self._parsed(line)
            if "cancel" in request:
                self._cancel(request)
                return
            identity = _identity(request.get("id"))
            unknown = sorted(set(request) - _KEYS)
            if "tool" not in request or unknown:
                raise _MalformedError(_EXPECTED)
            call = Call(lambda seconds, text: self._tell(identity, seconds, text))
            with self._calls_lock:
                if identity in self._calls:
                    raise _MalformedError("expected an id that no waiting request has")
                if len(self._calls) >= self._limits.waiting:
                    most = self._limits.waiting
                    raise _MalformedError(
                        f"expected at most {most} waiting requests: wait for replies"
                    )
                self._calls[identity] = call
            self._requests.put((identity, request["tool"], request.get("arguments"), call))
        except _MalformedError as error:
            self._reply(identity, ToolResult(False, MALFORMED, str(error)))

    def _parsed(self, line: BoundedLine) -> dict[str, Any]:
        if line.length:
            most = self._limits.request_bytes
            raise _MalformedError(f"expected a line of at most {most} bytes, found {line.length}")
        try:
            request = json.loads(line.data)
        except RecursionError:
            raise _MalformedError("expected JSON: it is too deeply nested") from None
        except ValueError:
            raise _MalformedError(f"expected JSON in UTF-8; {_EXPECTED}") from None
        if not isinstance(request, dict):
            raise _MalformedError(_EXPECTED)
        return request

    def _cancel(self, request: dict[str, Any]) -> None:
        if len(request) > 1:
            raise _MalformedError(_EXPECTED)
        identity = _identity(request["cancel"])
        with self._calls_lock:
            call = self._calls.get(identity)
        if call is not None:  # a reply that is on its way needs no cancellation
            call.cancel()

    def _tell(self, identity: _Id, seconds: float, message: str) -> None:
        if not select.select([], [self._stdout], [], 0.0)[1]:
            return  # a client that reads nothing must not stop the clock
        progress = {"seconds": round(seconds, 3), "message": message}
        self._write({"id": identity, "progress": progress})

    def _reply(self, identity: _Id, result: ToolResult) -> None:
        self._write(
            {
                "id": identity,
                "ok": result.is_ok,
                "status": result.status,
                "text": result.text,
                **result.data,
            }
        )

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("ascii") + b"\n"
        with self._lock:
            if self._is_unread:
                return
            try:
                self._stdout.write(data)
                self._stdout.flush()
            except (OSError, ValueError):
                self._is_unread = True
        if self._is_unread:
            self._end()

    def _end(self) -> None:
        """Cancel everything: nobody reads the replies."""
        with self._calls_lock:
            for call in self._calls.values():
                call.cancel()
        self._requests.put(None)


def _identity(value: object) -> _Id:
    if isinstance(value, str) and len(value) <= _LONGEST_ID:
        return value
    if type(value) is int and abs(value) < 2**63:
        return value
    raise _MalformedError(f"id: expected an integer or a text of at most {_LONGEST_ID} characters")


def _tool_list() -> ToolResult:
    tools = [
        {"name": tool.name, "description": tool.purpose, "arguments": tool.schema} for tool in TOOLS
    ]
    text = "\n".join(f"{tool.name}: {tool.purpose}" for tool in TOOLS)
    return ToolResult(True, "ok", text, {"tools": tools})


def serve_json_lines(stdin: BinaryIO, stdout: BinaryIO, limits: ServerLimits) -> None:
    """Serve one client by JSON lines until it leaves."""
    JsonLinesServer(stdin, stdout, limits).run()
