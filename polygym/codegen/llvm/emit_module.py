"""The module.

The module has two functions that matter. ``kernel`` takes a pointer for every array of the Scop,
each ``noalias`` (the arguments of a program are distinct arrays), and its parameters as i64.
``polygym_run`` is what the outside calls::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds);

``arguments`` holds the arrays' addresses in the order of ``Scop.arrays`` (but for those that the
kernel makes for itself), then the addresses of the parameters' int64_t values in the order of
``Scop.parameters``. It reads the monotonic clock right before and right after the kernel, stores
the difference, and returns what :mod:`polygym.codegen.llvm.core.types` says.

Scalars that nobody sees afterwards, and those that the kernel makes for itself, live in registers:
they get a slot on the stack which LLVM promotes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from llvmlite import ir

from polygym.codegen.analysis.private_memory import pooled_arrays, slot_elements
from polygym.codegen.common.packing_candidates import CACHE_LINE
from polygym.codegen.llvm.core import memory_allocation
from polygym.codegen.llvm.core.binary_interface import ENTRY_POINT, FORK_FUNCTION, OUT_OF_MEMORY
from polygym.codegen.llvm.core.emit_index import Environment, emit_index
from polygym.codegen.llvm.core.runtime_checks import CheckedBuilder, begin_subscript_checks
from polygym.codegen.llvm.core.source_builder import SourceBuilder, note
from polygym.codegen.llvm.core.types import I32, I64, LLVM_TYPE, POINTER, i32, i64
from polygym.codegen.llvm.emit_function import FunctionEmitter
from polygym.codegen.llvm.loops.thread_slots import thread_slots
from polygym.codegen.loopir.ir import LoopProgram, instances_in
from polygym.codegen.loopir.pass_types import Pass, Representation
from polygym.codegen.recurrences.streams.emit import settle
from polygym.codegen.transforms.vectorization import element_size
from polygym.ir.scop import Array, Scop, StorageClass

CLOCK_MONOTONIC = 1
NANOSECONDS_PER_SECOND = 1_000_000_000


def emit_llvm(program: LoopProgram, *, is_instrumented: bool = False) -> str:
    """Return the text of an LLVM module, not yet optimised.

    Code that is watched notes every promise that it does not keep: a sum that wraps, an element
    that is outside, a vector without lanes. That is for tests.
    """
    module = ir.Module(name=program.scop.name)
    kernel = _emit_kernel(module, program, CheckedBuilder if is_instrumented else ir.IRBuilder)
    _emit_entry(module, kernel, program)
    return str(module)


def emit_kernel(program: LoopProgram, name: str) -> str:
    """Return the text of a module with the kernel alone, as a function of a name for others.

    ::

        int32_t name(T *array, …, int64_t parameter, …, int32_t threads);

    Parallel loops use as many threads as the last argument says.
    """
    module = ir.Module(name=program.scop.name)
    _emit_kernel(module, program, ir.IRBuilder, name, takes_threads=True).linkage = ""
    return str(module)


def source_kernel(program: LoopProgram) -> ir.Function:
    """Return the ``kernel`` function as it is printed as C, in a module of its own."""
    return _emit_kernel(ir.Module(name=program.scop.name), program, SourceBuilder)


class _Attributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Function attributes with those that say how wide vectors may be."""

    _known = ir.values.FunctionAttributes._known | {
        f'"{name}"="{bits}"'
        for name in ("prefer-vector-width", "min-legal-vector-width")
        for bits in (128, 256, 512)
    }


def _emit_kernel(
    module: ir.Module,
    program: LoopProgram,
    kind: type[ir.IRBuilder],
    name: str = "kernel",
    *,
    takes_threads: bool = False,
) -> ir.Function:
    """Emit the kernel as a function of a name."""
    function = _kernel_function(module, program, name, takes_threads=takes_threads)
    builder = kind(function.append_basic_block("entry"))
    given = caller_arrays(program.scop)
    parameters = _parameter_values(
        program, function.args[len(given) :][: len(program.scop.parameters)]
    )
    storage: dict[str, Any] = {}
    for array, argument in zip(given, function.args[: len(given)], strict=True):
        note(argument, hint=array.name)
        argument.add_attribute("noalias")
        storage[array.name] = _array_address(module, builder, program, array, argument)
    thread_count = function.args[-1] if takes_threads else i32(program.threads)
    memory = _KernelMemory(module, builder, program, storage)
    memory.allocate(parameters, thread_count)
    storage |= memory_allocation.allocate_stack_arrays(builder, program)
    checks = begin_subscript_checks(
        builder, program, is_instrumented=isinstance(builder, CheckedBuilder)
    )
    if isinstance(builder, CheckedBuilder) and checks is not None:
        builder.checks = checks.runtime_checks
    emitter = FunctionEmitter(module, program, builder, parameters, storage, memory.extents, checks)
    emitter.thread_count = thread_count
    emitter.emit_node(program.body, dict(parameters))
    if program.nontemporal_stores:
        settle(module, builder)
    _release_arrays(module, builder, memory.allocated)
    builder.ret(i32(0) if checks is None else checks.runtime_checks.return_code(builder))
    return function


def _kernel_function(
    module: ir.Module, program: LoopProgram, name: str, *, takes_threads: bool
) -> ir.Function:
    """Declare the kernel: its arguments, and how wide its vectors may be."""
    scop = program.scop
    pointers = [POINTER] * len(caller_arrays(scop))
    types = pointers + [I64] * len(scop.parameters) + [I32] * takes_threads
    function = ir.Function(module, ir.FunctionType(I32, types), name)
    function.linkage = "internal"
    function.attributes = _Attributes(["noinline", "nounwind"])
    widest = _widest_vector_bits(program)
    if widest:
        # A CPU may prefer narrower vectors than it has; those that were chosen are to be used.
        function.attributes.add(f'"prefer-vector-width"="{widest}"')
        function.attributes.add(f'"min-legal-vector-width"="{widest}"')
    return function


def _parameter_values(program: LoopProgram, arguments: Sequence[Any]) -> Environment:
    """Return the values of the parameters: their arguments, or known sizes."""
    names = [parameter.name for parameter in program.scop.parameters]
    values: Environment = dict(zip(names, arguments, strict=True))
    for name, argument in values.items():
        note(argument, hint=name)
    if program.sizes is not None:
        return {name: i64(value) for name, value in program.sizes}
    return values


@dataclass(slots=True)
class _KernelMemory:
    """The arrays that a kernel makes: their addresses, their extents, and what is to be freed."""

    module: ir.Module
    builder: ir.IRBuilder
    program: LoopProgram
    storage: dict[str, Any]
    extents: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    allocated: list[Any] = field(default_factory=list)

    def allocate(self, parameters: Environment, thread_count: Any) -> None:
        """Make all arrays of the kernel but those on the stack."""
        builder, program = self.builder, self.program
        pooled = pooled_arrays(program)
        slots = thread_slots(builder, program, thread_count) if pooled else None
        new: list[Array] = []
        for array, sizes in zip(program.scop.arrays, program.extents, strict=True):
            self.extents[array.name] = tuple(
                emit_index(builder, size, parameters) for size in sizes
            )
            if array.storage_class is StorageClass.SCRATCH and not array.rank:
                self.storage[array.name] = _new_scalar(builder, array)
            elif array.storage_class is StorageClass.SCRATCH and _is_constant(program, array):
                self.storage[array.name] = self._initialized(array, None)
            elif array.storage_class is StorageClass.SCRATCH or array.name in pooled:
                new.append(array)
        shapes = {name: (slots, i64(slot_elements(program, name))) for name in pooled}
        self._allocate_on_heap(new, shapes)
        for array in new:
            if isinstance(array.initial, tuple):
                self.storage[array.name] = self._initialized(array, self.storage[array.name])

    def _allocate_on_heap(self, new: Sequence[Array], shapes: dict[str, tuple[Any, ...]]) -> None:
        """Make arrays in memory that is asked for, each at its own offset."""
        builder = self.builder
        offsets = [memory_allocation.staggered_offset(k, len(new)) for k in range(len(new))]
        sizes = [
            _allocation_size(builder, array, shapes.get(array.name, self.extents[array.name]), at)
            for array, at in zip(new, offsets, strict=True)
        ]
        if len(new) > 1:
            memory_allocation.preallocate(self.module, builder, reduce(builder.add, sizes))
        for array, at, size in zip(new, offsets, sizes, strict=True):
            memory = _allocate_array(self.module, builder, array, size, self.allocated)
            begin = builder.gep(memory, [i64(at)], source_etype=ir.IntType(8))
            element = LLVM_TYPE[array.type]
            self.storage[array.name] = note(begin, hint=array.name, element=element)

    def _initialized(self, array: Array, address: Any) -> Any:
        return _initialized_array(self.module, self.builder, self.program, array, address)


def caller_arrays(scop: Scop) -> tuple[Array, ...]:
    """Return the arrays that the caller has; the kernel makes the others for itself."""
    own = memory_allocation.STACK_STORAGE | {StorageClass.SCRATCH}
    return tuple(array for array in scop.arrays if array.storage_class not in own)


def _new_scalar(builder: ir.IRBuilder, array: Array) -> Any:
    """Return a slot for a scalar of the kernel's own, with its initial value if it has one."""
    slot = builder.alloca(LLVM_TYPE[array.type], name=array.name)
    if array.initial is not None:
        builder.store(ir.Constant(LLVM_TYPE[array.type], array.initial), slot)
    return slot


def _allocation_size(
    builder: ir.IRBuilder, array: Array, sizes: tuple[Any, ...], behind: int
) -> Any:
    """Return how much memory an array takes that begins so far behind its begin, whole lines."""
    size: Any = i64(array.type.size)
    for extent in sizes:
        size = builder.mul(size, extent)
    # One byte more, since there may be no element.
    return memory_allocation.rounded_up(builder, builder.add(size, i64(behind + 1)), CACHE_LINE)


def _allocate_array(
    module: ir.Module, builder: ir.IRBuilder, array: Array, total_size: Any, allocated: list[Any]
) -> Any:
    """Return new memory for an array; where there is none, give back what is there and return 1.

    In ``allocated`` stands all memory that there is, to be given back.
    """
    memory = memory_allocation.allocate_memory(module, builder, total_size, array.name)
    missing = builder.icmp_unsigned("==", memory, ir.Constant(POINTER, None))
    with builder.if_then(missing, likely=False):
        _release_arrays(module, builder, allocated)
        builder.ret(i32(OUT_OF_MEMORY))
    allocated.append(memory)
    return memory


def _release_arrays(module: ir.Module, builder: ir.IRBuilder, allocated: Sequence[Any]) -> None:
    for memory in allocated:
        memory_allocation.release(module, builder, memory)


def _widest_vector_bits(program: LoopProgram) -> int:
    """Return the bits of the widest vector of a program, 0 where there is none."""
    vectors = ((own.statement, own.lanes) for own in instances_in(program.body))
    bits = (8 * lanes.width * element_size(program.scop, name) for name, lanes in vectors if lanes)
    return max(bits, default=0)


def _array_address(
    module: ir.Module, builder: ir.IRBuilder, program: LoopProgram, array: Array, argument: Any
) -> Any:
    """Return where an array lives: its argument, or a stack slot for a private scalar.

    What has constants before the region starts with them in either place.
    """
    if isinstance(array.initial, tuple):
        return _initialized_array(module, builder, program, array, argument)
    if array.rank:
        return argument
    kind = LLVM_TYPE[array.type]
    slot = argument if array.live_out else builder.alloca(kind, name=array.name)
    if array.initial is not None:
        builder.store(ir.Constant(kind, array.initial), slot)
    elif slot is not argument:
        builder.store(builder.load(argument, typ=kind), slot)
    return slot


def _is_constant(program: LoopProgram, array: Array) -> bool:
    """Whether an array has the values of its initialiser and no others."""
    written = any(s.write.array == array.name for s in program.scop.statements)
    return isinstance(array.initial, tuple) and not written


def _initialized_array(
    module: ir.Module, builder: ir.IRBuilder, program: LoopProgram, array: Array, argument: Any
) -> Any:
    """Return an array that the source initialises: a constant one, or a copy of it to write."""
    kind = LLVM_TYPE[array.type]
    values = array.initial
    assert isinstance(values, tuple)
    row = ir.ArrayType(kind, len(values))
    constant = ir.GlobalVariable(module, row, f"{array.name}.initial")
    constant.linkage = "internal"
    constant.global_constant = True
    constant.initializer = ir.Constant(row, [ir.Constant(kind, value) for value in values])
    if _is_constant(program, array):
        return constant
    copy = module.declare_intrinsic("llvm.memcpy", [POINTER, POINTER, I64])
    size = i64(len(values) * array.type.size)
    builder.call(copy, [argument, constant, size, ir.Constant(ir.IntType(1), 0)])
    return argument


def _emit_entry(module: ir.Module, kernel: ir.Function, program: LoopProgram) -> None:
    """Emit ``polygym_run``: unpack the arguments, read the clock around the kernel."""
    function = ir.Function(module, ir.FunctionType(I32, [POINTER, POINTER]), ENTRY_POINT)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    block, nanoseconds = function.args
    arguments = []
    count = len(caller_arrays(program.scop))
    for position in range(count + len(program.scop.parameters)):
        slot = builder.gep(block, [i64(position)], source_etype=POINTER)
        argument = builder.load(slot, typ=POINTER)
        arguments.append(argument if position < count else builder.load(argument, typ=I64))
    if program.threads > 1 and FORK_FUNCTION in module.globals:
        _emit_thread_start(module, builder, program.threads)
    clock = ir.Function(module, ir.FunctionType(I32, [I32, POINTER]), "clock_gettime")
    times = [builder.alloca(I64, 2) for _ in range(2)]
    builder.call(clock, [i32(CLOCK_MONOTONIC), times[0]])
    code = builder.call(kernel, arguments)
    builder.call(clock, [i32(CLOCK_MONOTONIC), times[1]])
    start, end = (_nanoseconds(builder, time) for time in times)
    builder.store(builder.sub(end, start), nanoseconds)
    builder.ret(code)


def _emit_thread_start(module: ir.Module, builder: ir.IRBuilder, count: int) -> None:
    """Emit a parallel region without work: starting threads is none of the kernel's time."""
    idle = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), "idle")
    idle.linkage = "internal"
    ir.IRBuilder(idle.append_basic_block("entry")).ret_void()
    nothing = ir.Constant(POINTER, None)
    builder.call(module.globals[FORK_FUNCTION], [idle, nothing, i32(count), i32(0)])


def _nanoseconds(builder: ir.IRBuilder, timespec: Any) -> Any:
    """Return a ``struct timespec`` (two 64-bit fields) as nanoseconds."""
    seconds = builder.load(timespec, typ=I64)
    field = builder.gep(timespec, [i64(1)], source_etype=I64)
    fraction = builder.load(field, typ=I64)
    return builder.add(builder.mul(seconds, i64(NANOSECONDS_PER_SECOND)), fraction)


PASS: Pass[LoopProgram, str] = Pass(
    "emit", Representation.LLVM, "emitted LLVM IR", lambda program, _: emit_llvm(program)
)
