"""Reads under a condition are made elsewhere too where they stay inside their array, only there."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from polygym.codegen.generation import loop_generation
from polygym.codegen.generation.loop_generation import speculative_read
from polygym.codegen.loopir.ir import LoopProgram, instances_in
from polygym.codegen.pipeline import lower
from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import parse_mapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.loops import events
from tests.oracles.tuning import tune

LANES = "vector_bits=256 vector_copies=2 unroll_jam=1 tile=off"


def scop_of(read: str, first: str = "1", end: str = "n", arrays: str = "double x[n]") -> Scop:
    """Return a loop over i from the first to before the end."""
    return parse_text(
        f"void f(int n, int m, {arrays}, double y[n], double z[n][m]) {{\n#pragma scop\n"
        f"for (int i = {first}; i < {end}; i++)\nS: y[i] = {read};\n#pragma endscop\n}}\n"
    )


def nest_of(read: str) -> Scop:
    """Return a nest over the inner elements of a matrix z."""
    return parse_text(
        "void f(int n, int m, double x[n][m], double z[n][m]) {\n#pragma scop\n"
        "for (int i = 1; i < n - 1; i++) for (int j = 1; j < m - 1; j++)\n"
        f"S: z[i][j] = {read};\n#pragma endscop\n}}\n"
    )


# Whether the read is guarded for all sizes, and for n = 23 and m = 17.
GUARDED = {
    "inside": (scop_of("i > 4 ? x[i - 1] : 0.5"), False, False),
    "outside in the first": (scop_of("i > 0 ? x[i - 1] : 0.5", "0"), True, True),
    "inside up to the last": (scop_of("i < 9 ? x[i + 1] : 0.5", "0", "n - 1"), False, False),
    "outside in the last": (scop_of("i < n - 1 ? x[i + 1] : 0.5"), True, True),
    "a hole": (scop_of("i != 3 ? x[i] : 0.5"), False, False),
    "holes": (scop_of("i != 3 && i != 7 ? x[i - 1] : 0.5"), False, False),
    "two pieces": (scop_of("i > 4 ? x[i < 8 ? i : i - 4] : 0.5"), False, False),
    "downwards from outside": (scop_of("i > 0 ? x[n - i] : 0.5", "0"), True, True),
    "a scalar": (scop_of("i > 4 ? x : 0.5", arrays="double x"), False, False),
    "an array as long as needed": (
        scop_of("i < 8 ? x[i] : 0.5", arrays="double x[8]"),
        True,
        True,
    ),
    "inside by the sizes": (scop_of("i < 8 ? x[i] : 0.5", arrays="double x[m + 8]"), True, False),
    "never, at these sizes": (scop_of("i > 99 ? x[i - 99] : 0.5"), True, False),
    "the element before a row": (nest_of("i > 3 ? x[i - 1][j - 1] : x[i][j]"), False, False),
    "a row that is not there": (nest_of("i < n - 2 ? x[i + 2][j] : x[i][j]"), True, True),
    "an arm in an arm": (nest_of("x[i][j] > 1 ? (j > 2 ? x[i][j - 1] : 2) : 3"), False, False),
    "one of two": (nest_of("i > 2 ? x[i - 1][j] : j > 1 ? x[i][j - 2] : 0"), True, True),
    "right of and": (nest_of("j > 2 && x[i][j - 1] > 1 ? 2.5 : 3.5"), False, False),
    "computed": (
        scop_of("i > 4 ? x[t[i - 1]] : 0.5", arrays="int t[n], double x[n]"),
        True,
        True,
    ),
}
SIZES = {"n": 23, "m": 17}


def lowered(scop: Scop, *, is_known: bool, mapping: str = LANES) -> LoopProgram:
    legal = LegalSchedule(scop, original_schedule(scop))
    return lower(legal, parse_mapping(mapping), SIZES if is_known else None)


def has_lanes(program: LoopProgram) -> bool:
    return any(instance.lanes is not None for instance in instances_in(program.body))


@pytest.mark.rotates
@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("is_known", [False, True])
def test_what_is_inside_anyway_has_lanes(name: str, is_known: bool) -> None:
    scop, *expected = GUARDED[name]
    program = lowered(scop, is_known=is_known)
    assert bool(program.guarded_reads) == expected[is_known]
    assert has_lanes(program) == (not expected[is_known])


@pytest.mark.rotates
@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("mapping", [LANES, "default", "sequential", "tile=3x5 threads=2"])
def test_loops_read_elements_alone_and_the_bits_are_those_of_the_text(
    name: str, mapping: str
) -> None:
    """Every element that lanes load for nothing exists; what is guarded need not."""
    scop, *_ = GUARDED[name]
    start = random_arrays(scop, SIZES, np.random.default_rng(3))
    start |= {key: np.minimum(a, 9) for key, a in start.items() if a.dtype == np.int32}
    expected = {key: value.copy() for key, value in start.items()}
    run_in_order(scop, SIZES, expected)
    for is_known in (False, True):
        program = lowered(scop, is_known=is_known, mapping=mapping)
        assert not leaving(program)
        for is_watched in (False, True):
            arrays = {key: value.copy() for key, value in start.items()}
            run_natively(
                scop,
                original_schedule(scop),
                SIZES,
                arrays,
                parse_mapping(mapping),
                is_known=is_known,
                is_watched=is_watched,
            )
            assert all(arrays[key].tobytes() == expected[key].tobytes() for key in start)


def leaving(program: LoopProgram) -> list[tuple[str, int, tuple[int, ...]]]:
    """Return the reads outside of their arrays that are not guarded."""
    result = []
    for event in events(program.body, SIZES):
        accesses = program.scop.statement(event.statement).reads
        for number, (access, places) in enumerate(zip(accesses, event.reads, strict=True)):
            if (event.statement, number) in program.guarded_reads or access.gathered:
                continue
            extents = [
                evaluate_extent(extent, SIZES)
                for extent in program.scop.array(access.array).extents
            ]
            if not all(0 <= at < size for at, size in zip(places, extents, strict=True)):
                result.append((event.statement, number, places))
    return result


@given(
    first=some.integers(0, 4),
    length=some.integers(1, 9),
    factor=some.integers(-2, 2),
    offset=some.integers(-4, 12),
    condition=some.sampled_from(["i > {}", "i < {}", "i != {}", "i % 3 != {}", "2 * i > {} + 3"]),
    number=some.integers(0, 6),
    size=some.integers(1, 16),
)
def test_the_proof_against_looking_at_every_iteration(
    first: int, length: int, factor: int, offset: int, condition: str, number: int, size: int
) -> None:
    text = condition.format(number)
    scop = None
    try:
        scop = parse_text(
            f"void f(double x[{size}], double y[16]) {{\n#pragma scop\n"
            f"for (int i = {first}; i < {first + length}; i++)\n"
            f"S: y[i] = {text} ? x[{factor} * i + {offset}] : 0.5;\n#pragma endscop\n}}\n"
        )
    except SourceError:
        assume(False)
    assert scop is not None
    (statement,) = scop.statements
    function, is_guarded = speculative_read(scop, statement, statement.reads[0], {})
    iterations = range(first, first + length)
    holding = [i for i in iterations if eval(text, {"i": i})]
    inside = all(0 <= factor * i + offset < size for i in iterations)
    if len(holding) != 1:  # of one iteration there is nothing to tell how others go on
        assert is_guarded == (not inside and 0 < len(holding) < length)
    values = {}
    for i in iterations:
        at = isl.Set(f"{{ S[{i}] }}").apply(isl.Map.from_pw_multi_aff(function))
        if not at.is_empty():
            values[i] = at.dim_max_val(0).to_python()
    assert all(values[i] == factor * i + offset for i in holding)
    assert is_guarded or (set(values) == set(iterations) and set(values.values()) <= {*range(size)})


def test_what_takes_isl_too_long_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    scop, *_ = GUARDED["inside"]
    tune(monkeypatch, loop_generation, speculation_operations=1)
    program = lowered(scop, is_known=False)
    assert program.guarded_reads == {("S", 0)}
    assert not has_lanes(program)
