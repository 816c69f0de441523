"""Programs in pieces that keep their values elsewhere: both changes, against the source."""

from __future__ import annotations

import pytest

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.mdp.problems.loading import ProgramSource
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, parse_splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from polygym.programs import Program, load_program
from polygym.programs.stored_program import (
    apply_splitting_to,
    with_default_storage,
    with_storage_plan,
)
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.worker.outcome import OutcomeStatus

CUTS = parse_splitting("S0: i = j; S1: 2*k < i")


def symm() -> Program:
    return load_program("symm", dataset=Dataset.MINI)


def both() -> Program:
    program = apply_splitting_to(symm(), CUTS)
    return with_storage_plan(program, with_default_storage(program).storage)


def test_a_plan_is_of_the_pieces_and_nothing_is_lost_by_the_second_change() -> None:
    program = both()
    assert program.splitting == CUTS
    assert not program.storage.is_source
    assert program.as_written == symm().scop
    assert len(program.scop.statements) > len(symm().scop.statements)
    assert "temp2" not in [array.name for array in program.scop.arrays]


def test_both_can_be_taken_back() -> None:
    assert apply_splitting_to(both(), NO_SPLITTING) == symm()
    assert with_storage_plan(both(), SOURCE_STORAGE) == apply_splitting_to(symm(), CUTS)


@pytest.mark.parametrize("make", [original_schedule, isl_schedule])
def test_the_outputs_are_those_of_the_source(make) -> None:
    program = both()
    options = EvaluationOptions(threads=2, mapping=DEFAULT_MAPPING)
    with Evaluator(program, options) as evaluator:
        evaluation = evaluator.evaluate(make(program.scop))
    assert evaluation.status is OutcomeStatus.OK, evaluation


def test_a_source_of_both_loads_both() -> None:
    program = both()
    source = ProgramSource("symm", None, Dataset.MINI, (), program.splitting, program.storage)
    assert source.load() == program


def test_texts_of_both_are_read_back() -> None:
    program = both()
    assert parse_splitting(str(program.splitting)) == program.splitting
    assert parse_storage(str(program.storage)) == program.storage
