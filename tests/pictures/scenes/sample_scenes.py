"""Scenes for the tests of pictures: programs with generators, without asking a space for them."""

from functools import cache

from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.pictures import Scene
from polygym.poly.spaces.coordinates import CoordinateLayout
from polygym.poly.spaces.generators import RationalPoint
from tests.c_programs import SMALL_PROGRAMS


@cache
def small(name: str) -> Scop:
    """Return one of the small programs."""
    return parse_text(SMALL_PROGRAMS[name], file=f"{name}.c")


@cache
def parsed(text: str) -> Scop:
    return parse_text(text, file="a.c")


def scene_of(scop: Scop, **changes: object) -> Scene:
    """Return a scene with two vertices and some rays, of the right length."""
    width = CoordinateLayout.of(scop).width
    vertices = (RationalPoint((0,) * width), RationalPoint((1,) + (0,) * (width - 1), 2))
    rays = tuple(
        tuple((1 if k == place else -2) * (k in (place, place + 1)) for k in range(width))
        for place in range(width)
    )
    fields: dict[str, object] = {"vertices": vertices, "rays": rays, **changes}
    return Scene(scop, "a title", **fields)  # type: ignore[arg-type]
