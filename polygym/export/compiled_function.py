"""A C function as a callable on NumPy arrays: compiled for the sizes of each call.

::

    blur = polygym.compile("blur.c", schedule="auto", threads=2)
    blur(512, image, result)        the arguments of the C function, in their order

The region runs in place, on the arrays themselves. The first call with other sizes decides on the
schedule and compiles; later calls with the same sizes run that code.
"""

import re
import threading
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from polygym.autoschedule.code_choice import confirmed_start
from polygym.codegen.contraction import legal_with_storage
from polygym.codegen.llvm.emit_module import caller_arrays
from polygym.codegen.pipeline import compile_program, lower
from polygym.errors import InputError
from polygym.export.structured_arrays import argument_name, pairs_of_reals, rows_of_structures
from polygym.frontend.c.embedding import embed_file
from polygym.frontend.c.source.compile_flags import checked_flags
from polygym.frontend.c.source.region_selection import with_extents
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping, parse_mapping
from polygym.poly.evaluation import context_holds, runs_any
from polygym.poly.may_accesses import out_of_range_messages
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.strategy import AutomaticStrategy, is_strategy, parse_strategy
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import Program, load_program, load_scop
from polygym.programs.dtypes import dtype_of
from polygym.programs.targets import split_line, with_found_region
from polygym.runtime.evaluation.time_limits import schedule_within
from polygym.runtime.loader import LoadedProgram, load_object, may_use_threads
from polygym.tc.arguments import address_of
from polygym.tc.code_calls import call_error, note_threads

_GIVEN = (StorageClass.ARGUMENT, StorageClass.VALUE, StorageClass.GLOBAL)


def compile_function(
    program: str | Path,
    *,
    schedule: str = "auto",
    function: str | None = None,
    threads: int = 1,
    mapping: str | None = None,
    extents: Sequence[str] = (),
    include_directories: Sequence[str | Path] = (),
    macros: Sequence[str] = (),
) -> "CompiledFunction":
    """Return the region of a C file, or a kernel of PolyBench, as a function on NumPy arrays.

    It returns the number that the region computes, where ``return`` follows the region.

    Args:
        program: The path of a C file, or the name of a kernel.
        schedule: ``auto``, ``isl``, ``original``, or a schedule as isl text.
        function: The function with the region, where a file has several.
        threads: How many threads parallel loops use.
        mapping: The mapping to the machine; the default one where it is not given.
        extents: Sizes of bare pointers, such as ``"A=100x200"`` or ``"x[n + 1]"``.
        include_directories: Folders to look for headers in.
        macros: Macros, as ``"NAME"`` or ``"NAME=VALUE"``.

    Raises:
        InputError: the file cannot be read, an option makes no sense, or other code of the function
            uses a number that the region computes.
        SourceError: the region is refused.
    """
    chosen = DEFAULT_MAPPING if mapping is None else parse_mapping(mapping)
    if schedule == "original" and mapping is None:
        chosen = SEQUENTIAL_MAPPING
    if type(threads) is not int or threads < 1:
        raise InputError(f"threads: expected a number from 1 on, found {threads!r}")
    target, line = split_line(str(program))
    flags = checked_flags(include_directories, macros, ())
    return CompiledFunction(
        target,
        with_extents(function, extents, None, flags, line),
        schedule,
        replace(chosen, threads=threads),
        mapping is not None,
    )


@dataclass(frozen=True, slots=True)
class _SizedKernel:
    """Code for certain sizes: its arrays with their shapes, its sizes, messages of its checks."""

    code: LoadedProgram
    has_threads: bool
    arrays: tuple[tuple[Array, tuple[int, ...]], ...]
    written: frozenset[str]
    parameters: tuple[int, ...]
    range_errors: tuple[str, ...]


class CompiledFunction:
    """A region as a function; the arguments are those of the C function, then its globals."""

    def __init__(
        self,
        target: str,
        function: str | None,
        schedule: str,
        mapping: Mapping,
        keeps_mapping: bool,
    ) -> None:
        """Read the region; nothing is compiled before the first call."""
        self._target, self._function = target, function
        self._schedule, self._mapping = schedule, mapping
        self._keeps_mapping = keeps_mapping
        self._scop = load_scop(target, function, {})
        if not is_strategy(schedule):
            parse_schedule(schedule, self._scop)
        self._result = _returned_number(target, function, self._scop)
        self.__name__ = self._scop.name
        parameters = [p.name for p in self._scop.parameters]
        arrays = [a for a in self._scop.arrays if a.storage_class in _GIVEN]
        given = [argument_name(array) for array in arrays if not array.is_constant]
        own = {array.name: argument_name(array) for array in arrays}
        signature = [own.get(name, name) for name in self._scop.signature]
        names = dict.fromkeys((*signature, *given, *parameters))
        self.arguments = tuple(names)
        self._kernels: dict[tuple[int, ...], _SizedKernel | None] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Return ``<polygym function gemm(n, C, A, B)>``."""
        return f"<polygym function {self.__name__}({', '.join(self.arguments)})>"

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Run the region on the arguments, in place; return the number that it computes, if any.

        Raises:
            InputError: an argument is missing, or is not as the C function has it.
            OutOfRangeError: a computed subscript leaves its array; outputs mean nothing then.
            MemoryError: there is no memory for the arrays of the loops.
        """
        bound = self._bound(values, named)
        kernel = self._kernel(bound)
        if kernel is None:
            return None
        kept, addresses = [], []
        for array, shape in kernel.arrays:
            memory = _memory(array, shape, bound, is_written=array.name in kernel.written)
            kept.append(memory)
            addresses.append(address_of(memory))
        _expect_disjoint(kernel, kept)
        sizes = np.array(kernel.parameters, np.int64)
        places = [address_of(sizes) + 8 * k for k in range(len(sizes))]
        if kernel.has_threads:
            note_threads()
        code = kernel.code.call([*addresses, *places], [0])
        if code:
            raise call_error(code, kernel.range_errors, "function")
        names = [array.name for array, _ in kernel.arrays]
        return None if self._result is None else kept[names.index(self._result)][()]

    def _bound(self, values: Sequence[Any], named: Dictionary[str, Any]) -> dict[str, Any]:
        """Return the arguments by name; those that the region does not use may be anything."""
        unused = {name for name, _ in self._scop.unused_arguments}
        if len(values) > len(self.arguments):
            raise InputError(f"{self!r}: expected {len(self.arguments)} arguments")
        bound = dict(zip(self.arguments, values, strict=False))
        for name, value in named.items():
            if name not in self.arguments or name in bound:
                what = "twice" if name in bound else "which is none of its arguments"
                raise InputError(f"{self!r}: found {name}, {what}")
            bound[name] = value
        for name in self.arguments:
            if name not in bound and name not in unused:
                raise InputError(f"{self!r}: expected a value of {name}, found none")
        return bound

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the program and the options: a copy reads the file again."""
        path = Path(self._target)
        target = str(path.absolute()) if path.is_file() else self._target
        options = (self._function, self._schedule, self._mapping, self._keeps_mapping)
        return CompiledFunction, (target, *options)

    def _kernel(self, bound: Dictionary[str, Any]) -> _SizedKernel | None:
        """Return the code for the sizes of a call, None if no statement runs for them."""
        sizes = {p.name: _integer(p.name, bound[p.name]) for p in self._scop.parameters}
        key = tuple(sizes.values())
        with self._lock:
            if self._kernels.get(key) is None:
                self._expect_types(bound)
            if key not in self._kernels:
                self._kernels[key] = None if self._is_empty(sizes) else self._compiled(sizes)
            return self._kernels[key]

    def _expect_types(self, bound: Dictionary[str, Any]) -> None:
        """Refuse arrays of other types, before the time that compiling takes."""
        written = {statement.write.array for statement in self._scop.statements}
        for array in self._scop.arrays:
            is_scalar = not array.rank and array.name not in written
            is_given = array.storage_class in _GIVEN[::2] and not array.is_constant
            if is_given and not is_scalar and argument_name(array) in bound:
                _elements(array, bound[argument_name(array)])

    def _is_empty(self, sizes: dict[str, int]) -> bool:
        """Return whether no statement runs; such sizes may be ones that arrays cannot have."""
        is_defined = context_holds(self._scop.context, sizes)
        is_plain = self._result is None
        return is_plain and not is_defined and not runs_any(self._scop.statements, sizes)

    def _compiled(self, sizes: dict[str, int]) -> _SizedKernel:
        program = load_program(self._target, function=self._function, parameters=sizes)
        program, schedule, mapping = self._scheduled(program)
        legal = legal_with_storage(program.storage, program.scop, schedule)
        own = dict(program.parameters)
        loops = lower(legal, mapping, own)
        scop, object_code = loops.scop, compile_program(loops)
        return _SizedKernel(
            load_object(object_code),
            may_use_threads(object_code),
            tuple((array, program.shape(array)) for array in caller_arrays(scop)),
            frozenset(statement.write.array for statement in scop.statements),
            tuple(own[parameter.name] for parameter in scop.parameters),
            out_of_range_messages(scop, own),
        )

    def _scheduled(self, program: Program) -> tuple[Program, Schedule, Mapping]:
        """Return the program as its storage is chosen, its schedule and its mapping."""
        scop: Scop = program.scop
        if not is_strategy(self._schedule):
            return program, parse_schedule(self._schedule, scop), self._mapping
        if self._schedule == "original":
            return program, original_schedule(scop), self._mapping
        strategy = parse_strategy(self._schedule)
        if not isinstance(strategy, AutomaticStrategy):
            return program, schedule_within(strategy, scop), self._mapping
        result = confirmed_start(
            program, self._mapping, DEFAULT_MEMORY_LIMIT, keeps_mapping=self._keeps_mapping
        )
        return result.start.program, result.choice.schedule, result.mapping


def _returned_number(target: str, function: str | None, scop: Scop) -> str | None:
    """Return the variable that the region sets and ``return`` gives back, None if none is used.

    Raises:
        InputError: other code of the function uses it.
    """
    own = (StorageClass.LOCAL, StorageClass.VALUE)
    numbers = [array for array in scop.arrays if not array.rank and array.storage_class in own]
    set_there = [array.name for array in numbers if array.live_out]
    if not set_there:
        return None
    embedding = embed_file(Path(scop.file), with_found_region(target, function))
    behind = _RETURN.match(embedding.text, embedding.end)
    if behind is None or set_there != [behind[1]]:
        raise InputError(
            f"{target}: expected results in arrays, or a return of the number right behind the "
            f"region, found that other code uses {', '.join(set_there)}"
        )
    return set_there[0]


_RETURN = re.compile(r"\s*return\s+(\w+)\s*;\s*\}")


def _integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name}: expected an integer, found {type(value).__name__}")
    return int(value.__index__())


def _memory(
    array: Array, shape: tuple[int, ...], bound: Dictionary[str, Any], *, is_written: bool
) -> np.ndarray:
    """Return the memory of an array in a call: the argument itself, or memory of the call's own."""
    dtype = dtype_of(array.type)
    if array.is_constant:
        return np.array(array.initial, dtype).reshape(shape)
    name = argument_name(array)
    if array.storage_class not in _GIVEN or name not in bound:
        return np.zeros(shape, dtype)
    value = bound[name]
    if array.storage_class is StorageClass.VALUE or (not array.rank and not is_written):
        return np.array(value, dtype)
    value = _elements(array, value)
    size = int(np.prod(shape))
    is_flat = value.ndim == 1 or (array.structure is not None and value.shape[1:] == shape[-1:])
    if value.shape != shape and not (is_flat and value.size >= size) and shape != ():
        raise InputError(f"{name}: expected the shape {shape}, found {value.shape}")
    if value.size < size or not value.flags.c_contiguous or not value.flags.aligned:
        raise InputError(f"{name}: expected an array in one piece, in the order of C")
    if is_written and not value.flags.writeable:
        raise InputError(f"{name}: expected an array that can be written to")
    return value


def _elements(array: Array, value: Any) -> np.ndarray:
    """Return an argument as the program has it: structures as rows, complex numbers as pairs."""
    dtype, name = dtype_of(array.type), argument_name(array)
    if isinstance(value, np.ndarray):
        if array.structure is not None and value.dtype.names:
            value = rows_of_structures(array, value, array.structure.size // dtype.itemsize)
        elif np.iscomplexobj(value) and array.rank and value.dtype.itemsize == 2 * dtype.itemsize:
            value = pairs_of_reals(name, value)
    elif isinstance(value, complex | np.complexfloating) and array.rank == 1:
        value = np.array([value.real, value.imag], dtype)
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        found = getattr(value, "dtype", type(value).__name__)
        raise InputError(f"{name}: expected an array of {dtype}, found {found}")
    return value


def _expect_disjoint(kernel: _SizedKernel, memory: Sequence[np.ndarray]) -> None:
    """Refuse arrays that overlap where one of them is written: the loops take them as disjoint."""
    given = [(array, own) for (array, _), own in zip(kernel.arrays, memory, strict=True)]
    for (earlier, left), (later, right) in combinations(given, 2):
        first, second = argument_name(earlier), argument_name(later)
        if not {earlier.name, later.name} & kernel.written or first == second:
            continue
        if np.may_share_memory(left, right):
            raise InputError(f"{first} and {second}: expected arrays that do not overlap")
