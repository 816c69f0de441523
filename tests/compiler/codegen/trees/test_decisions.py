"""Small decisions about loops: what a setting knows, how long loops are, how many run together."""

from dataclasses import replace

import pytest

from polygym.compiler.codegen.common.loop_annotation import Jam, Vector
from polygym.compiler.codegen.common.machine import Machine
from polygym.compiler.codegen.common.mapping import parse_mapping
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.copy_choice import as_asked, given_to
from polygym.compiler.codegen.trees.model import Copies
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.tile import tiles
from polygym.compiler.codegen.trees.tree import Band
from polygym.compiler.codegen.trees.trips import length, lengths
from polygym.compiler.poly.baselines import isl_schedule
from polygym.compiler.poly.legality import LegalSchedule
from tests.compiler.codegen.mapped import scop_of

PRODUCT = scop_of("product")
MACHINE = Machine(vector_bits=512, registers=32)


def setting(text: str, name: str = "product") -> Setting:
    return Setting(scop_of(name), parse_mapping(text), MACHINE)


@pytest.mark.parametrize(
    ("text", "bits"),
    [("default", 512), ("vector_bits=128", 128), ("vector_bits=off", 512), ("threads=4", 512)],
)
def test_the_width_of_a_vector(text: str, bits: int) -> None:
    found = setting(text)
    assert found.vector_bits == bits
    assert found.lanes(("S0",)) == bits // 64
    assert found.has_vectors == (text != "vector_bits=off")
    assert setting(text, "triangular_product").lanes(("S0",)) == bits // 32, "floats"


def test_what_the_mapping_asks_for_comes_first() -> None:
    found = Copies(unroll_jam=8, vector_copies=3)
    assert as_asked(found, setting("default")) == found
    assert as_asked(found, setting("unroll_jam=2")) == Copies(2, 3)
    assert as_asked(found, setting("vector_copies=1 unroll_jam=1")) == Copies(1, 1)


def test_who_is_given_what() -> None:
    assert given_to(1, 0, Copies(4, 2), 256) == {0: Jam(4), 1: Vector(256, 2)}
    assert given_to(1, 0, Copies(1, 2), 256) == {1: Vector(256, 2)}, "one copy is none"
    assert given_to(None, 2, Copies(4, 2), 256) == {2: Jam(4)}
    assert given_to(None, None, Copies(4, 2), 256) == {}


@pytest.mark.parametrize("size", [1, 5, 8, 9, 33])
def test_the_length_of_a_loop_by_counting(size: int) -> None:
    """Of points and of tiles: as many as there are values of the row, or of its eighths."""
    legal = LegalSchedule(PRODUCT, isl_schedule(PRODUCT))
    band = build_tree(legal)
    assert isinstance(band, Band)
    parameters = legal.schedule.parameters
    sizes = {name: size + place for place, name in enumerate(parameters)}
    points = lengths(PRODUCT, band.statements, band.members, parameters, sizes)
    assert points == (sizes["n"], sizes["m"], sizes["k"])
    of_tiles = tiles(band.members, (8,) * len(band.members))
    found = lengths(PRODUCT, band.statements, of_tiles, parameters, sizes)
    assert found == tuple(len({value // 8 for value in range(count)}) for count in points)


def test_a_wavefront_has_no_length() -> None:
    legal = LegalSchedule(PRODUCT, isl_schedule(PRODUCT))
    band = build_tree(legal)
    assert isinstance(band, Band)
    first, second = band.members[:2]
    both = replace(first, parts=(*first.parts, *second.parts))
    with pytest.raises(ValueError, match="too many values"):
        length(PRODUCT, band.statements, both, legal.schedule.parameters, {"n": 4, "m": 4, "k": 4})
