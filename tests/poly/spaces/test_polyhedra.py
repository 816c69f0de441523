"""The polyhedra of rows, against the double description of all conditions at once."""

from typing import Any

import numpy as np
import pytest

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.dependences import dependences
from polygym.poly.integer_vectors import Vector, dot
from polygym.poly.legality import is_legal
from polygym.poly.spaces.construction import construct_space, space_from_selections
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.exploration import select_schedule
from polygym.poly.spaces.farkas import farkas_conditions
from polygym.poly.spaces.generators import RationalPoint, ppl_module
from polygym.poly.spaces.polyhedra import DimensionGenerators, RowPolyhedra, SpaceLimits
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop

# With these nothing is sampled, however busy the machine is.
EVERYTHING = SpaceLimits(rays=None, vertices=None, generators=100_000, work=10**12, time_limit=1e9)


def function(parameters: str, body: str) -> str:
    return f"void f({parameters}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def nest(depth: int, bound: str, body: str) -> str:
    loops = "".join(f"for (int i{k} = 0; i{k} < {bound}; i{k}++) " for k in range(depth))
    return f"{loops}{{ {body} }}"


ODD_PROGRAMS = {
    "one scalar": function("int A[1]", "S: A[0] = 1;"),
    "scalars only": function("int A[3]", "S: A[0] = 1;\nT: A[1] = A[0];\nU: A[0] = A[1];"),
    "no dependences": function(
        "int n, int A[n], int B[n]",
        "for (int i = 0; i < n; i++) {\nS: A[i] = 1;\nT: B[i] = 2;\n}",
    ),
    "unused parameter": function(
        "int n, int m, int A[n], int B[m]", "for (int i = 1; i < n; i++)\nS: A[i] = A[i - 1];"
    ),
    "many parameters": function(
        "int a, int b, int c, int d, int e, int A[a][b], int B[c][d], int C[e]",
        "for (int i = 0; i < a; i++) for (int j = 0; j < b; j++)\nS: A[i][j] = 0;\n"
        "for (int i = 0; i < c; i++) for (int j = 0; j < d; j++)\nT: B[i][j] = 1;\n"
        "for (int i = 0; i < e; i++)\nU: C[i] = C[0] + 1;",
    ),
    "no parameters": function(
        "int A[9][9]",
        "for (int i = 1; i < 9; i++) for (int j = i; j < 9; j += 2)\n"
        "S: A[i][j] = A[i - 1][j] + A[j][i];",
    ),
    "one sum in six loops": function("int n, int A[1]", nest(6, "n", "S: A[0] += 1;")),
    "a swap in four loops": function(
        "int n, int A[2]", nest(4, "n", "S: A[0] = A[1] + 1;\nT: A[1] = A[0];")
    ),
    "a sum in eight loops of fixed size": function("int A[1]", nest(8, "3", "S: A[0] += 1;")),
    "depth 0 among loops": function(
        "int n, int A[n], int B[1]",
        "S: B[0] = 0;\nfor (int i = 0; i < n; i++)\nT: B[0] += A[i];\nU: B[0] *= 2;",
    ),
    "a loop that never runs": function(
        "int n, int A[n]", "for (int i = 5; i < 2; i++)\nS: A[0] += i;\nT: A[0] = 1;"
    ),
    "a loop that runs once": function(
        "int n, int A[n]", "for (int i = 0; i < 1; i++)\nS: A[0] += 1;\nT: A[0] += 1;"
    ),
}

SCOPS = {name: parse_text(text) for name, text in {**SMALL_PROGRAMS, **ODD_PROGRAMS}.items()}


def demanded(known: RowPolyhedra, left: frozenset[int], carried: frozenset[int]) -> Any:
    """Return the polyhedron of a dimension from its conditions, all in one call."""
    library = ppl_module()
    system = library.Constraint_System()

    def form(values: Vector, constant: int = 0) -> Any:
        return library.Linear_Expression(list(values), constant)

    conditions = farkas_conditions(known.scop)
    for index in left:
        condition = conditions[index]
        for values, weight in zip(condition.vertices, condition.weights, strict=True):
            system.insert(form(values, -weight if index in carried else 0) >= 0)
        for values in condition.rays:
            system.insert(form(values) >= 0)
        for values in condition.lines:
            system.insert(form(values) == 0)
    polyhedron = library.C_Polyhedron(known.layout.width, "universe")
    polyhedron.add_constraints(system)
    return polyhedron


def spanned(generators: DimensionGenerators, width: int) -> Any:
    """Return the polyhedron that the generators span."""
    library = ppl_module()
    system = library.Generator_System()
    for vertex in generators.vertices:
        system.insert(
            library.point(library.Linear_Expression(list(vertex.numerators), 0), vertex.denominator)
        )
    for ray in generators.rays:
        system.insert(library.ray(library.Linear_Expression(list(ray), 0)))
    polyhedron = library.C_Polyhedron(width, "empty")
    if generators.vertices:
        polyhedron.add_generators(system)
    return polyhedron


def questions(known: RowPolyhedra, generator: np.random.Generator) -> list[Any]:
    """Return what can be asked: nothing, everything, and random dependences carried."""
    result = []
    left = known.all_carryable
    while True:
        possible = sorted(known.carryable(left))
        some = frozenset(index for index in possible if generator.random() < 0.5)
        result += [(left, frozenset()), (left, some), (left, frozenset(possible))]
        if not possible:
            return result
        left -= frozenset(possible)


@pytest.mark.parametrize("name", SCOPS)
def test_the_generators_span_what_the_conditions_demand(name: str) -> None:
    known = RowPolyhedra(SCOPS[name], EVERYTHING)
    assert not known.never_carried
    for left, carried in questions(known, np.random.default_rng(5)):
        generators = known.generators(left, carried)
        assert generators.is_complete
        assert spanned(generators, known.layout.width) == demanded(known, left, carried)


@pytest.mark.parametrize("name", SCOPS)
def test_generators_are_sorted_and_none_is_there_twice(name: str) -> None:
    known = RowPolyhedra(SCOPS[name], EVERYTHING)
    for left, carried in questions(known, np.random.default_rng(6)):
        generators = known.generators(left, carried)
        assert list(generators.rays) == sorted(set(generators.rays), reverse=True)
        assert len(set(generators.vertices)) == len(generators.vertices)
        assert all(any(ray) for ray in generators.rays)


@pytest.mark.parametrize("name", ["gemm", "lu", "trisolv", "jacobi-1d", "durbin"])
@pytest.mark.parametrize(
    "limits", [SpaceLimits(), SpaceLimits(generators=4, rays=10, vertices=2)], ids=str
)
def test_a_sample_satisfies_every_condition(name: str, limits: SpaceLimits) -> None:
    known = RowPolyhedra(kernel_scop(name), limits)
    left = known.all_carryable
    conditions = farkas_conditions(known.scop)
    while left:
        carried = known.carryable(left)
        some = known.generators(left, carried)
        assert some.vertices
        for index in left:
            condition = conditions[index]
            for ray in some.rays:
                assert condition.satisfied_weakly_by(ray)
            for vertex in some.vertices:
                assert condition.satisfied_weakly_by(vertex.numerators)
                assert index not in carried or all(
                    dot(form, vertex.numerators) >= weight * vertex.denominator
                    for form, weight in zip(condition.vertices, condition.weights, strict=True)
                )
        left -= carried


def test_a_sample_depends_on_nothing_but_the_seed() -> None:
    scop = kernel_scop("lu")
    limits = SpaceLimits(generators=4, rays=6, vertices=2, seed=3)
    first, second = RowPolyhedra(scop, limits), RowPolyhedra(scop, limits)
    second.generators(second.all_carryable, frozenset({0}))
    for left, carried in questions(first, np.random.default_rng(1)):
        assert first.generators(left, carried) == second.generators(left, carried)
        assert not first.generators(left, carried).is_complete or len(left) < len(
            first.all_carryable
        )


@pytest.mark.parametrize("name", SCOPS)
def test_every_point_completes_to_a_legal_schedule(name: str) -> None:
    scop = SCOPS[name]
    known = RowPolyhedra(scop)
    generator = np.random.default_rng(7)
    for _ in range(3):
        selections, left = [], known.all_carryable
        while left:
            possible = sorted(known.carryable(left))
            selections.append(frozenset(i for i in possible if generator.random() < 0.6))
            left -= selections[-1]
        space = space_from_selections(known, selections)
        schedule = select_schedule(space, lambda _: 1 + int(generator.integers(0, 2)))
        assert is_legal(scop, schedule)


def rows(text: str) -> tuple[Vector, ...]:
    return tuple(tuple(map(int, row.split(","))) for row in text.split())


def test_the_space_of_y_ax() -> None:
    scop = parse_text(Y_AX)
    selected = iter(
        [False, False, False, False, True, False, True]  # S -> T in the third, T -> T in the fourth
    )
    space = construct_space(scop, lambda _: next(selected))
    assert CoordinateLayout.of(scop).width == 7
    assert space.is_complete
    assert not space.is_empty
    assert [len(dimension.generators.vertices) for dimension in space.dimensions] == [1, 1, 1, 1]
    assert [len(dimension.generators.rays) for dimension in space.dimensions] == [10, 10, 10, 13]
    carried = [
        [(known.source, known.sink) for known in _selected(scop, space_dimension.carried)]
        for space_dimension in space.dimensions
    ]
    assert carried == [[], [], [("S", "T")], [("T", "T")]]
    assert space.dimensions[0].generators.vertices == (RationalPoint((0,) * 7),)
    assert space.dimensions[0].generators.rays == rows(
        "1,1,0,0,0,0,0 1,0,0,-1,0,1,0 0,0,1,0,0,0,0 0,0,0,1,1,0,0 0,0,0,0,0,1,1 "
        "0,0,0,0,0,-1,0 0,0,0,0,0,-1,-1 0,0,0,-1,-1,0,0 -1,0,0,0,0,0,0 -1,-1,0,0,0,0,0"
    )
    for dimension in space.dimensions:
        assert list(dimension.generators.rays) == sorted(dimension.generators.rays, reverse=True)


def _selected(scop: Scop, carried: frozenset[int]) -> list[Any]:
    return [dependences(scop)[index] for index in sorted(carried)]


def test_what_no_row_carries_has_no_generators() -> None:
    known = RowPolyhedra(SCOPS["one sum in six loops"], EVERYTHING)
    impossible = known.all_carryable - known.carryable(known.all_carryable)
    assert impossible
    for index in impossible:
        generators = known.generators(known.all_carryable, frozenset({index}))
        assert generators.is_empty
        assert demanded(known, known.all_carryable, frozenset({index})).is_empty()


@pytest.mark.parametrize("name", ["no dependences", "one scalar"])
def test_without_dependences_there_is_nothing_to_construct(name: str) -> None:
    scop = SCOPS[name]
    space = construct_space(scop, lambda _: True)
    assert space.dimensions == ()
    assert space.is_complete
    assert is_legal(scop, select_schedule(space, lambda _: 0))
    free = RowPolyhedra(scop).generators(frozenset(), frozenset())
    assert len(free.rays) == 2 * CoordinateLayout.of(scop).width


def test_statements_without_loops_are_ordered_by_constants() -> None:
    scop = SCOPS["scalars only"]
    space = construct_space(scop, lambda _: True)
    assert len(space.dimensions) == 1
    (only,) = space.dimensions
    assert {tuple(np.diff(vertex.numerators)) for vertex in only.generators.vertices} == {(1, 1)}


def test_deep_nests_stay_small() -> None:
    """The conditions within a statement are those of its differences, not of its pairs."""
    demands = farkas_conditions(SCOPS["one sum in six loops"])
    assert len(demands) == 6
    assert (
        max(
            len(conditions.vertices) + len(conditions.rays) + len(conditions.lines)
            for conditions in demands
        )
        <= 12
    )
