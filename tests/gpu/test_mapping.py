"""Mappings to a device: what the emulated kernels leave is what the CPU leaves."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polybench
from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.errors import InputError, InternalError, LimitError
from polygym.frontend.c import parse_text
from polygym.frontend.tc import library
from polygym.gpu import map_to_device
from polygym.gpu.device_program import (
    STATIC_SHARED_BYTES,
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Kernel,
    Launch,
)
from polygym.gpu.emulator.machine import emulate
from polygym.gpu.mapping import launches, pipeline
from polygym.gpu.mapping.device_mapping import (
    DEFAULT_DEVICE_MAPPING,
    DeviceMapping,
    is_device_mapping,
    parse_device_mapping,
)
from polygym.gpu.mapping.device_model import model_for
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import kernel_scop, small_parameters
from tests.codegen.mapped_programs import PROGRAMS, scop_of
from tests.gpu.comprehension_programs import comprehension_scop, small_arrays, small_sizes
from tests.gpu.emulated_programs import differing_array, disagreement, random_device_mapping
from tests.oracles.compiled_runs import random_arrays

COMPREHENSIONS = tuple(library.definitions())
KERNELS = tuple(kernel.name for kernel in polybench.KERNELS)
# isl's schedule takes more operations than a mapping may; all others are to be mapped as asked.
FALLS_BACK = ("max_pool2d_gradient",)


def kernels(nodes: tuple[HostNode, ...]) -> list[Kernel]:
    """Return the kernels of host code, in order."""
    result: list[Kernel] = []
    for node in nodes:
        match node:
            case Launch(kernel):
                result.append(kernel)
            case HostLoop(body=body) | HostGuard(body=body):
                result += kernels(body)
    return result


@pytest.mark.parametrize("name", COMPREHENSIONS)
def test_comprehensions(name: str) -> None:
    scop = comprehension_scop(name)
    sizes, schedule = small_sizes(scop), isl_schedule(scop)
    arrays, may = small_arrays(scop, sizes, 0), name in FALLS_BACK
    mapping = DEFAULT_DEVICE_MAPPING
    found = differing_array(scop, schedule, mapping, sizes, arrays, may_fall_back=may)
    assert found is None


@pytest.mark.rotates
@pytest.mark.parametrize("name", COMPREHENSIONS)
def test_random_mappings_of_comprehensions(name: str) -> None:
    scop = comprehension_scop(name)
    sizes = small_sizes(scop)
    for seed, schedule in enumerate((isl_schedule(scop), original_schedule(scop))):
        mapping = random_device_mapping(np.random.default_rng([seed, len(name)]), scop)
        arrays, may = small_arrays(scop, sizes, seed), name in FALLS_BACK
        found = differing_array(scop, schedule, mapping, sizes, arrays, may_fall_back=may)
        assert found is None


@pytest.mark.rotates
@pytest.mark.parametrize("name", KERNELS)
def test_kernels(name: str) -> None:
    """Those of PolyBench, by default and under a random mapping."""
    scop = kernel_scop(name)
    sizes, generator = small_parameters(scop), np.random.default_rng(len(name))
    # 1 - exp(-alpha) loses digits where alpha is near 0.
    tolerance = 1e-4 if name == "deriche" else 1e-6
    for schedule in (isl_schedule(scop), original_schedule(scop)):
        for mapping in (DEFAULT_DEVICE_MAPPING, random_device_mapping(generator, scop)):
            arrays = random_arrays(scop, sizes, generator)
            found = differing_array(scop, schedule, mapping, sizes, arrays, tolerance=tolerance)
            assert found is None


@pytest.mark.rotates
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    for seed in range(4):
        assert disagreement(name, seed) is None


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_at_length(name: str) -> None:
    for seed in range(4, 30):
        assert disagreement(name, seed) is None


@pytest.mark.parametrize(
    ("name", "seed"), [("mixed_types", 11), ("mixed_types", 12), ("two_products", 5)]
)
def test_named_failures(name: str, seed: int) -> None:
    """Elements that no instance at a point has; code outside of a loop without iterations."""
    assert disagreement(name, seed) is None


def test_sizes_of_nothing() -> None:
    """Loops without iterations launch nothing."""
    scop = scop_of("product")
    sizes = {"n": 0, "m": 3, "k": 0}
    for known in (sizes, None):
        device = map_to_device(LegalSchedule(scop, isl_schedule(scop)), sizes=known)
        arrays = random_arrays(scop, sizes, np.random.default_rng(0))
        emulate(device, sizes, arrays)


def test_neighbours_in_a_warp_are_neighbours_in_memory() -> None:
    """The columns of C are along x, whatever the order of the loops."""
    scop = scop_of("transposed")
    device = map_to_device(
        LegalSchedule(scop, original_schedule(scop)), DeviceMapping(block=(8, 2)), {"n": 64}
    )
    first, *_ = kernels(device.body)
    assert first.block == (8, 2, 1)


def test_a_large_product_has_points_for_every_thread() -> None:
    """Four by four of each, in groups that one instruction moves, of tiles in shared memory."""
    scop = comprehension_scop("matmul")
    sizes = {"M": 1024, "K": 512, "N": 1024}
    device = map_to_device(LegalSchedule(scop, isl_schedule(scop)), sizes=sizes)
    (kernel,) = kernels(device.body)
    assert (kernel.block, kernel.shared, kernel.local) == (
        (16, 16, 1),
        ("A_block", "B_block"),
        ("C_sum",),
    )
    lengths = {
        array.name: array.c_extents for array in device.program.scop.arrays[len(scop.arrays) :]
    }
    assert lengths == {"C_sum": ("4", "4"), "A_block": ("16", "68"), "B_block": ("16", "64")}


TWO_PRODUCTS = """
void f(int n, float A[n][n], float B[n][n], float C[n][n], float D[n][n], float E[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
      for (int k = 0; k < n; k++)
        C[i][j] += D[i][k] * E[k][j];
    }
#pragma endscop
}
"""


def test_stages_of_a_kernel_share_the_memory_of_a_block() -> None:
    scop = parse_text(TWO_PRODUCTS)
    mapping = DeviceMapping(block=(16, 16), tile=(64, 64, 64))
    device = map_to_device(LegalSchedule(scop, original_schedule(scop)), mapping, {"n": 256})
    (kernel,) = kernels(device.body)
    assert len(kernel.shared) == 4
    (signature,) = compile_ptx(device).kernels
    assert 24 * 1024 < signature.shared <= STATIC_SHARED_BYTES


@pytest.mark.parametrize("is_known", [True, False])
def test_more_points_than_blocks_of_a_grid(monkeypatch: pytest.MonkeyPatch, is_known: bool) -> None:
    """Blocks go on by as many as there are, along every axis."""
    monkeypatch.setattr(launches, "LARGEST_GRID", (2, 2, 2))
    scop, mapping = scop_of("product"), DeviceMapping(block=(2, 2))
    sizes = {"n": 13, "m": 9, "k": 3}
    schedule = isl_schedule(scop)
    device = map_to_device(LegalSchedule(scop, schedule), mapping, sizes if is_known else None)
    for kernel in kernels(device.body):
        assert max(evaluate_index(extent, sizes) for extent in kernel.grid) <= 2
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    found = differing_array(scop, schedule, mapping, sizes, arrays, is_known=is_known)
    assert found is None


def test_models_of_architectures() -> None:
    """By number: the text sm_100 comes before sm_90."""
    names = ("sm_70", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")
    assert [model_for(name).name for name in names] == ["A100"] * 3 + ["H100"] * 3


def test_fallbacks_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scop = scop_of("product")
    legal, planned = LegalSchedule(scop, isl_schedule(scop)), pipeline._planned
    assert map_to_device(legal).fallback == ""
    failures: list[Exception] = []

    def failing(*arguments: Any) -> DeviceProgram:
        if failures:
            raise failures.pop()
        return planned(*arguments)

    monkeypatch.setattr(pipeline, "_planned", failing)
    failures += [LimitError("too many operations")]
    reason = "the order of the source in place of the schedule: too many operations"
    assert map_to_device(legal).fallback == reason
    failures += [LimitError("too long"), LimitError("too many operations")]
    device = map_to_device(legal)
    assert device.fallback == "a single thread in place of the schedule: too long"
    assert [kernel.block for kernel in kernels(device.body)] == [(1, 1, 1)]
    failures += [InternalError("a mistake of the planner")]
    with pytest.raises(InternalError, match="a mistake of the planner"):
        map_to_device(legal)


def test_arrays_that_are_none() -> None:
    scop = comprehension_scop("matmul")
    mapping = parse_device_mapping("device=cuda shared=A+X")
    with pytest.raises(InputError, match="expected arrays among A, B, C, found 'X'"):
        map_to_device(LegalSchedule(scop, isl_schedule(scop)), mapping)


def test_time_loops_launch_each_step() -> None:
    scop = scop_of("jacobi")
    device = map_to_device(LegalSchedule(scop, original_schedule(scop)))
    (loop,) = device.body
    assert isinstance(loop, HostLoop)
    assert len(kernels(device.body)) == 2


def test_a_schedule_without_parallel_loops_runs_in_one_thread() -> None:
    scop = scop_of("seidel")
    device = map_to_device(LegalSchedule(scop, original_schedule(scop)))
    (kernel,) = kernels(device.body)
    assert kernel.block == (1, 1, 1)


TEXTS = st.builds(
    DeviceMapping,
    block=st.none() | st.lists(st.integers(1, 8), min_size=1, max_size=3).map(tuple),
    tile=st.none() | st.lists(st.integers(1, 64), min_size=1, max_size=4).map(tuple),
    shared=st.none() | st.just(()) | st.just(("A", "B")),
    registers=st.booleans(),
    reassociate=st.booleans(),
)


@given(TEXTS)
def test_texts_are_read_back(mapping: DeviceMapping) -> None:
    assert is_device_mapping(str(mapping))
    assert parse_device_mapping(str(mapping)) == mapping
    assert parse_device_mapping(str(mapping).replace(" ", ", ")) == mapping


@pytest.mark.parametrize(
    "text",
    [
        "shared=A+1",
        "registers=2",
        "device=tpu",
        "block=0",
        "block=64x64",
        "block=2x2x2x2",
        "tile=a",
        "threads=2",
        "block",
        "=",
    ],
)
def test_what_no_mapping_has(text: str) -> None:
    with pytest.raises(InputError):
        parse_device_mapping(f"device=cuda {text}")
