"""Sums that the threads of a block, or of several, take together, where the mapping allows it."""

import numpy as np
import pytest

from polygym.codegen.loopir.ir import IndexConstant
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.gpu import map_to_device
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.gpu.comprehension_programs import comprehension_scop
from tests.gpu.emulated_programs import differing_array
from tests.gpu.test_mapping import kernels
from tests.oracles.compiled_runs import random_arrays

REASSOCIATED = DeviceMapping(reassociate=True)
TEXTS = {
    "total": "def total(float(N) a) -> (s) { s +=! a(i) }",
    "squares": "def squares(double(N,M) a) -> (s) { s +=! a(i,j) * a(i,j) }",
    "extreme": "def extreme(float(N) a) -> (s) { s max=! a(i) }",
    "least": "def least(float(N) a) -> (s) { s min=! a(i) }",
    "counted": "def counted(int(N) a) -> (s) { s +=! a(i) }",
    "multiplied": "def multiplied(double(N) a) -> (s) { s *=! 1 + a(i) / 1000 }",
}


def scop_of(name: str) -> Scop:
    if name not in TEXTS:
        return comprehension_scop(name)
    (definition,) = parse_definitions(TEXTS[name], name)
    return lower_definition(definition, {})


CASES = [
    ("matvec", (7, 100)),
    ("matvec", (1, 65)),
    ("softmax", (3, 130)),
    ("layer_norm", (5, 97)),
    ("moments", (4, 70)),
    ("total", (1000,)),
    ("total", (3001,)),
    ("squares", (67, 5)),
    ("extreme", (333,)),
    ("extreme", (3000,)),
    ("least", (3000,)),
    ("counted", (2000,)),
    ("multiplied", (129,)),
]


@pytest.mark.parametrize(("name", "values"), CASES)
def test_sums(name: str, values: tuple[int, ...]) -> None:
    scop = scop_of(name)
    names = [parameter.name for parameter in scop.parameters]
    sizes = dict(zip(names, values, strict=True))
    for schedule in (isl_schedule(scop), original_schedule(scop)):
        device = map_to_device(LegalSchedule(scop, schedule), REASSOCIATED, sizes)
        assert any(kernel.shared for kernel in kernels(device.body))
        arrays = random_arrays(scop, sizes, np.random.default_rng(0))
        assert differing_array(scop, schedule, REASSOCIATED, sizes, arrays, tolerance=1e-4) is None


def test_floats_stay_in_order_unless_asked() -> None:
    scop = scop_of("total")
    device = map_to_device(
        LegalSchedule(scop, isl_schedule(scop)), DEFAULT_DEVICE_MAPPING, {"N": 1000}
    )
    assert all(kernel.block == (1, 1, 1) for kernel in kernels(device.body))


def test_integers_need_no_leave() -> None:
    scop = scop_of("counted")
    device = map_to_device(
        LegalSchedule(scop, isl_schedule(scop)), DEFAULT_DEVICE_MAPPING, {"N": 100_000}
    )
    (*_, kernel) = kernels(device.body)
    assert kernel.block == (256, 1, 1)
    assert kernel.atomic


def test_an_extreme_has_a_single_block() -> None:
    """It begins with the element, which other blocks would change meanwhile."""
    scop = scop_of("extreme")
    device = map_to_device(LegalSchedule(scop, isl_schedule(scop)), REASSOCIATED, {"N": 100_000})
    (*_, kernel) = kernels(device.body)
    assert (kernel.grid[0], kernel.block) == (IndexConstant(1), (256, 1, 1))
    assert not kernel.atomic
