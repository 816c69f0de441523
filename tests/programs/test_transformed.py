"""Programs in pieces that keep their values elsewhere: both changes, against the source."""

from __future__ import annotations

import pytest

from polybench import Dataset
from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.splitting.cuts import WHOLE, parse_splitting
from polygym.compiler.storage.plan import KEEP, parse_storage
from polygym.episodes.kernels import Source
from polygym.measure.evaluation import EvaluationOptions, Evaluator
from polygym.measure.worker.outcome import Status
from polygym.programs import Program, load_program
from polygym.programs.pieces import in_pieces
from polygym.programs.stored import stored, with_chosen_storage

CUTS = parse_splitting("S0: i = j; S1: 2*k < i")


def symm() -> Program:
    return load_program("symm", dataset=Dataset.MINI)


def both() -> Program:
    program = in_pieces(symm(), CUTS)
    return stored(program, with_chosen_storage(program).storage)


def test_a_plan_is_of_the_pieces_and_nothing_is_lost_by_the_second_change() -> None:
    program = both()
    assert program.splitting == CUTS
    assert not program.storage.keeps
    assert program.written == symm().scop
    assert len(program.scop.statements) > len(symm().scop.statements)
    assert "temp2" not in [array.name for array in program.scop.arrays]


def test_both_can_be_taken_back() -> None:
    assert in_pieces(both(), WHOLE) == symm()
    assert stored(both(), KEEP) == in_pieces(symm(), CUTS)


@pytest.mark.parametrize("make", [original, isl_schedule])
def test_the_outputs_are_those_of_the_source(make) -> None:
    program = both()
    options = EvaluationOptions(threads=2, mapping=DEFAULT)
    with Evaluator(program, options) as evaluator:
        found = evaluator.evaluate(make(program.scop))
    assert found.status is Status.OK, found


def test_a_source_of_both_loads_both() -> None:
    program = both()
    source = Source("symm", None, Dataset.MINI, (), program.splitting, program.storage)
    assert source.load() == program


def test_texts_of_both_are_read_back() -> None:
    program = both()
    assert parse_splitting(str(program.splitting)) == program.splitting
    assert parse_storage(str(program.storage)) == program.storage
