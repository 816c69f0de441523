"""Reads and writes of statements, with scalars that are set on the way forwarded to arrays.

``t = A[i][k]; C[i][j] += t * B[k][j];`` does what ``C[i][j] += A[i][k] * B[k][j];`` does, and so
does a sum that is held in a scalar and stored behind its loop. Who asks what a nest does
(:mod:`polygym.cost.features.programs.canonical_bodies`) looks at the statements as if they had been
written without scalars:

- A scalar is a *value* where a caller that reads it stands in all loops of a statement that sets it
(not
  reading it), and no loop inside of these changes it. Its readers read what those read who write it
  there, and the statements that do are left out.
- Else it is *held* over a loop: set in the loops around, changed in a deeper one. Then it stands
  for the element to which a statement beside the one that sets it writes what reads it, or, if
  there is none or are several, for an element of an array with the counters of those loops.
- What is never set in a loop around is left out.

Example::

    for (i…) for (j…) {
    S:  s = 0;                    s is held over the loop k
      for (k…) {
    T:    t = A[i][k];            t is a value
    U:    s += t * B[k][j];       reads C[i][j], A[i][k], B[k][j] and writes C[i][j]
      }
    V:  C[i][j] = s;
    }

The shape of a program: what it looks like before anybody schedules it, in a few numbers.

With shapes collections of programs can be compared: ``docs/site/random_programs.py`` draws those of
random programs beside those of the suite and of the library. Everything is of the source's order
and of given sizes; nothing is run. What is counted, by the example of y = Ax::

    for (i = 0; i < n; i++) {
    S:  y[i] = 0;
      for (j = 0; j < n; j++)
    T:    y[i] += A[i][j] * x[j];
    }

* *Nests* are outermost loops, here one. A nest is *imperfect* if one of its loops has a loop in its
  body and something beside it, a statement or another loop: i has S and j.
* A domain is *triangular* if one of its bounds ties two counters: 0 <= i <= j < n does, the box of
  T does not.
* A *sum* is a statement y = y + x or y = y - x of which several instances write one element: T is
  one, y[i] = y[i] + x[i] alone over i is none.
* An access *strides* if the innermost loop takes it to no near neighbour in memory
  (:mod:`polygym.poly.innermost`). A[i][j] does not, in the loops j, i it would.
* A nest is *in sequence* if its outermost loop is not parallel: an iteration waits for another.
* *Operations* are counted as for models of cost, *elements* are those of all
arrays. The
  first divided by the second is the *reuse*, how much could be done with an element once it is in a
  cache: here n + 2n² operations (S counts as one) for n² + 2n elements, 1.97 at n = 100, and about
  2n/3 for a product of matrices.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TypeAlias

import islpy as isl

from polygym.cost.features.statements.statement_work import (
    StatementAccess,
    StatementWork,
    work_of_statements,
)
from polygym.ir.expressions import Binary, BinaryOperator, Expression, Load
from polygym.ir.scop import Statement
from polygym.mapping.sizes import scop_sizes
from polygym.poly.dependences import dependences
from polygym.poly.innermost import AccessStride
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.properties import schedule_properties
from polygym.programs import Program

# A loop by the constants of the original order that stand before it and before those around it.
EnclosingLoops: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class ProgramShape:
    """A program in a few numbers, see the module's docstring.

    ``depth`` is that of the deepest statement, ``arrays`` are those that are no scalars,
    ``scalars`` those that are and are written, what conditions on data come to among them,
    ``sizes`` the parameters of loops and arrays, ``dependences`` the convex relations of
    :func:`polygym.poly.dependences.dependences`. The flags are those of a program in which
    one nest, bound, statement or access is so; ``has_private_arrays`` that of one which fills
    arrays that nobody else sees.
    """

    nests: int
    statements: int
    depth: int
    arrays: int
    sizes: int
    dependences: int
    operations: int
    elements: int
    is_imperfect: bool
    is_triangular: bool
    has_reduction: bool
    has_large_strides: bool
    is_sequential: bool
    scalars: int
    has_private_arrays: bool

    @property
    def reuse(self) -> float:
        """How many operations there are for each element of the arrays."""
        return self.operations / max(1, self.elements)


def program_shape(program: Program) -> ProgramShape:
    """Return the shape of a program at its sizes.

    Raises:
        LimitError: isl would take too long.
    """
    scop = program.scop
    sizes = scop_sizes(scop, dict(program.parameters))
    paths = tuple(
        enclosing_loops(original_schedule(scop).rows(statement.name))
        for statement in scop.statements
    )
    names = {statement.write.array for statement in scop.statements}
    written = [array for array in scop.arrays if array.name in names]
    with bounded_operations("looking at a program's shape"):
        order = schedule_properties(scop, original_schedule(scop)).statements
        return ProgramShape(
            nests=len({path[0] for path in paths if path}),
            statements=len(scop.statements),
            depth=scop.depth,
            arrays=sum(array.rank > 0 for array in scop.arrays),
            sizes=len(scop.parameters),
            dependences=len(dependences(scop)),
            operations=sum(
                work.instances * work.operations for work in work_of_statements(scop, sizes)
            ),
            elements=sum(prod(program.shape(array)) for array in scop.arrays),
            is_imperfect=_is_imperfect(paths),
            is_triangular=any(is_triangular(statement.domain) for statement in scop.statements),
            has_reduction=any(is_reduction(statement) for statement in scop.statements),
            has_large_strides=any(
                AccessStride.FAR in properties.access_strides for properties in order
            ),
            is_sequential=any(
                statement_properties.loops and not statement_properties.loops[0].parallel
                for statement_properties in order
            ),
            scalars=sum(array.rank == 0 for array in written),
            has_private_arrays=any(array.rank > 0 and not array.live_out for array in written),
        )


def enclosing_loops(rows: tuple[ScheduleRow, ...]) -> EnclosingLoops:
    """Return the loops around a statement: the innermost, whose beginnings are those around it.

    Each of them is given by the constants between it and the loop around it. With S: (0, i, 0) and
    T: (0, i, 1, j), S has the path ((0,),) and T has ((0,), (1,)).
    """
    result: list[tuple[int, ...]] = []
    constants: list[int] = []
    for row in rows:
        if row.is_constant:
            constants.append(row.constant)
        else:
            result.append(tuple(constants))
            constants.clear()
    return tuple(result)


def _is_imperfect(paths: tuple[EnclosingLoops, ...]) -> bool:
    """Whether a loop has another one in its body, and something beside that."""
    loops_in: defaultdict[EnclosingLoops, set[EnclosingLoops]] = defaultdict(set)
    for path in paths:
        beginnings = [path[: place + 1] for place in range(len(path))]
        for outer, inner in pairwise(beginnings):
            loops_in[outer].add(inner)
    return any(len(inner) > 1 or loop in paths for loop, inner in loops_in.items())


def is_triangular(domain: str) -> bool:
    """Whether a bound of a domain ties two counters.

    >>> is_triangular("[n] -> { T[i, j] : 0 <= j <= i < n }")
    True
    >>> is_triangular("[n] -> { T[i, j] : 0 <= i < n and 0 <= j < n }")
    False
    """
    for piece in isl.Set(domain).coalesce().get_basic_sets():
        for bound in piece.remove_redundancies().get_constraints():
            counters = range(piece.dim(isl.dim_type.set))
            if sum(bound.involves_dims(isl.dim_type.set, place, 1) for place in counters) > 1:
                return True
    return False


def is_reduction(statement: Statement) -> bool:
    """Whether a statement adds up: y = y + x, and several instances write one element."""
    reads = statement.reads
    own = {reads[place] for place in statement.accumulator_reads}
    if not any(isinstance(term, Load) and term.access in own for term in _summands(statement.body)):
        return False
    writes = isl.Map(statement.write.relation).intersect_domain(isl.Set(statement.domain))
    return not writes.is_injective()


def _summands(expression: Expression) -> Iterator[Expression]:
    """Yield what is added: a, b and d of a + b - c + d, and what is none of these as it is."""
    match expression:
        case Binary(operator=BinaryOperator.ADD, left=left, right=right):
            yield from _summands(left)
            yield from _summands(right)
        case Binary(operator=BinaryOperator.SUBTRACT, left=left):
            yield from _summands(left)
        case _:
            yield expression


def forward_scalars(
    works: Sequence[StatementWork], paths: Mapping[str, EnclosingLoops]
) -> dict[str, tuple[StatementAccess, ...]]:
    """Return the accesses of every statement to arrays; those that make a value alone have none.

    ``paths`` are the loops around the statements, by their names.
    """
    return _ScalarForwarding(works, paths).touches()


def array_accesses(work: StatementWork) -> tuple[StatementAccess, ...]:
    """Return the accesses of a statement to arrays, as they are written."""
    return tuple(access for access in work.accesses if access.extents)


class _ScalarForwarding:
    """The scalars that a program sets, and who writes them in which loops."""

    def __init__(self, works: Sequence[StatementWork], paths: Mapping[str, EnclosingLoops]) -> None:
        self._works, self._paths = works, paths
        self._writers: defaultdict[str, defaultdict[EnclosingLoops, list[StatementWork]]] = (
            defaultdict(lambda: defaultdict(list))
        )
        for work in works:
            if not (written := _write_access(work)).extents:
                self._writers[written.array][paths[work.name]].append(work)

    def touches(self) -> dict[str, tuple[StatementAccess, ...]]:
        """Return the accesses to arrays of every statement."""
        return {work.name: self._of(work) for work in self._works}

    def _of(self, work: StatementWork) -> tuple[StatementAccess, ...]:
        path, written = self._paths[work.name], _write_access(work)
        if not written.extents and self._is_value(written.array, path):
            return ()
        return tuple(self._arrays(work.accesses, path, frozenset()))

    def _arrays(
        self, touches: Sequence[StatementAccess], path: EnclosingLoops, followed: frozenset[str]
    ) -> Iterator[StatementAccess]:
        """Yield what accesses from these loops come to; values that were followed are done."""
        for touch in touches:
            name = touch.array
            if touch.extents:
                yield _pad_to_depth(touch, len(path))
            elif name in followed or (owner := self._definition_loops(name, path)) is None:
                continue
            elif self._is_value(name, path):
                for writer in self._writers[name][owner]:
                    reads = [
                        statement_access
                        for statement_access in writer.accesses
                        if not statement_access.writes
                    ]
                    for access in self._arrays(reads, owner, followed | {name}):
                        yield _pad_to_depth(access, len(path))
            elif element := self._element(touch, owner, path):
                yield element

    def _definition_loops(self, name: str, path: EnclosingLoops) -> EnclosingLoops | None:
        """Return the loops in which a scalar is set that is read in others, most of them shared."""
        setting = self._setting_statements(name)
        return max(setting, key=lambda loops: _shared_depth(loops, path)) if setting else None

    def _setting_statements(self, name: str) -> list[EnclosingLoops]:
        groups = self._writers[name] if name in self._writers else {}
        return [
            path for path, every in groups.items() if not all(_reads(work, name) for work in every)
        ]

    def _is_value(self, name: str, path: EnclosingLoops) -> bool:
        owner, setting = self._definition_loops(name, path), self._setting_statements(name)
        return (
            owner is not None
            and _shared_depth(owner, path) == len(owner)
            and not any(
                loops not in setting and _shared_depth(owner, loops) == len(owner)
                for loops in self._writers[name]
            )
        )

    def _element(
        self, touch: StatementAccess, definition_loops: EnclosingLoops, path: EnclosingLoops
    ) -> StatementAccess | None:
        """Return the element that a held scalar stands for; None is one element for all."""
        stored = [
            written
            for work in self._works
            if self._paths[work.name] == definition_loops and _reads(work, touch.array)
            if (written := _write_access(work)).extents
        ]
        depth, loops = len(path), _shared_depth(definition_loops, path)
        if len(stored) == 1 and loops == len(definition_loops):
            return replace(_pad_to_depth(stored[0], depth), writes=touch.writes)
        if not loops:
            return None
        rows = tuple(tuple(int(a == b) for a in range(depth)) for b in range(loops))
        return replace(touch, subscripts=rows, offsets=(0,) * loops)


def _write_access(work: StatementWork) -> StatementAccess:
    return next(access for access in work.accesses if access.writes)


def _reads(work: StatementWork, name: str) -> bool:
    return any(access.array == name and not access.writes for access in work.accesses)


def _shared_depth(one: EnclosingLoops, other: EnclosingLoops) -> int:
    """Return how many loops two statements have in common."""
    return next(
        (
            place
            for place, (left, right) in enumerate(zip(one, other, strict=False))
            if left != right
        ),
        min(len(one), len(other)),
    )


def _pad_to_depth(touch: StatementAccess, depth: int) -> StatementAccess:
    """Return an access as from a statement in more loops, whose counters it does not have.

    Example: A[k] of the loops i, k has the row (0, 1), and (0, 1, 0) inside of one more loop.
    """
    rows = tuple(
        None if row is None else (*row, *(0,) * (depth - len(row))) for row in touch.subscripts
    )
    return replace(touch, subscripts=rows)
