"""Loops whose bounds are read from memory run from the one to the other, and compute the same."""

import ctypes
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.codegen.analysis.loop_data_bounds import loop_data_bounds
from polygym.codegen.c import print_c
from polygym.codegen.common.loop_annotation import ScalarReplacement, SplitAccumulators
from polygym.codegen.loopir.ir import LoopProgram, loops_in
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.estimates.work import operations, statement_work
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs.dtypes import DTYPES
from polygym.programs.initial_data import initial_data_program
from tests.codegen.mapped_programs import random_mapping
from tests.codegen.sparse_programs import SHORTENED, SIZES, SPARSE_PROGRAMS, sizes_of, sparse_data
from tests.oracles.compiled_runs import run_in_order, run_natively
from tests.oracles.interpreter import interpret
from tests.oracles.random_schedules import random_legal_schedule


def shortened_loops(program: LoopProgram) -> int:
    """Return how many loops of a program run in bounds from memory."""
    known: dict[str, frozenset] = {}
    count = 0
    for loop in loops_in(program.body):
        bounds = loop_data_bounds(program, loop, known)
        if bounds is not None:
            count += 1
            known |= bounds.known
    return count


@pytest.mark.parametrize("name", SPARSE_PROGRAMS)
def test_a_loop_runs_between_its_bounds(name: str) -> None:
    scop = parse_text(SPARSE_PROGRAMS[name])
    legal = LegalSchedule(scop, original_schedule(scop))
    for mapping in (SEQUENTIAL_MAPPING, replace(DEFAULT_MAPPING, threads=2)):
        for sizes in (None, sizes_of(scop)):
            assert shortened_loops(lower(legal, mapping, sizes)) == SHORTENED[name]


def test_columns_run_inside_of_rows() -> None:
    """Of Band(i, j, k) the members on which no bound depends come last."""
    scop = parse_text(SPARSE_PROGRAMS["dense_columns"])
    text = "[n, m, z] -> { S0[i, k, j] -> [i, j, k] }"
    legal = LegalSchedule(scop, parse_schedule(text, scop))
    program = lower(legal, DEFAULT_MAPPING)
    assert [str(loop.upper) for loop in loops_in(program.body)][-1].endswith("value=6)")
    assert shortened_loops(program) == 1


def test_rows_hold_their_sums_in_registers() -> None:
    scop = parse_text(SPARSE_PROGRAMS["rows"])
    program = lower(LegalSchedule(scop, original_schedule(scop)), DEFAULT_MAPPING)
    last = [*loops_in(program.body)][-1]
    assert last.annotation == ScalarReplacement(frozenset({"S1"}))


def test_sums_of_rows_run_in_chains_where_their_order_does_not_matter() -> None:
    chains = ScalarReplacement(frozenset({"S1"}), SplitAccumulators(1, 4))
    scop = parse_text(SPARSE_PROGRAMS["rows"])
    mapping = replace(DEFAULT_MAPPING, reassociate=True)
    program = lower(LegalSchedule(scop, original_schedule(scop)), mapping)
    assert [*loops_in(program.body)][-1].annotation == chains
    generator = np.random.default_rng(3)
    for in_order in (True, False):
        given = sparse_data(scop, generator, in_order=in_order)
        expected = {name: array.copy() for name, array in given.items()}
        interpret(scop, sizes_of(scop), expected)
        run_natively(scop, original_schedule(scop), sizes_of(scop), given, mapping)
        np.testing.assert_allclose(given["y"], expected["y"])


def test_the_starts_of_rows_are_test_data() -> None:
    scop = parse_text(SPARSE_PROGRAMS["local_sum"])
    arrays = {
        array.name: np.zeros(4 if array.name == "ptr" else 7, DTYPES[array.type])
        for array in scop.arrays
    }
    run_in_order(initial_data_program(scop), {"n": 3, "m": 7, "z": 7}, arrays)
    assert arrays["ptr"].tolist() == [0, 2, 4, 7]


def test_work_is_that_of_rows() -> None:
    scop = parse_text(SPARSE_PROGRAMS["rows"])
    sizes = {"n": 100, "m": 100, "z": 5000}
    _, product = scop.statements
    assert statement_work(scop, product, sizes) == 5000 * operations(product)


@pytest.mark.parametrize("name", SPARSE_PROGRAMS)
@pytest.mark.parametrize("in_order", [True, False])
def test_it_computes_what_the_guarded_loop_does(name: str, in_order: bool) -> None:
    """Rows may be empty, negative, reversed or beyond the arrays."""
    scop = replace(parse_text(SPARSE_PROGRAMS[name]), contraction=False)
    generator = np.random.default_rng(len(name))
    for number in range(4):
        check(scop, generator, number, in_order)


def check(scop, generator: np.random.Generator, number: int, in_order: bool) -> None:
    """Compare a schedule under a mapping with the interpreter."""
    schedule, mapping = original_schedule(scop), SEQUENTIAL_MAPPING
    if number == 1:
        schedule = isl_schedule(scop)
    if number >= 2:
        schedule = random_legal_schedule(scop, generator)
        mapping = random_mapping(generator, scop)
    given = sparse_data(scop, generator, in_order=in_order)
    expected = {name: array.copy() for name, array in given.items()}
    interpret(scop, sizes_of(scop), expected)
    run_natively(scop, schedule, sizes_of(scop), given, mapping, is_known=number % 2 == 0)
    for array in scop.arrays:
        if array.live_out:
            np.testing.assert_array_equal(given[array.name], expected[array.name], str(mapping))


def test_printed_c_computes_the_same(tmp_path: Path) -> None:
    scops = {
        name: replace(parse_text(text), name=name, contraction=False)
        for name, text in SPARSE_PROGRAMS.items()
    }
    texts = [
        print_c(lower(LegalSchedule(scop, original_schedule(scop)))) for scop in scops.values()
    ]
    files = [str(tmp_path / f"{name}.c") for name in scops]
    for file, text in zip(files, texts, strict=True):
        Path(file).write_text(text)
    library = str(tmp_path / "all.so")
    command = ["gcc", "-shared", "-fPIC", "-w", "-O1", "-ffp-contract=off", "-o", library, *files]
    subprocess.run(command, check=True)
    functions = ctypes.CDLL(library)
    generator = np.random.default_rng(5)
    for name, scop in scops.items():
        given = sparse_data(scop, generator, in_order=True)
        expected = {key: array.copy() for key, array in given.items()}
        interpret(scop, sizes_of(scop), expected)
        sizes = {key: ctypes.c_int(value) for key, value in SIZES.items()}
        values = {key: array.ctypes.data_as(ctypes.c_void_p) for key, array in given.items()}
        getattr(functions, name)(*({**sizes, **values}.get(key) for key in scop.signature))
        for array in scop.arrays:
            if array.live_out:
                np.testing.assert_array_equal(given[array.name], expected[array.name], name)
