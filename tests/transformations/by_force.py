"""Brute force for trees and steps: every instance and every dependent pair at small sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import islpy as isl
import numpy as np

import polybench
from polybench import Dataset
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import Violation
from polygym.poly.schedule import Schedule, ScheduleRow, StatementSchedule, parameter_names
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program, load_program
from polygym.transformations.candidates import candidate_steps
from polygym.transformations.loop_tree import Body, Loop, LoopTree, StatementNode
from polygym.transformations.state import TransformProgram, TransformState
from polygym.transformations.steps import Stop, TreeStep, Undo
from tests.c_programs import small_parameters
from tests.oracles.instances import (
    Instance,
    dependences_by_force,
    instances,
    pairs,
    time_vector,
    trace,
)

KERNELS = tuple(kernel.name for kernel in polybench.KERNELS)
RANDOM = tuple(f"random:{seed}" for seed in range(10))
SCALARS = tuple(f"scalars:{seed}" for seed in range(10))
PROGRAMS = (*KERNELS, *RANDOM, *SCALARS)

Group = tuple[str, tuple[tuple[int, ...], ...]]


@lru_cache(maxsize=64)
def program_named(name: str) -> Program:
    """Return a kernel at MINI sizes, or a random program."""
    return load_program(name, dataset=None if ":" in name else Dataset.MINI)


def scop_named(name: str) -> Scop:
    """Return the Scop of a kernel or of a random program."""
    return program_named(name).scop


def start_of(text: str, **options: Any) -> TransformState:
    """Return the first state of a C text; options are those of the mapping's start."""
    return TransformProgram(parse_text(text)).start(**options)


def c_function(body: str, arguments: str) -> str:
    """Return a C text with one region."""
    return f"void f({arguments}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


# Execution of a tree


def run_tree(tree: LoopTree, every: Sequence[Instance], parameters: Mapping[str, int]) -> list:
    """Run a tree as nested loops: the instances in order, those of one time in groups."""
    order: list[Group] = []
    numbers = [parameters[name] for name in tree.parameters]

    def value(row: ScheduleRow, point: tuple[int, ...]) -> int:
        own = sum(a * x for a, x in zip(row.iterators, point, strict=True))
        return own + sum(a * x for a, x in zip(row.parameters, numbers, strict=True)) + row.constant

    def run(body: Body, alive: list[Instance]) -> None:
        for node in body:
            own = [instance for instance in alive if instance[0] in node.statements]
            if isinstance(node, StatementNode):
                if own:
                    order.append((node.name, tuple(sorted(point for _, point in own))))
                continue
            counters: dict[int, list[Instance]] = defaultdict(list)
            for name, point in own:
                counters[value(node.row(name), point)].append((name, point))
            for counter in sorted(counters):
                run(node.body, counters[counter])

    run(tree.body, list(every))
    return order


def run_schedule(
    schedule: Schedule, every: Sequence[Instance], parameters: Mapping[str, int]
) -> list:
    """Sort instances by time; where a schedule leaves statements unordered, that of the text."""
    place = {part.statement: number for number, part in enumerate(schedule.statements)}
    groups: dict[Any, list[Instance]] = defaultdict(list)
    for instance in every:
        time = time_vector(schedule, instance, parameters)
        groups[time, place[instance[0]]].append(instance)
    return [
        (groups[key][0][0], tuple(sorted(point for _, point in groups[key])))
        for key in sorted(groups)
    ]


def in_one_line(order: list) -> list:
    """Return the instances of groups one after the other."""
    return [(name, point) for name, group in order for point in group]


def check_tree(tree: LoopTree) -> None:
    """Check the invariants of a tree: unique names, statements and rows in order, no idle loop."""
    names: list[str] = []

    def visit(body: Body) -> tuple[str, ...]:
        found: list[str] = []
        for node in body:
            names.append(node.name)
            if isinstance(node, Loop):
                assert node.statements == visit(node.body), tree.text()
                assert len(node.rows) == len(node.statements)
                assert not node.is_constant, tree.text()
                assert node.name[0] == "L"
                assert int(node.name[1:]) < tree.next_number, (node.name, tree.next_number)
            found += node.statements
        return tuple(found)

    assert sorted(visit(tree.body)) == sorted(name for name, _ in tree.iterators), tree.text()
    assert len(set(names)) == len(names), tree.text()


# Dependences


class PairsByForce:
    """All dependent pairs of a program at given sizes, as matrices for each pair of statements."""

    def __init__(self, scop: Scop, sizes: Sequence[Mapping[str, int]]) -> None:
        names = parameter_names(scop)
        found: dict[tuple[str, str], set] = defaultdict(set)
        for parameters in sizes:
            numbers = tuple(parameters[name] for name in names)
            run = trace(scop, original_schedule(scop), parameters)
            for every in dependences_by_force(run).values():
                for source, sink in every:
                    before, after = (*source[1], *numbers, 1), (*sink[1], *numbers, 1)
                    found[source[0], sink[0]].add((before, after))
        self.tables = {
            key: tuple(np.array([pair[side] for pair in sorted(every)]) for side in (0, 1))
            for key, every in found.items()
        }

    def is_legal(self, schedule: Schedule) -> bool:
        """Whether each pair is in order, strictly."""
        return all(
            _are_before(sources @ _matrix(schedule, first), sinks @ _matrix(schedule, second))
            for (first, second), (sources, sinks) in self.tables.items()
        )


def _matrix(schedule: Schedule, statement: str) -> np.ndarray:
    rows = schedule.rows(statement)
    return np.array([(*row.iterators, *row.parameters, row.constant) for row in rows]).T


def _are_before(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether each row of one table is lexicographically less than that of the other."""
    signs = np.sign(second - first)
    leading = (signs != 0).argmax(axis=1)
    return bool((signs[np.arange(len(signs)), leading] > 0).all())


@lru_cache(maxsize=256)
def pairs_by_force(scop: Scop, larger: int = 0) -> PairsByForce:
    """Return the pairs at small sizes, or a little larger ones."""
    sizes = {name: value + larger for name, value in small_parameters(scop).items()}
    return PairsByForce(scop, [sizes])


def check_violation(scop: Scop, schedule: Schedule, violation: Violation) -> None:
    """Check a counterexample: a dependent pair, that the schedule runs in the wrong order."""
    dependence = violation.dependence
    at = {name: violation.parameters[name] for name in parameter_names(scop)}
    pair = (violation.source_instance, violation.sink_instance)
    # One point of the relation, and not all of them: parameters need not be small.
    relation = isl.Map(dependence.relation)
    flat = relation.wrap().flatten()
    for place, number in enumerate((*pair[0], *pair[1])):
        flat = flat.fix_val(isl.dim_type.set, place, isl.Val(number))
    for place in range(flat.dim(isl.dim_type.param)):
        name = flat.get_dim_name(isl.dim_type.param, place)
        flat = flat.fix_val(isl.dim_type.param, place, isl.Val(at[name]))
    assert not flat.is_empty(), violation
    source, sink = (dependence.source, pair[0]), (dependence.sink, pair[1])
    before, after = (time_vector(schedule, instance, at) for instance in (source, sink))
    assert before >= after, violation
    if violation.dimension is None:
        assert before == after
    else:
        assert before[: violation.dimension] == after[: violation.dimension]
        assert before[violation.dimension] > after[violation.dimension]
    if max(at.values(), default=0) <= 8:
        run = trace(scop, original_schedule(scop), at)
        assert any((source, sink) in every for every in dependences_by_force(run).values())


def is_pair_of(relation: str, pair: tuple, parameters: Mapping[str, int]) -> bool:
    """Whether a relation contains a pair, found by enumeration."""
    return pair in pairs(isl.Map(relation), parameters)


def instances_of(scop: Scop) -> tuple[list[Instance], dict[str, int]]:
    """Return all instances of a program at small sizes, and these."""
    parameters = small_parameters(scop)
    return instances(scop, parameters), parameters


# Random walks


def random_schedule(scop: Scop, generator: np.random.Generator, dimensions: int = 3) -> Schedule:
    """Return a random schedule, legal or not."""
    names = parameter_names(scop)

    def row(depth: int) -> ScheduleRow:
        iterators = generator.choice([-1, 0, 0, 1, 1, 2], size=depth)
        sizes = generator.choice([0, 0, 0, 0, 1, -1], size=len(names))
        return ScheduleRow(
            tuple(map(int, iterators)), tuple(map(int, sizes)), int(generator.integers(-2, 3))
        )

    return Schedule(
        names,
        tuple(
            StatementSchedule(
                statement.name,
                statement.iterators,
                tuple(row(statement.depth) for _ in range(dimensions)),
            )
            for statement in scop.statements
        ),
    )


def walk_states(
    state: TransformState,
    generator: np.random.Generator,
    length: int,
    accepts: Callable[[object], bool] = lambda step: True,
) -> list[TransformState]:
    """Return the states of a random legal walk, the first one too; no stop and no undo.

    Kinds of steps are equally likely, so that the many sizes of tiles do not stand for most.
    """
    states = [state]
    for _ in range(length):
        steps = [
            step
            for step in candidate_steps(state)
            if not isinstance(step, Stop | Undo) and accepts(step)
        ]
        verdicts = state.verdicts(steps)
        allowed = [step for step, answer in zip(steps, verdicts, strict=True) if answer.is_allowed]
        if not allowed:
            break
        kinds = sorted({type(step).__name__ for step in allowed})
        kind = kinds[generator.integers(len(kinds))]
        own = [step for step in allowed if type(step).__name__ == kind]
        state = state.after(own[generator.integers(len(own))])
        states.append(state)
    return states


def is_tree_step(step: object) -> bool:
    """Whether a step is about the order of instances."""
    return isinstance(step, TreeStep)
