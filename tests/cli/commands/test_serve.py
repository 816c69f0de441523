"""``polygym serve`` and ``polygym replay`` of transcripts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polygym.text_interface.transcripts import replay_transcript, transcript_of
from tests.cli.invoke import call, call_json
from tests.text_interface.server.clients import ROOT, environment
from tests.text_interface.sessions import session_of

EXAMPLE = ROOT / "examples" / "seidel-2d.transcript.json"
PAGE = ROOT / "docs" / "guides" / "language-models.md"


def test_json_lines_from_a_pipe(tmp_path: Path) -> None:
    requests = [
        {"id": "a", "tool": "load", "arguments": {"program": "mvt", "dataset": "mini"}},
        {"id": "b", "tool": "steps", "arguments": {"session": "s1", "kind": "reverse"}},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "polygym", "serve", "--protocol", "json", "--evaluations", "3"],
        input="".join(f"{json.dumps(request)}\n" for request in requests).encode(),
        capture_output=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert done.returncode == 0
    assert done.stderr == b""
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["session"] == "s1"
    assert "Left:\n3 evaluations" in first["text"]
    assert second["text"].startswith("2 legal steps of the kind reverse")


def test_wrong_options_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--protocol", "http"], ["--root", "/nothing"], ["--threads", "0"]):
        code, _, err = call(capsys, "serve", *arguments)
        assert code == 2
        assert arguments[0] in err


def test_a_transcript_is_replayed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    session = session_of("gemm", reward="speedup")
    for line in ("tile L3 L4 8 8", "measure", "fuse L2 L3"):
        session.reply(line)
    file = tmp_path / "t.json"
    file.write_text(json.dumps(transcript_of(session), indent=1))
    code, out, _ = call(capsys, "replay", str(file))
    assert code == 0
    assert "3, each to the same state as before" in out
    assert "FOUND NOW" in out
    code, document = call_json(capsys, "replay", str(file), "--no-run")
    assert code == 0
    assert document["steps"] == ["tile L3 L4 8 8"]
    assert document["outcomes"][0]["found"] is None
    file.write_text(file.read_text().replace('"tile L3 L4 8 8"', '"tile L3 L4 9 9"'))
    code, out, err = call(capsys, "replay", str(file), "--no-run")
    assert code == 1
    assert "the entry lines.0.mapping" in out + err
    file.write_text(file.read_text().replace('"status"', '"state"', 1))
    code, _, err = call(capsys, "replay", str(file))
    assert code == 2
    assert "lines.0" in err


def test_the_transcript_of_the_guide_is_replayed() -> None:
    record = json.loads(EXAMPLE.read_text())
    replayed = replay_transcript(record, EXAMPLE.name, is_measured=False)
    assert len(replayed.session.history) == len(record["lines"])
    worth = [line["outcome"]["worth"] for line in record["lines"] if line["outcome"]]
    assert max(worth) == worth[-1] > 3


def test_the_guide_shows_lines_of_the_transcript() -> None:
    record = json.loads(EXAMPLE.read_text())
    block = PAGE.read_text().partition("```text\n")[2].partition("```")[0].splitlines()
    sent = [entry["line"] for entry in record["lines"]]
    shown = [line.removeprefix("> ") for line in block if line.startswith("> ")]
    assert shown
    place = -1
    for line in shown:
        place = sent.index(line, place + 1)
    speedups = {f"speedup {e['outcome']['worth']:.3f}" for e in record["lines"] if e["outcome"]}
    found = [line.rpartition(", ")[2] for line in block if line.startswith("ok: ")]
    assert set(found) <= speedups
