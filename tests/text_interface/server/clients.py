"""Clients for the tests: a server in a process of its own, and what it leaves behind."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def environment() -> dict[str, str]:
    """Return the environment of a server: this source tree, nothing else of the tests."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "POLYGYM_TURNS": "off"}


class JsonClient:
    """A client of ``polygym serve --protocol json``."""

    protocol = "json"

    def __init__(self, *options: str, folder: Path | None = None, temporary: Path | None = None):
        env = environment()
        if temporary is not None:
            env["TMPDIR"] = str(temporary)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "polygym", "serve", "--protocol", self.protocol, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=env,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.progress: list[dict[str, Any]] = []
        self._rest = b""
        self._number = 0

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self.input.write(data)
        self.input.flush()

    def ask(self, tool: str, **arguments: Any) -> int:
        """Send a request; return its id."""
        self._number += 1
        self.send(self.request(self._number, tool, arguments))
        return self._number

    def request(self, number: int, tool: str, arguments: dict[str, Any]) -> bytes:
        """Return a request as a line."""
        request = {"id": number, "tool": tool, "arguments": arguments}
        return json.dumps(request).encode() + b"\n"

    def read(self, seconds: float = 60.0) -> dict[str, Any] | None:
        """Return the next message, None at the end of the output."""
        end = time.monotonic() + seconds
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.output], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"expected a message within {seconds} s"
            data = os.read(self.output.fileno(), 1 << 16)
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def reply(self, identity: object) -> dict[str, Any]:
        """Return the reply to a request; progress is kept apart."""
        while True:
            message = self.read()
            assert message is not None
            if "progress" in message:
                self.progress.append(message)
            elif message["id"] == identity:
                return message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and return its reply."""
        return self.reply(self.ask(tool, **arguments))

    def close(self) -> int:
        """Close the input, read the rest, and return the exit code."""
        self.input.close()
        while self.read() is not None:
            pass
        return self.process.wait(30)

    def end(self) -> None:
        """End the server, whatever it does."""
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            self.input.close()
        self.output.close()


class McpClient(JsonClient):
    """A client of ``polygym serve`` that writes the messages of the protocol itself."""

    protocol = "mcp"

    def greet(self) -> None:
        """Begin the session."""
        info = {"name": "hostile", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.send(self.message("initialize", hello, 0))
        assert "result" in self.reply(0)
        self.send(self.message("notifications/initialized", {}))

    def message(self, method: str, parameters: Any, number: int | None = None) -> bytes:
        """Return a request as a line, or without a number a notification."""
        known = {"jsonrpc": "2.0", "method": method, "params": parameters}
        return json.dumps(known | ({} if number is None else {"id": number})).encode() + b"\n"

    def request(self, number: int, tool: str, arguments: dict[str, Any]) -> bytes:
        """Return the call of a tool as a line."""
        return self.message("tools/call", {"name": tool, "arguments": arguments}, number)

    def reply(self, identity: object) -> dict[str, Any]:
        """Return the reply to a request."""
        while True:
            message = self.read()
            assert message is not None
            if message.get("id") == identity and "method" not in message:
                return message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return what is structured of its result."""
        content = self.reply(self.ask(tool, **arguments))["result"]["structuredContent"]
        assert isinstance(content, dict)
        return content


def descendants(process: int) -> set[int]:
    """Return the ids of the processes below one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found, wave = set(), {process}
    while wave:
        wave = {child for child, parent in parents.items() if parent in wave} - found
        found |= wave
    return found


def wait_for_end(processes: set[int], seconds: float = 15.0) -> set[int]:
    """Wait until processes have ended; return those that have not."""
    end = time.monotonic() + seconds
    left = processes
    while left and time.monotonic() < end:
        left = {one for one in left if _is_alive(one)}
        time.sleep(0.05)
    return left


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
