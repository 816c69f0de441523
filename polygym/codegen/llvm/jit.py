"""LLVM IR → machine code for this machine, as an ELF object.

LLVM's pipeline runs at level 3, or at level 2 where asked: for loops whose vectors and copies are
ours that takes half the time, and the code is as fast (geometric mean over the kernels 1.00).

The host's CPU name and its feature string are set together: the name alone would promise
instructions that a virtual machine may hide.
"""

from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm

from polygym.codegen.loopir.pass_types import Pass, Representation
from polygym.errors import InternalError
from polygym.mapping.machine import compile_target
from polygym.mapping.mapping import Mapping


@lru_cache(maxsize=32)
def compile_object(llvm_ir: str, level: int = 3) -> bytes:
    """Return the object file of a module; the last are remembered by their texts.

    Schedules and mappings often come to the same code.
    """
    return bytes(target_machine().emit_object(optimized_module(llvm_ir, level)))


def optimize(llvm_ir: str, level: int = 3) -> str:
    """Return the text of a module after LLVM's pipeline for this machine."""
    return str(optimized_module(llvm_ir, level))


def optimized_module(llvm_ir: str, level: int = 3, machine: Any = None) -> Any:
    """Return a module after LLVM's pipeline for a target machine, this one by default."""
    module = parsed_module(llvm_ir)
    run_pipeline(module, level, machine or target_machine())
    return module


def parsed_module(llvm_ir: str) -> Any:
    """Return the module of a text, which LLVM has verified."""
    try:
        module = llvm.parse_assembly(llvm_ir)
        module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refuses the generated code: {error}") from error
    return module


def run_pipeline(module: Any, level: int, machine: Any, *, vectorize: bool = True) -> None:
    """Run LLVM's pipeline over a module for a target machine; loops become vectors if so."""
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = vectorize
    options.loop_interleaving = vectorize
    options.loop_unrolling = True
    options.slp_vectorization = vectorize
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


@lru_cache(maxsize=8)
def target_machine(processor: str | None = None, features: str = "") -> Any:
    """Return LLVM's target machine for a processor with features, by default for the host's."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for inline assembly
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=compile_target().processor if processor is None else processor,
        features=compile_target().target if processor is None else features,
        opt=3,
        reloc="pic",
        codemodel="default",
        jit=False,
    )


def optimization_level(mapping: Mapping) -> int:
    """Return the level of LLVM's pipeline: the highest where loops keep the schedule's order."""
    return 3 if mapping.keeps_schedule_order else 2


PASS: Pass[str, str] = Pass(
    "optimize",
    Representation.LLVM,
    "LLVM IR optimized for this CPU, level 3 for sequential loops, else 2",
    lambda text, request: optimize(text, optimization_level(request.mapping)),
)
