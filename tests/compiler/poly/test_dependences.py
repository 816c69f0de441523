"""Dependences against brute force, on every kernel and on small programs."""

from collections import defaultdict
from itertools import product

import islpy as isl
import pytest

import polybench
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.dependences import (
    Kind,
    basic_maps,
    dependences,
    maps,
    relations_by_array,
)
from tests.oracles.instances import dependences_by_force, pairs, trace
from tests.sources import SMALL_PROGRAMS, Y_AX, kernel_scop, small_parameters

KERNELS = [kernel.name for kernel in polybench.KERNELS]


def assert_agrees_with_brute_force(scop: Scop) -> None:
    parameters = small_parameters(scop)
    expected = dependences_by_force(trace(scop, original(scop), parameters))
    computed = {}
    for (kind, array), relation in relations_by_array(scop).items():
        found = {
            (
                (part.get_tuple_name(isl.dim_type.in_), source),
                (part.get_tuple_name(isl.dim_type.out), sink),
            )
            for part in maps(relation)
            for source, sink in pairs(part, parameters)
        }
        if found:
            computed[kind, array] = found
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
    reasons: dict[int, set[tuple[Kind, str]]] = defaultdict(set)
    names = [parameter.name for parameter in scop.parameters]
    tried = (1, 2, 3, 4, 6) if len(names) > 1 else range(1, 13)
    for sizes in product(tried, repeat=len(names)):
        parameters = dict(zip(names, sizes, strict=True))
        expected = dependences_by_force(trace(scop, original(scop), parameters))
        for position, dependence in enumerate(dependences(scop)):
            piece = {
                ((dependence.source, a), (dependence.sink, b))
                for a, b in pairs(isl.Map(dependence.relation), parameters)
            }
            reasons[position] |= {key for key, found in expected.items() if found & piece}
    for position, dependence in enumerate(dependences(scop)):
        assert {array for _, array in reasons[position]} == set(dependence.arrays)
        assert {kind for kind, _ in reasons[position]} == {k for k in Kind if k in dependence.kind}


def test_y_ax_has_the_two_dependences_of_the_paper() -> None:
    first, second = dependences(parse_text(Y_AX))
    assert (first.source, first.sink, first.kind) == ("S", "T", Kind.FLOW | Kind.OUTPUT)
    assert (second.source, second.sink) == ("T", "T")
    assert second.kind == Kind.FLOW | Kind.ANTI | Kind.OUTPUT
    assert first.arrays == second.arrays == ("y",)


@pytest.mark.parametrize("name", ["gemm", "adi", "nussinov", "deriche"])
def test_pieces_are_convex_sorted_and_repeatable(name: str) -> None:
    scop = kernel_scop(name)
    found = dependences(scop)
    position = {statement.name: k for k, statement in enumerate(scop.statements)}
    keys = [(position[d.source], position[d.sink], d.relation) for d in found]
    assert keys == sorted(keys)
    assert all(len(basic_maps(isl.Map(d.relation))) == 1 for d in found)
    dependences.__globals__["_dependences"].cache_clear()
    assert dependences(scop) == found


def test_a_value_that_is_overwritten_does_not_flow() -> None:
    scop = parse_text(
        "void f(int n, double A[n], double B[n]) {\n#pragma scop\n"
        "for (int i = 0; i < n; i++) {\nP: A[i] = 1.0;\nQ: A[i] = 2.0;\nR: B[i] = A[i];\n}\n"
        "#pragma endscop\n}\n"
    )
    kinds = {(d.source, d.sink): d.kind for d in dependences(scop)}
    assert kinds == {("P", "Q"): Kind.OUTPUT, ("Q", "R"): Kind.FLOW}
