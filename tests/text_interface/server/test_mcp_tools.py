"""The Model Context Protocol, spoken by a real client over standard input and output."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.text_interface.server.tool_table import TOOLS
from tests.rotation import NIGHTLY
from tests.text_interface.server.clients import (
    McpClient,
    descendants,
    environment,
    wait_for_end,
)
from tests.text_interface.server.test_json_lines import files_of, malformed
from tests.text_interface.server.test_json_lines import request as random_request
from tests.text_interface.sessions import STENCIL

HAS_MCP = importlib.util.find_spec("mcp") is not None
needs_mcp = pytest.mark.skipif(not HAS_MCP, reason="the package mcp is not installed")


def talk(root: Path, work: Callable[[Any], Awaitable[None]]) -> None:
    """Start a server, and do something with a client of it."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    (root / "heat.c").write_text(STENCIL)
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "polygym", "serve", "--root", str(root)],
        env=environment(),
    )

    async def run() -> None:
        async with Client(server) as client:
            await work(client)

    before = descendants(os.getpid())
    asyncio.run(run())
    assert wait_for_end(descendants(os.getpid()) - before) == set()


@needs_mcp
def test_a_model_transforms_a_program(tmp_path: Path) -> None:
    async def work(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
        assert all(tool.input_schema["type"] == "object" for tool in tools)
        loaded = await client.call_tool("load", {"program": "heat.c", "dataset": "mini"})
        assert loaded.structured_content == {"status": "ok", "session": "s1"}
        assert "L2: for (i = 1" in loaded.content[0].text
        step = {"session": "s1", "step": "tile L1 L2 8 8"}
        refused = await client.call_tool("transform", step)
        assert refused.is_error
        assert "Try: skew L2 L1 1, then tile L1 L2 8 8" in refused.content[0].text
        await client.call_tool("transform", {"session": "s1", "step": "skew L2 L1 1"})
        assert not (await client.call_tool("transform", step)).is_error
        told: list[float] = []

        async def progress(done: float, _total: float | None, _message: str | None) -> None:
            told.append(done)

        measured = await client.call_tool("measure", {"session": "s1"}, progress_callback=progress)
        assert measured.structured_content["outcome"] == "ok"
        assert told
        exported = await client.call_tool("export", {"session": "s1"})
        assert json.loads(exported.content[0].text)["format"] == "polygym transcript"
        outside = await client.call_tool("load", {"program": "/etc/passwd"})
        assert outside.is_error
        unknown = await client.call_tool("shell", {"command": "ls"})
        assert unknown.is_error

    talk(tmp_path, work)


@needs_mcp
def test_a_call_is_cancelled(tmp_path: Path) -> None:
    async def work(client: Any) -> None:
        await client.call_tool("load", {"program": "seidel-2d", "dataset": "extralarge"})
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.call_tool("measure", {"session": "s1"}), 1.0)
        shown = await asyncio.wait_for(client.call_tool("show", {"session": "s1"}), 20)
        assert "Last outcome:\nnone yet" in shown.content[0].text

    talk(tmp_path, work)


@needs_mcp
def test_malformed_lines_do_not_end_the_server(tmp_path: Path) -> None:
    lines = [
        b"garbage", b"[" * 50_000, b"x" * 400_000, b'{"jsonrpc": "2.0"}', b"\xff\xfe",
        b'{"jsonrpc": "2.0", "id": 1, "method": "shell"}', b"null",
        json.dumps({
            "jsonrpc": "2.0", "id": 2, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "hostile", "version": "1"},
            },
        }).encode(),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "polygym", "serve", "--root", str(tmp_path)],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        env=environment(),
        timeout=60,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert any(reply.get("id") == 2 and "result" in reply for reply in replies)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


@needs_mcp
def test_a_client_that_leaves_in_a_measurement_leaves_no_process(tmp_path: Path) -> None:
    def message(number: int | None, method: str, **params: Any) -> bytes:
        known = {"jsonrpc": "2.0", "method": method, "params": params}
        return json.dumps(known | ({} if number is None else {"id": number})).encode() + b"\n"

    info = {"name": "test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    program = {"program": "seidel-2d", "dataset": "extralarge"}
    with subprocess.Popen(
        [sys.executable, "-m", "polygym", "serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(message(1, "initialize", **hello))
        server.stdin.write(message(None, "notifications/initialized"))
        server.stdin.write(message(2, "tools/call", name="load", arguments=program))
        server.stdin.flush()
        assert [json.loads(server.stdout.readline())["id"] for _ in range(2)] == [1, 2]
        measure = message(3, "tools/call", name="measure", arguments={"session": "s1"})
        server.stdin.write(measure)
        server.stdin.flush()
        while not (children := descendants(server.pid)):
            time.sleep(0.05)
        time.sleep(0.5)
        server.stdin.close()
        server.stdout.close()
        assert server.wait(30) == 0
        assert wait_for_end(children) == set()


REQUESTS = 10_000 if NIGHTLY else 500


def hostile_message(
    client: McpClient, rng: np.random.Generator, number: int, sessions: list[str]
) -> bytes:
    """Return a line: no message, a wrong one, a call with random arguments, a cancellation."""
    kind = rng.random()
    if kind < 0.25:
        return malformed(rng) + b"\n"
    if kind < 0.35:
        earlier = int(rng.integers(1000, number + 1))
        return client.message("notifications/cancelled", {"requestId": earlier})
    if kind < 0.5:
        methods = ["shell", "tools/list", "tools/call", "initialize", "ping", "resources/read", ""]
        parameters = [None, [], {}, 3, {"name": None}, {"name": "show", "arguments": []},
                      {"uri": "file:///etc/passwd"}, "x" * 30_000]  # fmt: skip
        method, given = methods[rng.integers(7)], parameters[rng.integers(8)]
        return client.message(method, given, number if rng.random() < 0.8 else None)
    asked = json.loads(random_request(rng, number, sessions))
    return client.request(number, asked["tool"], asked["arguments"])


@needs_mcp
def test_a_hostile_client_harms_nobody(tmp_path: Path) -> None:
    """Random and malformed messages, huge texts, path tricks, cancellations."""
    for folder in ("root", "temporary"):
        (tmp_path / folder).mkdir()
    (tmp_path / "root" / "heat.c").write_text(STENCIL)
    before = files_of(tmp_path)
    client = McpClient(
        "--root", str(tmp_path / "root"), folder=tmp_path, temporary=tmp_path / "temporary"
    )
    try:
        client.greet()
        descriptors = len(os.listdir(f"/proc/{client.process.pid}/fd"))
        rng = np.random.default_rng(11)
        sessions = [
            client.call("load", program=program, dataset="mini")["session"]
            for program in ("heat.c", "mvt")
        ]
        replies = refused = 0
        for number in range(1000, 1000 + REQUESTS):
            client.send(hostile_message(client, rng, number, sessions))
            if number % 25:
                continue
            marker = client.ask("help")
            while True:
                message = client.read()
                assert message is not None
                replies += 1
                refused += "error" in message or message.get("result", {}).get("isError", False)
                assert len(json.dumps(message)) < 200_000
                if message.get("id") == marker:
                    break
        assert replies > REQUESTS / 3
        assert refused > replies / 4
        # The sessions are as usable as before, and nothing was left behind.
        client.call("close", session=sessions[0])
        assert client.call("load", program="mvt", dataset="mini")["status"] == "ok"
        assert files_of(tmp_path) == before
        assert len(os.listdir(f"/proc/{client.process.pid}/fd")) < descriptors + 12
        children = descendants(client.process.pid)
        assert client.close() == 0
        assert wait_for_end(children) == set()
        assert files_of(tmp_path) == before
    finally:
        client.end()


def test_without_the_package_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "mcp_types.py").write_text("raise ImportError('hidden')\n")
    env = environment()
    env["PYTHONPATH"] = f"{tmp_path}:{env['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "polygym", "serve"], capture_output=True, env=env, input=b""
    )
    assert done.returncode == 2
    assert b"pip install 'polygym[serve]'" in done.stderr
