"""PTX of kernels: golden files, NVIDIA's assembler, rounding, and what is refused."""

import re
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from polygym.errors import InputError
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.ptx import compile_ptx as compiling
from polygym.gpu.ptx.compile_ptx import DeviceCode, compile_ptx
from polygym.gpu.ptx.math_library import libdevice_path
from polygym.gpu.ptx.ptxas import assemble, find_ptxas
from polygym.ir.expressions import MathFunction
from polygym.ir.types import ScalarType
from tests.gpu.device_programs import PROGRAMS, device_program, loops_of, tiled_product

LLVM_OF_GOLDEN_FILES = 22
TILED_SIZES = {"n": 64, "m": 48, "p": 32}

needs_ptxas = pytest.mark.skipif(
    find_ptxas() is None, reason="no ptxas here: nvidia-cuda-nvcc-cu12"
)
needs_libdevice = pytest.mark.skipif(libdevice_path() is None, reason="no libdevice here")


def program_of(name: str) -> DeviceProgram:
    source, parallel = PROGRAMS[name]
    return device_program(loops_of(source), parallel, atomic=name == "histogram")


def body_program(statement: str, declarations: str = "float x[n], float y[n]") -> DeviceProgram:
    source = f"""
#include <math.h>
#include <stdint.h>
void f(int n, {declarations}) {{
#pragma scop
  for (int i = 0; i < n; i++)
    {statement}
#pragma endscop
}}
"""
    return device_program(loops_of(source), 1)


@pytest.mark.skipif(
    llvm.llvm_version_info[0] != LLVM_OF_GOLDEN_FILES, reason="golden files of another LLVM"
)
@pytest.mark.parametrize("name", ["scaled_sum", "product", "steps", "histogram", "tiled"])
def test_golden(name: str, golden: Callable[[str, str], None]) -> None:
    device = tiled_product(TILED_SIZES) if name == "tiled" else program_of(name)
    golden(f"ptx/{name}.ptx", compile_ptx(device).ptx)


@needs_ptxas
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", sorted({*PROGRAMS, "tiled"} - {"math"}))
def test_the_assembler_takes_it_without_spills(name: str, architecture: str) -> None:
    device = tiled_product(TILED_SIZES) if name == "tiled" else program_of(name)
    code = compile_ptx(device, architecture)
    result = assemble(code)
    assert result.cubin[:4] == b"\x7fELF"
    assert {kernel.name for kernel in code.kernels} == set(dict(result.resources))
    for _, resources in result.resources:
        assert (resources.spill_stores, resources.spill_loads, resources.stack) == (0, 0, 0)
        assert 0 < resources.registers <= 255


def test_registers_hold_local_arrays_and_barriers_stay() -> None:
    code = compile_ptx(tiled_product(TILED_SIZES))
    assert ".local" not in code.ptx
    assert len(re.findall(r"bar(rier)?\.(cta\.)?sync", code.ptx)) >= 2
    (kernel,) = code.kernels
    assert (kernel.shared, kernel.block) == (2 * 16 * 16 * 4, (16, 8, 1))
    assert (kernel.arrays, kernel.variables) == (("A", "B", "C"), ())


def test_what_is_rounded_and_fused() -> None:
    def ptx(statement: str) -> str:
        return compile_ptx(body_program(statement)).ptx

    assert "div.rn.f32" in ptx("y[i] = y[i] / x[i];")
    assert "sqrt.rn.f32" in ptx("y[i] = sqrtf(x[i]);")
    assert "fma.rn.f32" in ptx("y[i] = y[i] + x[i] * 3.0f;")
    # The product is rounded before the sum: `mul.rn`, which the assembler may not fuse.
    separate = ptx("{ float t = x[i] * 3.0f; y[i] = y[i] + t; }")
    assert "mul.rn.f32" in separate
    assert "add.rn.f32" in separate
    for text in (separate, ptx("y[i] = x[i] / 3.0f - y[i];")):
        assert "ftz" not in text
        assert not re.search(r"\b(mul|add|sub|div)\.f(32|64)", text)


def test_arrays_that_others_write_are_read_again_after_a_barrier() -> None:
    """An argument without aliases would let LLVM keep what it has read before a barrier."""
    ptx = compile_ptx(tiled_product(TILED_SIZES)).ptx
    loop = ptx[ptx.index("bar") :]
    assert "ld.shared" in loop
    assert ptx.count("ld.shared") >= 3 * 16  # two rows of A and one column of B, 16 times


@needs_ptxas
@needs_libdevice
def test_functions_of_the_library() -> None:
    assemble(compile_ptx(program_of("math"), "sm_90"))
    known = []
    for function in MathFunction:
        for scalar, suffix in ((ScalarType.DOUBLE, ""), (ScalarType.FLOAT, "f")):
            name = function.c_name(scalar)
            if name.startswith("polygym") or function is MathFunction.ABS:
                continue
            assert name == f"{function.value}{suffix}"
            known.append((name, scalar.value, function.arity))
    body = "\n".join(
        f"y{k}[i] = {name}({', '.join([f'y{k}[i]'] * arity)});"
        for k, (name, _, arity) in enumerate(known)
    )
    arrays = ", ".join(f"{kind} y{k}[n]" for k, (_, kind, _) in enumerate(known))
    assemble(compile_ptx(body_program("{" + body + "}", arrays)))


def test_functions_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "libdevice_path", lambda: None)
    assert "__nv_" not in compile_ptx(body_program("y[i] = expf(x[i]);")).ptx
    expected = r"tanhf on a GPU: expected NVIDIA's libdevice \(libdevice.10.bc\), found none"
    with pytest.raises(InputError, match=expected):
        compile_ptx(body_program("y[i] = tanhf(x[i]);"))


@needs_ptxas
@pytest.mark.parametrize(
    ("statement", "declarations", "instruction"),
    [
        ("s[0] += x[i];", "float s[1], float x[n]", "red"),
        ("s[0] += x[i] * x[i];", "double s[1], double x[n]", "red"),
        ("s[0] *= x[i];", "float s[1], float x[n]", "atom.*cas"),
        ("s[0] = x[i] > s[0] ? x[i] : s[0];", "double s[1], double x[n]", "atom.*cas"),
        ("s[0] ^= x[i];", "int s[1], int x[n]", "red.*xor"),
        ("s[k[i]] += x[i] + 1;", "int s[9], int x[n], int k[n]", "red.*add"),
        ("if (x[i] > 2) s[k[i]] += 1;", "long s[9], int x[n], int k[n]", "red.*add"),
    ],
)
def test_updates_of_one_element(statement: str, declarations: str, instruction: str) -> None:
    source = body_program(statement, declarations)
    loops = source.program
    code = compile_ptx(device_program(loops, 1, atomic=True))
    assemble(code)
    assert re.search(instruction.replace("red", "(red|atom)"), code.ptx)


@needs_ptxas
@pytest.mark.parametrize("architecture", ["sm_75", "sm_100", "sm_120"])
def test_other_gpus(architecture: str) -> None:
    code = compile_ptx(program_of("product"), architecture)
    assert f".target {architecture}" in code.ptx
    assemble(code)


def test_refusals() -> None:
    with pytest.raises(InputError, match="expected sm_70, sm_80, sm_90 or a later one"):
        compile_ptx(program_of("scaled_sum"), "gfx90a")
    narrow = body_program("s[0] += x[i];", "int8_t s[1], int8_t x[n]").program
    with pytest.raises(InputError, match="that threads can make of one element together"):
        compile_ptx(device_program(narrow, 1, atomic=True))
    plain = body_program("y[i] = x[i] - y[i];").program
    with pytest.raises(InputError, match="that threads can make of one element together"):
        compile_ptx(device_program(plain, 1, atomic=True))


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.path", [])
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    with pytest.raises(InputError, match="expected NVIDIA's assembler ptxas, found none"):
        assemble(DeviceCode("", "sm_80", ()))
