"""Machine code for all sizes: one object, which a call binds to its sizes.

Code takes its sizes by address, so only what stands around it depends on them: the shapes of
outputs and temporaries, the conditions under which the definition makes sense, and what is said of
a subscript that leaves its tensor. These are functions of the sizes in isl's notation, which are
read once and evaluated for each set of sizes in a few microseconds.

Code for all sizes computes the sums that code for one set of sizes computes, in loops that know
less. What is called often deserves its own: a bound kernel says so once it has run for as long as
compiling takes. The other code then has to be faster: for some operators that for all sizes is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from polygym.codegen.pipeline import compile_program, lower
from polygym.ir.gathers import computed_subscripts, out_of_range_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.dependences import arrays_without_live_in
from polygym.poly.evaluation import ParameterFunctions
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.programs.dtypes import dtype_of
from polygym.runtime.loader import load_object
from polygym.tc.kernel import ArrayBinding, CompiledKernel

SECONDS_OF_COMPILING = 0.5
"""How long compiling for one set of sizes takes, about."""
TRIAL_CALLS = 5
"""How often code for one set of sizes runs in turn with that for all before the faster is taken."""


@dataclass(frozen=True, slots=True)
class GeneralBinding:
    """An array of the program, as :class:`ArrayBinding` has it, with extents as functions."""

    argument: int | None
    output: int | None
    extents: tuple[str, ...]
    dtype: np.dtype[Any]
    is_updated: bool
    is_partial: bool


@dataclass(frozen=True, slots=True)
class RangeError:
    """What is said of a computed subscript that is out of range; ``extent`` is a function."""

    text: str
    array: str
    dimension: int
    extent: str


class BoundKernel(CompiledKernel):
    """Code for all sizes at one set of them; ``on_often`` is called once, when it is used much.

    What is compiled then runs in turn with it, and takes its place if it is faster.
    """

    on_often: Callable[[], None] | None = None
    _seconds = 0.0
    _trial: Trial | None = None

    def write(self, arguments: list[int], outputs: list[int]) -> None:
        """Write the outputs, as the code of one set of sizes does."""
        trial = self._trial
        is_own = trial is None or len(trial.own) <= len(trial.other)
        begin = perf_counter()
        if trial is None or is_own:
            super().write(arguments, outputs)
        else:
            trial.kernel.write(arguments, outputs)
        seconds = perf_counter() - begin
        self._seconds += seconds
        if trial is not None:
            (trial.own if is_own else trial.other).append(seconds)
            if len(trial.other) >= TRIAL_CALLS:
                self._trial = None
                if min(trial.other) < min(trial.own):
                    trial.on_faster()
        elif self._seconds > SECONDS_OF_COMPILING and self.on_often is not None:
            called, self.on_often = self.on_often, None
            if called is not None:  # another thread may have been here
                called()

    def try_other(self, kernel: CompiledKernel, on_faster: Callable[[], None]) -> None:
        """Have another kernel run in turn with this one; call a function if it is faster."""
        self._trial = Trial(kernel, on_faster)


@dataclass(slots=True)
class Trial:
    """A kernel beside one for all sizes: the seconds of both."""

    kernel: CompiledKernel
    on_faster: Callable[[], None]
    own: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)


class GeneralKernel:
    """Machine code for all sizes for which a context holds."""

    def __init__(
        self,
        object_code: bytes,
        parameters: Sequence[str],
        context: str,
        bindings: Sequence[GeneralBinding],
        range_errors: Sequence[RangeError] = (),
    ) -> None:
        """Link the code and read the functions."""
        self.object_code = object_code
        self._document = (tuple(parameters), context, tuple(bindings), tuple(range_errors))
        self._program = load_object(object_code)
        texts = {extent for binding in bindings for extent in binding.extents}
        texts |= {error.extent for error in range_errors}
        self._functions = ParameterFunctions(parameters, context, sorted(texts))

    def at(self, sizes: Sequence[int]) -> BoundKernel | None:
        """Return the kernel for sizes, None where the definition is not defined for them."""
        _, _, bindings, range_errors = self._document
        if (values := self._functions.at(sizes)) is None:
            return None
        places = [
            ArrayBinding(
                binding.argument,
                binding.output,
                tuple(values[extent] for extent in binding.extents),
                binding.dtype,
                binding.is_updated,
                binding.is_partial,
            )
            for binding in bindings
        ]
        texts = [
            out_of_range_text(error.text, error.array, error.dimension, values[error.extent])
            for error in range_errors
        ]
        return BoundKernel(self.object_code, places, sizes, texts, self._program)

    @property
    def recipe(self) -> str:
        """What a call needs besides the code, as JSON."""
        parameters, context, bindings, range_errors = self._document
        places = [
            [b.argument, b.output, b.extents, b.dtype.name, b.is_updated, b.is_partial]
            for b in bindings
        ]
        errors = [[e.text, e.array, e.dimension, e.extent] for e in range_errors]
        return json.dumps([parameters, context, places, errors])

    @staticmethod
    def from_recipe(code: bytes, recipe: str) -> GeneralKernel:
        """Return the kernel of a code and the recipe that belongs to it.

        Raises:
            LoadError: the code is none for this process.
            ValueError: the recipe is none.
        """
        parameters, context, places, errors = json.loads(recipe)
        bindings = [
            GeneralBinding(
                argument, output, tuple(extents), np.dtype(name), bool(updated), bool(partial)
            )
            for argument, output, extents, name, updated, partial in places
        ]
        return GeneralKernel(
            code, parameters, context, bindings, [RangeError(*error) for error in errors]
        )


def compile_general(
    scop: Scop,
    constants: Mapping[str, int],
    mapping: MachineMapping,
    arguments: Sequence[str],
    outputs: Sequence[str],
    schedule: Schedule,
) -> GeneralKernel:
    """Compile a schedule for all sizes; ``constants`` are those of its parameters that are known.

    Raises:
        PolygymError: there are no such loops, or they would take too long.
    """
    code = compile_program(lower(LegalSchedule(scop, schedule), mapping, None))
    sufficient = arrays_without_live_in(scop, constants)
    bindings = [
        GeneralBinding(
            arguments.index(array.name) if array.name in arguments else None,
            outputs.index(array.name) if array.name in outputs else None,
            array.extents,
            dtype_of(array.type),
            is_updated=array.name in arguments and array.name in outputs,
            is_partial=array.name not in arguments and array.name not in sufficient,
        )
        for array in scop.arrays
    ]
    errors = [
        RangeError(
            subscript.text,
            subscript.array,
            subscript.dimension,
            scop.array(subscript.array).extents[subscript.dimension],
        )
        for subscript in computed_subscripts(scop)
    ]
    names = [parameter.name for parameter in scop.parameters]
    return GeneralKernel(code, names, scop.context, bindings, errors)
