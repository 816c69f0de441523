"""What is remembered of compile servers: answers to the same request, and no refusals."""

from typing import Any

import pytest

from polygym.runtime.evaluation.compiler import CompileFailure, Compiler
from polygym.runtime.worker.connection import OwnedServer
from tests import shared_servers


def test_answers_are_remembered_by_all_of_the_request_and_refusals_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, float]] = []

    def attempt(_: Compiler, body: dict[str, Any], program: str, seconds: float) -> Any:
        asked.append((program + body["task"], seconds))
        if body["task"] == "hard":
            return CompileFailure("Timeout", "it took too long")
        return [program, len(asked)]

    monkeypatch.setattr(shared_servers, "_answers", {})
    monkeypatch.setattr(shared_servers, "_attempt", attempt)
    monkeypatch.setattr(OwnedServer, "connected", lambda self: None)

    def ask(task: str, program: str, seconds: float) -> Any:
        return shared_servers._remembered(Compiler(), {"task": task}, program, seconds)

    first = ask("easy", "gemm", 5.0)
    first.append("spoiled by its first user")
    assert ask("easy", "gemm", 5.0) == ["gemm", 1]
    assert ask("easy", "gemm", 6.0) == ["gemm", 2]
    assert ask("easy", "mvt", 5.0) == ["mvt", 3]
    assert ask("easier", "gemm", 5.0) == ["gemm", 4]
    assert [type(ask("hard", "gemm", 5.0)) for _ in range(2)] == [CompileFailure, CompileFailure]
    assert len(asked) == 6
