"""A comprehension compiled for certain sizes: machine code, and the recipe of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, NoReturn

import numpy as np

from polygym.autoschedule.schedule_choice import resolved_schedule_within
from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import InternalError, PolygymError
from polygym.foreign import calls
from polygym.foreign.calls import EntryPoint, argument_block
from polygym.foreign.libc import copy_bytes, fill_bytes
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.dependences import arrays_without_live_in
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.may_accesses import out_of_range_messages
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import ISL, ScheduleStrategy
from polygym.programs.dtypes import dtype_of
from polygym.runtime.loader import LoadedProgram, load_object, may_use_threads
from polygym.tc.arguments import address_of
from polygym.tc.code_calls import call_error, note_threads


@dataclass(frozen=True, slots=True)
class ArrayBinding:
    """An array of the program: which argument or output it is, or memory of the call's own.

    ``is_partial`` says that elements may stay unassigned, or are read before: those are zero.
    """

    argument: int | None
    output: int | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_updated: bool
    is_partial: bool


# A call does not ask how long it took; the list is copied for it, and what is written is dropped.
_NO_ADDRESS = [0]


class CompiledKernel:
    """Machine code for one set of sizes; calls from several threads do not meet."""

    def __init__(
        self,
        object_code: bytes,
        bindings: Sequence[ArrayBinding],
        sizes: Sequence[int],
        error_texts: Sequence[str] = (),
        program: LoadedProgram | None = None,
    ) -> None:
        """Link the code, unless it was; ``error_texts`` has one per computed subscript."""
        self.object_code = object_code
        self._complaints = tuple(error_texts)
        self.places = tuple(bindings)
        self._program = load_object(object_code) if program is None else program
        self._has_threads = may_use_threads(object_code)
        self._sizes = calls.int64_array(sizes)
        first = calls.address_of(self._sizes)
        self._size_addresses = [first + 8 * place for place in range(len(sizes))]
        returned = [binding for binding in self.places if binding.output is not None]
        self.outputs = tuple(sorted(returned, key=lambda array_binding: array_binding.output or 0))
        self._prepare_memory()

    def _prepare_memory(self) -> None:
        """Note for each array where its address stands: in arguments, outputs and temporaries.

        All but arguments are counted from behind: a call may have arguments without an array.
        """
        own = [p for p in self.places if p.output is None and p.argument is None]
        self._results = [(output.shape, output.dtype) for output in self.outputs]
        self._only_result = self._results[0] if len(self._results) == 1 else None
        self._temporaries = [(binding.shape, binding.dtype) for binding in own]
        self._order: list[int] = []
        self._copied: list[tuple[int, int, int]] = []
        self._cleared: list[tuple[int, int]] = []
        first_output = -len(own) - len(self.outputs)
        temporary = count(-len(own))
        for binding in self.places:
            size = prod(binding.shape) * binding.dtype.itemsize
            if binding.output is not None:
                number = first_output + binding.output
            else:
                number = next(temporary) if binding.argument is None else binding.argument
            if binding.is_updated:
                assert binding.argument is not None
                self._copied.append((number, binding.argument, size))
            elif binding.is_partial:
                self._cleared.append((number, size))
            self._order.append(number)
        passed = range(len(self.places) - len(self.outputs))
        is_in_order = self._order == [*passed, *range(first_output, 0)]
        self._has_more_to_do = bool(
            own or self._copied or self._cleared or self._has_threads or not is_in_order
        )

    @property
    def recipe(self) -> str:
        """What a call needs besides the code, as JSON."""
        places = [
            [p.argument, p.output, list(p.shape), p.dtype.name, p.is_updated, p.is_partial]
            for p in self.places
        ]
        sizes = list(self._sizes)
        return json.dumps({"places": places, "sizes": sizes, "complaints": self._complaints})

    @staticmethod
    def from_recipe(code: bytes, recipe: str) -> CompiledKernel:
        """Return the kernel of a code and the recipe that belongs to it.

        Raises:
            LoadError: the code is none for this process.
            ValueError: the recipe is none.
        """
        data = json.loads(recipe)
        places = [
            ArrayBinding(
                argument, output, tuple(shape), np.dtype(name), bool(updated), bool(partial)
            )
            for argument, output, shape, name, updated, partial in data["places"]
        ]
        return CompiledKernel(code, places, data["sizes"], data.get("complaints", ()))

    def __call__(
        self, arguments: Sequence[np.ndarray], out: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Return the outputs, new arrays but for those that ``out`` gives.

        Raises:
            OutOfRangeError: a subscript that is computed leaves its tensor. What ``out`` gives may
                have been written to.
        """
        return self.run([address_of(array) for array in arguments], out)

    def run(
        self, arguments: list[int], out: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Return the outputs, given the addresses of the arguments, whose memory stays."""
        if out is None and self._only_result is not None:
            array = np.empty(*self._only_result)
            self.write(arguments, [address_of(array)])
            return [array]
        results = [np.empty(shape, dtype) for shape, dtype in self._results]
        if out is not None:
            pairs = zip(out, results, strict=True)
            results = [made if given is None else given for given, made in pairs]
        self.write(arguments, [address_of(array) for array in results])
        return results

    def write(self, arguments: list[int], outputs: list[int]) -> None:
        """Write the outputs to where they are to be; memory of arguments and outputs stays."""
        known = arguments + outputs
        if self._has_more_to_do or len(known) != len(self._order):
            temporaries = [np.empty(shape, dtype) for shape, dtype in self._temporaries]
            known += [address_of(array) for array in temporaries]
            for target, source, size in self._copied:
                if known[target] != known[source]:
                    copy_bytes(known[target], known[source], size)
            for target, size in self._cleared:
                fill_bytes(known[target], 0, size)
            if self._has_threads:
                note_threads()
            known = [known[place] for place in self._order]
        code = self._program.call(known + self._size_addresses, _NO_ADDRESS)
        if code:
            self.raise_error(code)

    def prepared(self, addresses: Sequence[int]) -> tuple[EntryPoint, Any]:
        """Return the function and the argument block of calls with arrays at these addresses.

        They stand in the order of ``bindings``; the block may be changed between calls. What is
        :attr:`ArrayBinding.is_partial` has to be cleared before each. The function returns a code,
        which :meth:`raise_error` explains if it is not 0.
        """
        return self._program.call, argument_block([*addresses, *self._size_addresses])

    def note_threads(self) -> None:
        """Take note that a call follows.

        Raises:
            InputError: the code asks for threads that a forked process does not have.
        """
        if self._has_threads:
            note_threads()

    def raise_error(self, code: int) -> NoReturn:
        """Say what went wrong in a call that returned something else than 0."""
        raise call_error(code, self._complaints, "comprehension")


def default_schedule(
    scop: Scop, strategy: ScheduleStrategy, sizes: Mapping[str, int], mapping: MachineMapping
) -> Schedule:
    """Return a strategy's schedule; for isl's usual one the order of the text where isl has none.

    Raises:
        InputError: isl has none of the kind that was asked for.
    """
    try:
        return resolved_schedule_within(strategy, scop, sizes, mapping)
    except PolygymError:
        if strategy != ISL:
            raise
        return original_schedule(scop)


def compile_kernel(
    scop: Scop,
    sizes: Mapping[str, int],
    mapping: MachineMapping,
    arguments: Sequence[str],
    outputs: Sequence[str],
    schedule: Schedule,
) -> CompiledKernel:
    """Compile a schedule for certain sizes; the names are those of the program's arrays."""
    legal = LegalSchedule(scop, schedule)
    code = compile_program(lower(legal, mapping, dict(sizes)))
    places = array_bindings(scop, sizes, arguments, outputs)
    return CompiledKernel(code, places, tuple(sizes.values()), out_of_range_messages(scop, sizes))


def array_bindings(
    scop: Scop, sizes: Mapping[str, int], arguments: Sequence[str], outputs: Sequence[str]
) -> tuple[ArrayBinding, ...]:
    """Return where the arrays of a program come from and go to."""
    result = []
    sufficient = arrays_without_live_in(scop, sizes)
    possible = (StorageClass.ARGUMENT, StorageClass.VALUE, StorageClass.LOCAL)
    for array in scop.arrays:
        if array.storage_class not in possible:
            raise InternalError(f"{array.name} of a comprehension is {array.storage_class.value}")
        shape = tuple(evaluate_extent(extent, sizes) for extent in array.extents)
        argument = arguments.index(array.name) if array.name in arguments else None
        output = outputs.index(array.name) if array.name in outputs else None
        result.append(
            ArrayBinding(
                argument,
                output,
                shape,
                dtype_of(array.type),
                is_updated=argument is not None and output is not None,
                is_partial=argument is None and array.name not in sufficient,
            )
        )
    return tuple(result)
