"""Random mappings to a device of random schedules, emulated and compared with the CPU's results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polygym.gpu import map_to_device
from polygym.gpu.emulator.machine import emulate
from polygym.gpu.mapping.device_mapping import DeviceMapping
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import scop_of
from tests.oracles.compiled_runs import random_arrays, run_in_order
from tests.oracles.random_schedules import random_legal_schedule

_ABSOLUTE = 1e-2  # of the tolerance: what is left of a difference of numbers near 1
SIZES = (1, 2, 3, 5, 7, 8, 9, 13)


def random_device_mapping(
    generator: np.random.Generator, scop: Scop | None = None
) -> DeviceMapping:
    """Return any mapping, of small blocks and tiles."""

    def sizes(most: int) -> tuple[int, ...] | None:
        count = int(generator.integers(0, most + 1))
        chosen = tuple(int(size) for size in generator.integers(1, 6, count))
        return chosen or None

    registers = bool(generator.random() < 0.7)
    names = () if scop is None else [array.name for array in scop.arrays if array.rank]
    shared = generator.choice(3)
    chosen = None if shared == 0 else tuple(names) if shared == 1 else ()
    return DeviceMapping(sizes(3), sizes(4), chosen, registers)


def random_schedule(scop: Scop, generator: np.random.Generator) -> Schedule:
    """Return the original order, isl's schedule, or any legal one."""
    match generator.integers(4):
        case 0:
            return original_schedule(scop)
        case 1:
            return isl_schedule(scop)
        case _:
            return random_legal_schedule(scop, generator, rows=int(generator.integers(1, 4)))


def disagreement(name: str, seed: int) -> str | None:
    """Run one schedule under one mapping; say what went wrong, if anything did."""
    scop = scop_of(name)
    generator = np.random.default_rng([seed, len(name)])
    schedule, mapping = random_schedule(scop, generator), random_device_mapping(generator, scop)
    sizes = {p.name: int(generator.choice(SIZES)) for p in scop.parameters}
    if name == "six_deep":
        sizes = {p.name: int(generator.integers(1, 4)) for p in scop.parameters}
    is_known = bool(generator.random() < 0.7)
    said = f"{name}, seed {seed}: {schedule} under {mapping} with {sizes}, known: {is_known}"
    arrays = random_arrays(scop, sizes, generator)
    try:
        wrong = differing_array(
            scop, schedule, mapping, sizes, arrays, is_known=is_known, may_fall_back=True
        )
    except Exception as error:
        return f"{said}: {type(error).__name__}: {error}"
    return None if wrong is None else f"{said}: {wrong} differs"


def differing_array(
    scop: Scop,
    schedule: Schedule,
    mapping: DeviceMapping,
    sizes: Mapping[str, int],
    arrays: dict[str, np.ndarray[Any, Any]],
    *,
    is_known: bool = True,
    tolerance: float = 1e-6,
    may_fall_back: bool = False,
) -> str | None:
    """Emulate a schedule on arrays, in place; return one that the CPU leaves otherwise, if any.

    It is a fallback's reason if another order was mapped, unless that may be.

    The CPU's code has no fused multiply-add, so that results are the same bit for bit; those of
    functions may differ in the last bits.
    """
    device = map_to_device(LegalSchedule(scop, schedule), mapping, sizes if is_known else None)
    if device.fallback and not may_fall_back:
        return device.fallback
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(replace(scop, contraction=False), sizes, expected)
    emulate(device, sizes, arrays)
    for array in scop.arrays:
        if array.is_observable and not np.allclose(
            arrays[array.name],
            expected[array.name],
            rtol=tolerance,
            atol=_ABSOLUTE * tolerance,
            equal_nan=True,
        ):
            return array.name
    return None
