"""LLVM IR of kernels → PTX.

LLVM's pipeline runs at level 3 for a GPU. Multiplications and additions are fused only where the IR
says so (``llvm.fmuladd``), as on CPUs: LLVM writes ``mul.rn`` and ``add.rn``, which NVIDIA's
assembler keeps apart. Quotients and roots are rounded to the nearest, and small numbers stay.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from polygym.codegen.llvm.jit import parsed_module, run_pipeline
from polygym.errors import InputError
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.ptx.emit_device import emit_device
from polygym.gpu.ptx.kernel_signature import KernelSignature
from polygym.gpu.ptx.math_library import libdevice_path, link_library
from polygym.pickling import pickle_by_name

TRIPLE = "nvptx64-nvidia-cuda"
DEFAULT_ARCHITECTURE = "sm_80"
_OLDEST = 70
# What drivers of CUDA 12.0 and later take; GPUs that came later need a later one.
_PTX_VERSION, _LATER_VERSION = "+ptx80", "+ptx87"
_NEWEST_OF_FIRST = 90


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DeviceCode:
    """The kernels of a program as PTX, for GPUs of an architecture and later ones."""

    ptx: str
    architecture: str
    kernels: tuple[KernelSignature, ...]


def compile_ptx(device: DeviceProgram, architecture: str = DEFAULT_ARCHITECTURE) -> DeviceCode:
    """Return the PTX of a device program.

    Raises:
        InputError: the architecture is none that is known, or a function is none of a GPU's.
    """
    machine = gpu_machine(architecture)
    library = libdevice_path()
    text, signatures, needs_library = emit_device(device, library)
    module = parsed_module(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if needs_library and library is not None:
        link_library(module, library)
    run_pipeline(module, 3, machine, vectorize=False)
    return DeviceCode(machine.emit_assembly(module), architecture, signatures)


@lru_cache(maxsize=8)
def gpu_machine(architecture: str) -> Any:
    """Return LLVM's target machine for GPUs of an architecture, ``sm_90`` for instance."""
    kind, _, number = architecture.partition("_")
    if kind != "sm" or not number.isdigit() or int(number) < _OLDEST:
        raise InputError(
            f"GPU architecture: expected sm_{_OLDEST}, sm_80, sm_90 or a later one, "
            f"found {architecture}"
        )
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(TRIPLE)
    version = _PTX_VERSION if int(number) <= _NEWEST_OF_FIRST else _LATER_VERSION
    return target.create_target_machine(cpu=architecture, features=version, opt=3)
