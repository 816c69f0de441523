"""A program with everything that is needed to run it: the Scop, its data, its sizes, its outputs.

It is read from a text by :mod:`polygym.programs.loading`. Whoever gets one that was read, as the
compile server does, needs no front end.
"""

from __future__ import annotations

from dataclasses import dataclass

from polybench import Part
from polygym.compiler.ir.scop import Array, Scop
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting
from polygym.compiler.storage.plan import KEEP, StoragePlan
from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Output:
    """An array whose final contents are the program's result, and which part of it counts."""

    array: str
    part: Part = Part.FULL


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Program:
    """A Scop that can be run: ``parameters`` holds a value for every size, by name.

    Where ``scop`` is a transformation of what was written, ``source`` is that: the one has the
    other's data, must leave what it leaves, and is compared with its time. ``splitting`` has the
    cuts (:mod:`polygym.programs.pieces`) and ``storage`` the plan (:mod:`polygym.programs.stored`)
    by which it came about, the cuts first. ``function`` is the choice of a region, with the sizes
    that were given beside the file.
    """

    name: str
    scop: Scop
    initial_data: Scop
    parameters: tuple[tuple[str, int], ...]
    outputs: tuple[Output, ...]
    source: Scop | None = None
    splitting: Splitting = WHOLE
    storage: StoragePlan = KEEP
    function: str | None = None

    @property
    def written(self) -> Scop:
        """The program as it was written, before any transformation of it."""
        return self.scop if self.source is None else self.source

    def value(self, parameter: str) -> int:
        """Return the value of a parameter."""
        return dict(self.parameters)[parameter]

    def shape(self, array: Array) -> tuple[int, ...]:
        """Return the sizes of an array for the parameter values."""
        return tuple(evaluate(extent, dict(self.parameters)) for extent in array.extents)


__all__ = ["Output", "Program"]
