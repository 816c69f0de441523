"""Draws what random programs look like beside the programs that people write.

``--count`` random programs, chosen by the random choices of ``--seed``, are read, and their shapes
counted (:mod:`polygym.cost.features.programs.shape`), beside those of the thirty kernels of the
suite and of the library's comprehensions. Nothing is run and nothing is learned. The picture shows
shares: a bar of 30 % over "2" says that three in ten random programs have two of them.

The numbers of the picture are printed as a table too. A thousand programs take two minutes of
one core's time::

    python docs/site/random_programs.py --count 1000 --seed 0 --out docs/images/random-programs.svg

``--kind scalars`` draws those with scalars and small arrays of their own, and counts these as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

import polybench
from polybench import Dataset
from polygym.cost.features.programs.shape import ProgramShape, program_shape
from polygym.errors import PolygymError
from polygym.files import write_atomically
from polygym.frontend.tc import library
from polygym.pictures.charts.small_multiples import (
    Bins,
    HistogramPanel,
    MultiplesPanel,
    PropertyPanel,
    small_multiples_svg,
)
from polygym.programs import load_program
from polygym.programs.generate import GENERATED_KINDS, PREFIX, SCALARS_PREFIX, VERSION

SEEDS = 10**9
PROGRESS_INTERVAL = 5.0

KERNELS = tuple(kernel.name for kernel in polybench.KERNELS)
COMPREHENSIONS = tuple(f"tc:{name}" for name in library.definitions())

REUSE = Bins((0, 1, 3, 10, 30, 100, 300, 1000), ("<1", "1", "3", "10", "30", "100", "300", "1000"))


def random_names(count: int, seed: int, prefix: str = PREFIX) -> list[str]:
    """Return the names of random programs, as many as are wanted."""
    return [
        f"{prefix}{number}" for number in np.random.default_rng(seed).integers(SEEDS, size=count)
    ]


def program_shapes(names: Sequence[str], what: str) -> list[ProgramShape]:
    """Return the shapes of programs at medium sizes; say how far it is, and what was refused."""
    result = []
    begin = said = time.monotonic()
    for number, name in enumerate(names, start=1):
        try:
            result.append(program_shape(load_program(name, dataset=Dataset.MEDIUM)))
        except PolygymError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
        now = time.monotonic()
        if now - said >= PROGRESS_INTERVAL or number == len(names):
            said = now
            line = f"{what}: {number:,} of {len(names):,}, {now - begin:.0f} s"
            print(line, file=sys.stderr, flush=True)
    return result


# What is counted, by which bins, of which field of a shape; and which of its flags are shown.
COUNTS = (
    ("Loop nests", Bins.whole(1, 2, 3, 4, 5, 6), "nests"),
    ("Statements", Bins.whole(1, 2, 3, 4, 5, 6, 10), "statements"),
    ("Depth of loops", Bins.whole(1, 2, 3, 4, 5, 6), "depth"),
    ("Arrays", Bins.whole(1, 2, 3, 4, 5, 6, 10), "arrays"),
    ("Sizes", Bins.whole(1, 2, 3, 4, 5, 6), "sizes"),
    ("Dependences", Bins.whole(0, 1, 2, 3, 5, 9, 17), "dependences"),
    ("Operations per element, from", REUSE, "reuse"),
)
SCALAR_COUNT = ("Scalars that are written", Bins.whole(0, 1, 2, 3, 4, 5, 9), "scalars")
FLAGS = (
    ("imperfect nest", "is_imperfect"),
    ("triangular bound", "is_triangular"),
    ("sum", "has_reduction"),
    ("access that strides", "has_large_strides"),
    ("nest in sequence", "is_sequential"),
)
OWN_FLAG = ("array of its own", "has_private_arrays")
TITLES = {PREFIX: "random programs", SCALARS_PREFIX: "programs with scalars"}


def panels_of(
    collections: Sequence[Sequence[ProgramShape]], prefix: str = PREFIX
) -> tuple[MultiplesPanel, ...]:
    """Return the panels of the picture for collections of shapes, the first of it of a kind."""
    has_scalars = prefix == SCALARS_PREFIX
    counts = (*COUNTS, SCALAR_COUNT) if has_scalars else COUNTS
    named = (*FLAGS, OWN_FLAG) if has_scalars else FLAGS

    def kept(name: str) -> list[list[float]]:
        return [[getattr(shape, name) for shape in shapes] for shapes in collections]

    flags = [kept(name) for _, name in named]
    return (
        *(
            HistogramPanel(title, bins.labels, tuple(bins.shares(values) for values in kept(name)))
            for title, bins, name in counts
        ),
        PropertyPanel(
            "Programs that have one or more of these",
            tuple(label for label, _ in named),
            tuple(
                tuple(sum(of[number]) / max(1, len(of[number])) for of in flags)
                for number in range(len(collections))
            ),
        ),
    )


def table(titles: Sequence[str], panels: Sequence[MultiplesPanel]) -> str:
    """Return the numbers of the picture, in percent, as lines of text."""
    lines = [f"{'percent of':<60}" + "".join(f"{title:>24}" for title in titles)]
    for panel in panels:
        for place, label in enumerate(panel.labels):
            shares = "".join(f"{100 * share[place]:>24.1f}" for share in panel.shares)
            lines.append(f"{f'{panel.title}: {label}':<60}{shares}")
    return "\n".join(lines)


def medians(shapes: Sequence[ProgramShape]) -> str:
    """Return what is in the middle of a collection."""
    return (
        f"medians: {median(shape.nests for shape in shapes):g} nests, "
        f"{median(shape.statements for shape in shapes):g} statements, "
        f"{median(shape.depth for shape in shapes):g} loops, "
        f"{median(shape.arrays for shape in shapes):g} arrays, "
        f"{median(shape.sizes for shape in shapes):g} sizes, "
        f"{median(shape.dependences for shape in shapes):g} dependences, "
        f"{median(shape.reuse for shape in shapes):.3g} operations per element"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, print, and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="how many random programs")
    parser.add_argument("--seed", type=int, default=0, help="the random choices that choose them")
    parser.add_argument("--out", type=Path, default=Path("random-programs.svg"), help="the picture")
    kinds = [prefix.removesuffix(":") for prefix in GENERATED_KINDS]
    parser.add_argument("--kind", choices=kinds, default=kinds[0], help="of which kind they are")
    given = parser.parse_args(arguments)
    if given.count < 1 or given.seed < 0:
        parser.error("expected --count from 1 on and --seed from 0 on")
    prefix = f"{given.kind}:"
    groups = {
        TITLES[prefix]: random_names(given.count, given.seed, prefix),
        "kernels of the suite": KERNELS,
        "comprehensions": COMPREHENSIONS,
    }
    by_group = {what: program_shapes(names, what) for what, names in groups.items()}
    titles = [f"{len(shapes):,} {what}" for what, shapes in by_group.items()]
    panels = panels_of(list(by_group.values()), prefix)
    print(table(titles, panels))
    for title, shapes in zip(titles, by_group.values(), strict=True):
        if shapes:
            print(f"{title}: {medians(shapes)}")
    picture = small_multiples_svg(
        f"What {TITLES[prefix]} look like",
        titles,
        panels,
        "Shares of programs, at medium sizes. "
        f"Random programs: seed {given.seed}, version {VERSION}.",
    )
    write_atomically(given.out, picture.encode())
    print(given.out)


if __name__ == "__main__":
    main()
