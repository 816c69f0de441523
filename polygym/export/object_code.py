"""A kernel as LLVM IR and as an object file: loops for each processor, behind one function.

Loops are compiled for each CPU level as they are when they are measured. The function that callers
call asks for the conditions of the plan, then for the sizes, then for the processor::

    gemm_kernel(C, A, B, n):  conditions?  disjoint?  →  n == 2000?
                              →  avx512f …?  gemm_kernel_sizes_0_x86_64_v4(…)
                              →  avx2 …?     gemm_kernel_sizes_0_x86_64_v3(…)
                              →  neither     return 1

The bits of ``cpuid`` are read once and kept in a variable, and so it is whether
``OMP_NUM_THREADS`` is set; threads that do so at the same time store the same number.
"""

import re
from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from polygym.codegen.llvm.core.binary_interface import (
    FOREIGN_PREFIX,
    FORK_FUNCTION,
    LIBRARY_PREFIX,
)
from polygym.codegen.llvm.core.emit_index import Environment, emit_condition, emit_index
from polygym.codegen.llvm.core.types import I8, I32, I64, POINTER, declare_function, i32, i64
from polygym.codegen.llvm.emit_module import emit_kernel, emit_llvm
from polygym.codegen.llvm.jit import optimization_level, optimized_module, target_machine
from polygym.codegen.pipeline import lower
from polygym.errors import InternalError
from polygym.export.cpu_levels import FEATURE_BITS, CpuLevel, best_first, is_x86
from polygym.export.kernel import NOT_RUN, CpuKernelVariant, KernelPlan, within_registers
from polygym.mapping.mapping import Mapping
from polygym.poly.legality import LegalSchedule

OPENMP_FORK = "GOMP_parallel"
_STANDARD_ERROR = 2
_FOREIGN = re.compile(rf'@"?{FOREIGN_PREFIX}_[0-9a-f]{{16}}_(\w+)"?')
_LIBRARY_TEXT = re.compile(rf'^@.*c"{LIBRARY_PREFIX}:.*\n', re.MULTILINE)
_MESSAGE = (
    "stopped: the loops of {name} leave an array, in a subscript that is computed; its sizes in "
    "the source are wrong\n"
)


def kernel_ir(plans: Sequence[tuple[CpuLevel, KernelPlan]]) -> str:
    """Return the optimised LLVM IR of a kernel, with one plan for each CPU level."""
    return str(_linked(plans))


def kernel_object(plans: Sequence[tuple[CpuLevel, KernelPlan]]) -> bytes:
    """Return the object file of a kernel, with one plan for each CPU level."""
    return bytes(_common_machine().emit_object(_linked(plans)))


def _common_machine() -> Any:
    """Return the machine of the function that asks for the processor: any of its kind runs it."""
    return target_machine("x86-64" if is_x86() else None)


def _asks(plans: Sequence[tuple[CpuLevel, KernelPlan]]) -> bool:
    return any(level.required for level, _ in plans)


def _linked(plans: Sequence[tuple[CpuLevel, KernelPlan]]) -> Any:
    """Return one module with the loops of all levels, which only the kernel itself shows."""
    by_level = dict(plans)
    ordered = [(level, by_level[level]) for level in best_first(tuple(by_level))]
    name = ordered[0][1].name
    module = _parsed(_entry_text(ordered))
    for level, plan in ordered:
        for variant in plan.variants:
            text = _variant_text(plan, variant, level)
            own = optimized_module(
                text,
                optimization_level(variant.program.mapping),
                target_machine(level.processor, level.features),
            )
            module.link_in(own)
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"
    module.verify()
    return module


def _function_name(plan: KernelPlan, variant: CpuKernelVariant, level: CpuLevel) -> str:
    return f"{plan.name}_{variant.suffix}_{level.symbol}"


def _variant_text(plan: KernelPlan, variant: CpuKernelVariant, level: CpuLevel) -> str:
    """Return the IR of one variant, each function of it for the processor of a level."""
    text = _for_level(emit_kernel(variant.program, _function_name(plan, variant, level)), level)
    text = _LIBRARY_TEXT.sub("", text)
    text = _FOREIGN.sub(r'@"\1"', text)
    return text.replace(f'@"{FORK_FUNCTION}"', f'@"{OPENMP_FORK}"')


def _for_level(text: str, level: CpuLevel) -> str:
    """Return IR whose functions are for the processor of a level."""
    target = f'"target-cpu"="{level.processor}"'
    if level.features:
        target += f' "target-features"="{level.features}"'
    return re.sub(r"^(define [^\n]*)$", rf"\1 {target}", text, flags=re.MULTILINE)


def object_for_level(
    legal: LegalSchedule, mapping: Mapping, sizes: Dictionary[str, int], level: CpuLevel
) -> bytes:
    """Return the object of a schedule for given sizes, for the processor of a level.

    It has the entry point of measured code (:mod:`polygym.codegen.llvm.core.binary_interface`).
    """
    program = lower(legal, within_registers(mapping, level.vector_bits), sizes)
    machine = target_machine(level.processor, level.features)
    text = _for_level(emit_llvm(program), level)
    module = optimized_module(text, optimization_level(program.mapping), machine)
    return bytes(machine.emit_object(module))


def _parsed(text: str) -> Any:
    machine = _common_machine()
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the generated code: {error}") from error
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def _entry_text(plans: Sequence[tuple[CpuLevel, KernelPlan]]) -> str:
    """Return the IR of the function that callers call."""
    plan = plans[0][1]
    module = ir.Module(name=plan.name)
    pointers = len(plan.arrays) + len(plan.watched)
    types = [POINTER] * pointers + [I64] * len(plan.parameters)
    function = ir.Function(module, ir.FunctionType(I32, types), plan.name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    names = (parameter.name for parameter in plan.parameters)
    values: Environment = dict(zip(names, function.args[pointers:], strict=True))
    for condition in plan.conditions:
        holds = emit_condition(builder, condition, values)
        _return_unless(builder, holds)
    sizes = [emit_index(builder, size, values) for size in plan.array_bytes]
    sizes += [i64(size) for _, size, _ in plan.watched]
    first = len(plan.arrays)
    watched = [(place, first + other) for place, other in plan.watched_pairs]
    for left, right in (*plan.disjoint, *watched):
        _return_unless(builder, _are_disjoint(builder, function.args, sizes, left, right))
    threads = _thread_count(module, builder, plan.threads)
    level_number = _level_number(module, [level for level, _ in plans])
    best = builder.call(level_number, []) if _asks(plans) else i32(0)
    arguments = [*function.args[:first], *function.args[pointers:], threads]
    for place, variant in enumerate(plan.variants):
        matches = ir.Constant(ir.IntType(1), 1)
        for name, value in variant.sizes or ():
            same = builder.icmp_signed("==", values[name], i64(value))
            matches = builder.and_(matches, same)
        with builder.if_then(matches):
            for number, (level, own) in enumerate(plans):
                with builder.if_then(builder.icmp_signed("<=", best, i32(number))):
                    callee = declare_function(
                        module,
                        _function_name(own, own.variants[place], level),
                        ir.FunctionType(I32, [value.type for value in arguments]),
                    )
                    _return_code(module, builder, plan, builder.call(callee, arguments))
    builder.ret(i32(NOT_RUN))
    return str(module)


def _return_unless(builder: ir.IRBuilder, holds: Any) -> None:
    """Let the function have done nothing where a condition does not hold."""
    with builder.if_then(builder.not_(holds), likely=False):
        builder.ret(i32(NOT_RUN))


def _are_disjoint(
    builder: ir.IRBuilder, arguments: Sequence[Any], sizes: Sequence[Any], left: int, right: int
) -> Any:
    """Return whether one of two arrays ends before the other begins."""
    begins = [builder.ptrtoint(arguments[place], I64) for place in (left, right)]
    ends = [
        builder.add(begin, sizes[place]) for begin, place in zip(begins, (left, right), strict=True)
    ]
    before = builder.icmp_unsigned("<=", ends[0], begins[1])
    after = builder.icmp_unsigned("<=", ends[1], begins[0])
    return builder.or_(before, after)


def _thread_count(module: ir.Module, builder: ir.IRBuilder, default: int) -> Any:
    """Return how many threads to use: the default, or what OpenMP says if the user has asked it."""
    if default == 1:
        return i32(1)
    maximum = declare_function(module, "omp_get_max_threads", ir.FunctionType(I32, []))
    is_given = builder.icmp_signed("!=", builder.call(_threads_given(module), []), i32(0))
    before = builder.block
    with builder.if_then(is_given):
        own = builder.call(maximum, [])
        inside = builder.block
    result = builder.phi(I32)
    result.add_incoming(i32(default), before)
    result.add_incoming(own, inside)
    return result


def _threads_given(module: ir.Module) -> ir.Function:
    """Return a function that says whether ``OMP_NUM_THREADS`` is set.

    It looks once: ``getenv`` takes as long as a small kernel. OpenMP reads the variable once, too.
    """
    known = ir.GlobalVariable(module, I32, "threads.known")
    known.linkage, known.initializer = "internal", i32(_UNKNOWN)
    function = ir.Function(module, ir.FunctionType(I32, []), "threads.given")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    before = builder.load_atomic(known, "monotonic", 4, typ=I32)
    with builder.if_then(builder.icmp_signed("!=", before, i32(_UNKNOWN)), likely=True):
        builder.ret(before)
    text = ir.ArrayType(I8, len(_THREADS_VARIABLE) + 1)
    name = ir.GlobalVariable(module, text, "threads.variable")
    name.linkage, name.global_constant = "internal", True
    name.initializer = ir.Constant(text, bytearray(_THREADS_VARIABLE.encode() + b"\0"))
    getenv = declare_function(module, "getenv", ir.FunctionType(POINTER, [POINTER]))
    value = builder.call(getenv, [name.bitcast(POINTER)])
    is_given = builder.icmp_unsigned("!=", value, ir.Constant(POINTER, None))
    result = builder.zext(is_given, I32)
    builder.store_atomic(result, known, "monotonic", 4)
    builder.ret(result)
    return function


_UNKNOWN = -1
_THREADS_VARIABLE = "OMP_NUM_THREADS"


def _return_code(module: ir.Module, builder: ir.IRBuilder, plan: KernelPlan, code: Any) -> None:
    """Return what the loops return; stop the program where they would have left an array."""
    small = builder.icmp_unsigned("<=", code, i32(NOT_RUN))
    with builder.if_then(small, likely=True):
        builder.ret(code)
    text = _MESSAGE.format(name=plan.name).encode()
    kind = ir.ArrayType(I8, len(text))
    message = module.globals.get("message")
    if message is None:
        message = ir.GlobalVariable(module, kind, "message")
        message.linkage, message.global_constant = "internal", True
        message.initializer = ir.Constant(kind, bytearray(text))
    write = declare_function(module, "write", ir.FunctionType(I64, [I32, POINTER, I64]))
    abort = declare_function(module, "abort", ir.FunctionType(ir.VoidType(), []), "noreturn")
    builder.call(write, [i32(_STANDARD_ERROR), message.bitcast(POINTER), i64(len(text))])
    builder.call(abort, [])
    builder.unreachable()


def _level_number(module: ir.Module, levels: Sequence[CpuLevel]) -> ir.Function:
    """Return a function that says which of the levels, best first, is the first to run here.

    It returns the number of levels where none runs.
    """
    known = ir.GlobalVariable(module, I32, "level.known")
    known.linkage, known.initializer = "internal", i32(-1)
    function = ir.Function(module, ir.FunctionType(I32, []), "level")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    before = builder.load_atomic(known, "monotonic", 4, typ=I32)
    with builder.if_then(builder.icmp_signed(">=", before, i32(0)), likely=True):
        builder.ret(before)
    reader = _CpuidReader(builder)
    result: Any = i32(len(levels))
    for number in reversed(range(len(levels))):
        has = reader.has_all(levels[number])
        result = builder.select(has, i32(number), result)
    builder.store_atomic(result, known, "monotonic", 4)
    builder.ret(result)
    return function


class _CpuidReader:
    """Reads each leaf of ``cpuid`` once, in one function."""

    _REGISTERS = ir.LiteralStructType([I32] * 4)
    _PAIR = ir.LiteralStructType([I32] * 2)

    def __init__(self, builder: ir.IRBuilder) -> None:
        self._builder = builder
        self._leaves: dict[tuple[int, int], Any] = {}
        self._highest = {
            base: builder.extract_value(self._cpuid(base, 0), 0) for base in (0, 0x80000000)
        }

    def has_all(self, level: CpuLevel) -> Any:
        """Return whether the processor has what a level needs, and the system its registers."""
        builder = self._builder
        result: Any = ir.Constant(ir.IntType(1), 1)
        for name in level.required:
            place = FEATURE_BITS[name]
            value = builder.extract_value(self._leaf(place.leaf, place.subleaf), place.register)
            base = place.leaf & 0x80000000
            exists = builder.icmp_unsigned(">=", self._highest[base], i32(place.leaf))
            bit = builder.trunc(builder.lshr(value, i32(place.bit)), ir.IntType(1))
            result = builder.and_(result, builder.and_(exists, bit))
        if saved := level.saved_registers:
            wanted = builder.and_(self._saved_registers(), i32(saved))
            result = builder.and_(result, builder.icmp_unsigned("==", wanted, i32(saved)))
        return result

    def _leaf(self, leaf: int, subleaf: int) -> Any:
        if (leaf, subleaf) not in self._leaves:
            self._leaves[leaf, subleaf] = self._cpuid(leaf, subleaf)
        return self._leaves[leaf, subleaf]

    def _cpuid(self, leaf: int, subleaf: int) -> Any:
        signature = ir.FunctionType(self._REGISTERS, [I32, I32])
        places = "={ax},={bx},={cx},={dx},0,2,~{dirflag},~{fpsr},~{flags}"
        arguments = [i32(leaf), i32(subleaf)]
        return self._builder.asm(signature, "cpuid", places, arguments, side_effect=True)

    def _saved_registers(self) -> Any:
        """Return XCR0: which registers the system saves; 0 where it cannot be asked."""
        builder = self._builder
        features = builder.extract_value(self._leaf(1, 0), 2)
        can_ask = builder.trunc(builder.lshr(features, i32(27)), ir.IntType(1))
        before = builder.block
        with builder.if_then(can_ask):
            signature = ir.FunctionType(self._PAIR, [I32])
            places = "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"
            pair = builder.asm(signature, "xgetbv", places, [i32(0)], side_effect=True)
            low = builder.extract_value(pair, 0)
            inside = builder.block
        result = builder.phi(I32)
        result.add_incoming(i32(0), before)
        result.add_incoming(low, inside)
        return result
