"""Small decisions about loops: what a setting knows, how long loops are, how many run together."""

from dataclasses import replace

import pytest

from polygym.codegen.common.loop_annotation import UnrollAndJam, VectorLoop
from polygym.codegen.tree.analysis.default_sizes import RegisterBlock
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.codegen.tree.analysis.trip_counts import member_trip_count
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.inner_loops.register_blocking import apply_requested, make_annotations
from polygym.codegen.tree.ir import Band, BandMember
from polygym.codegen.tree.transforms.tiling import tile_members
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.codegen.mapped_programs import scop_of

PRODUCT = scop_of("product")
MACHINE = Machine(vector_bits=512, registers=32)


def setting(text: str, name: str = "product") -> PlannerContext:
    return PlannerContext(scop_of(name), parse_mapping(text), MACHINE)


@pytest.mark.parametrize(
    ("text", "bits"),
    [("default", 512), ("vector_bits=128", 128), ("vector_bits=off", 512), ("threads=4", 512)],
)
def test_the_width_of_a_vector(text: str, bits: int) -> None:
    context = setting(text)
    assert context.vector_bits == bits
    assert context.lanes(("S0",)) == bits // 64
    assert context.has_vectors == (text != "vector_bits=off")
    assert setting(text, "triangular_product").lanes(("S0",)) == bits // 32, "floats"


def test_what_the_mapping_asks_for_comes_first() -> None:
    block = RegisterBlock(unroll_jam=8, vector_copies=3)
    assert apply_requested(block, setting("default")) == block
    assert apply_requested(block, setting("unroll_jam=2")) == RegisterBlock(2, 3)
    assert apply_requested(block, setting("vector_copies=1 unroll_jam=1")) == RegisterBlock(1, 1)


def test_who_is_given_what() -> None:
    assert make_annotations(1, 0, RegisterBlock(4, 2), 256) == {
        0: UnrollAndJam(4),
        1: VectorLoop(256, 2),
    }
    assert make_annotations(1, 0, RegisterBlock(1, 2), 256) == {1: VectorLoop(256, 2)}, (
        "one copy is none"
    )
    assert make_annotations(None, 2, RegisterBlock(4, 2), 256) == {2: UnrollAndJam(4)}
    assert make_annotations(None, None, RegisterBlock(4, 2), 256) == {}


@pytest.mark.parametrize("size", [1, 5, 8, 9, 33])
def test_the_length_of_a_loop_by_counting(size: int) -> None:
    """Of points and of tiles: as many as there are values of the row, or of its eighths."""
    legal = LegalSchedule(PRODUCT, isl_schedule(PRODUCT))
    band = build_tree(legal)
    assert isinstance(band, Band)
    parameters = legal.schedule.parameters
    sizes = {name: size + place for place, name in enumerate(parameters)}

    def trip_counts(
        statements: tuple[str, ...], members: tuple[BandMember, ...]
    ) -> tuple[int, ...]:
        return tuple(
            member_trip_count(PRODUCT, statements, member, parameters, sizes) for member in members
        )

    points = trip_counts(band.statements, band.members)
    assert points == (sizes["n"], sizes["m"], sizes["k"])
    of_tiles = tile_members(band.members, (8,) * len(band.members))
    counts = trip_counts(band.statements, of_tiles)
    assert counts == tuple(len({value // 8 for value in range(count)}) for count in points)


def test_a_wavefront_has_no_length() -> None:
    legal = LegalSchedule(PRODUCT, isl_schedule(PRODUCT))
    band = build_tree(legal)
    assert isinstance(band, Band)
    first, second = band.members[:2]
    both = replace(first, terms=(*first.terms, *second.terms))
    with pytest.raises(ValueError, match="too many values"):
        member_trip_count(
            PRODUCT, band.statements, both, legal.schedule.parameters, {"n": 4, "m": 4, "k": 4}
        )
