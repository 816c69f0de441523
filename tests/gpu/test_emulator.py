"""The emulator finds what no program may do: races, elements outside, values that are missing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.generation.loop_generation import generate_loops
from polygym.codegen.loopir import ir
from polygym.codegen.tree.build import build_tree
from polygym.gpu import map_to_device
from polygym.gpu.device_program import (
    Barrier,
    DeviceProgram,
    Kernel,
    KernelNode,
    Launch,
    ThreadCode,
    UniformGuard,
    UniformLoop,
)
from polygym.gpu.emulator.machine import emulate
from polygym.gpu.emulator.memory import DeviceError
from polygym.gpu.mapping.device_mapping import parse_device_mapping
from polygym.gpu.mapping.launches import to_device
from polygym.gpu.shared_loops.roles import BlockLoop, LoopRole, Roles, ThreadLoop
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.codegen.mapped_programs import scop_of
from tests.gpu.comprehension_programs import comprehension_scop
from tests.oracles.compiled_runs import random_arrays

SIZES = {"M": 5, "K": 7, "N": 6}
STAGED = "device=cuda block=4x2 tile=4x2x3 shared=A+B"


def staged_product() -> DeviceProgram:
    """Return a product of matrices in stages."""
    scop = comprehension_scop("matmul")
    mapping = parse_device_mapping(STAGED)
    return map_to_device(LegalSchedule(scop, isl_schedule(scop)), mapping, SIZES)


def run(device: DeviceProgram, sizes: dict[str, int] = SIZES) -> None:
    arrays = random_arrays(device.program.scop, sizes, np.random.default_rng(0))
    given = {name: arrays[name] for name in ("A", "B", "C", "p", "q", "a") if name in arrays}
    emulate(device, sizes, given)


def with_kernel(device: DeviceProgram, change: Callable[[Kernel], Kernel]) -> DeviceProgram:
    """Return a program with another kernel in the place of its only one."""
    (launch,) = device.body
    assert isinstance(launch, Launch)
    return replace(device, body=(Launch(change(launch.kernel)),))


def without_barrier(nodes: tuple[KernelNode, ...], left_out: int) -> tuple[KernelNode, ...]:
    """Return code of a kernel without one of the barriers of each loop."""
    result: list[KernelNode] = []
    barriers = 0
    for node in nodes:
        match node:
            case Barrier():
                if barriers != left_out:
                    result.append(node)
                barriers += 1
            case UniformLoop() | UniformGuard():
                result.append(replace(node, body=without_barrier(node.body, left_out)))
            case ThreadCode():
                result.append(node)
    return tuple(result)


def test_stages_have_no_race() -> None:
    run(staged_product())


@pytest.mark.parametrize("left_out", [0, 1])
def test_every_barrier_is_needed(left_out: int) -> None:
    device = with_kernel(
        staged_product(),
        lambda kernel: replace(kernel, body=without_barrier(kernel.body, left_out)),
    )
    with pytest.raises(DeviceError, match=r"a race on shared \w+_block\[.*thread .*; .*thread"):
        run(device)


def test_without_what_fills_it_shared_memory_has_no_values() -> None:
    def emptied(nodes: tuple[KernelNode, ...]) -> tuple[KernelNode, ...]:
        return tuple(
            replace(node, body=node.body[2:]) if isinstance(node, UniformLoop) else node
            for node in nodes
        )

    device = with_kernel(
        staged_product(), lambda kernel: replace(kernel, body=emptied(kernel.body))
    )
    with pytest.raises(DeviceError, match="expected a value in shared A_block"):
        run(device)


def recurrence_with(roles: dict[int, LoopRole]) -> DeviceProgram:
    """Return rows of recurrences, q[i][j] from q[i][j - 1], with loops shared out as said."""
    scop = scop_of("recurrence")
    legal = LegalSchedule(scop, original_schedule(scop))
    program = generate_loops(build_tree(legal), legal, {"n": 6})
    names = [statement.name for statement in scop.statements]
    known = {(name, depth): role for name in names for depth, role in roles.items()}
    return to_device(program, Roles(known))


def test_rows_are_independent() -> None:
    run(recurrence_with({0: BlockLoop(0)}), {"n": 6})
    run(recurrence_with({0: ThreadLoop(0, 4)}), {"n": 6})


@pytest.mark.parametrize(
    ("role", "who"),
    [(BlockLoop(0), r"thread \(0, 0, 0\) of block \(\d, 0, 0\)"), (ThreadLoop(1, 4), "thread")],
)
def test_a_wrong_loop_is_a_race(role: LoopRole, who: str) -> None:
    with pytest.raises(DeviceError, match=rf"a race on global [pq]\[\d, \d\]: S\d writes by {who}"):
        run(recurrence_with({1: role}), {"n": 6})


def test_an_element_outside() -> None:
    device = recurrence_with({0: BlockLoop(0)})
    smaller = replace(
        device.program, extents=((ir.IndexConstant(6),) * 2, (ir.IndexConstant(6),) * 2)
    )
    arrays = {"p": np.zeros((6, 6)), "q": np.zeros((5, 6))}
    with pytest.raises(DeviceError, match=r"S2: expected an element of q\[5, 6\], found \[5, 1\]"):
        emulate(replace(device, program=smaller), {"n": 6}, arrays)


def test_atomic_updates_may_meet() -> None:
    """A sum into one element by all threads: a race, unless its statement is atomic."""
    scop = comprehension_scop("matvec")
    legal = LegalSchedule(scop, original_schedule(scop))
    sizes = {"M": 2, "K": 5}
    program = generate_loops(build_tree(legal), legal, sizes)
    device = to_device(program, Roles({("S1", 1): ThreadLoop(0, 5)}))
    arrays = random_arrays(scop, sizes, np.random.default_rng(0))
    expected = arrays["A"] @ arrays["x"]
    with pytest.raises(DeviceError, match="a race on global y"):
        emulate(device, sizes, dict(arrays))
    atomic = tuple(_atomic(node) for node in device.body)
    emulate(replace(device, body=atomic), sizes, arrays)
    np.testing.assert_allclose(arrays["y"], expected, rtol=1e-5)


def _atomic(node):  # type: ignore[no-untyped-def]
    """Return host code whose kernels update with atomic operations."""
    if isinstance(node, Launch):
        return Launch(replace(node.kernel, atomic=frozenset({"S1"})))
    return replace(node, body=tuple(map(_atomic, node.body)))
