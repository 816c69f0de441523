"""The convergence picture: a PNG for every search, however little it found."""

import struct

import pytest

from polygym.pictures.charts.convergence import convergence_png


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize(
    ("curve", "explored", "references"),
    [
        ([], 0, {}),
        ([], 5, {"-O3": 1.0}),
        ([(1, 0.5)], 1, {"-O3": 1.0, "isl": 1.0}),
        ([(1, 0.5), (7, 1.2), (900, 31.0)], 100_000, {"-O3": 1.0, "isl": 30.9}),
        ([(3, 1e-6)], 3, {"-O3": 1.0}),
        ([(3, 1e6)], 10, {}),
    ],
)
def test_every_search_has_a_picture(
    curve: list[tuple[int, float]], explored: int, references: dict[str, float]
) -> None:
    png = convergence_png("mvt: n = $40$\n\x00", curve, explored, references)
    assert size(png) == (864, 504)


def test_the_same_search_has_the_same_picture() -> None:
    arguments = ("gemm", [(1, 0.5), (4, 1.5)], 9, {"-O3": 1.0})
    assert convergence_png(*arguments) == convergence_png(*arguments)
    other = convergence_png("gemm", [(1, 0.5), (5, 1.5)], 9, {"-O3": 1.0})
    assert convergence_png(*arguments) != other
