"""The emulated device: launches in their order, every block of a grid, threads between barriers.

Between two barriers the threads of a block run one after the other, and blocks as well: one of the
orders in which a device may run them. That the others have the same result is what the check for
races says, launch by launch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, assert_never

import numpy as np

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import evaluate_index
from polygym.gpu.device_program import (
    BLOCK_VARIABLES,
    THREAD_VARIABLES,
    Barrier,
    DeviceProgram,
    HostGuard,
    HostLoop,
    HostNode,
    Kernel,
    KernelNode,
    Launch,
    ThreadCode,
    UniformGuard,
    UniformLoop,
)
from polygym.gpu.emulator.arithmetic import numpy_type
from polygym.gpu.emulator.expressions import ThreadText
from polygym.gpu.emulator.memory import (
    AccessLog,
    DeviceArray,
    DeviceError,
    Element,
    MemorySpace,
    Thread,
)
from polygym.gpu.emulator.races import find_race
from polygym.ir.scop import Array

Position = tuple[int, int, int]


def emulate(
    device: DeviceProgram,
    sizes: Mapping[str, int],
    arrays: Mapping[str, np.ndarray[Any, Any]],
) -> None:
    """Run a program for a device: change ``arrays`` in place.

    Arrays that are missing begin with their initial values, or zeros.

    Raises:
        DeviceError: there is a race, an element outside of its array, or a value that is missing.
    """
    machine = _Machine(device, sizes, arrays)
    with np.errstate(all="ignore"):
        machine.run_host(device.body, dict(sizes))


class _Machine:
    def __init__(
        self,
        device: DeviceProgram,
        sizes: Mapping[str, int],
        arrays: Mapping[str, np.ndarray[Any, Any]],
    ) -> None:
        self._scop = device.program.scop
        self._extents = {
            array.name: tuple(evaluate_index(extent, sizes) for extent in extents)
            for array, extents in zip(self._scop.arrays, device.program.extents, strict=True)
        }
        self._statements = [statement.name for statement in self._scop.statements]
        self._global = [self._given(array, arrays) for array in self._scop.arrays]

    def _given(self, array: Array, arrays: Mapping[str, np.ndarray[Any, Any]]) -> DeviceArray:
        values = arrays.get(array.name)
        if values is None:
            shape, kind = self._extents[array.name], numpy_type(array.type)
            if isinstance(array.initial, tuple):
                values = np.array(array.initial, kind).reshape(shape)
            else:
                values = np.full(shape, array.initial or 0, kind)
        return DeviceArray.given(array.name, values)

    def run_host(self, nodes: Sequence[HostNode], at: dict[str, int]) -> None:
        """Run what the host does."""
        for node in nodes:
            match node:
                case HostLoop(variable, lower, upper, step, body):
                    for value in range(
                        evaluate_index(lower, at), evaluate_index(upper, at) + 1, step
                    ):
                        self.run_host(body, {**at, variable: value})
                case HostGuard(condition, body):
                    if evaluate_index(condition, at):
                        self.run_host(body, at)
                case Launch(kernel):
                    self._launch(kernel, at)
                case _:
                    assert_never(node)

    def _launch(self, kernel: Kernel, at: dict[str, int]) -> None:
        grid = tuple(evaluate_index(extent, at) for extent in kernel.grid)
        run = _BlockRun(kernel, self._scop.arrays, self._extents, self._global, self._statements)
        run.prepare(self._scop, at)
        for z, y, x in product(*(range(extent) for extent in reversed(grid))):
            run.run_block((x, y, z), at)
        race = find_race(
            run.log.rows, lambda number: run.arrays[number].space != MemorySpace.GLOBAL
        )
        if race is not None:
            raise DeviceError(self._race_text(run, race.first, race.second))

    def _race_text(self, run: _BlockRun, first: tuple[int, ...], second: tuple[int, ...]) -> str:
        array = run.arrays[first[0]]
        element = list(map(int, np.unravel_index(first[1], array.values.shape or (1,))))
        texts = [
            f"{self._statements[row[7]]} {'writes' if row[5] else 'reads'} by "
            f"{Thread(run.blocks[row[2]], run.threads[row[4]])}"
            for row in (first, second)
        ]
        place = element if array.values.shape else []
        return f"a race on {array.space.value} {array.name}{place}: {texts[0]}; {texts[1]}"


class _BlockRun:
    """The blocks of one launch, one after the other."""

    def __init__(
        self,
        kernel: Kernel,
        arrays: Sequence[Array],
        extents: Mapping[str, tuple[int, ...]],
        in_global: Sequence[DeviceArray],
        statements: Sequence[str],
    ) -> None:
        self._kernel = kernel
        self._declared = arrays
        self._extents = extents
        self.arrays = list(in_global)
        self._statements = {name: number for number, name in enumerate(statements)}
        self.log = AccessLog()
        self.blocks: list[Position] = []
        x, y, z = (range(count) for count in kernel.block)
        self.threads: list[Position] = [(i, j, k) for k, j, i in product(z, y, x)]
        self._code: dict[int, Callable[..., None]] = {}
        self._phase = 0
        self._number = 0
        self._local: list[dict[int, DeviceArray]] = []

    def prepare(self, scop: Any, at: Mapping[str, int]) -> None:
        """Compile what threads run."""
        self._scop, self._order = scop, tuple(at)

    def run_block(self, block: Position, at: Mapping[str, int]) -> None:
        """Run one block."""
        self.blocks.append(block)
        self._phase = 0
        for number, array in enumerate(self._declared):
            if array.name in self._kernel.shared:
                self.arrays[number] = self._new(array, MemorySpace.SHARED)
        self._local = [
            {
                number: self._new(array, MemorySpace.LOCAL)
                for number, array in enumerate(self._declared)
                if array.name in self._kernel.local
            }
            for _ in (self.threads if self._kernel.local else ())
        ]
        self._nodes(self._kernel.body, {**at, **dict(zip(BLOCK_VARIABLES, block, strict=True))})

    def _new(self, array: Array, space: MemorySpace) -> DeviceArray:
        shape = self._extents[array.name]
        return DeviceArray.unwritten(array.name, space, shape, numpy_type(array.type))

    def _nodes(self, nodes: Sequence[KernelNode], at: dict[str, int]) -> None:
        for node in nodes:
            match node:
                case Barrier():
                    self._phase += 1
                case UniformGuard(condition, body):
                    if evaluate_index(condition, at):
                        self._nodes(body, at)
                case UniformLoop(variable, lower, upper, step, body):
                    for value in range(
                        evaluate_index(lower, at), evaluate_index(upper, at) + 1, step
                    ):
                        self._nodes(body, {**at, variable: value})
                case ThreadCode(code):
                    self._run_threads(code, at)
                case _:
                    assert_never(node)

    def _run_threads(self, code: ir.Node, at: dict[str, int]) -> None:
        run = self._code.get(id(code))
        if run is None:
            text = ThreadText(self._scop, (*at, *THREAD_VARIABLES))
            run = self._code[id(code)] = text.function(code, self._load, self._store)
        values = tuple(at.values())
        for number, position in enumerate(self.threads):
            self._number = number
            run(*values, *position)

    def _located(self, statement: str, number: int, element: Element) -> tuple[DeviceArray, int]:
        """Return the array of this thread, and the place of an element in it."""
        array = self.arrays[number]
        if self._local and number in self._local[self._number]:
            array = self._local[self._number][number]
        try:
            place = array.places[element]
        except KeyError:
            raise DeviceError(self._outside(statement, array, element)) from None
        return array, place

    def _load(self, statement: str, number: int, element: Element, is_own: bool) -> Any:
        array, place = self._located(statement, number, element)
        if array.written is not None and place not in array.written:
            raise DeviceError(self._unwritten(statement, array, element))
        if array.space is not MemorySpace.LOCAL:
            self._record(statement, number, place, False, is_own)
        return array.values[element]

    def _store(self, statement: str, number: int, element: Element, value: Any) -> None:
        array, place = self._located(statement, number, element)
        if array.space is not MemorySpace.LOCAL:
            self._record(statement, number, place, True, True)
        if array.written is not None:
            array.written.add(place)
        array.values[element] = value

    def _record(self, statement: str, number: int, place: int, writes: bool, is_own: bool) -> None:
        is_atomic = is_own and statement in self._kernel.atomic
        block, own = len(self.blocks) - 1, self._statements[statement]
        row = number, place, block, self._phase, self._number, writes, is_atomic, own
        self.log.rows.append(row)

    def _outside(self, statement: str, array: DeviceArray, element: Element) -> str:
        return (
            f"{statement}: expected an element of {array.name}{list(array.values.shape)}, found "
            f"{list(element)}, by {self._thread()}"
        )

    def _unwritten(self, statement: str, array: DeviceArray, element: Element) -> str:
        return (
            f"{statement}: expected a value in {array.space.value} {array.name}{list(element)}, "
            f"found none, by {self._thread()}"
        )

    def _thread(self) -> Thread:
        return Thread(self.blocks[-1], self.threads[self._number])
