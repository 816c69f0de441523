"""Inception-v3: modules of several towers of convolutions over one image, joined by channels.

The modules are named by the order in which they stand: A over the largest images, B halves them, C
has convolutions of 1×7 and 7×1, D halves again, E ends in towers that fork. The first convolutions
of a module's towers are 1×1 over the same image, so they can be one. Joins are nested as the
paper's graph has them, by pairs where two towers belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.images import Image, convolved, image, joined, pooled, size_of

__all__ = ["SIZES", "Size", "graph"]


@dataclass(frozen=True, slots=True)
class Size:
    """The image's extent, by how much channels are divided, and the modules that repeat.

    ``pools`` are the channels after the pool of every module A, ``middles`` those inside every
    module C, ``last`` how many modules E there are.
    """

    extent: int
    divisor: int
    pools: tuple[int, ...]
    middles: tuple[int, ...]
    last: int


SIZES = {
    "small": Size(75, 16, (32,), (128,), 1),
    "paper": Size(299, 1, (32, 64, 64), (128, 160, 160, 192), 2),
}

_Layer = tuple[int, tuple[int, int]]
"""Filters and kernel of a convolution."""


def graph(size: Size) -> Graph:
    """Return the graph: one image in, the mean of every channel out."""
    start = image("x", size.extent)
    modules = _Modules(size.divisor)
    x = modules.front(start)
    for place, pool in enumerate(size.pools):
        x = modules.a(x, f"a{place}", pool)
    x = modules.b(x, "b")
    for place, middle in enumerate(size.middles):
        x = modules.c(x, f"c{place}", middle)
    x = modules.d(x, "d")
    for place in range(size.last):
        x = modules.e(x, f"e{place}")
    _, extent, _ = size_of(x)
    return Graph("inception-v3", (start.node,), (("y", pooled("avg", x, extent, 1, "valid").node),))


@dataclass(frozen=True, slots=True)
class _Modules:
    """The modules, with channels divided."""

    divisor: int

    def front(self, x: Image) -> Image:
        """Return what stands before the first module: an eighth of the image's extent."""
        x = self._one(x, "front0", 32, (3, 3), 2, "valid")
        x = self._one(x, "front1", 32, (3, 3), 1, "valid")
        x = self._one(x, "front2", 64, (3, 3))
        x = pooled("max", x, 3, 2, "valid")
        x = self._one(x, "front3", 80, (1, 1))
        x = self._one(x, "front4", 192, (3, 3), 1, "valid")
        return pooled("max", x, 3, 2, "valid")

    def a(self, x: Image, name: str, pool: int) -> Image:
        """Return towers of 1×1, of 5×5, of twice 3×3, and a pool."""
        single = self._tower(x, f"{name}.single", (64, (1, 1)))
        five = self._tower(x, f"{name}.five", (48, (1, 1)), (64, (5, 5)))
        double = self._tower(x, f"{name}.double", (64, (1, 1)), (96, (3, 3)), (96, (3, 3)))
        mean = self._tower(pooled("avg", x, 3), f"{name}.mean", (pool, (1, 1)))
        return joined([joined([single, five]), joined([double, mean])])

    def b(self, x: Image, name: str) -> Image:
        """Return half the extent: a 3×3, twice 3×3, and a pool."""
        three = self._one(x, f"{name}.three", 384, (3, 3), 2, "valid")
        double = self._tower(x, f"{name}.double", (64, (1, 1)), (96, (3, 3)))
        double = self._one(double, f"{name}.half", 96, (3, 3), 2, "valid")
        return joined([pooled("max", x, 3, 2, "valid"), joined([three, double])])

    def c(self, x: Image, name: str, middle: int) -> Image:
        """Return towers of 1×1, of 7×7 in two parts, of twice 7×7 in four, and a pool."""
        across, down = (1, 7), (7, 1)
        single = self._tower(x, f"{name}.single", (192, (1, 1)))
        seven = self._tower(x, f"{name}.seven", (middle, (1, 1)), (middle, across), (192, down))
        double = self._tower(
            x,
            f"{name}.double",
            (middle, (1, 1)),
            (middle, down),
            (middle, across),
            (middle, down),
            (192, across),
        )
        mean = self._tower(pooled("avg", x, 3), f"{name}.mean", (192, (1, 1)))
        return joined([joined([single, seven]), joined([double, mean])])

    def d(self, x: Image, name: str) -> Image:
        """Return half the extent: a 3×3, one after 7×7 in two parts, and a pool."""
        three = self._tower(x, f"{name}.three", (192, (1, 1)))
        three = self._one(three, f"{name}.half", 320, (3, 3), 2, "valid")
        seven = self._tower(x, f"{name}.seven", (192, (1, 1)), (192, (1, 7)), (192, (7, 1)))
        seven = self._one(seven, f"{name}.end", 192, (3, 3), 2, "valid")
        return joined([three, seven, pooled("max", x, 3, 2, "valid")])

    def e(self, x: Image, name: str) -> Image:
        """Return a 1×1, two towers that fork into 1×3 and 3×1, and a pool."""
        single = self._tower(x, f"{name}.single", (320, (1, 1)))
        three = self._tower(x, f"{name}.three", (384, (1, 1)))
        double = self._tower(x, f"{name}.double", (448, (1, 1)), (384, (3, 3)))
        mean = self._tower(pooled("avg", x, 3), f"{name}.mean", (192, (1, 1)))
        forks = (self._fork(three, f"{name}.three"), self._fork(double, f"{name}.double"))
        return joined([single, *forks, mean])

    def _fork(self, x: Image, name: str) -> Image:
        return joined(
            [
                self._one(x, f"{name}.across", 384, (1, 3)),
                self._one(x, f"{name}.down", 384, (3, 1)),
            ]
        )

    def _tower(self, x: Image, name: str, *layers: _Layer) -> Image:
        for place, (filters, kernel) in enumerate(layers):
            x = self._one(x, f"{name}{place}", filters, kernel)
        return x

    def _one(
        self,
        x: Image,
        name: str,
        filters: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: str = "same",
    ) -> Image:
        return convolved(x, name, filters // self.divisor, kernel, stride, padding)
