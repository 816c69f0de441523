"""Inception-v3: modules of several towers of convolutions over one image, joined by channels.

The modules are named by the order in which they stand: A over the largest images, B halves them, C
has convolutions of 1×7 and 7×1, D halves again, E ends in towers that fork. The first convolutions
of a module's towers are 1×1 over the same image, so they can be one. Joins are nested as the
paper's graph has them, by pairs where two towers belong together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polygym.graphs.ir.graph import Graph
from polygym.graphs.library.image_networks import (
    FeatureMap,
    concat_layer,
    conv_layer,
    extents_of,
    image_input,
    pool_layer,
)

_LayerShape = tuple[int, tuple[int, int]]
"""Filters and kernel of a convolution."""


def inception_v3(
    extent: int, divisor: int, pools: Sequence[int], middles: Sequence[int], last: int
) -> Graph:
    """Return the graph: one image in, the mean of every channel out.

    ``divisor`` divides all channels; ``pools`` are the channels after the pool of every module A,
    ``middles`` those inside every module C, ``last`` is the number of modules E.
    """
    start = image_input("x", extent)
    modules = _InceptionModules(divisor)
    x = modules.front(start)
    for place, pool in enumerate(pools):
        x = modules.a(x, f"a{place}", pool)
    x = modules.b(x, "b")
    for place, middle in enumerate(middles):
        x = modules.c(x, f"c{place}", middle)
    x = modules.d(x, "d")
    for place in range(last):
        x = modules.e(x, f"e{place}")
    _, extent, _ = extents_of(x)
    return Graph(
        "inception-v3", (start.node,), (("y", pool_layer("avg", x, extent, 1, "valid").node),)
    )


@dataclass(frozen=True, slots=True)
class _InceptionModules:
    """The modules, with channels divided."""

    divisor: int

    def front(self, x: FeatureMap) -> FeatureMap:
        """Return what stands before the first module: an eighth of the image's extent."""
        x = self._one(x, "front0", 32, (3, 3), 2, "valid")
        x = self._one(x, "front1", 32, (3, 3), 1, "valid")
        x = self._one(x, "front2", 64, (3, 3))
        x = pool_layer("max", x, 3, 2, "valid")
        x = self._one(x, "front3", 80, (1, 1))
        x = self._one(x, "front4", 192, (3, 3), 1, "valid")
        return pool_layer("max", x, 3, 2, "valid")

    def a(self, x: FeatureMap, name: str, pool: int) -> FeatureMap:
        """Return towers of 1×1, of 5×5, of twice 3×3, and a pool."""
        single = self._tower(x, f"{name}.single", (64, (1, 1)))
        five = self._tower(x, f"{name}.five", (48, (1, 1)), (64, (5, 5)))
        double = self._tower(x, f"{name}.double", (64, (1, 1)), (96, (3, 3)), (96, (3, 3)))
        mean = self._tower(pool_layer("avg", x, 3), f"{name}.mean", (pool, (1, 1)))
        return concat_layer([concat_layer([single, five]), concat_layer([double, mean])])

    def b(self, x: FeatureMap, name: str) -> FeatureMap:
        """Return half the extent: a 3×3, twice 3×3, and a pool."""
        three = self._one(x, f"{name}.three", 384, (3, 3), 2, "valid")
        double = self._tower(x, f"{name}.double", (64, (1, 1)), (96, (3, 3)))
        double = self._one(double, f"{name}.half", 96, (3, 3), 2, "valid")
        return concat_layer([pool_layer("max", x, 3, 2, "valid"), concat_layer([three, double])])

    def c(self, x: FeatureMap, name: str, middle: int) -> FeatureMap:
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
        mean = self._tower(pool_layer("avg", x, 3), f"{name}.mean", (192, (1, 1)))
        return concat_layer([concat_layer([single, seven]), concat_layer([double, mean])])

    def d(self, x: FeatureMap, name: str) -> FeatureMap:
        """Return half the extent: a 3×3, one after 7×7 in two parts, and a pool."""
        three = self._tower(x, f"{name}.three", (192, (1, 1)))
        three = self._one(three, f"{name}.half", 320, (3, 3), 2, "valid")
        seven = self._tower(x, f"{name}.seven", (192, (1, 1)), (192, (1, 7)), (192, (7, 1)))
        seven = self._one(seven, f"{name}.end", 192, (3, 3), 2, "valid")
        return concat_layer([three, seven, pool_layer("max", x, 3, 2, "valid")])

    def e(self, x: FeatureMap, name: str) -> FeatureMap:
        """Return a 1×1, two towers that fork into 1×3 and 3×1, and a pool."""
        single = self._tower(x, f"{name}.single", (320, (1, 1)))
        three = self._tower(x, f"{name}.three", (384, (1, 1)))
        double = self._tower(x, f"{name}.double", (448, (1, 1)), (384, (3, 3)))
        mean = self._tower(pool_layer("avg", x, 3), f"{name}.mean", (192, (1, 1)))
        forks = (self._fork(three, f"{name}.three"), self._fork(double, f"{name}.double"))
        return concat_layer([single, *forks, mean])

    def _fork(self, x: FeatureMap, name: str) -> FeatureMap:
        return concat_layer(
            [
                self._one(x, f"{name}.across", 384, (1, 3)),
                self._one(x, f"{name}.down", 384, (3, 1)),
            ]
        )

    def _tower(self, x: FeatureMap, name: str, *layers: _LayerShape) -> FeatureMap:
        for place, (filters, kernel) in enumerate(layers):
            x = self._one(x, f"{name}{place}", filters, kernel)
        return x

    def _one(
        self,
        x: FeatureMap,
        name: str,
        filters: int,
        kernel: tuple[int, int],
        stride: int = 1,
        padding: str = "same",
    ) -> FeatureMap:
        return conv_layer(x, name, filters // self.divisor, kernel, stride, padding)
