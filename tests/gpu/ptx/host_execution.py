"""The LLVM IR of kernels on the CPU: every thread of a block is a thread of this process.

The text for nvptx64 is made one for this machine: numbers of threads become arguments, the barrier
a function of Python's, address spaces one. What runs is what PTX is made of.
"""

import ctypes
import re
import threading
from collections.abc import Mapping
from itertools import product
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.ptx.emit_device import emit_device
from polygym.programs.dtypes import dtype_of
from polygym.runtime.device.launch_plan import launch_plan

_REGISTERS = ("ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z")
_MOST_SHARED = 65536


def run_on_host(
    device: DeviceProgram, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray[Any, Any]]
) -> int:
    """Run a program, change arrays in place, and return the note; other arrays begin with zeros."""
    program = device.program
    known = {**sizes, **dict(program.sizes or ())}
    memory = dict(arrays)
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        shape = [evaluate_index(extent, known) for extent in extents]
        memory.setdefault(array.name, np.zeros(shape, dtype_of(array.type)))
    text, signatures, _ = emit_device(device, None)
    waiting = threading.local()

    @ctypes.CFUNCTYPE(None)
    def barrier() -> None:
        waiting.barrier.wait(60)

    llvm.add_symbol("polygym_test_barrier", ctypes.cast(barrier, ctypes.c_void_p).value)
    module = llvm.parse_assembly(_host_text(text))
    module.verify()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, opt=0)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kernels = {own.name: own for own in signatures}
    note = np.zeros(1, dtype=np.uint32)
    for planned in launch_plan(device, signatures, known):
        kernel = kernels[planned.kernel]
        values = [memory[name].ctypes.data for name in kernel.arrays]
        values += [*planned.values, *([note.ctypes.data] if kernel.takes_note else [])]
        kinds = [ctypes.c_int32] * 6 + [ctypes.c_int64] * len(values)
        address = engine.get_function_address(kernel.name)
        function = ctypes.CFUNCTYPE(None, *kinds)(address)

        def thread(block: Any, place: Any, meeting: threading.Barrier) -> None:
            waiting.barrier = meeting
            function(*block, *place, *values)  # noqa: B023

        for block in product(*(range(extent) for extent in planned.grid)):
            threads = list(product(*(range(extent) for extent in kernel.block)))
            meeting = threading.Barrier(len(threads))
            running = [
                threading.Thread(target=thread, args=(block, place, meeting)) for place in threads
            ]
            for own in running:
                own.start()
            for own in running:
                own.join()
    return int(note[0])


def _host_text(text: str) -> str:
    text = re.sub(r" ?addrspace\([13]\)", "", text).replace("ptx_kernel ", "")
    text = re.sub(r'"nvvm\.reqntid"="[\d,]+"', "", text)
    arguments = ", ".join(f'i32 %"{name}"' for name in _REGISTERS)
    text = re.sub(r'(define void @"[^"]+"\()', rf"\1{arguments}, ", text)
    for name in _REGISTERS:
        intrinsic = f'@"llvm.nvvm.read.ptx.sreg.{name}"()'
        text = text.replace(f"declare i32 {intrinsic}", "")
        text = text.replace(f"call i32 {intrinsic}", f'add i32 0, %"{name}"')
    text = text.replace('@"llvm.nvvm.barrier0"', '@"polygym_test_barrier"')
    shared = f'@"polygym_shared" = global [{_MOST_SHARED} x i8] zeroinitializer, align 16'
    return re.sub(r'@"polygym_shared" = external global \[0 x i8\][^\n]*', shared, text)
