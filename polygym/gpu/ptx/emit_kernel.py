"""One kernel of a device program as a function of an LLVM module for nvptx64.

Statements, subscripts, checks and loops are emitted as for CPUs
(:mod:`polygym.codegen.llvm.emit_function`). What differs is where arrays live, who runs the code,
and barriers::

    global    an argument, addrspace(1)       shared     a piece of polygym_shared, addrspace(3)
    local     a slot of the function          thread.x   llvm.nvvm.read.ptx.sreg.tid.x

What other threads write must not be hidden from LLVM, which takes a barrier for a call of a
function that it does not know. Such a call changes no variable that is the module's own, and
nothing at a ``noalias`` argument. So shared arrays lie in one external variable, whose size the
launch gives, and where there are barriers only arrays that are not written are ``noalias``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.llvm.access.protocols import top_tested_loop
from polygym.codegen.llvm.core.emit_index import Environment, emit_condition, emit_index
from polygym.codegen.llvm.core.runtime_checks import SubscriptChecks, begin_subscript_checks
from polygym.codegen.llvm.core.types import I8, I32, I64, LLVM_TYPE, declare_function, i64
from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.codegen.loopir.ir import LoopProgram, Node, instances_in
from polygym.errors import InputError
from polygym.gpu.device_program import (
    ALIGNMENT,
    BLOCK_VARIABLES,
    THREAD_VARIABLES,
    Barrier,
    Kernel,
    KernelNode,
    ThreadCode,
    UniformGuard,
    UniformLoop,
    aligned,
)
from polygym.gpu.ptx.emit_atomics import DeviceFunctionEmitter
from polygym.gpu.ptx.kernel_signature import KernelSignature
from polygym.gpu.ptx.local_loops import unroll_local_loops
from polygym.ir.scop import Array, Statement

GLOBAL, SHARED = ir.PointerType(None, 1), ir.PointerType(None, 3)
_SHARED_NAME = "polygym_shared"
_REGISTERS = ("ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z")


class _KernelAttributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Function attributes with the number of threads, which may be any."""

    def __init__(self, block: tuple[int, int, int]) -> None:
        threads = '"nvvm.reqntid"="{},{},{}"'.format(*block)
        self._known = ir.values.FunctionAttributes._known | {threads}
        super().__init__(["nounwind", threads])


@dataclass(frozen=True, slots=True)
class _Memory:
    """The arrays of a kernel, and how many elements those of its own have."""

    kernel: Kernel
    program: LoopProgram
    sizes: Mapping[str, int]

    @property
    def global_arrays(self) -> tuple[Array, ...]:
        """The arrays in global memory that the kernel touches."""
        own = {*self.kernel.shared, *self.kernel.local}
        touched = set(touched_arrays(self.kernel, self.program)) - own
        return tuple(array for array in self.program.scop.arrays if array.name in touched)

    @property
    def communicated_arrays(self) -> frozenset[str]:
        """The arrays that one thread may read after another has written them."""
        if not has_barrier(self.kernel.body):
            return frozenset()
        return frozenset(own.write.array for own in kernel_statements(self.kernel, self.program))

    def elements(self, name: str) -> int:
        """Return how many elements an array of a block or of a thread has."""
        arrays = zip(self.program.scop.arrays, self.program.extents, strict=True)
        extents = next(extents for array, extents in arrays if array.name == name)
        try:
            return prod(max(evaluate_index(extent, self.sizes), 0) for extent in extents)
        except KeyError as error:
            raise InputError(
                f"kernel {self.kernel.name}: expected the extents of {name} to be numbers, "
                f"found the unknown {error.args[0]}"
            ) from None

    @property
    def shared_offsets(self) -> tuple[dict[str, int], int]:
        """The bytes at which shared arrays begin, and the bytes that they take."""
        offsets, total = {}, 0
        for name in self.kernel.shared:
            offsets[name] = total
            size = self.elements(name) * self.program.scop.array(name).type.size
            total += aligned(size)
        return offsets, total


def thread_nodes(body: Sequence[KernelNode]) -> list[Node]:
    """Return the code of threads in the body of a kernel, in order."""
    nodes: list[Node] = []
    for node in body:
        match node:
            case ThreadCode(inner):
                nodes.append(inner)
            case UniformLoop(body=inside) | UniformGuard(body=inside):
                nodes += thread_nodes(inside)
            case Barrier():
                pass
            case _:
                assert_never(node)
    return nodes


def has_barrier(body: Sequence[KernelNode]) -> bool:
    """Whether threads wait for each other in the body of a kernel."""
    return any(
        isinstance(node, Barrier)
        or (isinstance(node, UniformLoop | UniformGuard) and has_barrier(node.body))
        for node in body
    )


def kernel_statements(kernel: Kernel, program: LoopProgram) -> tuple[Statement, ...]:
    """Return the statements that a kernel runs, each once."""
    names = {
        instance.statement: None
        for node in thread_nodes(kernel.body)
        for instance in instances_in(node)
    }
    return tuple(map(program.scop.statement, names))


def touched_arrays(kernel: Kernel, program: LoopProgram) -> tuple[str, ...]:
    """Return the names of the arrays that the statements of a kernel read or write, each once."""
    names = (
        access.array
        for statement in kernel_statements(kernel, program)
        for access in (statement.write, *statement.reads)
    )
    return tuple(dict.fromkeys(names))


def emit_kernel(
    module: ir.Module, program: LoopProgram, kernel: Kernel, variables: tuple[str, ...]
) -> KernelSignature:
    """Emit a kernel into a module; ``variables`` are those that the host hands over."""
    memory = _Memory(kernel, program, dict(program.sizes or ()))
    arrays = memory.global_arrays
    checks_subscripts = needs_checks(program)
    offsets, shared = memory.shared_offsets
    types = [GLOBAL] * len(arrays) + [I64] * len(variables) + [GLOBAL] * checks_subscripts
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), types), kernel.name)
    function.calling_convention = "ptx_kernel"
    function.attributes = _KernelAttributes(kernel.block)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    storage = _global_storage(function, memory, arrays)
    storage |= _shared_storage(module, builder, offsets)
    storage |= _local_storage(builder, memory)
    environment: Environment = {name: i64(value) for name, value in memory.sizes.items()}
    environment |= dict(zip(variables, function.args[len(arrays) :], strict=False))
    parameters = dict(environment)
    environment |= _thread_numbers(module, builder)
    note = function.args[-1] if checks_subscripts else None
    emitter = DeviceFunctionEmitter(
        module,
        program,
        builder,
        parameters,
        storage,
        _extents(builder, program, parameters),
        _subscript_checks(builder, program, note),
    )
    emitter.atomic = kernel.atomic
    _BodyEmitter(emitter, kernel, memory.sizes).emit(kernel.body, environment)
    if emitter.checks is not None:
        emitter.checks.runtime_checks.publish(builder)
    builder.ret_void()
    names = tuple(array.name for array in arrays)
    return KernelSignature(kernel.name, kernel.block, names, variables, checks_subscripts, shared)


def needs_checks(program: LoopProgram) -> bool:
    """Whether the code of a program checks subscripts as it runs."""
    probe = ir.IRBuilder(ir.Function(ir.Module(), _NOTHING, "f").append_basic_block())
    return begin_subscript_checks(probe, program) is not None


_NOTHING = ir.FunctionType(ir.VoidType(), [])


def _subscript_checks(
    builder: ir.IRBuilder, program: LoopProgram, note: Any
) -> SubscriptChecks | None:
    """Return the checks of a kernel, whose threads share a note in global memory."""
    checks = begin_subscript_checks(builder, program)
    return None if checks is None else checks.for_callee(builder, note)


def _extents(
    builder: ir.IRBuilder, program: LoopProgram, parameters: Environment
) -> dict[str, tuple[Any, ...]]:
    return {
        array.name: tuple(emit_index(builder, size, parameters) for size in sizes)
        for array, sizes in zip(program.scop.arrays, program.extents, strict=True)
    }


def _global_storage(
    function: ir.Function, memory: _Memory, arrays: Sequence[Array]
) -> dict[str, Any]:
    """Return the arguments that are arrays, of which no two overlap."""
    communicated = memory.communicated_arrays
    storage = {}
    for array, argument in zip(arrays, function.args, strict=False):
        if array.name not in communicated:
            argument.add_attribute("noalias")
        argument.attributes.align = ALIGNMENT
        storage[array.name] = argument
    return storage


def _shared_storage(
    module: ir.Module, builder: ir.IRBuilder, offsets: Mapping[str, int]
) -> dict[str, Any]:
    """Return the shared arrays of a kernel: pieces of what the launch gives."""
    if offsets and _SHARED_NAME not in module.globals:
        whole = ir.GlobalVariable(module, ir.ArrayType(I8, 0), _SHARED_NAME, addrspace=3)
        whole.linkage = "external"
        whole.align = ALIGNMENT
    storage = {}
    for array, offset in offsets.items():
        whole = module.globals[_SHARED_NAME]
        begin = builder.gep(whole, [i64(offset)], inbounds=True, source_etype=I8)
        begin.type = SHARED
        storage[array] = begin
    return storage


def _local_storage(builder: ir.IRBuilder, memory: _Memory) -> dict[str, Any]:
    """Return slots for the arrays that every thread has."""
    storage = {}
    for name in memory.kernel.local:
        kind = LLVM_TYPE[memory.program.scop.array(name).type]
        slot = builder.alloca(kind, memory.elements(name), name=name)
        slot.align = ALIGNMENT
        slot.type = ir.PointerType()
        storage[name] = slot
    return storage


def _thread_numbers(module: ir.Module, builder: ir.IRBuilder) -> Environment:
    """Return the numbers of the block and of the thread."""
    values = {}
    for variable, register in zip((*BLOCK_VARIABLES, *THREAD_VARIABLES), _REGISTERS, strict=True):
        name = f"llvm.nvvm.read.ptx.sreg.{register}"
        read = declare_function(module, name, ir.FunctionType(I32, []))
        values[variable] = builder.zext(builder.call(read, []), I64, name=variable)
    return values


@dataclass(frozen=True, slots=True)
class _BodyEmitter:
    """Emits what all threads of a block run together."""

    emitter: DeviceFunctionEmitter
    kernel: Kernel
    sizes: Mapping[str, int]

    def emit(self, body: Sequence[KernelNode], environment: Environment) -> None:
        """Emit nodes, one after the other."""
        builder = self.emitter.builder
        for node in body:
            self.emitter.new_values.clear()
            match node:
                case ThreadCode(inner):
                    local = frozenset(self.kernel.local)
                    code = unroll_local_loops(inner, self.emitter.program, local)
                    self.emitter.emit_node(code, environment)
                case Barrier():
                    barrier = declare_function(builder.module, "llvm.nvvm.barrier0", _NOTHING)
                    builder.call(barrier, [])
                case UniformLoop(variable, lower, upper, step, inside):
                    first, last = (
                        emit_index(builder, bound, environment) for bound in (lower, upper)
                    )
                    with top_tested_loop(builder, variable, first, last, step) as counter:
                        self.emit(inside, environment | {variable: counter})
                case UniformGuard(condition, inside):
                    with builder.if_then(emit_condition(builder, condition, environment)):
                        self.emit(inside, environment)
                case _:
                    assert_never(node)
