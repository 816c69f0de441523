"""Dependences against brute force, on every kernel and on small programs."""

from collections import Counter, defaultdict
from itertools import product

import islpy as isl
import pytest

import polybench
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly import dependences as module
from polygym.poly.dependences import (
    DependenceKind,
    access_relation,
    basic_maps_of,
    dependences,
    maps_of,
    reads_without_source,
    relations_by_array,
    union_of,
    value_based_flow,
)
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.farkas import farkas_conditions
from polygym.programs.generate import generate_source
from tests.c_programs import SMALL_PROGRAMS, Y_AX, kernel_scop, small_parameters
from tests.oracles.instances import dependences_by_force, pairs, trace
from tests.renamed_programs import names_of, renamed, reversing

KERNELS = [kernel.name for kernel in polybench.KERNELS]


def assert_agrees_with_brute_force(scop: Scop) -> None:
    parameters = small_parameters(scop)
    expected = dependences_by_force(trace(scop, original_schedule(scop), parameters))
    computed = {}
    for (kind, array), relation in relations_by_array(scop).items():
        edges = {
            (
                (part.get_tuple_name(isl.dim_type.in_), source),
                (part.get_tuple_name(isl.dim_type.out), sink),
            )
            for part in maps_of(relation)
            for source, sink in pairs(part, parameters)
        }
        if edges:
            computed[kind, array] = edges
    assert computed == expected
    # The convex pieces are the same pairs, sorted into statements.
    united = set().union(*expected.values())
    pieces = set()
    for dependence in dependences(scop):
        piece = pairs(isl.Map(dependence.relation), parameters)
        pieces |= {((dependence.source, a), (dependence.sink, b)) for a, b in piece}
    assert pieces == united


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_agree_with_brute_force(name: str) -> None:
    assert_agrees_with_brute_force(kernel_scop(name))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_small_programs_agree_with_brute_force(name: str) -> None:
    assert_agrees_with_brute_force(parse_text(SMALL_PROGRAMS[name]))


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_every_piece_knows_its_reasons(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    reasons: dict[int, set[tuple[DependenceKind, str]]] = defaultdict(set)
    names = [parameter.name for parameter in scop.parameters]
    tried = (1, 2, 3, 4, 6) if len(names) > 1 else range(1, 13)
    for sizes in product(tried, repeat=len(names)):
        parameters = dict(zip(names, sizes, strict=True))
        expected = dependences_by_force(trace(scop, original_schedule(scop), parameters))
        for position, dependence in enumerate(dependences(scop)):
            piece = {
                ((dependence.source, a), (dependence.sink, b))
                for a, b in pairs(isl.Map(dependence.relation), parameters)
            }
            reasons[position] |= {key for key, instances in expected.items() if instances & piece}
    for position, dependence in enumerate(dependences(scop)):
        assert {array for _, array in reasons[position]} == set(dependence.arrays)
        assert {kind for kind, _ in reasons[position]} == {
            k for k in DependenceKind if k in dependence.kind
        }


def test_y_ax_has_the_two_dependences_of_the_paper() -> None:
    first, second = dependences(parse_text(Y_AX))
    assert (first.source, first.sink, first.kind) == (
        "S",
        "T",
        DependenceKind.FLOW | DependenceKind.OUTPUT,
    )
    assert (second.source, second.sink) == ("T", "T")
    assert second.kind == DependenceKind.FLOW | DependenceKind.ANTI | DependenceKind.OUTPUT
    assert first.arrays == second.arrays == ("y",)


@pytest.mark.parametrize("name", ["gemm", "adi", "nussinov", "deriche"])
def test_pieces_are_convex_sorted_and_repeatable(name: str) -> None:
    scop = kernel_scop(name)
    pieces = dependences(scop)
    position = {statement.name: k for k, statement in enumerate(scop.statements)}
    keys = [(position[d.source], position[d.sink]) for d in pieces]
    assert keys == sorted(keys)
    assert len({d.relation for d in pieces}) == len(pieces)
    assert all(len(basic_maps_of(isl.Map(d.relation))) == 1 for d in pieces)
    dependences.__globals__["_dependences"].cache_clear()
    assert dependences(scop) == pieces


@pytest.mark.parametrize("seed", [4, 7, 11, 12])
def test_their_order_is_that_of_no_names(seed: int) -> None:
    text = generate_source(seed)
    names, first = names_of(text), parse_text(text)
    assert max(Counter((d.source, d.sink) for d in dependences(first)).values()) > 1
    for beginning in ("a", "z"):
        others = {
            name: other
            for kind in ("iterators", "arrays", "parameters")
            for name, other in reversing(names[kind], f"{beginning}{kind[0]}").items()
        }
        second = parse_text(renamed(text, others))
        assert farkas_conditions(second) == farkas_conditions(first)
        back = {other: name for name, other in others.items()}
        for dependence, other in zip(dependences(first), dependences(second), strict=True):
            assert (other.source, other.sink, other.kind) == (
                dependence.source,
                dependence.sink,
                dependence.kind,
            )
            assert renamed(other.relation, back) == dependence.relation


def test_a_value_that_is_overwritten_does_not_flow() -> None:
    scop = parse_text(
        "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) {\nP: A[i] = 1.0;\nQ: A[i] = 2.0;\nR: B[i] = A[i];\n}\n"
        "#pragma endscop\n}\n"
    )
    kinds = {(d.source, d.sink): d.kind for d in dependences(scop)}
    assert kinds == {("P", "Q"): DependenceKind.OUTPUT, ("Q", "R"): DependenceKind.FLOW}


# isl's own analysis of who reads whose value fails on these, or may.
MODULI = {
    "sum": (
        "for (int i = 0; i < N; ++i) for (int j = 0; j < N && i % 11 == 1; ++j)"
        " if ((i + j) % 14 == 4 || (i - j) % 15 == 5) y = y * 0.5 + 1.0;  z[0] = y;"
    ),
    "carried": (
        "for (int i = 0; i < N; ++i) for (int j = 0; j < i; ++j) {"
        " if ((2 * i + j) % 6 == 4 || (i - 2 * j) % 10 == 3) y = z[j] * 0.5;"
        " if ((i + 3 * j) % 7 == 1) z[i] = z[i] + y; }"
    ),
    "small": (
        "for (int i = 0; i < N; ++i) for (int j = 0; j < N && i % 2 == 1; ++j)"
        " if ((i + j) % 3 == 1 || (i - j) % 4 == 1) y = y + 1.0;  z[0] = y;"
    ),
    "odd": (
        "double w[800];  for (int i = 0; i < 9; ++i) for (int j = 0; j < 8; ++j)"
        " w[37 * i + 43 * j] = w[43 * i + 37 * j] * y + w[41 * i + 2 * j];"
        "  z[0] = w[N > 3 ? 3 : 0];"
    ),
}


def moduli(name: str, value: str = "1.0") -> Scop:
    return parse_text(
        f"void f(int N, double z[N]) {{\n double y = {value};\n#pragma scop\n{MODULI[name]}\n"
        "#pragma endscop\n}"
    )


@pytest.mark.parametrize("name", MODULI)
def test_conditions_with_several_moduli(name: str) -> None:
    """Flow may stand for what output and flow say together; nothing else is more or less."""
    scop = moduli(name)
    parameters = {"N": 16}
    expected = dependences_by_force(trace(scop, original_schedule(scop), parameters))
    computed = {
        (kind, array): {
            (
                (part.get_tuple_name(isl.dim_type.in_), source),
                (part.get_tuple_name(isl.dim_type.out), sink),
            )
            for part in maps_of(relation)
            for source, sink in pairs(part, parameters)
        }
        for (kind, array), relation in relations_by_array(scop).items()
    }
    for (kind, array), relation in expected.items():
        if kind is DependenceKind.FLOW:
            overwritten = expected.get((DependenceKind.OUTPUT, array), set())
            assert relation <= computed[kind, array] <= closure(relation | overwritten)
        else:
            assert relation == computed[kind, array]


def closure(relation: set[tuple[object, object]]) -> set[tuple[object, object]]:
    following = defaultdict(set)
    for first, second in relation:
        following[first].add(second)
    reached = set()
    for first in following:
        left = list(following[first])
        while left:
            second = left.pop()
            if (first, second) not in reached:
                reached.add((first, second))
                left.extend(following.get(second, ()))
    return reached


def test_a_value_from_outside_is_found_behind_several_moduli() -> None:
    scop = moduli("small", value="z[0]")
    assert scop.signature == ("N", "z", "y")
    assert moduli("small").signature == ("N", "z"), "a constant is no input"


def test_reads_without_source_are_exact_where_the_analysis_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scop = parse_text(SMALL_PROGRAMS["periodic"])
    domain = union_of(isl.UnionSet(statement.domain) for statement in scop.statements)
    order = isl.UnionMap(scop.schedule).intersect_domain(domain)
    monkeypatch.setattr(module, "_flow_analysis", lambda *_: None)
    for array in scop.arrays:
        reads = access_relation(scop, array.name, is_write=False)
        writes = access_relation(scop, array.name, is_write=True)
        if reads is None or writes is None:
            continue
        right = (
            isl.UnionAccessInfo.from_sink(reads)
            .set_must_source(writes)
            .set_schedule_map(order)
            .compute_flow()
        )
        assert reads_without_source(reads, writes, order).is_equal(right.get_must_no_source())
        assert right.get_must_dependence().is_subset(value_based_flow(reads, writes, order))
