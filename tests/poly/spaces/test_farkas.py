"""Farkas' lemma: the conditions accept exactly the rows that keep the order of every pair.

Accepted rows are compared with pairs that are counted one by one. For a row that is refused a pair
that breaks it is produced and checked with plain arithmetic; it may need parameters so large that
nobody would count up to them.
"""

from itertools import product

import islpy as isl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import Dependence, DependenceKind, dependences
from polygym.poly.distance import DependencePairs
from polygym.poly.integer_vectors import Vector, dot
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.farkas import FarkasConditions, dependence_conditions, farkas_conditions
from polygym.poly.spaces.generators import EnumerationBudget, LinearConstraint, enumerate_generators
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop
from tests.oracles.instances import pairs

SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}
ROWS = 24


def distance(
    layout: CoordinateLayout,
    dependence: Dependence,
    row: Vector,
    pair: tuple[Vector, Vector, Vector],
) -> int:
    """Return δ of one pair under one row, by the definition."""
    source, sink, parameters = pair
    values = []
    for name, instance in ((dependence.source, source), (dependence.sink, sink)):
        part = layout.row(row, name)
        values.append(
            dot(part.iterators, instance) + dot(part.parameters, parameters) + part.constant
        )
    return values[1] - values[0]


def breaking_pair(
    layout: CoordinateLayout, dependence: Dependence, row: Vector, *, strongly: bool
) -> tuple[Vector, Vector, Vector] | None:
    """Return a pair of the dependence with δ < ε, or None when there is none at any size."""
    every = DependencePairs.of(dependence, layout.parameters)
    parts = (layout.row(row, dependence.source), layout.row(row, dependence.sink))
    form = every.distance(*parts, layout.parameters)
    broken = every.reversed_by(form)
    if broken.is_empty and strongly:
        broken = every.unordered_by(form)
    if broken.is_empty:
        return None
    count = len(layout.parameters)
    flat = broken.points.move_dims(
        isl.dim_type.set, 0, isl.dim_type.param, 0, broken.points.dim(isl.dim_type.param)
    )
    example = flat.sample_point()
    values = tuple(
        int(example.get_coordinate_val(isl.dim_type.set, place).to_python())
        for place in range(flat.dim(isl.dim_type.set))
    )
    depth = len(parts[0].iterators)
    pair = values[count : count + depth], values[count + depth :], values[:count]
    # The answer is a pair of the relation and it breaks the row: no trust in isl is needed.
    relation = isl.Map(dependence.relation)
    sizes = dict(zip(layout.parameters, pair[2], strict=True))
    for name, value in sizes.items():
        place = relation.find_dim_by_name(isl.dim_type.param, name)
        if place >= 0:
            relation = relation.fix_val(isl.dim_type.param, place, isl.Val(value))
    for kind, instance in ((isl.dim_type.in_, pair[0]), (isl.dim_type.out, pair[1])):
        for place, value in enumerate(instance):
            relation = relation.fix_val(kind, place, isl.Val(value))
    assert not relation.is_empty()
    assert distance(layout, dependence, row, pair) < int(strongly)
    return pair


def rows_near_the_border(
    demanded: FarkasConditions, width: int, generator: np.random.Generator
) -> list[Vector]:
    """Return random rows, rows that are accepted, and their neighbours."""
    result = [tuple(map(int, generator.integers(-3, 4, width))) for _ in range(ROWS // 3)]
    cone = [LinearConstraint(form) for form in demanded.vertices + demanded.rays]
    cone += [LinearConstraint(form, 0, is_equality=True) for form in demanded.lines]
    known = enumerate_generators(cone, width, EnumerationBudget(500))
    assert known is not None
    rays = [*known.rays, *known.lines, *(tuple(-v for v in line) for line in known.lines)]
    while rays and len(result) < ROWS:
        chosen = generator.choice(len(rays), size=4)
        row = np.zeros(width, dtype=object)
        for k in chosen:
            row += int(generator.integers(0, 3)) * np.array(rays[k], dtype=object)
        if generator.random() < 0.6:
            row[generator.integers(width)] += generator.choice((-1, 1))
        result.append(tuple(map(int, row)))
    return result


def assert_exact(
    dependence: Dependence,
    layout: CoordinateLayout,
    demanded: FarkasConditions,
    sizes: range,
    seed: int = 0,
) -> None:
    """Compare the conditions of one dependence with the pairs, both ways."""
    counted = [
        (source, sink, values)
        for values in product(sizes, repeat=len(layout.parameters))
        for source, sink in pairs(
            isl.Map(dependence.relation), dict(zip(layout.parameters, values, strict=True))
        )
    ]
    for row in rows_near_the_border(demanded, layout.width, np.random.default_rng(seed)):
        least = min((distance(layout, dependence, row, pair) for pair in counted), default=1)
        for accepted, strongly in (
            (demanded.satisfied_weakly_by(row), False),
            (demanded.satisfied_strongly_by(row), True),
        ):
            if accepted:
                assert least >= int(strongly)
            broken = breaking_pair(layout, dependence, row, strongly=strongly)
            assert accepted == (broken is None), (dependence.relation, row, broken)
            if not layout.parameters:
                assert accepted == (least >= int(strongly))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_small_programs(name: str) -> None:
    scop = SCOPS[name]
    layout = CoordinateLayout.of(scop)
    sizes = range(1, 9 if len(layout.parameters) == 1 else 5)
    if name == "six_deep":
        sizes = range(1, 3)
    for number, dependence in enumerate(dependences(scop)):
        assert_exact(dependence, layout, farkas_conditions(scop)[number], sizes, number)


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "trisolv", "nussinov"])
def test_kernels(name: str) -> None:
    scop = kernel_scop(name)
    layout = CoordinateLayout.of(scop)
    for number, dependence in enumerate(dependences(scop)):
        assert_exact(dependence, layout, farkas_conditions(scop)[number], range(3, 5), number)


@st.composite
def programs(draw: st.DrawFn) -> Scop:
    """Draw two statements in loops with strides, slopes, guards and shared subscripts."""
    sized = draw(st.booleans())
    bound = "n" if sized else str(draw(st.integers(2, 5)))
    upper = draw(st.sampled_from([bound, "i + 1", f"{bound} - i", f"({bound} + 1) / 2"]))
    lower = draw(st.sampled_from(["0", "i", "i / 2", "i % 2"]))
    guard = draw(
        st.sampled_from(["", "if (i % 2 == 0) ", "if (i + j < 4) ", "if (3 * i > 2 * j) "])
    )
    steps = [draw(st.integers(1, 3)) for _ in range(2)]

    def element(names: str) -> str:
        factors = [draw(st.integers(0, 2)) for _ in names]
        terms = [f"{factor} * {name}" for factor, name in zip(factors, names, strict=True)]
        return f"A[{' + '.join([*terms, str(draw(st.integers(0, 3)))])}]"

    return parse_text(
        "#include <assert.h>\n"
        "void f(int n, int A[4 * n + 50]) {\nassert(n >= 1);\n#pragma scop\n"
        f"for (int i = 0; i < {bound}; i += {steps[0]}) {{\n"
        f"S: {element('i')} = {element('i')} + 1;\n"
        f"for (int j = {lower}; j < {upper}; j += {steps[1]})\n"
        f"{guard}\nT: {element('ij')} += {element('ij')};\n}}\n#pragma endscop\n}}\n"
    )


@given(programs(), st.integers(0, 1_000))
@settings(deadline=None, max_examples=25)
def test_random_programs(scop: Scop, seed: int) -> None:
    layout = CoordinateLayout.of(scop)
    for dependence, demanded in zip(dependences(scop), farkas_conditions(scop), strict=True):
        assert_exact(dependence, layout, demanded, range(1, 7), seed)


RELATIONS = {
    "half of n": "[n] -> { S[i] -> T[j, k] : 2i >= n and i <= j and 2j + k <= n and k >= 0 }",
    "even only": "[n] -> { S[i] -> T[j, k] : i mod 2 = 0 and (j + k) mod 3 = 1 and 0 <= i <= n "
    "and i <= j <= n and 0 <= k <= n }",
    "equalities": "[n] -> { S[i] -> T[j, k] : j = 2i + 1 and 3k = n and 1 <= i <= n }",
    "lines": "[n] -> { S[i] -> T[j, k] : j = i and n >= 1 }",
    "lines and strides": "[n] -> { S[i] -> T[j, k] : (i + j) mod 2 = 1 and k >= i and n >= k }",
    "everything": "[n] -> { S[i] -> T[j, k] }",
    "one pair": "[n] -> { S[3] -> T[4, 5] : n = 7 }",
    "one size": "[n] -> { S[i] -> T[j, k] : n = 4 and 0 <= i, j, k < n }",
    "no lower bound": "[n] -> { S[i] -> T[j, k] : i <= j <= k <= n }",
    "one statement": "[n] -> { T[i, j] -> T[k, l] : 2k >= 2i + 1 and 0 <= j < n and l <= 3j }",
    "odd steps": "[n] -> { T[i, j] -> T[k, l] : (k - i) mod 4 = 3 and i < k < n and 0 <= i "
    "and 2l = j and 0 <= j < n }",
    "large numbers": "[n] -> { S[i] -> T[j, k] : 1000000007 i <= 998244353 n and i >= 0 "
    "and j = i and 0 <= k <= 1 and n >= 1000 }",
    "lines and halves": "[n] -> { S[i] -> T[j, k] : i + 2j <= 1 and 2k >= 1 + 4n }",
    "floors": "[n] -> { S[i] -> T[j, k] : i = floor(n/3) and j >= floor(2n/5) and 0 <= k < n }",
}


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_that_programs_seldom_have(name: str) -> None:
    relation = RELATIONS[name]
    source = "T" if "{ T" in relation else "S"
    dependence = Dependence(source, "T", DependenceKind.FLOW, ("A",), relation)
    layout = CoordinateLayout(("S", "T"), (1, 2), ("n",))
    demanded = dependence_conditions(dependence, layout)
    if source != "T":
        # The sink's constant counts once, so its place tells what a form was multiplied by.
        assert demanded.weights == tuple(form[-1] for form in demanded.vertices)
    for row in rows_near_the_border(demanded, layout.width, np.random.default_rng(1)):
        for accepted, strongly in (
            (demanded.satisfied_weakly_by(row), False),
            (demanded.satisfied_strongly_by(row), True),
        ):
            broken = breaking_pair(layout, dependence, row, strongly=strongly)
            assert accepted == (broken is None), (row, broken)


def test_an_empty_dependence_demands_nothing() -> None:
    layout = CoordinateLayout(("S", "T"), (1, 1), ())
    empty = Dependence(
        "S", "T", DependenceKind.FLOW, ("A",), "{ S[i] -> T[j] : 1 <= 3i - 3j <= 2 }"
    )
    demanded = dependence_conditions(empty, layout)
    assert demanded == FarkasConditions((), (), (), ())
    assert demanded.satisfied_strongly_by((0, 0, 0, 0))


def test_a_parameter_that_the_dependence_does_not_name_is_free() -> None:
    layout = CoordinateLayout(("S", "T"), (0, 0), ("m", "n"))
    demanded = dependence_conditions(
        Dependence("S", "T", DependenceKind.FLOW, ("A",), "[n] -> { S[] -> T[] : n >= 2 }"), layout
    )
    assert demanded.vertices == ((0, -2, 0, 2, -1, 1),)
    assert demanded.rays == ((0, -1, 0, 1, 0, 0),)
    assert demanded.lines in {((1, 0, -1, 0, 0, 0),), ((-1, 0, 1, 0, 0, 0),)}


def test_the_conditions_of_y_ax() -> None:
    """The generators that the module's docstring reads off."""
    scop = parse_text(Y_AX)
    assert [(dependence.source, dependence.sink) for dependence in dependences(scop)] == [
        ("S", "T"),
        ("T", "T"),
    ]
    first, second = farkas_conditions(scop)
    assert first.vertices == ((0, 0, 0, -1, 1, -1, 1),)
    assert first.weights == (1,)
    assert set(first.rays) == {
        (0, 0, 0, -1, 1, 0, 0),
        (-1, 1, 0, -1, 1, 0, 0),
        (0, 0, 1, -1, 1, 0, 0),
        (-1, 1, 1, -1, 1, 0, 0),
    }
    assert second.vertices == second.rays == ((0, 0, 1, 0, 0, 0, 0),)
    assert first.lines == second.lines == ()
    assert farkas_conditions(scop) is farkas_conditions(parse_text(Y_AX))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_the_original_order_satisfies_what_it_has_not_carried(name: str) -> None:
    scop = SCOPS[name]
    layout = CoordinateLayout.of(scop)
    schedule = original_schedule(scop)
    first = {part.statement: part.rows[0] for part in schedule.statements}
    assert all(
        conditions.satisfied_weakly_by(layout.point(first))
        for conditions in farkas_conditions(scop)
    )


def test_the_sum_of_accepted_rows_is_accepted() -> None:
    scop = SCOPS["periodic"]
    layout = CoordinateLayout.of(scop)
    generator = np.random.default_rng(3)
    for demanded in farkas_conditions(scop):
        rows = rows_near_the_border(demanded, layout.width, generator)
        weak = [row for row in rows if demanded.satisfied_weakly_by(row)]
        strong = [row for row in rows if demanded.satisfied_strongly_by(row)]
        assert strong
        for a, b in product(weak, strong):
            total = tuple(x + 2 * y for x, y in zip(a, b, strict=True))
            assert demanded.satisfied_strongly_by(total)
