"""All of the mapping to a device: legal schedule → loops with roles → device program.

Where isl's budget is exceeded, or what it makes is wrong, the order of the source is mapped in
place of the schedule, and if that fails as well it runs in a single thread: slow, and right. The
program says so (:attr:`polygym.gpu.device_program.DeviceProgram.fallback`).
"""

from __future__ import annotations

from dataclasses import replace

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.loop_context import LoopContext
from polygym.codegen.validate.bounds import with_bounds_proofs
from polygym.codegen.validate.execution import check_by_execution
from polygym.codegen.validate.ranges import check_ranges
from polygym.errors import InputError
from polygym.gpu.device_program import DeviceProgram
from polygym.gpu.mapping.device_mapping import DEFAULT_DEVICE_MAPPING, DeviceMapping
from polygym.gpu.mapping.device_model import H100, DeviceModel
from polygym.gpu.mapping.launches import to_device
from polygym.gpu.mapping.plan import Planner
from polygym.gpu.shared_loops.roles import Roles
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.mapping.sizes import Sizes, known_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule


def map_to_device(
    legal: LegalSchedule,
    mapping: DeviceMapping = DEFAULT_DEVICE_MAPPING,
    sizes: Sizes | None = None,
    model: DeviceModel = H100,
) -> DeviceProgram:
    """Return the kernels and launches of a legal schedule, for all or for given sizes.

    Raises:
        InputError: the mapping names an array that the program does not have.
    """
    scop = legal.scop
    _require_arrays(mapping, legal)
    known = known_sizes(scop, sizes)
    most = TUNING.mapping_operations + TUNING.operations_per_dependence * len(dependences(scop))
    in_order = LegalSchedule(scop, original_schedule(scop))
    fallback = ""
    for each, instead in ((legal, "the order of the source"), (in_order, "a single thread")):
        try:
            with bounded_operations("mapping the schedule to the device", most):
                return replace(_planned(each, mapping, known, model), fallback=fallback)
        except InputError as error:  # limits, and mistakes of isl's
            fallback = f"{instead} in place of the schedule: {error}"
    made = to_device(lower(in_order, SEQUENTIAL_MAPPING, known), Roles({}))
    return replace(made, fallback=fallback)


def _planned(
    legal: LegalSchedule, mapping: DeviceMapping, sizes: Sizes | None, model: DeviceModel
) -> DeviceProgram:
    planner = Planner(legal.scop, mapping, model, legal.schedule.parameters, sizes)
    plan = planner.plan(build_tree(legal), LoopContext.of(legal))
    program = generate_loops(plan.tree, legal, sizes, whole=True)
    check_ranges(program.body, legal.scop)
    check_by_execution(program.body, plan.tree, legal, sizes)
    return to_device(with_bounds_proofs(program, sizes), plan.roles, mapping)


def _require_arrays(mapping: DeviceMapping, legal: LegalSchedule) -> None:
    known = [array.name for array in legal.scop.arrays]
    for name in mapping.shared or ():
        if name not in known:
            raise InputError(f"shared: expected arrays among {', '.join(known)}, found {name!r}")
