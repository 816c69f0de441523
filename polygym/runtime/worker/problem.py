"""Problems as values: buffers, programs that work on them, and the two together.

A problem names its buffers once. A program is object code plus the list of the buffers and
parameter values that it takes, in the order of its argument block, so that programs with
different arguments (the one that writes the initial data, the original, a candidate) share the
same memory.

Example: y = Ax has the buffers A, x, y. The initial-data program may write A and x alone, with
``buffers=(0, 1)``; the original and every candidate take ``buffers=(0, 1, 2)``; only y is compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.ir.types import ScalarType
from polygym.mapping.mapping import Mapping
from polygym.pickling import pickle_by_name
from polygym.runtime.worker.buffer_memory import CHUNK


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Buffer:
    """A piece of memory: an array or a scalar of the program.

    ``elements`` is the number of elements of type ``type``. ``compared`` says whether the contents
    after a run must be those that the original leaves. A ``constant`` one is written by the initial
    data alone: for every other program it is memory that can only be read.
    """

    name: str
    type: ScalarType
    elements: int
    compared: bool = True
    constant: bool = False

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.elements * self.type.size


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """A compiled program and its arguments.

    ``object_code`` is a relocatable object that exports ``polygym_run`` (the contract stands in
    :mod:`polygym.codegen.llvm.core.binary_interface`). Its argument block holds the address of each
    buffer in ``buffers`` (indices into the problem's), then the address of a 64-bit integer for
    each of ``parameters``. What it leaves is compared with what is expected bit for bit, or, with a
    ``tolerance``, to a relative one (:mod:`polygym.runtime.worker.output_comparison` says relative
    to what). ``range_errors`` are what to say of its computed subscripts, should one be out of
    range. ``applied_mapping`` is the mapping under which polygym has made it, for those who ask;
    the worker does not. Nor does it ask of ``private_bytes``: what each array that was to be
    private takes of a thread's stack, in bytes, or why it is not private; nor of ``canonical_key``,
    which is the same for programs that do the same in the same order ("" where unknown).
    """

    object_code: bytes
    buffers: tuple[int, ...]
    parameters: tuple[int, ...] = ()
    tolerance: float | None = None
    range_errors: tuple[str, ...] = ()
    applied_mapping: Mapping | None = None
    private_bytes: tuple[tuple[str, int | str], ...] = ()
    canonical_key: str = ""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Problem:
    """Memory, a program that writes the initial data, and the program that every other must equal.

    ``initialize`` starts from zeroed memory.
    """

    buffers: tuple[Buffer, ...]
    initialize: CompiledProgram
    original: CompiledProgram

    @property
    def size(self) -> int:
        """The number of bytes of all buffers together."""
        return sum(buffer.size for buffer in self.buffers)

    @property
    def memory(self) -> int:
        """The bytes of memory that it takes to run programs and to compare what they leave.

        One copy of what is only read, two of what is written, a third of that which is compared
        (:mod:`polygym.runtime.worker.buffer_memory`); while the initial data are made and moved,
        one of everything and a chunk of the largest.
        """
        written = [buffer for buffer in self.buffers if not buffer.constant]
        running = self.size + sum(buffer.size * (1 + buffer.compared) for buffer in written)
        largest = max((buffer.size for buffer in self.buffers), default=0)
        return max(running, self.size + min(largest, CHUNK))


def check_problem(problem: Problem) -> Problem:
    """Return the problem if it holds together.

    Raises:
        InputError: a name stands twice, a size is negative, or a program does not fit.
    """
    names = [buffer.name for buffer in problem.buffers]
    for buffer in problem.buffers:
        if names.count(buffer.name) > 1:
            raise InputError(f"buffer {buffer.name}: expected different names, found it twice")
        if buffer.elements < 0:
            raise InputError(
                f"buffer {buffer.name}: expected a number of elements >= 0, found {buffer.elements}"
            )
    check_programs(problem, (problem.initialize, problem.original))
    return problem


def check_programs(problem: Problem, programs: Iterable[CompiledProgram]) -> None:
    """Accept programs whose arguments exist and fit.

    Raises:
        InputError: a buffer's index is out of range, or a parameter does not fit 64 bits.
    """
    for program in programs:
        for index in program.buffers:
            if not 0 <= index < len(problem.buffers):
                raise InputError(
                    f"program: expected buffer indices below {len(problem.buffers)}, found {index}"
                )
        for value in program.parameters:
            if not -(2**63) <= value < 2**63:
                raise InputError(f"program: expected a parameter of 64 bits, found {value}")
