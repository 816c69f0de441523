"""Factors that all vectors of a sum share are computed once, and kept in a tile.

::

    for i (jammed): for j (vectors): for k (held):  C[i][j] += alpha * A[i][k] * B[k][j]

        →   for b by 8:
              for k: for i in b .. b + 7:             T[k][i - b] = alpha * A[i][k]
              for i in b .. b + 7: for j: for k:      C[i][j] += T[k][i - b] * B[k][j]

The product alpha · A[i][k] is the same for every block of vectors, and is computed and spread to
all lanes again for each. An element of a tile is spread as it is loaded, and those of the rows
that run together are neighbours there. (Products of matrices of 1000 to 1200 rows: 1.1 to 1.3 times
as fast in one thread.)

A tile has as many rows as fill a line of the cache, and 256 terms of 8 rows of doubles stay in the
level 1 cache. What is read along the sum is copied first, which turns it in registers, and then
computed with where it is. If the rows that run together are no part of a line (three, say), or
another loop stands around theirs, there is one tile for all rows.

A tile is made before the loops that it depends on and inside of all others, where its size is known
and small. It is computed for all iterations of its own loops, so that all elements that it reads
have to be inside their arrays whether the loops between run or not.

Factors that are the same for all vectors of a sum, and others along it.

In ``C[i][j] += alpha * A[i][k] * B[k][j]``, with vectors along j and a sum along k, this is
alpha · A[i][k]. A factor is what stands in a product or a quotient, is computed from elements that
do not depend on the vector loop, and depends on the loop that holds the sum. Nothing in this part
of the program writes them.

Where a factor is computed beforehand (:mod:`polygym.codegen.transforms.factor_tiles`) the result
is the same bit for bit: it is rounded as a product before it is multiplied. Were it a term of a
sum, the two could be rounded as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from polygym.codegen.analysis.disjointness import ProgramPoint
from polygym.codegen.common.loop_annotation import (
    SEQUENTIAL_LOOP,
    LoopAnnotation,
    ParallelLoop,
    ScalarReplacement,
    UnrollAndJam,
    VectorLoop,
)
from polygym.codegen.common.packing_candidates import CACHE_LINE, row_padding
from polygym.codegen.loopir.index_arithmetic import coefficient, depends_on
from polygym.codegen.loopir.ir import (
    Block,
    Index,
    IndexConstant,
    Instance,
    Loop,
    LoopProgram,
    Node,
    block_of,
)
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.loopir.nests import strip_mine, wrap_in_loops
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.transforms import tile_packing
from polygym.codegen.transforms.packed_tiles import PackedTile
from polygym.codegen.transforms.tile_packing_plan import LoopNest, innermost_nests, max_trip_count
from polygym.codegen.transforms.vectorization import is_vectorizable
from polygym.errors import SourceLocation as SourcePlace
from polygym.ir.expressions import (
    Access,
    Binary,
    BinaryOperator,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    Load,
    ParameterValue,
    Unary,
    loaded_accesses,
    walk,
)
from polygym.ir.scop import Statement, StorageClass
from polygym.ir.types import ScalarType
from polygym.mapping.tuning_parameters import TUNING

_FACTOR_OPERATORS = (BinaryOperator.MULTIPLY, BinaryOperator.DIVIDE)
_FACTOR_TYPES = (ScalarType.FLOAT, ScalarType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor in a body, and the number of the first of its reads."""

    value: Binary
    first_read: int

    @property
    def reads(self) -> range:
        """The numbers of its reads."""
        return range(self.first_read, self.first_read + len(loaded_accesses(self.value)))


def factors_of(statement: Statement) -> Iterator[Factor]:
    """Yield what stands in products and quotients of a body and is computed, larger ones first."""
    number = 0
    pending: list[tuple[Expression, bool]] = [(statement.body, False)]
    while pending:
        node, is_factor = pending.pop()
        match node:
            case Binary(operator, left, right, type_):
                if is_factor and type_ in _FACTOR_TYPES and _is_pure_arithmetic(node):
                    yield Factor(node, number)
                inside = operator in _FACTOR_OPERATORS and type_ in _FACTOR_TYPES
                pending += [(right, inside), (left, inside)]
            case Unary(operand=operand):
                pending.append((operand, False))
            case _:
                number += len(loaded_accesses(node))


def _is_pure_arithmetic(value: Expression) -> bool:
    """Whether an expression is made of elements, numbers and arithmetic alone."""
    kinds = (Binary, Unary, Load, FloatLiteral, IntegerLiteral, ParameterValue)
    return all(
        isinstance(node, kinds) and (not isinstance(node, Binary) or node.type in _FACTOR_TYPES)
        for node in walk(value)
    )


def is_shared(
    factor: Factor, statement: Statement, instance: Instance, nest: LoopNest, vector: str
) -> bool:
    """Whether a factor stays the same along vectors, changes along the sum, and is only read."""
    subscripts = [index for number in factor.reads for index in instance.reads[number]]
    arrays = {statement.reads[number].array for number in factor.reads}
    return (
        arrays.isdisjoint(nest.written)
        and not any(depends_on(index, vector) for index in subscripts)
        and any(depends_on(index, nest.loops[-1].variable) for index in subscripts)
    )


@dataclass(frozen=True, slots=True)
class _FactorTile:
    """A factor's tile: its loops, and their lengths, before loop number ``depth``.

    It is one of so many rows ``block_rows``, each time, or of all of them where that is 0.
    """

    factor: Factor
    depth: int
    loops: tuple[Loop, ...]
    lengths: tuple[int, ...]
    block_rows: int

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return prod(self.lengths) * self.factor.value.type.size


def precompute_factors(program: LoopProgram) -> LoopProgram:
    """Return the program with the shared factors of its sums in tiles."""
    nests = tuple(innermost_nests(program))
    scop = program.scop
    room = TUNING.max_total_tile_bytes
    for array, extents in zip(scop.arrays, program.extents, strict=True):
        if array.storage_class is StorageClass.TILE:
            lengths = [index.value for index in extents if isinstance(index, IndexConstant)]
            room -= prod(lengths) * array.type.size
    plans: list[_FactorTile | None] = []
    for nest in nests:
        factor_tile = _plan_factor(nest, program)
        if factor_tile is not None and factor_tile.size > room:
            factor_tile = None
        room -= 0 if factor_tile is None else factor_tile.size
        plans.append(factor_tile)
    if not any(plans):
        return program
    names = CodegenNames(scop)
    made = [
        _transform_nest(nest, tile, program, names) for nest, tile in zip(nests, plans, strict=True)
    ]
    return tile_packing.with_packed_nests(program, made)


def _plan_factor(nest: LoopNest, program: LoopProgram) -> _FactorTile | None:
    """Return the tile of a nest's factor; None where it has none, or none that pays."""
    if len(nest.instances) != 1 or not isinstance(nest.loops[-1].annotation, ScalarReplacement):
        return None
    kinds = {type(loop.annotation): loop for loop in nest.loops}
    vector, jammed = kinds.get(VectorLoop), kinds.get(UnrollAndJam)
    if vector is None or jammed is None:
        return None
    (instance,) = nest.instances
    if instance.statement in program.guarded_statements:
        return None
    statement = program.scop.statement(instance.statement)
    for factor in factors_of(statement):
        if is_shared(factor, statement, instance, nest, vector.variable):
            factor_tile = _plan_factor_tile(factor, instance, nest, program)
            if factor_tile is not None:
                return factor_tile
    return None


def _plan_factor_tile(
    factor: Factor, instance: Instance, nest: LoopNest, program: LoopProgram
) -> _FactorTile | None:
    """Return the tile of a factor, made before the loops whose iterations run together.

    Rows that run together are its last dimension.
    """
    subscripts = [index for number in factor.reads for index in instance.reads[number]]
    depth = next(
        place
        for place, loop in enumerate(nest.loops)
        if isinstance(loop.annotation, UnrollAndJam | VectorLoop | ScalarReplacement)
    ) + len(nest.outer)
    inner = nest.all_loops[depth:]
    loops = tuple(
        sorted(
            (
                inner_loop
                for inner_loop in inner
                if any(depends_on(index, inner_loop.variable) for index in subscripts)
            ),
            key=lambda loop: isinstance(loop.annotation, UnrollAndJam),
        )
    )
    bounds = [bound for loop in loops for bound in (loop.lower, loop.upper)]
    if depth < nest.unconditional_loops or any(
        loop.step != 1
        or isinstance(loop.annotation, ParallelLoop)
        or any(depends_on(bound, loop.variable) for bound in bounds)
        for loop in inner
    ):
        return None
    counts = {loop.variable: max_trip_count(loop) for loop in inner}
    if not all(counts.values()):
        return None
    again = prod(n or 0 for name, n in counts.items() if name not in {o.variable for o in loops})
    size = factor.value.type.size
    *others, row = (counts[loop.variable] or 0 for loop in loops)
    together = _rows_per_tile(loops[-1], row, size) if loops[-1] is inner[0] else 0
    row = together or row
    whole = -(-row * size // CACHE_LINE) * CACHE_LINE // size
    if together:
        others = [_round_up(length, CACHE_LINE // size) for length in others]
    factor_tile = _FactorTile(
        factor, depth, loops, (*others, whole + row_padding(whole, size)), together
    )
    if again < TUNING.min_reuse or factor_tile.size > TUNING.max_tile_bytes:
        return None
    return factor_tile if _is_in_bounds(factor_tile, instance, nest, program) else None


def _rows_per_tile(rows: Loop, count: int, size: int) -> int:
    """Return how many of so many rows fill a line of a tile; 0 where one tile has all of them.

    A line is 8 rows of doubles, or 16 of floats: two blocks of 8 that run together.
    """
    if not isinstance(rows.annotation, UnrollAndJam):
        return 0
    copies, line = rows.annotation.copies, CACHE_LINE // size
    own = copies if copies % line == 0 else line
    return own if own % copies == 0 and own < count else 0


def _round_up(length: int, block: int) -> int:
    """Return a length as whole blocks; less than one stays what it is."""
    return -(-length // block) * block if length > block else length


def _is_in_bounds(
    plan: _FactorTile, instance: Instance, nest: LoopNest, program: LoopProgram
) -> bool:
    """Whether all that a tile is computed from is known to be inside of its arrays."""
    scop = program.scop
    statement = scop.statement(instance.statement)
    names = tuple(parameter.name for parameter in scop.parameters)
    sizes = None if program.sizes is None else dict(program.sizes)
    place = ProgramPoint(nest.all_loops[: plan.depth], nest.conditions, names, sizes)
    arrays = {array.name: number for number, array in enumerate(scop.arrays)}
    reads = (
        (statement.reads[number].array, instance.reads[number]) for number in plan.factor.reads
    )
    return all(
        place.are_in_bounds(program.extents[arrays[name]], subscripts, plan.loops)
        for name, subscripts in reads
    )


def _transform_nest(
    nest: LoopNest, plan: _FactorTile | None, program: LoopProgram, names: CodegenNames
) -> tile_packing.PackedNest:
    """Return what becomes of a nest."""
    if plan is None:
        return tile_packing.PackedNest(wrap_in_loops(nest.loops, block_of(nest.instances)), (), ())
    (instance,) = nest.instances
    statement = program.scop.statement(instance.statement)
    reads = plan.factor.reads
    access = next(statement.reads[number] for number in reads if instance.reads[number])
    strips: Loop | None = None
    if plan.block_rows:
        rows = plan.loops[-1]
        strips, rows = strip_mine(rows, plan.block_rows, names.fresh(f"{rows.variable}_strip"))
        plan = replace(plan, loops=(*plan.loops[:-1], rows))
    tile = _declared_tile(plan, access, program, names)
    copy = _tile_fill(plan, tile, nest, program, names)
    name = names.fresh(f"{statement.name}_packed")
    read = Load(Access(tile.name, access.relation, tile.name), tile.array.type)
    body = _replace_factor(statement.body, plan.factor.value, read)
    before, after = instance.reads[: reads.start], instance.reads[reads.stop :]
    inside: Node = replace(instance, statement=name, reads=(*before, tile.copy_subscripts, *after))
    for place in reversed(range(len(nest.loops))):
        depth = place + len(nest.outer)
        loop = plan.loops[-1] if strips and depth == plan.depth else nest.loops[place]
        loop = tile_packing.with_renamed_registers(loop, {statement.name: name})
        inside = tile_packing.fill_before(replace(loop, body=inside), depth, [copy])
        if strips and depth == plan.depth:
            inside = replace(strips, body=inside)
    return tile_packing.PackedNest(inside, (replace(statement, name=name, body=body),), (copy,))


def _declared_tile(
    plan: _FactorTile, access: Access, program: LoopProgram, names: CodegenNames
) -> PackedTile:
    """Return a tile, named after one of the arrays that its factor is computed from."""
    array = replace(program.scop.array(access.array), type=plan.factor.value.type)
    return PackedTile(array, names.fresh(f"{access.array}_term"), plan.loops, plan.lengths, ())


def _tile_fill(
    plan: _FactorTile, tile: PackedTile, nest: LoopNest, program: LoopProgram, names: CodegenNames
) -> tile_packing.TileFill:
    """Return a tile with the loops that fill it: that copy to it, and that compute its elements."""
    (instance,) = nest.instances
    place = program.scop.statement(instance.statement).location
    reads = tuple(instance.reads[number] for number in plan.factor.reads)
    value, number = plan.factor.value, _transposed_read(plan, reads)
    if number is None:
        statement = _compute_statement(tile, tile.name, value, place)
        return tile_packing.TileFill(
            plan.depth, tile, (statement,), _compute_loops(tile, nest, statement, reads)
        )
    read = _loads(value)[number]
    array = program.scop.array(read.access.array)
    own = replace(tile, array=array, subscripts=reads[number])
    copying = own.copy_statement(names)
    here = Load(Access(tile.name, read.access.relation, tile.name), tile.array.type)
    name = names.fresh(f"{tile.name}_value")
    statement = _compute_statement(tile, name, _replace_factor(value, read, here), place)
    after = (*reads[:number], tile.copy_subscripts, *reads[number + 1 :])
    loops = (own.fill_loops((), copying, names), _compute_loops(tile, nest, statement, after))
    return tile_packing.TileFill(plan.depth, tile, (copying, statement), Block(loops))


def _transposed_read(plan: _FactorTile, reads: Sequence[tuple[Index, ...]]) -> int | None:
    """Return which one read goes along the sum where rows are far apart; None where none does."""
    if not plan.block_rows:
        return None
    value, along, rows = plan.factor.value, plan.loops[-2], plan.loops[-1]
    far = [
        number
        for number, subscripts in enumerate(reads)
        if any(depends_on(index, rows.variable) for index in subscripts[:-1])
    ]
    every = _loads(value)
    if len(far) != 1 or len({*map(id, every)}) < len(every):
        return None
    *others, last = reads[far[0]]
    is_row = coefficient(last, along.variable) == 1 and not depends_on(last, rows.variable)
    if not is_row or any(depends_on(index, along.variable) for index in others):
        return None
    return far[0] if every[far[0]].type is value.type else None


def _loads(value: Expression) -> list[Load]:
    """Return the reads of a factor in their order."""
    return [node for node in walk(value) if isinstance(node, Load)]


def _compute_statement(
    tile: PackedTile, name: str, value: Expression, place: SourcePlace
) -> Statement:
    """Return the statement that computes an element of a tile."""
    corner = ", ".join("0" for _ in tile.loops)  # instances say where an element goes
    return Statement(
        name,
        (),
        f"{{ {name}[] }}",
        Access(tile.name, f"{{ {name}[] -> {tile.name}[{corner}] }}", tile.name),
        value,
        f"{tile.name} = ...",
        place,
    )


def _compute_loops(
    tile: PackedTile, nest: LoopNest, statement: Statement, reads: tuple[tuple[Index, ...], ...]
) -> Node:
    """Return the loops that compute a tile, the last of them in vectors where that can be."""
    node: Node = Instance(statement.name, (), tile.copy_subscripts, reads)
    for loop in reversed(tile.loops):
        annotation: LoopAnnotation = SEQUENTIAL_LOOP
        if loop is tile.loops[-1] and _runs_in_vectors(loop, reads, statement):
            annotations = (around.annotation for around in nest.loops)
            bits = (own.bits for own in annotations if isinstance(own, VectorLoop))
            annotation = VectorLoop(next(bits), 1)
        node = replace(loop, body=node, annotation=annotation)
    return node


def _runs_in_vectors(loop: Loop, reads: Sequence[tuple[Index, ...]], statement: Statement) -> bool:
    """Whether what a tile is computed from are neighbours along a loop, or the same."""
    steps = [[coefficient(index, loop.variable) for index in indices] for indices in reads]
    return is_vectorizable(statement) and all(
        not any(step[:-1]) and step[-1] in (0, 1) for step in steps if step
    )


def _replace_factor(body: Expression, old: Expression, new: Expression) -> Expression:
    """Return a body with one of its factors replaced, the one that is this object."""
    if body is old:
        return new
    match body:
        case Binary(_, left, right):
            left, right = (_replace_factor(operand, old, new) for operand in (left, right))
            return replace(body, left=left, right=right)
        case Unary():
            return replace(body, operand=_replace_factor(body.operand, old, new))
        case _:
            return body


PASS = loop_pass(
    "pack_tiles",
    "packing of tiles that are read down columns, and precomputed factors (pack=on)",
    lambda program: precompute_factors(tile_packing.pack_tiles(program)),
    lambda mapping: mapping.pack,
)
