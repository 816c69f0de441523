"""A device program as CUDA C++: kernels, and a function that launches them.

Statements and indices are printed as for CPUs (:mod:`polygym.codegen.c`). It is for people, and for
nvcc where sizes are known: then extents of arrays are constants. Other than PTX it is not what
polygym runs.
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from polygym.codegen.c.function import loop_header, node_lines
from polygym.codegen.c.index_text import print_index
from polygym.codegen.c.prelude import prelude_lines
from polygym.codegen.loopir.index_arithmetic import substitute, substitute_in
from polygym.codegen.loopir.ir import Index, IndexVariable, LoopProgram
from polygym.gpu.device_program import (
    BLOCK_VARIABLES,
    THREAD_VARIABLES,
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
from polygym.gpu.ptx.emit_device import kernel_variables, launched_kernels
from polygym.gpu.ptx.emit_kernel import touched_arrays
from polygym.ir.scop import Array, StorageClass

_NAMES = {name: name.replace(".", "_") for name in (*BLOCK_VARIABLES, *THREAD_VARIABLES)}
_RENAMED: dict[str, Index] = {name: IndexVariable(text) for name, text in _NAMES.items()}


def cuda_text(device: DeviceProgram, comment: str = "") -> str:
    """Return the text of a program; ``comment`` stands above it.

    Updates that several threads may make at once are marked; they are atomic in PTX alone.
    """
    program = device.program
    kernels = kernel_variables(device)
    bodies = ["\n".join(_kernel_lines(program, kernel, variables)) for kernel, variables in kernels]
    bodies += _host_function(device, dict((kernel.name, names) for kernel, names in kernels))
    lines = [f"/* {comment} */"] if comment else []
    lines += map(_for_devices, prelude_lines(program.scop, "\n".join(bodies)))
    lines += [f"constexpr long {name} = {value};" for name, value in program.sizes or ()]
    lines += bodies
    return "\n".join([*lines, ""])


# A kernel has no standard error, and ends with all of the launch.
_WORDS_OF_DEVICES = {"fprintf(stderr, ": "printf(", "exit(1);": "__trap();"}


def _for_devices(text: str) -> str:
    """Return definitions of C as those of a device."""
    for word, replacement in _WORDS_OF_DEVICES.items():
        text = text.replace(word, replacement)
    return "\n".join(
        line.replace("static ", "static __device__ ", 1) if line.startswith("static ") else line
        for line in text.split("\n")
    )


def _kernel_lines(program: LoopProgram, kernel: Kernel, variables: Sequence[str]) -> Iterator[str]:
    own = {*kernel.shared, *kernel.local}
    arrays = [program.scop.array(name) for name in touched_arrays(kernel, program)]
    arguments = [_parameter(array) for array in arrays if array.name not in own]
    arguments += [f"long {name}" for name in variables]
    threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
    yield ""
    yield f'extern "C" __global__ void __launch_bounds__({threads})'
    yield f"{kernel.name}({', '.join(arguments)})"
    yield "{"
    for kind, names in (("blockIdx", BLOCK_VARIABLES), ("threadIdx", THREAD_VARIABLES)):
        for name in names:
            yield f"  const long {_NAMES[name]} = {kind}.{name[-1]};"
    for array in arrays:
        if array.name in own:
            memory = "__shared__ " if array.name in kernel.shared else ""
            yield f"  {memory}{array.type.value} {array.name}{_sizes(array)};"
        elif _is_reference(array):
            yield f"  {array.type.value} &{array.name} = *{array.name}_;"
    yield from _body_lines(program, kernel, kernel.body, 1)
    yield "}"


def _body_lines(
    program: LoopProgram, kernel: Kernel, body: Sequence[KernelNode], depth: int
) -> Iterator[str]:
    indent = "  " * depth
    for node in body:
        match node:
            case ThreadCode(inner):
                yield from node_lines(program, substitute_in(inner, _RENAMED), depth, False)
            case Barrier():
                yield f"{indent}__syncthreads();"
            case UniformLoop(variable, lower, upper, step, inside):
                first, last = (substitute(bound, _RENAMED) for bound in (lower, upper))
                yield f"{indent}{loop_header(variable, first, last, step)} {{"
                yield from _body_lines(program, kernel, inside, depth + 1)
                yield f"{indent}}}"
            case UniformGuard(condition, inside):
                yield f"{indent}if ({print_index(substitute(condition, _RENAMED))}) {{"
                yield from _body_lines(program, kernel, inside, depth + 1)
                yield f"{indent}}}"
            case _:
                assert_never(node)
    if depth == 1 and kernel.atomic:
        yield f"  /* atomic updates: {', '.join(sorted(kernel.atomic))} */"


def _host_function(device: DeviceProgram, variables: dict[str, Sequence[str]]) -> Iterator[str]:
    program = device.program
    used = dict.fromkeys(
        name
        for kernel, _ in launched_kernels(device.body)
        for name in touched_arrays(kernel, program)
        if name not in kernel.shared and name not in kernel.local
    )
    arrays = [array for array in program.scop.arrays if array.name in used]
    arguments = [_parameter(array) for array in arrays]
    if program.sizes is None:
        arguments += [f"long {parameter.name}" for parameter in program.scop.parameters]
    yield ""
    yield "#ifdef __CUDACC__"
    yield f"void launch_{program.scop.name}({', '.join([*arguments, 'cudaStream_t stream'])})"
    yield "{"
    yield from _host_lines(device, device.body, variables, 1)
    yield "}"
    yield "#endif"


def _host_lines(
    device: DeviceProgram, body: Sequence[HostNode], variables: dict[str, Sequence[str]], depth: int
) -> Iterator[str]:
    indent = "  " * depth
    for node in body:
        match node:
            case Launch(kernel):
                own = {*kernel.shared, *kernel.local}
                arrays = map(device.program.scop.array, touched_arrays(kernel, device.program))
                given = [_argument(array) for array in arrays if array.name not in own]
                given += variables[kernel.name]
                grid = ", ".join(map(print_index, kernel.grid))
                block = ", ".join(map(str, kernel.block))
                yield (
                    f"{indent}{kernel.name}<<<dim3({grid}), dim3({block}), 0, stream>>>"
                    f"({', '.join(given)});"
                )
            case HostLoop(variable, lower, upper, step, inside):
                yield f"{indent}{loop_header(variable, lower, upper, step)} {{"
                yield from _host_lines(device, inside, variables, depth + 1)
                yield f"{indent}}}"
            case HostGuard(condition, inside):
                yield f"{indent}if ({print_index(condition)}) {{"
                yield from _host_lines(device, inside, variables, depth + 1)
                yield f"{indent}}}"
            case _:
                assert_never(node)


def _is_reference(array: Array) -> bool:
    """Whether statements name a scalar as a value: others are pointers in C, too."""
    return not array.rank and array.storage_class is not StorageClass.ARGUMENT


def _argument(array: Array) -> str:
    return f"{array.name}_" if _is_reference(array) else array.name


def _parameter(array: Array) -> str:
    """Return ``float (*A)[64]``, ``float *x``, or ``float *s_`` for what the body calls ``s``."""
    inner = "".join(f"[{extent}]" for extent in array.c_extents[1:])
    name = _argument(array)
    return f"{array.type.value} (*{name}){inner}" if inner else f"{array.type.value} *{name}"


def _sizes(array: Array) -> str:
    return "".join(f"[{extent}]" for extent in array.c_extents)
