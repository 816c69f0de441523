"""Plans of tiles: values that say where copies would go, made without changing anything."""

import numpy as np
import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.loopir.ir import LoopProgram, instances_in
from polygym.codegen.transforms import tile_packing_plan
from polygym.codegen.transforms.tile_packing import pack_tiles
from polygym.codegen.transforms.tile_packing_plan import NestPlan, innermost_nests, plan_tiles
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.frontend.c import parse_text
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import PROGRAMS, random_mapping, scop_of
from tests.codegen.transforms.test_tile_packing import PRODUCT, SIZES
from tests.oracles.tuning import tune


def product(mapping: str = "tile=off vector_bits=256") -> LoopProgram:
    scop = parse_text(PRODUCT)
    legal = LegalSchedule(scop, original_schedule(scop))
    tree = plan_tree(build_tree(legal), legal, parse_mapping(mapping), Machine(), SIZES)
    return generate_loops(tree, legal, SIZES)


def test_a_plan_changes_nothing_and_is_the_same_every_time() -> None:
    program = product()
    before = repr(program)
    plans = plan_tiles(program)
    assert repr(program) == before
    assert plans == plan_tiles(program)
    assert len(plans) == len(list(innermost_nests(program)))
    (tile,) = (tile for nest_plan in plans for tile in nest_plan.tiles)
    assert tile.array.name == "B"
    made = pack_tiles(program)
    (array,) = (a for a in made.scop.arrays if a.name == "B_tile")
    assert array.c_extents == tuple(map(str, tile.lengths))


def test_what_is_planned_for_a_read_is_what_it_reads() -> None:
    program = product()
    made = pack_tiles(program)
    for nest, nest_plan in zip(innermost_nests(program), plan_tiles(program), strict=True):
        for instance, numbers in zip(nest.instances, nest_plan.reads, strict=True):
            statement = program.scop.statement(instance.statement)
            packed = {
                access.array for access, k in zip(statement.reads, numbers, strict=True) if k == 0
            }
            assert packed == {"B"}
    names = {instance.statement for instance in instances_in(made.body)}
    reads = {read.array for name in names for read in made.scop.statement(name).reads}
    assert {"B_tile", "A"} <= reads


def test_without_vectors_nothing_is_planned() -> None:
    program = product("tile=off vector_bits=off")
    assert set(plan_tiles(program)) == {NestPlan((), ())}
    assert pack_tiles(program) is program


@pytest.mark.parametrize("left", [0, 1])
def test_what_does_not_fit_is_not_planned(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    program = product()
    (size,) = {tile.size for nest_plan in plan_tiles(program) for tile in nest_plan.tiles}
    tune(monkeypatch, tile_packing_plan, max_total_tile_bytes=size - 1 + left)
    assert sum(len(plan.tiles) for plan in plan_tiles(program)) == left


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_keep_their_promises(name: str) -> None:
    """A copy is inside of all conditions, small, and read often.

    Nothing there writes its array, but for the nest itself, elsewhere.
    """
    scop = scop_of(name)
    rng = np.random.default_rng([len(name), 7])
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {parameter.name: 64 for parameter in scop.parameters}
    tree = plan_tree(build_tree(legal), legal, random_mapping(rng), Machine(), sizes)
    program = generate_loops(tree, legal, sizes)
    for nest, nest_plan in zip(innermost_nests(program), plan_tiles(program), strict=True):
        for tile in nest_plan.tiles:
            assert nest.unconditional_loops <= tile.depth < len(nest.all_loops)
            inside = {loop.variable for loop in nest.all_loops[tile.depth :]}
            if tile.array.name in nest.written:
                assert tile.depth >= len(nest.outer)
                assert {loop.variable for loop in tile.loops} <= inside
            else:
                assert set(tile.loops) <= set(nest.all_loops[tile.depth :])
            assert len(inside) > len(tile.loops), f"each element is read {TUNING.min_reuse} times"
            assert 0 < tile.size <= 256 << 10
