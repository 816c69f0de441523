"""Bands are what they claim: every member may be the outermost, coincident ones are parallel."""

import numpy as np
import pytest

from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import Band, Leaf, SequenceNode, Tree
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS
from tests.oracles.instances import dependences_by_force, time_vector, trace
from tests.oracles.random_schedules import random_legal_schedule

SCOPS = {name: parse_text(text) for name, text in SMALL_PROGRAMS.items()}


def value(row: ScheduleRow, point: tuple[int, ...], sizes: tuple[int, ...]) -> int:
    return (
        sum(a * b for a, b in zip(row.iterators, point, strict=True))
        + sum(a * b for a, b in zip(row.parameters, sizes, strict=True))
        + row.constant
    )


def check(tree: Tree, pairs: set, sizes: tuple[int, ...]) -> None:
    """Check a tree against the pairs of instances that nothing further out orders."""
    match tree:
        case Leaf():
            assert not pairs
        case SequenceNode(branches):
            group = {s: k for k, branch in enumerate(branches) for s in branch.statements}
            assert all(group[a[0]] <= group[b[0]] for a, b in pairs)
            for k, branch in enumerate(branches):
                inside = {(a, b) for a, b in pairs if group[a[0]] == group[b[0]] == k}
                check(branch.child, inside, sizes)
        case Band(statements, members, child):
            left = set(pairs)
            for member in members:
                rows = dict(zip(statements, member.rows, strict=True))
                distance = {
                    (a, b): value(rows[b[0]], b[1], sizes) - value(rows[a[0]], a[1], sizes)
                    for a, b in pairs
                }
                assert all(delta >= 0 for delta in distance.values())
                if member.coincident:
                    assert not any(distance.values())
                left = {pair for pair in left if distance[pair] == 0}
            check(child, left, sizes)


def pairs_of(scop: Scop, parameters: dict[str, int]) -> set:
    instances = dependences_by_force(trace(scop, original_schedule(scop), parameters))
    return set().union(*instances.values())


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_bands_of_random_schedules(name: str) -> None:
    scop = SCOPS[name]
    parameters = {parameter.name: 4 + k for k, parameter in enumerate(scop.parameters)}
    pairs = pairs_of(scop, parameters)
    for seed in range(8):
        schedule = random_legal_schedule(scop, np.random.default_rng(seed))
        sizes = tuple(parameters[name] for name in schedule.parameters)
        check(build_tree(LegalSchedule(scop, schedule)), pairs, sizes)


def members_of(tree: Tree) -> list[int]:
    match tree:
        case Leaf():
            return []
        case SequenceNode(branches):
            return [n for branch in branches for n in members_of(branch.child)]
        case Band(_, members, child):
            return [len(members), *members_of(child)]


def test_the_band_of_a_skewed_stencil_can_be_tiled() -> None:
    scop = parse_text(
        "void f(int t_max, int n, double A[n]) {\n#pragma scop\n"
        "for (int t = 0; t < t_max; t++) for (int i = 1; i < n - 1; i++)\n"
        "S: A[i] = A[i - 1] + A[i] + A[i + 1];\n#pragma endscop\n}\n"
    )
    assert members_of(build_tree(LegalSchedule(scop, original_schedule(scop)))) == [1, 1]
    assert members_of(build_tree(LegalSchedule(scop, isl_schedule(scop)))) == [2]


def test_time_vectors_do_not_change_with_a_constant_row() -> None:
    """A row that is one constant for every statement is no loop and no branch."""
    scop = SCOPS["y_ax"]
    base = original_schedule(scop)
    padded = Schedule(
        base.parameters,
        tuple(
            StatementSchedule(
                part.statement,
                part.iterators,
                (ScheduleRow((0,) * len(part.iterators), (0,), 5), *part.rows),
            )
            for part in base.statements
        ),
    )
    assert time_vector(padded, ("S", (1,)), {"n": 3})[0] == 5
    assert build_tree(LegalSchedule(scop, padded)) == build_tree(LegalSchedule(scop, base))
