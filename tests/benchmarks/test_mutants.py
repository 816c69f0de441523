"""Mutants come from their seed, differ from what they were, and none computes something else."""

from pathlib import Path

import mutants
import numpy as np
import pytest

from polygym.errors import InputError, InternalError, LimitError, PolygymError
from polygym.programs import Program
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.runtime.evaluation.compiler import CompileFailure


def test_mutants_come_from_their_seed() -> None:
    region = mutants.original_programs()[0].region
    rng = [np.random.default_rng([0, number]) for number in (1, 1, 2)]
    mutant, same, other = (mutants.mutate(region, each) for each in rng)
    assert mutant == same
    assert len({region, mutant, other}) == 3


@pytest.mark.parametrize("change", dict.fromkeys(mutants.CHANGES))
def test_every_change_changes(change: mutants.Change) -> None:
    region = mutants.original_programs()[0].region
    regions = {change(region, np.random.default_rng(seed)) for seed in range(5)}
    assert regions - {region}
    assert change("\n", np.random.default_rng(0)) in ("", "\n", "\n\n")


NEEDS_GCC = pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")


@NEEDS_GCC
def test_a_few_are_played() -> None:
    played = mutants.run_mutants(0, range(12))
    assert [mutant.number for mutant in played] == list(range(12))
    assert {mutant.status for mutant in played} == {"ok", "refused"}
    assert all(mutant.detail for mutant in played if mutant.status == "refused")


def one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every mutant be the same program, unchanged."""
    original = next(program for program in mutants.original_programs() if "0.75" in program.region)
    monkeypatch.setattr(mutants, "original_programs", lambda: (original,))
    monkeypatch.setattr(mutants, "mutate", lambda region, _: region)


@NEEDS_GCC
def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gcc is given another text than ours, as if one of both were wrong."""
    plain = mutants.compile_with

    def other(name: str, program: Program, threads: int, more: tuple[str, ...]) -> object:
        path = Path(program.scop.file)
        text = path.read_text()
        path.write_text(text.replace("0.75", "0.5"))
        try:
            return plain(name, program, threads, more)
        finally:
            path.write_text(text)

    one_program(monkeypatch)
    assert mutants.run_mutants(0, range(1))[0].status == "ok"
    monkeypatch.setattr(mutants, "compile_with", other)
    mutant = mutants.run_mutants(0, range(1))[0]
    assert mutant.status == "wrong output"
    assert mutant.detail.count("gcc") == len(mutants.ROUNDINGS)


@pytest.mark.parametrize(
    ("error_type", "status"),
    [("Crash", "internal error"), ("InternalError", "internal error"), ("Timeout", "too much")],
)
def test_what_is_not_compiled(
    error_type: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is out of reach is no failure."""
    one_program(monkeypatch)
    answer = CompileFailure(error_type, "for a test")
    monkeypatch.setattr(mutants.Compiler, "compile_schedule", lambda *_: answer)
    mutant = mutants.run_mutants(0, range(1))[0]
    assert (mutant.status, mutant.detail) == (status, f"{error_type}: for a test")


@pytest.mark.parametrize(
    ("error", "status"),
    [(InputError, "internal error"), (InternalError, "internal error"), (LimitError, "too much")],
)
def test_an_original_order_that_is_not_compiled(
    error: type[PolygymError], status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read without a complaint is compiled, unless it is out of reach."""

    def refused(*_: object) -> object:
        raise error("the original order does not compile")

    one_program(monkeypatch)
    monkeypatch.setattr(mutants.Compiler, "compile_problem", refused)
    assert mutants.run_mutants(0, range(1))[0].status == status
