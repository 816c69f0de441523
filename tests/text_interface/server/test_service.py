"""Tools: what they answer, their limits, and arguments that are refused."""

import json
from pathlib import Path

import pytest

from polygym.text_interface.server.limits import ServerLimits
from polygym.text_interface.server.service import Call, ToolService
from polygym.text_interface.server.tool_table import TOOL_NAMED, TOOLS
from polygym.text_interface.transcripts import read_transcript, replay_transcript


def test_the_tools_on_a_program() -> None:
    told: list[float] = []
    with ToolService(ServerLimits()) as service:
        loaded = service.call("load", {"program": "gemm", "dataset": "mini"})
        assert loaded.data == {"session": "s1"}
        assert "L4: for (j = 0" in loaded.text
        at = {"session": "s1"}
        step = {**at, "step": "tile L3 L4 8 8"}
        for tool in ("check", "explain", "transform"):
            assert service.call(tool, step).status == "ok", tool
        for arguments in ({}, {"part": "budget"}):
            assert service.call("show", {**at, **arguments}).is_ok
        assert service.call("steps", {**at, "kind": "interchange"}).text.endswith("L3 L4")
        result = service.call("measure", at, Call(lambda seconds, _: told.append(seconds)))
        assert result.is_ok
        assert result.data["outcome"] == "ok"
        assert result.data["speedup"] > 0
        assert told[0] == 0.0
        assert "Steps: tile L3 L4 8 8" in service.call("best", at).text
        record = read_transcript(service.call("export", at).text, "t.json")
        replayed = replay_transcript(record, "t.json", is_measured=False)
        assert [str(step) for step in replayed.session.state.steps] == ["tile L3 L4 8 8"]
        assert "kernel_gemm" in service.call("export", {**at, "format": "c"}).text
        assert "tile=8x8x1" in service.call("export", {**at, "format": "schedule"}).text
        assert service.call("undo", at).is_ok
        assert "unroll_jam LOOP COUNT" in service.call("help", None).text
        assert "Example: skew" in service.call("help", {"command": "skew"}).text
        assert service.call("transform", {**at, "step": "stop"}).text.startswith("stopped")
        assert service.call("close", at).is_ok
        assert service.call("show", at).status == "not understood"


def test_several_programs_at_a_time() -> None:
    with ToolService(ServerLimits(sessions=2)) as service:
        for program in ("mvt", "atax"):
            assert service.call("load", {"program": program, "dataset": "mini"}).is_ok
        service.call("transform", {"session": "s1", "step": "reverse L1"})
        assert "Steps: none" in service.call("show", {"session": "s2"}).text
        full = service.call("load", {"program": "gemm", "dataset": "mini"})
        assert full.status == "limit"
        assert "close one of s1, s2" in full.text
        service.call("close", {"session": "s1"})
        again = service.call("load", {"program": "gemm", "dataset": "mini"})
        assert again.data == {"session": "s3"}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("lode", {}, "expected one of the tools load, show"),
        (None, {}, "expected one of the tools"),
        ("load", {}, "expected the argument program"),
        ("load", [], "expected an object of arguments"),
        ("load", {"program": 3}, "program: expected a text"),
        ("load", {"program": "gemm", "root": "/"}, "found 'root'"),
        ("load", {"program": "gemm", "dataset": "huge"}, "dataset: expected one of mini"),
        ("load", {"program": "gemm", "parameters": {"ni": "9"}}, "an object of integers"),
        ("load", {"program": "gemm", "parameters": {"ni": 2**60}}, "an object of integers"),
        ("load", {"program": "gemm", "parameters": {"q": 9}}, "found q"),
        ("load", {"program": "gemm", "threads": 2}, "threads: expected at most 1"),
        ("load", {"program": "gemm", "threads": True}, "threads: expected an integer"),
        ("load", {"program": "gemm", "seconds": float("nan")}, "seconds: expected a number"),
        ("load", {"program": "gemm", "function": "f -I/"}, "function: expected a name"),
        ("show", {"session": "s9"}, "session: expected one of none"),
        ("help", {"command": "rm"}, "help: expected one of show"),
    ],
)
def test_wrong_calls_are_refused(tool: object, arguments: object, said: str) -> None:
    with ToolService(ServerLimits()) as service:
        result = service.call(tool, arguments)
    assert not result.is_ok
    assert said in result.text
    assert len(result.text) < 700


def test_transform_takes_steps_alone() -> None:
    with ToolService(ServerLimits()) as service:
        service.call("load", {"program": "mvt", "dataset": "mini"})
        for line in ("measure", "show", "nonsense", "explain reverse L1", ""):
            assert not service.call("transform", {"session": "s1", "step": line}).is_ok


def test_sizes_memory_and_budgets_are_limited() -> None:
    with ToolService(ServerLimits(memory=1 << 20, evaluations=1)) as service:
        large = service.call("load", {"program": "gemm", "dataset": "large"})
        assert large.status == "limit"
        assert "arrays of at most 1,048,576 bytes" in large.text
        asked = {"program": "gemm", "dataset": "mini", "evaluations": 50, "seconds": 10_000}
        assert "Left:\n1 evaluations, 600.0 s" in service.call("load", asked).text


def test_loading_and_deciding_are_limited_in_time(tmp_path: Path) -> None:
    limits = ServerLimits(root=tmp_path, work_seconds=0.001)
    with ToolService(limits) as service:
        result = service.call("load", {"program": "gemm", "dataset": "mini"})
        assert result.status == "limit"
        assert "gave up after 0.001 s" in result.text


def test_a_measurement_is_ended_in_time_and_forgotten() -> None:
    with ToolService(ServerLimits(measure_seconds=0.3)) as service:
        asked = {"program": "seidel-2d", "dataset": "extralarge"}
        assert service.call("load", asked).is_ok
        at = {"session": "s1"}
        result = service.call("measure", at)
        assert result.status == "limit"
        assert "ended after" in result.text
        assert service.call("best", at).text.startswith("none")


def test_a_cancelled_call_does_nothing() -> None:
    with ToolService(ServerLimits()) as service:
        call = Call()
        call.cancel()
        result = service.call("load", {"program": "gemm", "dataset": "mini"}, call)
        assert result.status == "cancelled"
        assert service.call("show", {"session": "s1"}).status == "not understood"


def test_schemas_are_json_schemas_of_what_is_checked() -> None:
    assert set(TOOL_NAMED) >= {
        "load", "show", "transform", "check", "measure", "undo", "best", "explain", "export",
    }  # fmt: skip
    for tool in TOOLS:
        schema = json.loads(json.dumps(tool.schema))
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        assert tool.purpose.endswith(".")
