"""Parallel loops, outlined and shared out among threads.

A parallel loop becomes two functions. ``region`` runs the iterations from one bound to another; it
takes everything that it needs as arguments, the arrays ``noalias`` as the kernel does. ``task`` is
what each thread runs: it takes tickets from a counter that all of them share, and with every ticket
a chunk of the iterations, until none is left. ::

    for i in lower .. upper:              polygym_fork(task, {lower, upper, ticket = 0, …}, threads)
      body                          →
                                          task: while (k = ticket++) < chunks:
                                                  region(chunk k)

With tickets it does not matter how many threads really come, so ``polygym_fork`` may be OpenMP's
(``GOMP_parallel``, which libgomp and libomp both have) or simply a call of the task. There are as
many chunks as threads in a static loop, and many more in a dynamic one.

Threads that meet cost time (``min_parallel_work`` of :mod:`polygym.mapping.tuning_parameters`). So
the region is called directly when the loop has one iteration or too little to do, or no memory for
copies of what is reduced (:mod:`polygym.codegen.llvm.loops.reduction_copies`); its work is
estimated from the bounds of the loops inside, each taken at the middle of the loops around it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, assert_never

from llvmlite import ir

from polygym.codegen.analysis.loop_data_bounds import loop_data_bounds
from polygym.codegen.common.loop_annotation import ParallelLoop
from polygym.codegen.llvm.access.protocols import Emitter
from polygym.codegen.llvm.core.binary_interface import FORK_FUNCTION
from polygym.codegen.llvm.core.emit_index import Environment, emit_index
from polygym.codegen.llvm.core.memory_allocation import (
    allocate_memory,
    allocate_stack_arrays,
    release,
    stack_arrays,
)
from polygym.codegen.llvm.core.runtime_checks import CheckedBuilder
from polygym.codegen.llvm.core.source_builder import THREAD, THREADS, SourceBuilder, note
from polygym.codegen.llvm.core.types import I32, I64, LLVM_TYPE, POINTER, declare_function, i32, i64
from polygym.codegen.llvm.loops.reduction_copies import (
    ReductionCopy,
    combine_copies,
    copy_address,
    initialize_copy,
    reduction_copies,
)
from polygym.codegen.llvm.loops.thread_slots import ThreadSlots, move_to_slots, slots_of_threads
from polygym.codegen.loopir import ir as loop_ir
from polygym.codegen.recurrences.streams.emit import settle
from polygym.ir.scop import StorageClass
from polygym.mapping.tuning_parameters import TUNING

_OWN_MEMORY = frozenset({StorageClass.SCRATCH, StorageClass.PRIVATE})
_TASK_TYPE = ir.FunctionType(ir.VoidType(), [POINTER])
_LOWER, _UPPER, _CHUNKS, _TICKET, _FIRST_FREE = range(5)


def emit_parallel(emitter: Emitter, loop: loop_ir.Loop, environment: Environment) -> None:
    """Emit a parallel loop at the place of the emitter's builder."""
    builder, threads = emitter.builder, emitter.program.threads
    lower = emit_index(builder, loop.lower, environment)
    upper = emit_index(builder, loop.upper, environment)
    region, captured = _emit_region(emitter, loop, environment)
    count = _trip_count(builder, loop, lower, upper)
    assert isinstance(loop.annotation, ParallelLoop)
    wanted = _wanted_chunks(emitter, loop.annotation)
    chunks = _minimum(builder, count, wanted)
    middle = _midpoint(builder, lower, upper)
    inner = environment | {loop.variable: middle}
    inside = _estimated_work(emitter, loop.body, inner, count)
    copies = reduction_copies(emitter, loop.annotation.reductions)
    copying = (threads * copy.elements * TUNING.work_per_copied_element for copy in copies)
    least = max([TUNING.min_parallel_work, *copying])
    enough = builder.icmp_signed(">=", builder.mul(count, inside), i64(least))
    worth_it = builder.and_(enough, builder.icmp_signed(">", count, i64(1)))
    arrays = [emitter.storage[copy.array] for copy in copies]
    memory = None
    if copies:
        number = builder.select(worth_it, chunks, i64(1))
        size = builder.mul(number, i64(copies[-1].end))
        memory = allocate_memory(emitter.module, builder, size)
        is_there = builder.icmp_unsigned("!=", memory, ir.Constant(POINTER, None))
        worth_it = builder.and_(worth_it, is_there)
    with builder.if_else(worth_it) as (shared, alone):
        with shared:
            places = [captured.index(array) for array in arrays]
            own = tuple(zip(copies, places, strict=True))
            slots = slots_of_threads(emitter, captured)
            shared_out = [*captured] if memory is None else [*captured, memory]
            if isinstance(builder, SourceBuilder):
                chunk = _emit_chunk_function(emitter.module, region, captured, loop, own, slots)
                if emitter.program.nontemporal_stores:
                    settle(emitter.module, builder)
                call = builder.call(chunk, [i64(0), lower, upper, chunks, *shared_out])
                note(call, parallel_loop="dynamic" if loop.annotation.is_dynamic else "static")
            else:
                counters = [i64(0)] if slots else []
                values = [lower, upper, chunks, i64(0), *shared_out, *counters]
                frame = _store_arguments(builder, values)
                task = _emit_task(emitter.module, region, captured, loop.step, own, slots)
                fork_type = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32, I32])
                fork = declare_function(emitter.module, FORK_FUNCTION, fork_type)
                if emitter.program.nontemporal_stores:
                    settle(emitter.module, builder)  # what this thread has stored, the others read
                builder.call(fork, [task, frame, emitter.thread_count, i32(0)])
            if memory is not None:
                combine_copies(builder, copies, arrays, memory, chunks)
        with alone:
            builder.call(region, [lower, upper, *captured])
    if memory is not None:
        release(emitter.module, builder, memory)


def _wanted_chunks(emitter: Emitter, annotation: ParallelLoop) -> Any:
    """Return how many chunks a loop of many iterations has.

    Exported code asks how many threads there are, unless the result depends on the chunks.
    """
    each = TUNING.dynamic_chunks if annotation.is_dynamic else 1
    builder = emitter.builder
    if isinstance(builder, SourceBuilder) and not annotation.reductions:
        threads = declare_function(emitter.module, THREADS, ir.FunctionType(I64, []))
        return builder.mul(builder.call(threads, []), i64(each), flags=["nsw"])
    if not isinstance(emitter.thread_count, ir.Constant) and not annotation.reductions:
        return builder.mul(builder.zext(emitter.thread_count, I64), i64(each))
    return i64(emitter.program.threads * each)


@dataclass(frozen=True, slots=True)
class _Captured:
    """What a region needs of the function around it, and the values in their order.

    First comes where ``arrays`` are, but for constants of the module; of ``scalars``, which nobody
    writes, their values: the slot of one stays a register of the caller's. Then, unless sizes are
    known, the extents of these arrays and the parameters; then the ``counters`` of loops around;
    last, where notes go, if anywhere.
    """

    arrays: tuple[str, ...]
    scalars: frozenset[str]
    counters: tuple[str, ...]
    values: list[Any]


def _capture(emitter: Emitter, environment: Environment) -> _Captured:
    """Return what is captured at the place of the emitter's builder."""
    program = emitter.program
    written = {statement.write.array for statement in program.scop.statements}
    own = stack_arrays(program)
    arrays = tuple(
        name for name, at in emitter.storage.items() if name not in own and not _is_table(at)
    )
    by_name = {name: program.scop.array(name) for name in arrays}
    scalars = frozenset(name for name in arrays if not by_name[name].rank and name not in written)
    counters = tuple(name for name in environment if name not in emitter.parameters)
    values = []
    for name in arrays:
        pointer, kind = emitter.storage[name], LLVM_TYPE[by_name[name].type]
        values.append(emitter.builder.load(pointer, typ=kind) if name in scalars else pointer)
    if program.sizes is None:  # known ones are constants, in every function the same
        values += [value for name in arrays for value in emitter.extents[name]]
        values += emitter.parameters.values()
    values += (environment[name] for name in counters)
    if emitter.checks is not None:
        values.append(emitter.checks.runtime_checks.shared)
    return _Captured(arrays, scalars, counters, values)


def _emit_region(
    emitter: Emitter, loop: loop_ir.Loop, environment: Environment
) -> tuple[ir.Function, list[Any]]:
    """Emit the function that runs part of the loop; return it and what it captures."""
    program, captured = emitter.program, _capture(emitter, environment)
    function = _region_function(emitter, captured.values)
    builder = type(emitter.builder)(function.append_basic_block("entry"))
    lower, upper, *rest = function.args
    note(function, hint=f"loop_{loop.variable}")
    note(lower, hint="first")
    note(upper, hint="last")
    checks = None
    if emitter.checks is not None:
        shared = note(rest.pop(), hint="violation", element=I32)
        checks = emitter.checks.for_callee(builder, shared)
    if isinstance(builder, CheckedBuilder) and checks is not None:
        builder.checks = checks.runtime_checks
    given = iter(rest)
    storage = _region_storage(emitter, builder, captured, given)
    extents, parameters = dict(emitter.extents), emitter.parameters
    if program.sizes is None:
        for name in captured.arrays:
            extents[name] = tuple(islice(given, len(emitter.extents[name])))
        parameters = dict(zip(emitter.parameters, given, strict=False))
    counters = dict(zip(captured.counters, given, strict=True))
    for name, value in (*parameters.items(), *counters.items()):
        note(value, hint=name)
    inner = emitter.for_function(builder, parameters, storage, extents, checks)
    held = loop.annotation.scalar_replacement if isinstance(loop.annotation, ParallelLoop) else None
    chunk = loop if held is None else replace(loop, annotation=held)
    inner.emit_counted_loop(chunk, lower, upper, parameters | counters)
    inside = {instance.statement for instance in loop_ir.instances_in(loop.body)}
    if not program.nontemporal_stores.isdisjoint(inside):
        settle(emitter.module, builder)
    if checks is not None:
        checks.runtime_checks.publish(builder)
    builder.ret_void()
    return function, captured.values


def _region_storage(
    emitter: Emitter, builder: ir.IRBuilder, captured: _Captured, given: Iterator[ir.Argument]
) -> dict[str, Any]:
    """Return where arrays are in a region that has just begun; the first arguments say so."""
    program, storage = emitter.program, dict[str, Any]()
    for name, argument in zip(captured.arrays, given, strict=False):
        note(argument, hint=name)
        if name in captured.scalars:
            slot = builder.alloca(argument.type, name=name)
            builder.store(argument, slot)
            storage[name] = slot
            continue
        is_own = program.scop.array(name).storage_class in _OWN_MEMORY
        if is_own or isinstance(emitter.storage[name], ir.Argument):
            argument.add_attribute("noalias")
        storage[name] = argument
    tables = {name: at for name, at in emitter.storage.items() if _is_table(at)}
    return storage | tables | allocate_stack_arrays(builder, program)


def _is_table(place: Any) -> bool:
    """Whether an array is a constant of the module, of which every function knows the values."""
    return isinstance(place, ir.GlobalVariable) and place.global_constant


def _region_function(emitter: Emitter, captured: list[Any]) -> ir.Function:
    """Return a function over part of a loop, with the attributes of the one around it."""
    module = emitter.module
    signature = ir.FunctionType(ir.VoidType(), [I64, I64, *(value.type for value in captured)])
    function = ir.Function(module, signature, module.get_unique_name("region"))
    function.linkage = "internal"
    function.attributes = type(emitter.builder.function.attributes)()
    for attribute in emitter.builder.function.attributes:
        function.attributes.add(attribute)
    return function


def _emit_task(
    module: ir.Module,
    region: ir.Function,
    captured: list[Any],
    step: int,
    copies: Sequence[tuple[ReductionCopy, int]],
    slots: Sequence[ThreadSlots],
) -> ir.Function:
    """Emit what a thread runs: chunk after chunk, as long as there are tickets.

    The ``copies`` of a chunk take the places of what has been captured, by its number; their memory
    comes next in the frame. ``slots`` take places, too; last comes how many threads have one.
    """
    function = ir.Function(module, _TASK_TYPE, module.get_unique_name("task"))
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    (frame,) = function.args
    lower, upper, chunks = (
        builder.load(_argument_address(builder, frame, position), typ=I64)
        for position in (_LOWER, _UPPER, _CHUNKS)
    )
    arguments = [
        builder.load(_argument_address(builder, frame, _FIRST_FREE + position), typ=value.type)
        for position, value in enumerate(captured)
    ]
    slot = _argument_address(builder, frame, _FIRST_FREE + len(captured))
    memory = builder.load(slot, typ=POINTER) if copies else None
    if slots:
        taken = _argument_address(builder, frame, _FIRST_FREE + len(captured) + bool(copies))
        thread = builder.atomic_rmw("add", taken, i64(1), "monotonic")
        move_to_slots(builder, arguments, slots, thread)
    head = builder.append_basic_block("ticket")
    body = builder.append_basic_block("chunk")
    end = builder.append_basic_block("end")
    builder.branch(head)
    builder.position_at_end(head)
    tickets = _argument_address(builder, frame, _TICKET)
    ticket = builder.atomic_rmw("add", tickets, i64(1), "monotonic")
    builder.cbranch(builder.icmp_signed("<", ticket, chunks), body, end)
    builder.position_at_end(body)

    chunk = _Chunk(ticket, lower, upper, chunks, step)
    _emit_chunk(builder, region, chunk, arguments, copies, memory)
    builder.branch(head)
    builder.position_at_end(end)
    builder.ret_void()
    return function


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A chunk of a loop by its number, with the loop's bounds and the number of chunks."""

    number: Any
    lower: Any
    upper: Any
    chunks: Any
    step: int

    def begin(self, builder: ir.IRBuilder, number: Any) -> Any:
        """Return where a chunk begins: chunks differ by one iteration at most."""
        size = i64(self.step)
        span = _count(builder.sub(self.upper, self.lower))
        trips = _count(builder.add(builder.sdiv(span, size), i64(1)))
        before = builder.sdiv(_count(builder.mul(trips, number)), self.chunks)
        return _count(builder.add(self.lower, _count(builder.mul(before, size))))


def _emit_chunk(
    builder: ir.IRBuilder,
    region: ir.Function,
    chunk: _Chunk,
    arguments: Sequence[Any],
    copies: Sequence[tuple[ReductionCopy, int]],
    memory: Any,
) -> None:
    """Run a chunk, after its copies have been begun."""
    own = list(arguments)
    for copy, number in copies:
        own[number] = copy_address(builder, copy, memory, chunk.number, copies[-1][0].end)
        initialize_copy(builder, copy, own[number], arguments[number])
    first = chunk.begin(builder, chunk.number)
    after = chunk.begin(builder, _count(builder.add(chunk.number, i64(1))))
    builder.call(region, [first, _count(builder.sub(after, i64(chunk.step))), *own])


def _count(value: Any) -> Any:
    """Say of a number of iterations, or of a sum of bounds, that it is far from wrapping."""
    return note(value, is_place=True)


def _emit_chunk_function(
    module: ir.Module,
    region: ir.Function,
    captured: list[Any],
    loop: loop_ir.Loop,
    copies: Sequence[tuple[ReductionCopy, int]],
    slots: Sequence[ThreadSlots],
) -> ir.Function:
    """Emit the function of a chunk, which threads call in printed C."""
    memory = [POINTER] if copies else []
    kinds = [I64] * 4 + [value.type for value in captured] + memory
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), kinds), module.get_unique_name("chunk")
    )
    note(function, hint=f"chunk_{loop.variable}")
    for argument, name in zip(function.args, ("chunk", "first", "last", "chunks"), strict=False):
        note(argument, hint=name)
    builder = SourceBuilder(function.append_basic_block("entry"))
    number, lower, upper, chunks, *arguments = function.args
    for argument, inner in zip(arguments, region.args[2:], strict=False):
        note(argument, hint=getattr(inner, "hint", ""))
    chunk = _Chunk(number, lower, upper, chunks, loop.step)
    place = arguments.pop() if copies else None
    if slots:
        thread = builder.call(declare_function(module, THREAD, ir.FunctionType(I64, [])), [])
        move_to_slots(builder, arguments, slots, thread)
    _emit_chunk(builder, region, chunk, arguments, copies, place)
    builder.ret_void()
    return function


def _store_arguments(builder: ir.IRBuilder, values: list[Any]) -> Any:
    """Return memory with the values, 8 bytes each; it lives as long as the function's frame."""
    with builder.goto_entry_block():
        frame = builder.alloca(I64, len(values))
    frame.type = POINTER  # what it holds are addresses, too
    for position, value in enumerate(values):
        builder.store(value, _argument_address(builder, frame, position))
    return frame


def _argument_address(builder: ir.IRBuilder, frame: Any, position: int) -> Any:
    return builder.gep(frame, [i64(position)], source_etype=I64)


def _trip_count(builder: ir.IRBuilder, loop: loop_ir.Loop, lower: Any, upper: Any) -> Any:
    """Return how many iterations a loop has: 0 at least."""
    span = _count(builder.add(_count(builder.sub(upper, lower)), i64(loop.step)))
    some = builder.icmp_signed(">", span, i64(0))
    count = builder.sdiv(span, i64(loop.step))
    return builder.select(some, count, i64(0))


def _midpoint(builder: ir.IRBuilder, lower: Any, upper: Any) -> Any:
    return builder.ashr(_count(builder.add(lower, upper)), i64(1))


def _minimum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    return builder.select(builder.icmp_signed("<", left, right), left, right)


def _estimated_work(
    emitter: Emitter, node: loop_ir.Node, environment: Environment, rows: Any
) -> Any:
    """Return about how many instances run in a node.

    Loops between two bounds from memory share their iterations, one of so many ``rows`` each.
    """
    builder = emitter.builder
    match node:
        case loop_ir.Instance(lanes=lanes):
            return i64(1 if lanes is None else TUNING.work_per_vector)
        case loop_ir.Guard(_, then, otherwise):
            work = _estimated_work(emitter, then, environment, rows)
            if otherwise is None:
                return work
            other = _estimated_work(emitter, otherwise, environment, rows)
            return builder.select(builder.icmp_signed(">", work, other), work, other)
        case loop_ir.Block(children):
            total: Any = i64(0)
            for child in children:
                total = builder.add(total, _estimated_work(emitter, child, environment, rows))
            return total
        case loop_ir.Loop(variable, low, high, _, body):
            lower = emit_index(builder, low, environment)
            upper = emit_index(builder, high, environment)
            inside = environment | {variable: _midpoint(builder, lower, upper)}
            trips = _trip_count(builder, node, lower, upper)
            bounds = loop_data_bounds(emitter.program, node, {})
            if bounds is not None and bounds.is_row:
                # At least one is counted: each row looks at its bounds.
                trips = builder.add(i64(1), builder.sdiv(trips, builder.add(rows, i64(1))))
            return builder.mul(trips, _estimated_work(emitter, body, inside, rows))
        case _:
            assert_never(node)
