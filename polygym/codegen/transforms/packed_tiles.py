"""Tiles that are packed: the copy of part of an array, how long its rows are, the loops to fill it.

A copy of 64 by 26 floats has rows of 32: whole lines of a cache. It is filled in square blocks, of
both sides of which whole lines are used, and which are turned in registers
(codegen/llvm/access/emit_transpose.py).

The statements that copy one element of an array to an array of our own, and back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.codegen.common.packing_candidates import CACHE_LINE, row_padding
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, depends_on, minimum
from polygym.codegen.loopir.linear_sums import constant_difference, subtract_indices
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.nests import conjunction
from polygym.errors import SourceLocation
from polygym.ir.expressions import Access, Load
from polygym.ir.scop import Array, Statement, StorageClass
from polygym.mapping.tuning_parameters import TUNING


@dataclass(frozen=True, slots=True)
class PackedTile:
    """A copy of part of an array: a loop of the box for each of its dimensions, and its lengths.

    ``subscripts`` are those of the read.
    """

    array: Array
    name: str
    loops: tuple[ir.Loop, ...]
    lengths: tuple[int, ...]
    subscripts: tuple[ir.Index, ...]

    @property
    def copy_subscripts(self) -> tuple[ir.Index, ...]:
        """The subscripts in the copy."""
        return tuple(
            subtract_indices(ir.IndexVariable(loop.variable), loop.lower) for loop in self.loops
        )

    @property
    def array_declaration(self) -> Array:
        """The array that it is."""
        return tile_array(self.array, self.name, self.lengths)

    def copy_statement(self, names: CodegenNames) -> Statement:
        """Return the statement that copies an element; its iterators are the array's dimensions."""
        places = range(self.array.rank)
        iterators = tuple(names.fresh(f"{self.name}_{place}") for place in places)
        # Where in the tile an element goes is said by the instances.
        return copy_statement(self.array, self.name, iterators, ["0"] * len(self.loops))

    def fill_loops(
        self, inner: Sequence[ir.Loop], statement: Statement, names: CodegenNames
    ) -> ir.Node:
        """Return the loops that fill the copy; ``inner`` are those that use it."""
        node: ir.Node = ir.Instance(
            statement.name, self.subscripts, self.copy_subscripts, (self.subscripts,)
        )
        *others, last = self.loops
        down = _loop_along_rows(self.loops, self.subscripts)
        block = _block_size(self.array.type.size)
        blocks = []
        for loop in (last, down):
            counter = names.fresh(f"{loop.variable}_block")
            end = minimum(add_constant(ir.IndexVariable(counter), block - 1), loop.upper)
            node = ir.Loop(loop.variable, ir.IndexVariable(counter), end, 1, node)
            blocks.append((counter, loop))
        for counter, loop in blocks:
            node = ir.Loop(counter, loop.lower, loop.upper, block, node)
        for loop in reversed([loop for loop in others if loop is not down]):
            node = ir.Loop(loop.variable, loop.lower, loop.upper, 1, node)
        used = {loop.variable for loop in self.loops}
        conditions = tuple(
            ir.IndexOperator.LESS_EQUAL(loop.lower, loop.upper)
            for loop in inner
            if loop.variable not in used and not _always_runs(loop)
        )
        return ir.Guard(conjunction(conditions), node, None) if conditions else node


def tile_array(array: Array, name: str, lengths: tuple[int, ...]) -> Array:
    """Return a tile with the elements of an array."""
    return replace(
        array,
        name=name,
        extents=tuple(f"{{ [({length})] }}" for length in lengths),
        c_extents=tuple(map(str, lengths)),
        storage_class=StorageClass.TILE,
        live_out=False,
        initial=None,
    )


def tile_lengths(
    loops: Sequence[ir.Loop], sizes: tuple[int, ...], subscripts: Sequence[ir.Index], size: int
) -> tuple[int, ...]:
    """Return the lengths of a copy: whole blocks along the rows, and along those of the array.

    Less than one block stays what it is.
    """
    *others, row = sizes
    down, block = _loop_along_rows(loops, subscripts), _block_size(size)
    whole = (
        -(-length // block) * block if loop is down and length > block else length
        for loop, length in zip(loops, others, strict=False)
    )
    return (*whole, _row_length(row, size))


def _loop_along_rows(loops: Sequence[ir.Loop], subscripts: Sequence[ir.Index]) -> ir.Loop:
    """Return the loop that runs along rows of the array; if none does, the last of the others."""
    others = loops[:-1]
    along = (loop for loop in others if depends_on(subscripts[-1], loop.variable))
    return next(along, others[-1])


def _block_size(size: int) -> int:
    """Return how many rows and columns are copied at a time: of 4 or 8 bytes a line of a cache."""
    return CACHE_LINE // size if size >= 4 else TUNING.max_tile_block


def _row_length(length: int, size: int) -> int:
    """Return how long the rows of a copy are: whole lines of a cache, but not a crowd of them.

    >>> _row_length(26, 4), _row_length(128, 4)
    (32, 144)
    """
    whole = -(-length * size // CACHE_LINE) * CACHE_LINE // size
    return whole + row_padding(whole, size)


def _always_runs(loop: ir.Loop) -> bool:
    length = constant_difference(loop.upper, loop.lower)
    return length is not None and length >= 0


def copy_statement(
    array: Array,
    copy: str,
    iterators: tuple[str, ...],
    subscripts: Sequence[str],
    back: str | None = None,
) -> Statement:
    """Return the statement that copies an element to the array ``copy``, of its own name.

    Its iterators are the array's dimensions, ``subscripts`` are subscripts in terms of them. With
    the name ``back`` it copies from there to the array.
    """
    there, here, name = ", ".join(iterators), ", ".join(subscripts), back or copy
    space = f"{name}[{there}]"
    original = Access(array.name, f"{{ {space} -> {array.name}[{there}] }}", array.name)
    copied = Access(copy, f"{{ {space} -> {copy}[{here}] }}", copy)
    write, read = (original, copied) if back else (copied, original)
    text, place = f"{write.array} = {read.array}", SourceLocation("", 1, 1)
    value = Load(read, array.type)
    return Statement(name, iterators, f"{{ {space} }}", write, value, text, place)


def declare_copy(
    array: Array, suffix: str, lengths: tuple[int, ...], names: CodegenNames
) -> tuple[Array, Statement, Statement]:
    """Return a tile of an array, and the statements that copy an element there and back."""
    name = names.fresh(f"{array.name}_{suffix}")
    iterators = tuple(names.fresh(f"{name}_{place}") for place in range(array.rank))
    back, corner = names.fresh(f"{name}_back"), ["0"] * len(lengths)
    copy_in = copy_statement(array, name, iterators, corner)
    copy_back = copy_statement(array, name, iterators, corner, back)
    return tile_array(array, name, lengths), copy_in, copy_back
