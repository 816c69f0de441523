"""The Model Context Protocol over standard input and output.

The package ``mcp`` has the protocol; here are the tools. Calls follow one another in one thread.
A client that cancels a call ends its measurement; one that asks for progress is told the seconds.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, BinaryIO

from polygym.errors import MissingLibraryError
from polygym.text_interface.server.bounded_lines import BoundedLine, bounded_lines
from polygym.text_interface.server.limits import ServerLimits
from polygym.text_interface.server.service import Call, ToolResult, ToolService
from polygym.text_interface.server.tool_table import TOOLS
from polygym.version import __version__

try:
    import anyio
    import mcp_types as types
    from anyio import to_thread
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
except ImportError:
    raise MissingLibraryError("polygym serve --protocol mcp", "mcp", "serve") from None

INSTRUCTIONS = (
    "polygym transforms loop programs and measures them. Load a program, read its loops and "
    "dependences, take steps, measure, undo what is slower. Every step is proved legal before it "
    "is taken. An illegal one is refused with a counterexample and, where there is one, a repair "
    "after `Try:`."
)


class _Lines:
    """Lines of the input as the protocol's reader wants them, none too long."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._lines: Iterator[BoundedLine] = bounded_lines(stream, most)

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await to_thread.run_sync(next, self._lines, None, abandon_on_cancel=True)
        if line is None:
            raise StopAsyncIteration
        return str(line.data.decode("utf-8", "replace"))


class _Tools:
    """The handlers of the protocol."""

    def __init__(self, service: ToolService, waiting: int) -> None:
        self._service = service
        self._turn = asyncio.Lock()
        self._waiting, self._most = 0, waiting

    async def list_tools(self, _context: Any, _params: Any) -> Any:
        """Return the tools."""
        tools = [
            types.Tool(name=tool.name, description=tool.purpose, input_schema=tool.schema)
            for tool in TOOLS
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, context: Any, params: Any) -> Any:
        """Call a tool, after those before."""
        if self._waiting >= self._most:
            text = f"expected at most {self._most} waiting calls: wait for results"
            return _content(ToolResult(False, "limit", text))
        self._waiting += 1
        try:
            async with self._turn:
                return _content(await self._called(context, params))
        finally:
            self._waiting -= 1

    async def _called(self, context: Any, params: Any) -> ToolResult:
        loop = asyncio.get_running_loop()

        def tell(seconds: float, message: str) -> None:
            report = context.session.report_progress(seconds, None, message)
            asyncio.run_coroutine_threadsafe(report, loop)

        call = Call(tell)

        async def cancel_with_scope() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                call.cancel()

        # The thread is waited for in any case: a cancelled call ends soon, by itself.
        async with anyio.create_task_group() as group:
            group.start_soon(cancel_with_scope)
            await anyio.sleep(0)
            result = await to_thread.run_sync(
                partial(self._service.call, params.name, params.arguments, call)
            )
            group.cancel_scope.cancel()
        found: ToolResult = result
        return found


def _content(result: ToolResult) -> Any:
    structured = {"status": result.status, **result.data}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=structured,
        is_error=not result.is_ok,
    )


async def _serve(limits: ServerLimits, stream: BinaryIO) -> None:
    with ToolService(limits) as service:
        tools = _Tools(service, limits.waiting)
        server = Server(
            "polygym",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=tools.list_tools,
            on_call_tool=tools.call_tool,
        )
        lines: Any = _Lines(stream, limits.request_bytes)
        async with stdio_server(stdin=lines) as (source, sink):
            await server.run(source, sink, server.create_initialization_options())


def serve_mcp(limits: ServerLimits) -> None:
    """Serve one client by the Model Context Protocol until it leaves."""
    stream = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    asyncio.run(_serve(limits, stream))
