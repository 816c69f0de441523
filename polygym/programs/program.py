"""A program with everything that is needed to run it: the Scop, its data, its sizes, its outputs.

It is read from a text by :mod:`polygym.programs.loading`. A caller that gets one that was read, as
the compile server does, needs no front end.
"""

from dataclasses import dataclass

from polybench import ArrayPart
from polygym.ir.scop import Array, Scop
from polygym.pickling import pickle_by_name
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, StoragePlan


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """An array whose final contents are the program's result, and which part of it counts."""

    array: str
    part: ArrayPart = ArrayPart.FULL


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Program:
    """A Scop that can be run: ``parameters`` holds a value for every size, by name.

    Where ``scop`` is a transformation of what was written, ``source`` is that: the one has the
    other's data, must leave what it leaves, and is compared with its time. ``splitting`` has the
    cuts (:mod:`polygym.programs.stored_program`) and ``storage`` the plan
    (:mod:`polygym.programs.stored_program`) by which it came about, the cuts first. ``function`` is
    the choice of a region, with the sizes that were given beside the file.
    """

    name: str
    scop: Scop
    initial_data: Scop
    parameters: tuple[tuple[str, int], ...]
    outputs: tuple[ProgramOutput, ...]
    source: Scop | None = None
    splitting: Splitting = NO_SPLITTING
    storage: StoragePlan = SOURCE_STORAGE
    function: str | None = None

    @property
    def as_written(self) -> Scop:
        """The program as it was written, before any transformation of it."""
        return self.scop if self.source is None else self.source

    def value(self, parameter: str) -> int:
        """Return the value of a parameter."""
        return dict(self.parameters)[parameter]

    def shape(self, array: Array) -> tuple[int, ...]:
        """Return the sizes of an array for the parameter values."""
        return tuple(evaluate_extent(extent, dict(self.parameters)) for extent in array.extents)
