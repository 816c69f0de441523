"""Sums in another order: only when asked for, compared to a tolerance, and said in every report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from polygym.cli import dispatch
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.runtime.worker.problem import CompiledProgram

DOT = """
void dot(int n, double s[1], double x[n], float t[1], float z[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    s[0] += x[i] * x[i];
  for (int i = 0; i < n; i++)
    t[0] += z[i];
#pragma endscop
}
"""
WORDS = "relative tolerance of 1e-06 (0.0001 in single precision"


@pytest.fixture
def dot(tmp_path: Path) -> str:
    path = tmp_path / "dot.c"
    path.write_text(DOT)
    return str(path)


def test_only_a_mapping_that_says_so_has_a_tolerance() -> None:
    assert DEFAULT_MAPPING.tolerance is None
    assert SEQUENTIAL_MAPPING.tolerance is None
    assert (DEFAULT_MAPPING.timing_caveat, SEQUENTIAL_MAPPING.timing_caveat) == ("", "")
    assert parse_mapping("reassociate=on").tolerance == 1e-6
    assert WORDS in parse_mapping("sequential reassociate=on").timing_caveat


def test_the_bits_differ_and_are_accepted_only_then(dot: str) -> None:
    program = load_program(dot, parameters={"n": 100_000})
    with Evaluator(program, EvaluationOptions(timeout_factor=100)) as evaluator:
        schedule = original_schedule(program.scop)
        assert evaluator.evaluate(schedule, DEFAULT_MAPPING).is_ok
        evaluation = evaluator.evaluate(schedule, Mapping(reassociate=True))
        assert evaluation.is_ok
        assert evaluation.mapping.reassociate
        # The same code, judged bit for bit, is refused: so it did add in another order.
        code = evaluator._compile((schedule, Mapping(reassociate=True)))
        assert isinstance(code, CompiledProgram)
        strict = replace(code, tolerance=None)
        outcome = evaluator.session.measure(strict, evaluator.measure_options())
        assert outcome.status is OutcomeStatus.WRONG_OUTPUT
        together = evaluator.evaluate_interleaved(
            [(schedule, DEFAULT_MAPPING), (schedule, Mapping(reassociate=True))], 3
        )
        assert [measured.status for measured in together] == [OutcomeStatus.OK, OutcomeStatus.OK]


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--schedule", "isl", "--reassociate"),
        ("run", "--schedule", "isl", "--mapping", "reassociate=on"),
        ("run", "--mapping", "sequential", "--reassociate"),
        ("bench", "--reassociate"),
        ("optimize", "--budget", "1", "--reassociate"),
        ("run", "--reassociate"),
        (
            "sweep",
            "--out",
            "found",
            "--budget",
            "3",
            "--confirm",
            "1",
            "--reassociate",
            "--dataset",
            "small",
            "--search-dataset",
            "mini",
        ),
    ],
)
def test_every_report_says_so(
    capsys: pytest.CaptureFixture[str],
    dot: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = arguments
    sizes = [] if name == "sweep" else ["-p", "n=1000"]
    assert dispatch.run([name, dot, *sizes, *options]) == 0
    assert WORDS in capsys.readouterr().out
    assert dispatch.run([name, dot, *sizes, *options, "--json"]) in (0, 2)
    if out := capsys.readouterr().out:  # a second search has a folder of its own
        assert WORDS in json.loads(out)["caveat"]
        assert json.loads(out)["tolerance"] == 1e-6
    if name == "sweep":
        assert dispatch.run(["report", "found"]) == 0
        assert WORDS in capsys.readouterr().out
        assert WORDS in (tmp_path / "found" / "report.html").read_text()
        return
    without = [word for word in options if "reassociate" not in word and word != "--mapping"]
    if "sequential" not in options:
        assert dispatch.run([name, dot, *sizes, *without]) == 0
        assert "tolerance" not in capsys.readouterr().out


def test_a_replay_says_so_too(capsys: pytest.CaptureFixture[str], dot: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["-p", "n=1000", "--budget", "1", "--reassociate", "--out", str(out)]
    assert dispatch.run(["optimize", dot, *options]) == 0
    best = json.loads((out / "best.json").read_text())
    assert "reassociate=on" in best["arguments"]["mapping"]
    capsys.readouterr()
    assert dispatch.run(["replay", str(out / "best.json")]) == 0
    assert WORDS in capsys.readouterr().out


def test_long_sums_in_single_precision_have_a_wider_tolerance(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The original order's own sum of a million floats is off by more than 1e-4."""
    path = tmp_path / "dot.c"
    path.write_text(
        "void dot(int n, float a[n], float b[n], float *s) {\n#pragma scop\n  *s = 0.0f;\n"
        "  for (int i = 0; i < n; i++)\n    *s += a[i] * b[i];\n#pragma endscop\n}\n"
    )
    command = ["run", str(path), "-p", "n=1000000", "--json"]
    sums = []
    for more in ([], ["--reassociate"]):
        assert dispatch.run([*command, *more]) == 0
        sums.append(json.loads(capsys.readouterr().out)["arrays"][0]["sum"])
    # What is described is what that order left.
    assert 1e-5 < abs(sums[0] / sums[1] - 1) < 1e-2
