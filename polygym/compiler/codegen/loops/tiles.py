"""Tiles that are packed: the copy of part of an array, how long its rows are, the loops to fill it.

A copy of 64 by 26 floats has rows of 32: whole lines of a cache. It is filled in square blocks, of
both sides of which whole lines are used, and which are turned in registers
(codegen/llvm/emit_turn.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.compiler.codegen.common.packable import LINE, spare
from polygym.compiler.codegen.loops.copying import copying
from polygym.compiler.codegen.loops.index import mentions, minimum, plus
from polygym.compiler.codegen.loops.ir import (
    Guard,
    Index,
    IndexOperator,
    Instance,
    Loop,
    Node,
    Operation,
    Variable,
)
from polygym.compiler.codegen.loops.linear import difference, minus
from polygym.compiler.codegen.loops.names import Names
from polygym.compiler.codegen.loops.nests import all_of
from polygym.compiler.ir.scop import Array, Statement, Storage

_BLOCK = 16


@dataclass(frozen=True, slots=True)
class Tile:
    """A copy of part of an array: a loop of the box for each of its dimensions, and its lengths.

    ``subscripts`` are those of the read.
    """

    array: Array
    name: str
    loops: tuple[Loop, ...]
    lengths: tuple[int, ...]
    subscripts: tuple[Index, ...]

    @property
    def place(self) -> tuple[Index, ...]:
        """The subscripts in the copy."""
        return tuple(minus(Variable(loop.variable), loop.lower) for loop in self.loops)

    @property
    def declared(self) -> Array:
        """The array that it is."""
        return declared_tile(self.array, self.name, self.lengths)

    def copying(self, names: Names) -> Statement:
        """Return the statement that copies an element; its iterators are the array's dimensions."""
        places = range(self.array.rank)
        iterators = tuple(names.unused(f"{self.name}_{place}") for place in places)
        # Where in the tile an element goes is said by the instances.
        return copying(self.array, self.name, iterators, ["0"] * len(self.loops))

    def filled(self, inner: Sequence[Loop], statement: Statement, names: Names) -> Node:
        """Return the loops that fill the copy; ``inner`` are those that use it."""
        node: Node = Instance(statement.name, self.subscripts, self.place, (self.subscripts,))
        *others, last = self.loops
        down, block = _down(self.loops, self.subscripts), _block(self.array.type.size)
        blocks = []
        for loop in (last, down):
            counter = names.unused(f"{loop.variable}_block")
            end = minimum(plus(Variable(counter), block - 1), loop.upper)
            node = Loop(loop.variable, Variable(counter), end, 1, node)
            blocks.append((counter, loop))
        for counter, loop in blocks:
            node = Loop(counter, loop.lower, loop.upper, block, node)
        for loop in reversed([loop for loop in others if loop is not down]):
            node = Loop(loop.variable, loop.lower, loop.upper, 1, node)
        used = {loop.variable for loop in self.loops}
        conditions = tuple(
            Operation(IndexOperator.LESS_EQUAL, (loop.lower, loop.upper))
            for loop in inner
            if loop.variable not in used and not _always_runs(loop)
        )
        return Guard(all_of(conditions), node, None) if conditions else node


def declared_tile(array: Array, name: str, lengths: tuple[int, ...]) -> Array:
    """Return a tile with the elements of an array."""
    return replace(
        array,
        name=name,
        extents=tuple(f"{{ [({length})] }}" for length in lengths),
        extents_c=tuple(map(str, lengths)),
        storage=Storage.TILE,
        live_out=False,
        initial=None,
    )


def lengths_of(
    loops: Sequence[Loop], sizes: tuple[int, ...], subscripts: Sequence[Index], size: int
) -> tuple[int, ...]:
    """Return the lengths of a copy: whole blocks along the rows, and along those of the array.

    Less than one block stays what it is.
    """
    *others, row = sizes
    down, block = _down(loops, subscripts), _block(size)
    whole = (
        -(-length // block) * block if loop is down and length > block else length
        for loop, length in zip(loops, others, strict=False)
    )
    return (*whole, _row(row, size))


def _down(loops: Sequence[Loop], subscripts: Sequence[Index]) -> Loop:
    """Return the loop that runs along rows of the array; if none does, the last of the others."""
    others = loops[:-1]
    along = (loop for loop in others if mentions(subscripts[-1], loop.variable))
    return next(along, others[-1])


def _block(size: int) -> int:
    """Return how many rows and columns are copied at a time: of 4 or 8 bytes a line of a cache."""
    return LINE // size if size >= 4 else _BLOCK


def _row(length: int, size: int) -> int:
    """Return how long the rows of a copy are: whole lines of a cache, but not a crowd of them.

    >>> _row(26, 4), _row(128, 4)
    (32, 144)
    """
    whole = -(-length * size // LINE) * LINE // size
    return whole + spare(whole, size)


def _always_runs(loop: Loop) -> bool:
    length = difference(loop.upper, loop.lower)
    return length is not None and length >= 0
