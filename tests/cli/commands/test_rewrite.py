"""``polygym rewrite``: derivations of terms and files, replayed; refusals with their reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polygym.terms.derivation import replay_derivation
from polygym.terms.learning.weights import PATH
from tests.cli import invoke

AXPY = """
(def scal (Vec n Float) ((a : Float) (v : Vec n Float))
  (build n (lam i (mul a (index i v)))))
(def axpy (Vec n Float) ((a : Float) (v : Vec n Float) (w : Vec n Float))
  (build n (lam i (add (index i (scal a v)) (index i w)))))
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return invoke.call(capsys, "rewrite", *arguments)


def test_a_term_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "optimize", "(mul (add x y) (add x y))")
    assert (code, err) == (0, "")
    assert "(let (t1 (add x y)) (mul t1 t1))" in out
    assert "by bind at 0" in out
    assert "4 → 3.1, 22.5% less, in 5 steps" in out


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "optimize", "(div (mul x y) y)", "--strategy", "beam", "--json")
    document = json.loads(out)
    assert code == 0
    assert set(document) >= {"initial_cost", "cost", "derivation", "term", "program", "rules"}
    assert document["initial_cost"] == 4.0
    assert replay_derivation(document).costs[-1] == document["cost"]


def test_a_file_and_a_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program, path = tmp_path / "axpy.ks", tmp_path / "found.json"
    program.write_text(AXPY)
    code, out, _ = call(
        capsys, "optimize", str(program), "--rules", "extended", "--strategy", "greedy",
        "--budget", "2000", "--out", str(path),
    )  # fmt: skip
    assert code == 0
    assert "853.2 → 82" in out
    code, out, _ = call(capsys, "replay", str(path))
    assert code == 0
    assert "every step holds" in out
    record = json.loads(path.read_text())
    record["derivation"][0]["rule"] = "drop-let"
    path.write_text(json.dumps(record))
    code, _, err = call(capsys, "replay", str(path))
    assert code == 1
    assert "changed" in err
    code, out, _ = call(capsys, "replay", str(path), "--json")
    assert (code, json.loads(out)["agrees"]) == (1, False)


def test_the_record_of_a_large_term_is_followed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    term = "(add (mul x y) z)"
    for _ in range(10):
        term = f"(sub {term} {term})"
    (tmp_path / "large.ks").write_text(term)
    record = str(tmp_path / "record.json")
    arguments = ("--strategy", "greedy", "--rules", "arithmetic", "--budget", "3000")
    code, _, err = call(capsys, "optimize", str(tmp_path / "large.ks"), *arguments, "--out", record)
    assert (code, err) == (0, "")
    document = json.loads(Path(record).read_text())
    assert document["cost"] < document["initial_cost"]
    Path(record).write_text(Path(record).read_text() + " " * 2**20)
    code, out, _ = call(capsys, "replay", record, "--json")
    assert (code, json.loads(out)["agrees"]) == (0, True)


def test_a_definition_is_chosen(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "axpy.ks"
    program.write_text(AXPY)
    _, out, _ = call(capsys, "optimize", str(program), "--definition", "scal", "--budget", "50")
    assert out.startswith("scal\n")
    code, _, err = call(capsys, "optimize", str(program), "--definition", "gemv")
    assert code == 2
    assert "expected one of the definitions scal, axpy, found 'gemv'" in err


def test_rules_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = tmp_path / "mine.rules"
    rules.write_text("squares: (sub (mul ?a ?a) (mul ?b ?b)) => (mul (sub ?a ?b) (add ?a ?b))\n")
    code, out, _ = call(
        capsys,
        "optimize",
        "(sub (mul x x) (mul y y))",
        "--rules",
        str(rules),
        "--strategy",
        "breadth",
    )
    assert code == 0
    assert "5 → 4" in out
    rules.write_text("wrong: (sub ?a ?b) => (sub ?b ?a)\n")
    code, _, err = call(capsys, "optimize", "(sub x y)", "--rules", str(rules))
    assert code == 2
    assert "rule wrong: expected both sides to be equal" in err
    rules.write_text("wrong: (sub ?a => ?b\n")
    code, _, err = call(capsys, "optimize", "(sub x y)", "--rules", str(rules))
    assert code == 2
    assert "mine.rules:1:" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["optimize", "(add x"], "<term>:1:1: error: expected ')'"),
        (["optimize", "nothing.ks"], "there is no such file"),
        (["optimize", "(add x y)", "--rules", "none"], "expected a file, or one of binding"),
        (["optimize", "(add x y)", "--strategy", "best"], "best"),
        (["replay", "nothing.json"], "there is no such file"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert message in err


def test_what_is_no_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("{")
    assert call(capsys, "replay", str(file))[0] == 2
    file.write_text("{}")
    code, _, err = call(capsys, "replay", str(file))
    assert code == 1
    assert "expected a record" in err


def test_nothing_is_cheaper(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no cheaper term was found" in call(capsys, "optimize", "(add x y)")[1]


def test_what_is_measured_is_shown_and_measured_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program, path = tmp_path / "axpy.ks", tmp_path / "found.json"
    program.write_text(AXPY)
    code, out, _ = call(
        capsys, "optimize", str(program), "--rules", "extended", "--strategy", "greedy",
        "--budget", "500", "--measure", "-p", "n=200", "--out", str(path),
    )  # fmt: skip
    assert code == 0
    assert "void axpy(double a, double v[200], double w[200], double result[200])" in out
    assert "measured, n = 200" in out
    assert "times as fast, the median of 11 rounds in turn" in out
    assert "both compute what the interpreter does at n = 3" in out
    record = json.loads(path.read_text())
    measured = record["measured"]
    assert [len(entry["samples"]) for entry in measured["programs"]] == [11, 11]
    assert measured["speedup"] > 2.0
    assert measured["machine"]["processor"]
    code, out, _ = call(capsys, "replay", str(path), "--json")
    again = json.loads(out)
    assert (code, again["agrees"]) == (0, True)
    assert again["measured"]["sizes"] == {"n": 200}
    measured["programs"][1]["code"] += " "
    path.write_text(json.dumps(record))
    code, _, err = call(capsys, "replay", str(path))
    assert code == 1
    assert "measured: expected the code that the terms lead to" in err


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (("-p", "n=3"), "--parameters: expected --measure beside it"),
        (("--measure", "-p", "n"), "expected NAME=INTEGER, or several"),
        (("--measure", "-p", "n=x"), "such as n=100,m=200, found 'n=x'"),
        (("--measure", "-p", "k=3"), "a size: expected one of (none), found k"),
    ],
)
def test_sizes_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], sizes: tuple[str, ...], message: str
) -> None:
    code, _, err = call(capsys, "optimize", "(add x 1)", *sizes)
    assert code != 0
    assert message in err


def test_saturation_and_its_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    text = "(let (s (add x y)) (div (mul 2.0 s) (sub (add x y) 1)))"
    code, out, _ = call(capsys, "optimize", text, "--strategy", "egraph", "--out", str(path))
    assert code == 0
    assert "(let (t1 (add x y)) (div (mul 2.0 t1) (sub t1 1.0)))" in out
    assert "28 rules, an e-graph of" in out
    assert call(capsys, "replay", str(path))[0] == 0
    record = json.loads(path.read_text())
    for name, wrong in (("term", "(add x y)"), ("cost", 1.0), ("limits", {}), ("version", 9)):
        path.write_text(json.dumps({**record, name: wrong}))
        code, out, _ = call(capsys, "replay", str(path), "--json")
        assert (code, json.loads(out)["agrees"]) == (1, False)
    code, _, err = call(capsys, "optimize", "(if (gt x 1) x y)", "--strategy", "egraph")
    assert code != 0
    assert "saturation: expected Floats under" in err
    code, _, err = call(
        capsys, "optimize", "(add x y)", "--strategy", "egraph", "--rules", "binding"
    )
    assert "expected rules of Floats without binders, found none" in err


def test_the_gradient_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program, made = tmp_path / "axpy.ks", tmp_path / "gradient.ks"
    program.write_text(AXPY)
    code, out, _ = call(capsys, "gradient", str(program), "--definition", "scal")
    assert code == 0
    assert out.startswith("(def rev$scal (Tuple Float (Vec n Float)) ((a : Float)")
    made.write_text(out)
    code, out, _ = call(
        capsys, "optimize", str(made), "--rules", "gradients", "--rules", "extended", "--json"
    )
    document = json.loads(out)
    assert (code, document["cost"] < document["initial_cost"]) == (0, True)
    code, out, _ = call(capsys, "gradient", str(program), "--json")
    assert json.loads(out)["name"] == "rev$axpy"
    code, _, err = call(capsys, "gradient", "(and True False)")
    assert code != 0
    assert "expected a parameter with Floats, found none" in err


def test_policies_by_name_and_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    term = "(mul (add x y) (add x y))"
    code, out, _ = call(
        capsys, "optimize", term, "--value-function", "learned", "--budget", "300", "--json"
    )
    document = json.loads(out)
    assert (code, document["policy"]) == (0, "learned")
    assert (document["initial_cost"], document["cost"]) == (4.0, 3.1)
    copy = tmp_path / "weights.npz"
    copy.write_bytes(PATH.read_bytes())
    code, out, _ = call(
        capsys, "optimize", term, "--value-function", str(copy), "--budget", "300", "--json"
    )
    assert code == 0
    assert json.loads(out)["derivation"] == document["derivation"]
    code, out, _ = call(capsys, "optimize", term, "--strategy", "greedy", "--json")
    assert code == 0
    assert "policy" not in json.loads(out)


def test_policies_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call(capsys, "optimize", "(mul x y)", "--value-function", "nobody")
    assert code == 2
    assert "expected counted, learned, both, or a file of weights, found 'nobody'" in err
    (tmp_path / "weights.npz").write_bytes(b"nothing")
    code, _, err = call(
        capsys, "optimize", "(mul x y)", "--value-function", str(tmp_path / "weights.npz")
    )
    assert code == 2
    assert "expected weights of a value function" in err


def test_rules_are_found_and_read_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = call(capsys, "rules", "--operators", "exp,log", "--levels", "2")
    assert code == 0
    assert "(exp (log ?a)) => ?a" in out
    path = tmp_path / "found.rules"
    path.write_text(out)
    code, out, err = call(capsys, "optimize", "(log (exp x))", "--rules", str(path))
    assert (code, err) == (0, "")
    assert "by found" in out
    code, _, err = call(capsys, "rules", "--operators", "exp,sine")
    assert code == 2
    assert "found 'sine'" in err
