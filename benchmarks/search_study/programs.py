"""Programs of the study: the convolutions of a network, kernels, and random programs.

C1 to C12 are the convolutions of ResNet-18, one image at a time, each once (AutoTVM, table 1). The
image comes with its border already around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import polybench
from polybench import Dataset
from polygym.programs import Program, load_program


@dataclass(frozen=True)
class ConvolutionLayer:
    """A convolution: what comes in, how many filters of which size, in which steps."""

    side: int
    channels: int
    filters: int
    kernel: int
    stride: int

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the library's comprehension; the image is as large as it has to be."""
        out = self.side // self.stride
        padded = (out - 1) * self.stride + self.kernel
        shape = {"N": 1, "C": self.channels, "H": padded, "W": padded}
        filters = {"F": self.filters, "KH": self.kernel, "KW": self.kernel}
        steps = {"sh": self.stride, "sw": self.stride} if self.stride > 1 else {}
        return {**steps, **shape, **filters}

    @property
    def comprehension(self) -> str:
        """The name in the library."""
        return "conv2d_strided" if self.stride > 1 else "conv2d"


LAYERS = {
    f"C{number}": ConvolutionLayer(*numbers)
    for number, numbers in enumerate(
        (
            (224, 3, 64, 7, 2), (56, 64, 64, 3, 1), (56, 64, 64, 1, 1), (56, 64, 128, 3, 2),
            (56, 64, 128, 1, 2), (28, 128, 128, 3, 1), (28, 128, 256, 3, 2), (28, 128, 256, 1, 2),
            (14, 256, 256, 3, 1), (14, 256, 512, 3, 2), (14, 256, 512, 1, 2), (7, 512, 512, 3, 1),
        ),
        start=1,
    )
}  # fmt: skip

KERNELS = ("syr2k", "trmm", "gemver", "lu", "jacobi-2d", "covariance", "bicg", "gramschmidt")
"""Eight kernels that no shipped model has learned from."""

RANDOM = tuple(f"random:{2_000_000_000 + number}" for number in range(1, 13))
"""Random programs beyond those that corpora are made of."""

SOURCES, TARGETS = tuple(LAYERS)[:6], tuple(LAYERS)[6:9]
"""Layers whose searches are learned from, and those on which the paper tries what was learned."""

GROUPS = {
    "layers": tuple(LAYERS),
    "sources": SOURCES,
    "targets": TARGETS,
    "kernels": KERNELS,
    "random": RANDOM,
    "all": tuple(polybench_kernel.name for polybench_kernel in polybench.KERNELS),
}
DEFAULT_GROUPS = ("layers", "kernels")


def expand_groups(names: list[str]) -> list[str]:
    """Return the programs of groups, and those that are named, each once."""
    return list(dict.fromkeys(program for name in names for program in GROUPS.get(name, (name,))))


def check_programs(names: list[str], dataset: str) -> list[str]:
    """Return the programs of groups, and those that are named, before anything is searched.

    Raises:
        PolygymError: there is none of such a name, or it cannot be read.
    """
    result = expand_groups(names)
    for name in result:
        load_study_program(name, dataset)
    return result


def load_study_program(name: str, dataset: str) -> Program:
    """Return a program; layers have sizes of their own.

    Raises:
        InputError: there is none of this name.
    """
    if name in LAYERS:
        layer = LAYERS[name]
        return load_program(f"tc:{layer.comprehension}", parameters=layer.sizes)
    return load_program(name, dataset=Dataset[dataset.upper()])
