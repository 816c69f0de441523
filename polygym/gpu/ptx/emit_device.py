"""The kernels of a device program as one LLVM module for nvptx64.

What the host does, its loops and its launches, is no code: the runtime walks it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import assert_never

from llvmlite import ir

from polygym.codegen.loopir.index_arithmetic import depends_on
from polygym.codegen.loopir.ir import Block, Guard, Index, Instance, Loop, Node, children_of
from polygym.errors import InternalError
from polygym.gpu.device_program import (
    Barrier,
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Kernel,
    KernelNode,
    Launch,
    ThreadCode,
    UniformGuard,
    UniformLoop,
)
from polygym.gpu.ptx.emit_kernel import emit_kernel, thread_nodes
from polygym.gpu.ptx.kernel_signature import KernelSignature
from polygym.gpu.ptx.math_library import resolve_math
from polygym.ir.expressions import IteratorValue, walk
from polygym.ir.scop import Scop, Statement


def emit_device(
    device: DeviceProgram, library: Path | None
) -> tuple[str, tuple[KernelSignature, ...], bool]:
    """Return the text of an LLVM module, not yet optimised, and what its kernels take.

    The last value says whether it calls functions of libdevice, which is at ``library``.
    """
    program = replace(device.program, nontemporal_stores=frozenset(), prefetches=frozenset())
    module = ir.Module(name=program.scop.name)
    signatures = tuple(
        emit_kernel(module, program, kernel, variables)
        for kernel, variables in kernel_variables(device)
    )
    needs_library = resolve_math(module, library)
    return str(module), signatures, needs_library


def kernel_variables(device: DeviceProgram) -> list[tuple[Kernel, tuple[str, ...]]]:
    """Return every kernel once, with the variables that its launches hand over.

    These are the parameters, where sizes are not known, and the counters that it uses.
    """
    program = device.program
    parameters = () if program.sizes is not None else program.scop.parameters
    names = tuple(parameter.name for parameter in parameters)
    return [
        (kernel, (*names, *(own for own in counters if uses_variable(kernel, own, program.scop))))
        for kernel, counters in launched_kernels(device.body)
    ]


def launched_kernels(body: Sequence[HostNode]) -> list[tuple[Kernel, tuple[str, ...]]]:
    """Return every kernel once, with the counters of all loops on the host around its launches.

    Raises:
        InternalError: two kernels have one name.
    """
    kernels: dict[str, tuple[Kernel, tuple[str, ...]]] = {}
    for kernel, counters in _launches(body, ()):
        known, around = kernels.get(kernel.name, (kernel, ()))
        if known != kernel:
            raise InternalError(f"two kernels of one name: {kernel.name}")
        kernels[kernel.name] = (kernel, tuple(dict.fromkeys((*around, *counters))))
    return list(kernels.values())


def _launches(
    body: Sequence[HostNode], around: tuple[str, ...]
) -> Iterator[tuple[Kernel, tuple[str, ...]]]:
    for node in body:
        match node:
            case Launch(kernel):
                yield kernel, around
            case HostLoop(variable=variable, body=inside):
                yield from _launches(inside, (*around, variable))
            case HostGuard(body=inside):
                yield from _launches(inside, around)
            case _:
                assert_never(node)


def uses_variable(kernel: Kernel, name: str, scop: Scop) -> bool:
    """Whether the code of a kernel depends on a variable of the host."""
    return _in_uniform(kernel.body, name) or any(
        _in_code(node, name, scop) for node in thread_nodes(kernel.body)
    )


def _in_uniform(body: Sequence[KernelNode], name: str) -> bool:
    for node in body:
        match node:
            case UniformLoop(lower=lower, upper=upper, body=inside):
                used = depends_on(lower, name) or depends_on(upper, name)
            case UniformGuard(condition, inside):
                used = depends_on(condition, name)
            case ThreadCode() | Barrier():
                continue
            case _:
                assert_never(node)
        if used or _in_uniform(inside, name):
            return True
    return False


def _in_code(node: Node, name: str, scop: Scop) -> bool:
    match node:
        case Loop(lower=lower, upper=upper):
            used = depends_on(lower, name) or depends_on(upper, name)
        case Guard(condition):
            used = depends_on(condition, name)
        case Instance(statement, iterators, write, reads):
            numbers = _used_iterators(scop.statement(statement), iterators)
            indices = (*numbers, *write, *(index for read in reads for index in read))
            used = any(depends_on(index, name) for index in indices)
        case Block():
            used = False
        case _:
            assert_never(node)
    return used or any(_in_code(child, name, scop) for child in children_of(node))


def _used_iterators(statement: Statement, values: tuple[Index, ...]) -> Iterator[Index]:
    """Yield the values of the iterators that a statement computes with."""
    used = {node.name for node in walk(statement.body) if isinstance(node, IteratorValue)}
    pairs = zip(statement.iterators, values, strict=True)
    return (value for name, value in pairs if name in used)
