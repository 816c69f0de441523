"""Plans of tiles: values that say where copies would go, made without changing anything."""

import numpy as np
import pytest

from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.common.packable import OFTEN
from polygym.compiler.codegen.loops import tile_plan
from polygym.compiler.codegen.loops.generate import generate_loops
from polygym.compiler.codegen.loops.ir import LoopProgram, instances_in
from polygym.compiler.codegen.loops.tile_pack import pack_tiles
from polygym.compiler.codegen.loops.tile_plan import NestPlan, nests_in, planned_tiles
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.legality import LegalSchedule
from tests.compiler.codegen.loops.test_tile_pack import PRODUCT, SIZES
from tests.compiler.codegen.mapped import PROGRAMS, random_mapping, scop_of


def product(mapping: str = "tile=off vector_bits=256") -> LoopProgram:
    scop = parse_text(PRODUCT)
    legal = LegalSchedule(scop, original(scop))
    tree = plan(build_tree(legal), legal, parse_mapping(mapping), Machine(), SIZES)
    return generate_loops(tree, legal, SIZES)


def test_a_plan_changes_nothing_and_is_the_same_every_time() -> None:
    program = product()
    before = repr(program)
    plans = planned_tiles(program)
    assert repr(program) == before
    assert plans == planned_tiles(program)
    assert len(plans) == len(list(nests_in(program)))
    (tile,) = (tile for one in plans for tile in one.tiles)
    assert tile.array.name == "B"
    made = pack_tiles(program)
    (array,) = (a for a in made.scop.arrays if a.name == "B_tile")
    assert array.extents_c == tuple(map(str, tile.lengths))


def test_what_is_planned_for_a_read_is_what_it_reads() -> None:
    program = product()
    made = pack_tiles(program)
    for nest, one in zip(nests_in(program), planned_tiles(program), strict=True):
        for instance, numbers in zip(nest.instances, one.reads, strict=True):
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
    assert set(planned_tiles(program)) == {NestPlan((), ())}
    assert pack_tiles(program) is program


@pytest.mark.parametrize("left", [0, 1])
def test_what_does_not_fit_is_not_planned(monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    program = product()
    (size,) = {tile.size for one in planned_tiles(program) for tile in one.tiles}
    monkeypatch.setattr(tile_plan, "MOST_ALTOGETHER", size - 1 + left)
    assert sum(len(one.tiles) for one in planned_tiles(program)) == left


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_keep_their_promises(name: str) -> None:
    """A copy is inside of all conditions, small, and read often.

    Nothing there writes its array, but for the nest itself, elsewhere.
    """
    scop = scop_of(name)
    dice = np.random.default_rng([len(name), 7])
    legal = LegalSchedule(scop, isl_schedule(scop))
    sizes = {parameter.name: 64 for parameter in scop.parameters}
    tree = plan(build_tree(legal), legal, random_mapping(dice), Machine(), sizes)
    program = generate_loops(tree, legal, sizes)
    for nest, one in zip(nests_in(program), planned_tiles(program), strict=True):
        for tile in one.tiles:
            assert nest.certain <= tile.depth < len(nest.around)
            inside = {loop.variable for loop in nest.around[tile.depth :]}
            if tile.array.name in nest.written:
                assert tile.depth >= len(nest.outer)
                assert {loop.variable for loop in tile.loops} <= inside
            else:
                assert set(tile.loops) <= set(nest.around[tile.depth :])
            assert len(inside) > len(tile.loops), f"each element is read {OFTEN} times"
            assert 0 < tile.size <= 256 << 10
