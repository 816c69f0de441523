"""Loop IR → LLVM IR, part 3: the functions, the loops and the accesses.

The module has two functions. ``kernel`` takes a pointer for every array of the Scop, each
``noalias`` (the arguments of a program are distinct arrays), and its parameters as i64.
``polygym_run`` is what the outside calls::

    int32_t polygym_run(void **arguments, int64_t *nanoseconds)

``arguments`` holds the arrays' addresses in the order of ``Scop.arrays``, then the addresses of the
parameters' int64_t values in the order of ``Scop.parameters``. It reads the monotonic clock right
before and right after the kernel, stores the difference, and returns 0.

Scalars that nobody sees afterwards live in registers: they get a slot on the stack which LLVM
promotes.
"""

from __future__ import annotations

from functools import partial
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.emit_expression import LLVM_TYPE, ExpressionEmitter
from polygym.codegen.emit_index import I64, Environment, emit_condition, emit_index
from polygym.codegen.loop_ir import Block, Guard, Index, Instance, Loop, LoopProgram, Node
from polygym.ir.scop import Array

ENTRY = "polygym_run"
CLOCK_MONOTONIC = 1
NANOSECONDS_PER_SECOND = 1_000_000_000

_I32 = ir.IntType(32)
_POINTER = ir.PointerType()


def emit_llvm(program: LoopProgram) -> str:
    """Return the text of an LLVM module, not yet optimised."""
    module = ir.Module(name=program.scop.name)
    kernel = _KernelEmitter(module, program).emit()
    _emit_entry(module, kernel, program)
    return str(module)


class _KernelEmitter:
    """Emits the ``kernel`` function; holds what every node needs to see."""

    def __init__(self, module: ir.Module, program: LoopProgram) -> None:
        scop = program.scop
        self.module = module
        self.program = program
        self.statements = {statement.name: statement for statement in scop.statements}
        count = len(scop.arrays)
        signature = ir.FunctionType(
            ir.VoidType(), [_POINTER] * count + [I64] * len(scop.parameters)
        )
        self.function = ir.Function(module, signature, "kernel")
        self.function.linkage = "internal"
        self.function.attributes.add("noinline")
        self.function.attributes.add("nounwind")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.parameters: Environment = {
            parameter.name: argument
            for parameter, argument in zip(scop.parameters, self.function.args[count:], strict=True)
        }
        self.storage: dict[str, Any] = {}
        self.extents: dict[str, tuple[Any, ...]] = {}
        for array, argument in zip(scop.arrays, self.function.args[:count], strict=True):
            argument.add_attribute("noalias")
            self.storage[array.name] = self._place(array, argument)
        for array, extents in zip(scop.arrays, program.extents, strict=True):
            # The outermost size takes no part in an address.
            self.extents[array.name] = tuple(
                emit_index(self.builder, extent, self.parameters) for extent in extents[1:]
            )

    def emit(self) -> ir.Function:
        """Emit the body and return the function."""
        self._node(self.program.body, dict(self.parameters))
        self.builder.ret_void()
        return self.function

    def _place(self, array: Array, argument: Any) -> Any:
        """Return where an array lives: its argument, or a stack slot for a private scalar.

        What has constants before the region starts with them in either place.
        """
        if isinstance(array.initial, tuple):
            return self._constants(array, argument)
        if array.rank:
            return argument
        kind = LLVM_TYPE[array.type]
        slot = argument if array.live_out else self.builder.alloca(kind, name=array.name)
        if array.initial is not None:
            self.builder.store(ir.Constant(kind, array.initial), slot)
        elif slot is not argument:
            self.builder.store(self.builder.load(argument, typ=kind), slot)
        return slot

    def _constants(self, array: Array, argument: Any) -> Any:
        """Return an array that the source initialises: a constant one, or a copy of it to write."""
        kind = LLVM_TYPE[array.type]
        values = array.initial
        assert isinstance(values, tuple)
        row = ir.ArrayType(kind, len(values))
        constant = ir.GlobalVariable(self.module, row, f"{array.name}.initial")
        constant.linkage = "internal"
        constant.global_constant = True
        constant.initializer = ir.Constant(row, [ir.Constant(kind, value) for value in values])
        if all(s.write.array != array.name for s in self.program.scop.statements):
            return constant
        copy = self.module.declare_intrinsic("llvm.memcpy", [_POINTER, _POINTER, I64])
        size = ir.Constant(I64, len(values) * array.type.size)
        self.builder.call(copy, [argument, constant, size, ir.Constant(ir.IntType(1), 0)])
        return argument

    def _node(self, node: Node, environment: Environment) -> None:
        match node:
            case Block(children):
                for child in children:
                    self._node(child, environment)
            case Loop():
                self._loop(node, environment)
            case Guard():
                self._guard(node, environment)
            case Instance():
                self._instance(node, environment)
            case _:
                assert_never(node)

    def _loop(self, loop: Loop, environment: Environment) -> None:
        """Emit a loop tested at the top; LLVM rotates it."""
        builder = self.builder
        lower = emit_index(builder, loop.lower, environment)
        if loop.lower == loop.upper:
            self._node(loop.body, environment | {loop.variable: lower})
            return
        upper = emit_index(builder, loop.upper, environment)
        before = builder.block
        header = builder.append_basic_block(f"{loop.variable}.header")
        body = builder.append_basic_block(f"{loop.variable}.body")
        after = builder.append_basic_block(f"{loop.variable}.after")
        builder.branch(header)
        builder.position_at_end(header)
        counter = builder.phi(I64, name=loop.variable)
        counter.add_incoming(lower, before)
        builder.cbranch(builder.icmp_signed("<=", counter, upper), body, after)
        builder.position_at_end(body)
        self._node(loop.body, environment | {loop.variable: counter})
        following = builder.add(counter, ir.Constant(I64, loop.step), flags=["nsw"])
        counter.add_incoming(following, builder.block)
        builder.branch(header)
        builder.position_at_end(after)

    def _guard(self, guard: Guard, environment: Environment) -> None:
        builder = self.builder
        condition = emit_condition(builder, guard.condition, environment)
        if guard.otherwise is None:
            with builder.if_then(condition):
                self._node(guard.then, environment)
            return
        with builder.if_else(condition) as (then, otherwise):
            with then:
                self._node(guard.then, environment)
            with otherwise:
                self._node(guard.otherwise, environment)

    def _instance(self, instance: Instance, environment: Environment) -> None:
        """Emit one statement instance: evaluate the body, store the result."""
        statement = self.statements[instance.statement]
        values = dict(zip(statement.iterators, instance.iterators, strict=True))
        emitter = ExpressionEmitter(
            self.module,
            self.builder,
            lambda name: emit_index(self.builder, values[name], environment),
            self.parameters,
            partial(self._load, instance, environment),
            frozenset(
                position for name, position in self.program.guarded if name == instance.statement
            ),
            self.program.scop.contraction,
        )
        result = emitter.emit(statement.body)
        self.builder.store(
            result, self._address(statement.write.array, instance.write, environment)
        )

    def _load(self, instance: Instance, environment: Environment, number: int) -> Any:
        """Emit the load with a number among the statement's reads."""
        name = self.statements[instance.statement].reads[number].array
        address = self._address(name, instance.reads[number], environment)
        return self.builder.load(address, typ=LLVM_TYPE[self.program.scop.array(name).type])

    def _address(self, name: str, subscripts: tuple[Index, ...], environment: Environment) -> Any:
        """Return the address of an element: A[i][j][k] stands at (i·e₁ + j)·e₂ + k."""
        storage = self.storage[name]
        if not subscripts:
            return storage
        builder = self.builder
        offset = emit_index(builder, subscripts[0], environment)
        for extent, subscript in zip(self.extents[name], subscripts[1:], strict=True):
            scaled = builder.mul(offset, extent, flags=["nsw"])
            offset = builder.add(scaled, emit_index(builder, subscript, environment), flags=["nsw"])
        element = LLVM_TYPE[self.program.scop.array(name).type]
        return builder.gep(storage, [offset], inbounds=True, source_etype=element)


def _emit_entry(module: ir.Module, kernel: ir.Function, program: LoopProgram) -> None:
    """Emit ``polygym_run``: unpack the arguments, read the clock around the kernel."""
    function = ir.Function(module, ir.FunctionType(_I32, [_POINTER, _POINTER]), ENTRY)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    block, nanoseconds = function.args
    arguments = []
    count = len(program.scop.arrays)
    for position in range(count + len(program.scop.parameters)):
        slot = builder.gep(block, [ir.Constant(I64, position)], source_etype=_POINTER)
        argument = builder.load(slot, typ=_POINTER)
        arguments.append(argument if position < count else builder.load(argument, typ=I64))
    clock = ir.Function(module, ir.FunctionType(_I32, [_I32, _POINTER]), "clock_gettime")
    times = [builder.alloca(I64, 2) for _ in range(2)]
    builder.call(clock, [ir.Constant(_I32, CLOCK_MONOTONIC), times[0]])
    builder.call(kernel, arguments)
    builder.call(clock, [ir.Constant(_I32, CLOCK_MONOTONIC), times[1]])
    start, end = (_nanoseconds(builder, time) for time in times)
    builder.store(builder.sub(end, start), nanoseconds)
    builder.ret(ir.Constant(_I32, 0))


def _nanoseconds(builder: ir.IRBuilder, timespec: Any) -> Any:
    """Return a ``struct timespec`` (two 64-bit fields) as nanoseconds."""
    seconds = builder.load(timespec, typ=I64)
    field = builder.gep(timespec, [ir.Constant(I64, 1)], source_etype=I64)
    fraction = builder.load(field, typ=I64)
    return builder.add(builder.mul(seconds, ir.Constant(I64, NANOSECONDS_PER_SECOND)), fraction)
