"""What loops touch: isl's relations against what the loops do, run by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias, assert_never

import islpy as isl
import pytest

from polygym.codegen.analysis.footprint import (
    access_relation,
    accesses_of,
    instances_with_paths,
    isl_index_text,
    with_named_lanes,
)
from polygym.codegen.loopir.ir import (
    Block,
    Guard,
    IndexConstant,
    IndexOperation,
    IndexOperator,
    IndexVariable,
    Instance,
    Lanes,
    Loop,
    LoopProgram,
    Node,
    count_instances,
)
from polygym.codegen.pipeline import lower
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import MAPPED_PROGRAMS
from tests.oracles.instances import pairs
from tests.oracles.loops import value

MAPPINGS = (
    "sequential",
    "tile=3 threads=2 unroll_jam=2 vector_bits=256 separate=on",
    "tile=2x3 wavefront=on vector_bits=128 vector_copies=2 pack=on",
)
Env: TypeAlias = dict[str, int]
Counters: TypeAlias = tuple[int, ...]


def lanes_of(lanes: Lanes, env: Env) -> list[int]:
    width = lanes.width
    most = width if lanes.active is None else min(width, value(lanes.active, env))
    return [value(lanes.base, env) + lane for lane in range(most)]


def executed(
    node: Node, env: Env, counters: Counters = (), first: int = 0
) -> Iterator[tuple[int, Env, Counters]]:
    """Yield every execution: the number of its instance, all values, those of counters and lane.

    ``first`` is the number of the first instance in the node's text.
    """
    match node:
        case Block(children):
            for child in children:
                yield from executed(child, env, counters, first)
                first += count_instances(child)
        case Loop(variable, lower, upper, step, body):
            for count in range(value(lower, env), value(upper, env) + 1, step):
                yield from executed(body, {**env, variable: count}, (*counters, count), first)
        case Guard(condition, then, otherwise):
            if value(condition, env):
                yield from executed(then, env, counters, first)
            elif otherwise is not None:
                yield from executed(otherwise, env, counters, first + count_instances(then))
        case Instance(lanes=None):
            yield first, env, counters
        case Instance(lanes=lanes):
            assert lanes is not None
            for lane in lanes_of(lanes, env):
                yield first, {**env, lanes.variable: lane}, (*counters, lane)
        case _:
            assert_never(node)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("name", ["lu", "jacobi", "transposed"])
def test_relations_have_what_the_loops_touch(name: str, mapping: str) -> None:
    scop = parse_text(MAPPED_PROGRAMS[name])
    sizes = {parameter.name: 5 + place for place, parameter in enumerate(scop.parameters)}
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        legal = LegalSchedule(scop, schedule)
        for known in (sizes, None):
            program = lower(legal, parse_mapping(mapping), known)
            expect_touched(replace(program, body=with_named_lanes(program)), sizes)


def expect_touched(program: LoopProgram, sizes: dict[str, int]) -> None:
    ran: dict[int, list[tuple[Env, Counters]]] = {}
    for number, env, counters in executed(program.body, dict(sizes)):
        ran.setdefault(number, []).append((env, counters))
    places: dict[tuple[object, ...], list[tuple[Env, Counters]]] = {}
    for number, (instance, way) in enumerate(instances_with_paths(program.body)):
        key = (way.loop_numbers, way.conditions, instance.lanes)
        places[key] = ran.get(number, [])
    for array in program.scop.arrays:
        for touch in accesses_of(program, array.name):
            related = pairs(access_relation(touch, program), sizes)
            touched = {
                (counters, tuple(value(index, env) for index in touch.subscripts))
                for env, counters in places[
                    touch.path.loop_numbers, touch.path.conditions, touch.lanes
                ]
            }
            assert touched <= related
            assert touch.lanes is not None or touched == related


def test_choices_between_values_are_taken_apart() -> None:
    i, zero = IndexVariable("c0"), IndexConstant(0)
    choice = IndexOperation(
        IndexOperator.SELECT,
        (IndexOperation(IndexOperator.GREATER, (i, IndexConstant(2))), i, zero),
    )
    with pytest.raises(isl.Error, match="a choice"):
        isl_index_text(choice, {})
