"""What loops touch: isl's relations against what the loops do, run by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

import islpy as isl
import pytest

from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.loops.ir import (
    Block,
    Guard,
    IndexOperator,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.touched import (
    Way,
    elements_of,
    index_text,
    touches_of,
    ways_of,
    with_lanes_named,
)
from polygym.compiler.codegen.pipeline import lower
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.legality import LegalSchedule
from tests.compiler.codegen.mapped import MAPPED_PROGRAMS
from tests.oracles.instances import pairs
from tests.oracles.loops import value

MAPPINGS = (
    "sequential",
    "tile=3 threads=2 unroll_jam=2 vector_bits=256 separate=on",
    "tile=2x3 wavefront=on vector_bits=128 vector_copies=2 pack=on",
)
Env: TypeAlias = dict[str, int]
Counters: TypeAlias = tuple[int, ...]


def count_of(node: Node, env: Env) -> int:
    """Return how many executions there are in a node."""
    match node:
        case Block(children):
            return sum(count_of(child, env) for child in children)
        case Loop(variable, lower, upper, step, body):
            counts = range(value(lower, env), value(upper, env) + 1, step)
            return sum(count_of(body, {**env, variable: count}) for count in counts)
        case Guard(condition, then, otherwise):
            chosen = then if value(condition, env) else otherwise
            return 0 if chosen is None else count_of(chosen, env)
        case Instance(lanes=lanes):
            return len(lanes_of(lanes, env))
        case _:
            assert_never(node)


def lanes_of(lanes: Lanes | None, env: Env) -> list[int]:
    """Return the values of a lane, one for what has none."""
    if lanes is None:
        return [0]
    width = lanes.width
    most = width if lanes.active is None else min(width, value(lanes.active, env))
    return [value(lanes.base, env) + lane for lane in range(most)]


def executed(way: Way, lanes: Lanes | None, env: Env) -> Iterator[tuple[Env, Counters]]:
    """Yield every execution: all values, and those of the counters and the lane."""

    def walk(place: int, env: Env, counters: Counters) -> Iterator[tuple[Env, Counters]]:
        if place < len(way.loops):
            loop = way.loops[place]
            for count in range(value(loop.lower, env), value(loop.upper, env) + 1, loop.step):
                yield from walk(place + 1, {**env, loop.variable: count}, (*counters, count))
            return
        if not all(bool(value(one, env)) is holds for one, holds in way.conditions):
            return
        for lane in lanes_of(lanes, env):
            if lanes is None:
                yield env, counters
            else:
                yield {**env, lanes.variable: lane}, (*counters, lane)

    return walk(0, env, ())


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", ["product", "lu", "jacobi", "recurrence", "transposed"])
def test_relations_have_what_the_loops_touch(name: str, mapping: str) -> None:
    scop = parse_text(MAPPED_PROGRAMS[name])
    sizes = {one.name: 7 + place for place, one in enumerate(scop.parameters)}
    for schedule in (original(scop), isl_schedule(scop)):
        legal = LegalSchedule(scop, schedule)
        for known in (sizes, None):
            program = lower(legal, parse_mapping(mapping), known)
            expect_touched(replace(program, body=with_lanes_named(program)), sizes)


def expect_touched(program: LoopProgram, sizes: dict[str, int]) -> None:
    ways = list(ways_of(program.body))
    ran = [list(executed(way, instance.lanes, sizes)) for instance, way in ways]
    assert sum(map(len, ran)) == count_of(program.body, sizes)
    for array in program.scop.arrays:
        for touch in touches_of(program, array.name):
            found = pairs(elements_of(touch, program), sizes)
            touched = {
                (counters, tuple(value(one, env) for one in touch.subscripts))
                for env, counters in executed(touch.way, touch.lanes, sizes)
            }
            assert touched <= found
            assert touch.lanes is not None or touched == found


def test_choices_between_values_are_taken_apart() -> None:
    i, zero = Variable("c0"), Number(0)
    choice = Operation(
        IndexOperator.SELECT, (Operation(IndexOperator.GREATER, (i, Number(2))), i, zero)
    )
    with pytest.raises(isl.Error, match="a choice"):
        index_text(choice, {})
