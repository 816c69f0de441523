"""Files of terms as programs of the command line: run, export, optimize."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli import invoke

SOFTMAX = """
(def total Float ((v : Vec n Float)) (sumbuild n (lam i (exp (index i v)))))
(def softmax (Vec n Float) ((v : Vec n Float))
  (build n (lam i (div (exp (index i v)) (total v)))))
"""


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "softmax.ks"
    path.write_text(SOFTMAX)
    return path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Return the document of a command that succeeds."""
    code, out, err = invoke.call(capsys, *words, "--json")
    assert code == 0, err
    document: dict[str, Any] = json.loads(out)
    return document


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the message of a command that is refused."""
    code, _, err = invoke.call(capsys, *words)
    assert code == 2
    return err


def test_a_term_is_rewritten_and_scheduled_within_one_budget(
    capsys: pytest.CaptureFixture[str], terms: Path, tmp_path: Path
) -> None:
    out = tmp_path / "found"
    words = ("optimize", str(terms), "--function", "softmax", "-p", "n=300", "--out", str(out))
    document = answer(
        capsys, *words, "--strategy", "random", "--budget", "5", "--time-limit", "30s"
    )
    rewriting = document["rewriting"]
    assert len(rewriting["candidates"]) + document["explored"] <= 5 + 1
    assert rewriting["chosen"] > 0
    assert rewriting["speedup"] > 10
    assert document["interpreter_sizes"] == {"n": 3}
    assert "softmax.c" in document["program"]["target"]
    again = answer(capsys, *words, "--strategy", "random", "--budget", "6", "--resume")
    assert again["rewriting"]["candidates"] == rewriting["candidates"]
    assert "expected a folder without the files of a search" in refusal(capsys, *words)


def test_a_term_is_exported_as_an_object_with_its_sizes_as_arguments(
    capsys: pytest.CaptureFixture[str], terms: Path, tmp_path: Path
) -> None:
    out = tmp_path / "lib"
    words = ("export", str(terms), "--function", "total", "-p", "n=100", "--out", str(out))
    document = answer(capsys, *words, "--no-measure")
    assert sorted(Path(file).name for file in document["files"]) == ["total.h", "total.o"]
    assert "void total(long n, double *v, double *result);" in (out / "total.h").read_text()


def test_a_definition_has_to_be_chosen_among_several(
    capsys: pytest.CaptureFixture[str], terms: Path
) -> None:
    assert "choose one of: total, softmax" in refusal(capsys, "run", str(terms))


def test_errors_in_a_file_of_terms_say_where(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "wrong.ks"
    path.write_text("(def f Float ((x : Float))\n  (add x y))")
    assert "wrong.ks:2:10: error: expected one of the names x, found y" in refusal(
        capsys, "optimize", str(path)
    )
    assert "missing.ks" in refusal(capsys, "optimize", str(tmp_path / "missing.ks"))


def test_code_is_the_c_of_a_term(capsys: pytest.CaptureFixture[str], terms: Path) -> None:
    document = answer(capsys, "rewrite", "code", str(terms), "--definition", "total", "-p", "n=4")
    assert "void total(double v[4], double result[1])" in document["code"]
    assert "expected one of n, found k" in refusal(
        capsys, "rewrite", "code", str(terms), "-p", "k=4"
    )
