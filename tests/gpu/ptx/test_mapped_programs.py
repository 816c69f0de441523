"""PTX of mapped programs: all comprehensions and kernels pass NVIDIA's assembler."""

import pytest

from polybench import KERNELS
from polygym.frontend.tc import library
from polygym.gpu.mapping.device_mapping import parse_device_mapping
from polygym.gpu.mapping.device_model import A100, H100
from polygym.gpu.mapping.pipeline import map_to_device
from polygym.gpu.ptx.compile_ptx import compile_ptx
from polygym.gpu.ptx.math_library import libdevice_path
from polygym.gpu.ptx.ptxas import assemble, find_ptxas
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from tests.c_programs import kernel_scop
from tests.gpu.comprehension_programs import comprehension_scop, small_sizes

pytestmark = pytest.mark.skipif(
    find_ptxas() is None or libdevice_path() is None,
    reason="no ptxas or no libdevice here: nvidia-cuda-nvcc-cu12",
)

MAPPINGS = ("device=cuda", "device=cuda block=16x8 tile=32x32x16", "device=cuda shared=off")
MODELS = {model.target: model for model in (A100, H100)}


def check(name: str, scop: Scop, sizes: dict[str, int] | None) -> None:
    """Assemble a program for a kind of GPU under a mapping, which its name chooses."""
    legal = LegalSchedule(scop, isl_schedule(scop))
    number = sum(name.encode())
    architecture = ("sm_80", "sm_90")[number % 2]
    model = MODELS[architecture]
    mapping = parse_device_mapping(MAPPINGS[number % len(MAPPINGS)])
    code = compile_ptx(map_to_device(legal, mapping, sizes, model), architecture)
    found = dict(assemble(code).resources)
    assert set(found) == {kernel.name for kernel in code.kernels}
    for kernel in code.kernels:
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        assert kernel.shared <= model.shared_per_block
        assert found[kernel.name].registers * threads <= model.registers_per_multiprocessor
        assert found[kernel.name].static_shared == 0  # the launch gives it


@pytest.mark.rotates
@pytest.mark.parametrize("name", sorted(library.definitions()))
def test_comprehensions(name: str) -> None:
    scop = comprehension_scop(name)
    check(name, scop, small_sizes(scop))


@pytest.mark.rotates
@pytest.mark.parametrize("name", [kernel.name for kernel in KERNELS])
def test_kernels_for_all_sizes(name: str) -> None:
    check(name, kernel_scop(name), None)
