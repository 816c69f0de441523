"""JSON lines: order, progress, cancellation, and a client that is hostile."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.text_interface.commands import SYNTAX
from polygym.text_interface.server.tool_table import TOOLS
from tests.rotation import NIGHTLY
from tests.text_interface.server.clients import JsonClient, descendants, wait_for_end
from tests.text_interface.server.test_program_files import OUTSIDE
from tests.text_interface.sessions import STENCIL

REQUESTS = 10_000 if NIGHTLY else 2_000


@pytest.fixture
def client(tmp_path: Path) -> Iterator[JsonClient]:
    (tmp_path / "root").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "root" / "heat.c").write_text(STENCIL)
    made = JsonClient(
        "--root", str(tmp_path / "root"), folder=tmp_path, temporary=tmp_path / "temporary"
    )
    yield made
    made.end()


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_requests_are_done_in_their_order(client: JsonClient) -> None:
    numbers = [
        client.ask("load", program="heat.c", dataset="mini"),
        client.ask("transform", session="s1", step="tile L1 L2 8 8"),
        client.ask("transform", session="s1", step="skew L2 L1 1"),
        client.ask("transform", session="s1", step="tile L1 L2 8 8"),
        client.ask("measure", session="s1"),
        client.ask("tools"),
    ]
    replies = [client.reply(number) for number in numbers]
    found = [reply["status"] for reply in replies]
    assert found == ["ok", "illegal", "ok", "ok", "ok", "ok"]
    assert "Try: skew L2 L1 1, then tile L1 L2 8 8" in replies[1]["text"]
    assert replies[4]["outcome"] == "ok"
    assert client.progress[0]["id"] == numbers[4]
    assert {tool["name"] for tool in replies[5]["tools"]} == {tool.name for tool in TOOLS}
    assert client.close() == 0


def test_a_measurement_is_cancelled(client: JsonClient) -> None:
    assert client.call("load", program="seidel-2d", dataset="extralarge")["ok"]
    number = client.ask("measure", session="s1")
    while not client.progress:
        message = client.read()
        assert message is not None
        client.progress += [message] if "progress" in message else []
    time.sleep(0.7)
    start = time.monotonic()
    client.send(json.dumps({"cancel": number}).encode() + b"\n")
    assert client.reply(number)["status"] == "cancelled"
    assert time.monotonic() - start < 10
    assert client.call("show", session="s1")["ok"]
    assert client.call("load", program="mvt", dataset="mini")["ok"]
    assert client.call("measure", session="s2")["outcome"] == "ok"
    assert client.close() == 0


def malformed(rng: np.random.Generator) -> bytes:
    """Return a line that is no request, or hardly one."""
    known = [
        b"", b"{", b"[]", b"null", b"1e999", b'"load"', b"{}", b'{"id": 1}', b'{"cancel": {}}',
        b'{"cancel": 99}', b'{"id": null, "tool": "show"}', b'{"id": 1.5, "tool": "show"}',
        b'{"id": [], "tool": "show"}', b'{"id": 7, "tool": {}, "arguments": 3}', b"\xff\xfe\x00",
        b'{"id": 3, "tool": "show", "arguments": {"session": NaN}}', b"[" * 50_000,
        b'{"a":' * 20_000, b'{"id": "' + b"x" * 5000 + b'", "tool": "show"}', b"9" * 10_000,
        b'{"id": 1, "tool": "load", "tool": "load"}', b"x" * 400_000, b"\x00" * 100,
    ]  # fmt: skip
    if rng.random() < 0.3:
        return bytes(rng.integers(1, 256, size=rng.integers(1, 200), dtype=np.uint8)).replace(
            b"\n", b" "
        )
    return known[rng.integers(len(known))]


def value(rng: np.random.Generator, sessions: list[str]) -> Any:
    """Return an argument: what may be right, or another type, or very large."""
    words = [*SYNTAX, "L1", "L2", "S0", "32", "-1", "{ S0[t, i] -> [t, i] }", "S0: i = 3"]
    values: list[Any] = [
        *sessions, *OUTSIDE, "heat.c", "mvt", "program", "mini", None, True, 3.5, -1, [], {},
        "x" * 30_000, {"n": 9}, {"n": "x"}, 2**70,
        " ".join(rng.choice(words, size=rng.integers(1, 6))),
    ]  # fmt: skip
    return values[rng.integers(len(values))]


def request(rng: np.random.Generator, number: int, sessions: list[str]) -> bytes:
    """Return a request with random arguments; those that would measure are left out."""
    tools = [tool for tool in TOOLS if tool.name not in ("measure", "close")]
    tool = tools[rng.integers(len(tools))]
    arguments = {argument.name: value(rng, sessions) for argument in tool.arguments}
    if rng.random() < 0.1:
        arguments[str(rng.integers(9))] = 1
    if sessions and "session" in arguments and rng.random() < 0.8:
        arguments["session"] = sessions[rng.integers(len(sessions))]
    if tool.name == "load" and rng.random() < 0.9:
        arguments["program"] = "../outside.c"  # loading takes the longest
    return json.dumps({"id": number, "tool": tool.name, "arguments": arguments}).encode()


def test_a_hostile_client_harms_nobody(client: JsonClient, tmp_path: Path) -> None:
    """Random and malformed requests, huge and deep ones, path tricks, cancellations."""
    rng = np.random.default_rng(7)
    before = files_of(tmp_path)
    descriptors = len(os.listdir(f"/proc/{client.process.pid}/fd"))
    sessions = [
        client.call("load", program=program, dataset="mini")["session"]
        for program in ("heat.c", "mvt")
    ]
    waiting = replies = refused = 0
    for number in range(1000, 1000 + REQUESTS):
        is_malformed = rng.random() < 0.3
        line = malformed(rng) if is_malformed else request(rng, number, sessions)
        client.send(line + b"\n")
        waiting += bool(line.strip())
        if rng.random() < 0.05:
            client.send(
                json.dumps({"cancel": int(rng.integers(1000, number + 1))}).encode() + b"\n"
            )
        if waiting >= 30:
            marker = client.ask("help")
            while True:
                message = client.read()
                assert message is not None
                replies += 1
                refused += not message["ok"]
                assert len(json.dumps(message)) < 200_000
                if message["id"] == marker:
                    break
            waiting = 0
            if rng.random() < 0.1:  # one that a random line has stopped makes place for another
                client.call("close", session=sessions.pop(0))
                program = ("heat.c", "mvt", "random:3")[rng.integers(3)]
                sessions.append(client.call("load", program=program, dataset="mini")["session"])
    assert replies > REQUESTS / 2
    assert refused > replies / 4
    # The sessions are as usable as before, and nothing was left behind.
    client.call("close", session=sessions[0])
    assert client.call("transform", session=sessions[1], step="stop")["status"] in ("ok", "over")
    assert client.call("load", program="mvt", dataset="mini")["ok"]
    assert files_of(tmp_path) == before
    assert len(os.listdir(f"/proc/{client.process.pid}/fd")) < descriptors + 12
    children = descendants(client.process.pid)
    assert client.close() == 0
    assert wait_for_end(children) == set()
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("way", ["close", "kill"])
def test_an_abrupt_end_in_a_measurement_leaves_no_process(
    client: JsonClient, tmp_path: Path, way: str
) -> None:
    before = files_of(tmp_path)
    client.call("load", program="seidel-2d", dataset="extralarge")
    client.ask("measure", session="s1")
    time.sleep(1.0)
    children = descendants(client.process.pid)
    assert children
    if way == "kill":
        client.process.send_signal(signal.SIGKILL)
    else:
        client.output.close()
        client.input.close()
    assert client.process.wait(30) is not None
    assert wait_for_end(children) == set()
    assert files_of(tmp_path) == before
