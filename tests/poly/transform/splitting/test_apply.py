"""Programs in pieces: the same instances, each once, in the same order, with the same results."""

from functools import cache

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import is_legal
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.splitting.apply import apply_splitting, pieces_by_statement
from polygym.poly.transform.splitting.conditions import (
    NO_SPLITTING,
    SplitRelation,
    Splitting,
    parse_splitting,
    split_condition,
)
from polygym.programs.generate import generate_source
from tests.c_programs import SMALL_PROGRAMS, kernel_scop, small_parameters
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.instances import points
from tests.oracles.interpreter import interpret, trace

PROGRAMS = {**SMALL_PROGRAMS, **{f"random:{seed}": generate_source(seed) for seed in (0, 2, 4, 5)}}
SLOW_IN_ISL = ("time_tiled", "six_deep")
COMPILED = ("periodic", "triangular_guarded", "strided")


@cache
def scop_of(name: str) -> Scop:
    return parse_text(PROGRAMS[name])


def random_splitting(scop: Scop, generator: np.random.Generator) -> Splitting:
    """Return one or two cuts of every other statement, with small numbers."""
    splitting = NO_SPLITTING
    parameters = [parameter.name for parameter in scop.parameters]
    for statement in scop.statements:
        names = [*statement.iterators, *parameters]
        if not statement.iterators or generator.random() < 0.4:
            continue
        for _ in range(generator.integers(1, 3)):
            terms = {name: int(generator.integers(-2, 3)) for name in names}
            terms[statement.iterators[0]] = terms[statement.iterators[0]] or 1
            relation = generator.choice(list(SplitRelation))
            splitting = splitting.with_conditions(
                statement.name, [split_condition(terms, int(generator.integers(-3, 4)), relation)]
            )
    return splitting


@pytest.mark.parametrize("name", PROGRAMS)
def test_pieces_have_every_instance_once_in_the_same_order(name: str) -> None:
    scop, generator = scop_of(name), np.random.default_rng(len(name))
    parameters = small_parameters(scop)
    whole_order = trace(scop, parameters)
    for _ in range(2):
        splitting = random_splitting(scop, generator)
        pieces = pieces_by_statement(scop, splitting)
        whole = {
            piece.name: statement for statement, several in pieces.items() for piece in several
        }
        for statement, several in pieces.items():
            covered = [point for piece in several for point in points(piece.domain, parameters)]
            assert sorted(covered) == sorted(points(scop.statement(statement).domain, parameters))
        cut_order = trace(apply_splitting(scop, splitting), parameters)
        assert [(whole[part], point) for part, point in cut_order] == whole_order


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in SLOW_IN_ISL])
def test_results_in_the_original_order_and_in_isls(name: str) -> None:
    scop, generator = scop_of(name), np.random.default_rng(5 * len(name))
    parameters = small_parameters(scop)
    pieces = apply_splitting(scop, random_splitting(scop, generator))
    arrays = random_arrays(scop, parameters, generator)
    expected = {key: array.copy() for key, array in arrays.items()}
    interpret(scop, parameters, expected)
    for order in (None, str(isl_schedule(pieces))):
        results = {key: array.copy() for key, array in arrays.items()}
        interpret(pieces, parameters, results, order)
        for array in scop.arrays:
            if array.live_out:
                assert results[array.name].tobytes() == expected[array.name].tobytes()


@pytest.mark.parametrize("name", COMPILED)
def test_results_of_machine_code(name: str) -> None:
    scop, generator = scop_of(name), np.random.default_rng(7 * len(name))
    parameters = small_parameters(scop)
    pieces = apply_splitting(scop, random_splitting(scop, generator))
    arrays = random_arrays(scop, parameters, generator)
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    for schedule in (original_schedule(pieces), isl_schedule(pieces)):
        results = {key: array.copy() for key, array in arrays.items()}
        run_natively(pieces, schedule, parameters, results)
        for array in scop.arrays:
            if array.live_out:
                assert results[array.name].tobytes() == expected[array.name].tobytes()


def test_schedules_of_pieces_are_judged_by_their_own_dependences() -> None:
    """Rows of a step of Floyd and Warshall's may run backwards in pieces, and not at once."""
    pieces = apply_splitting(kernel_scop("floyd-warshall"), parse_splitting("S0: i = k"))
    names = [statement.name for statement in pieces.statements]
    assert names == ["S0_0", "S0_1", "S0_2"]
    for order, verdict in (((0, 1, 2), True), ((1, 0, 2), False), ((0, 2, 1), False)):
        rows = (
            f"{name}[k, i, j] -> [k, {at}, -i, j]" for name, at in zip(names, order, strict=True)
        )
        assert is_legal(pieces, parse_schedule(f"{{ {'; '.join(rows)} }}", pieces)) is verdict


def test_names_and_domains() -> None:
    text = "void f(int n, double S_0[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++)\n"
    scop = parse_text(text + "S: S_0[i] = i;\n#pragma endscop\n}")
    pieces = apply_splitting(scop, parse_splitting("S: i = 3, i < 2"))
    assert [statement.name for statement in pieces.statements] == ["S__0", "S__1", "S__2", "S__3"]
    domains = [points(statement.domain, {"n": 6}) for statement in pieces.statements]
    assert domains == [[(0,), (1,)], [(2,)], [(3,)], [(4,), (5,)]]
    assert pieces.statements[0].write.relation.count("S__0[") == 1


@pytest.mark.parametrize("text", ["", "S0: i < 0", "S0: i = 0 - 1", "S0: n < 1"])
def test_statements_without_several_pieces_stay_whole(text: str) -> None:
    scop = scop_of("periodic")
    assert apply_splitting(scop, parse_splitting(text)).statements == scop.statements


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T: i = 0", "the statements of f are S0, S1; found T"),
        ("S0: i = q", "has the iterators and parameters t, i, steps, n; found q"),
        (f"S0: {', '.join(f'i = {3 * number + 1}' for number in range(8))}; S1: i = 0", None),
        (f"S0: {', '.join(f't + {n}*i < n' for n in range(1, 9))}, i < n", "1 to 8"),
    ],
)
def test_cuts_that_do_not_fit(text: str, said: str | None) -> None:
    if said is None:
        assert len(apply_splitting(scop_of("periodic"), parse_splitting(text)).statements) == 19
        return
    with pytest.raises(InputError, match="a splitting") as caught:
        apply_splitting(scop_of("periodic"), parse_splitting(text))
    assert said in str(caught.value)


def test_too_many_pieces() -> None:
    cuts = ", ".join(f"{name} = {number}" for name in ("k", "i", "j") for number in (1, 4))
    with pytest.raises(InputError, match="at most 64 pieces of S0"):
        apply_splitting(kernel_scop("floyd-warshall"), parse_splitting(f"S0: {cuts}"))
