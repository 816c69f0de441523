"""What features of all schedules of a program start from: its statements and its dependences.

A :class:`Ground` belongs to a program at its sizes. To make one takes some tenths of a second, and
isl; after that :mod:`polygym.cost.rows` asks nobody. Example: gemm has two statements with two and
three loops, six references, and two dependences with nine generators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.innermost import equations
from polygym.cost.demands import Demands, demands
from polygym.cost.nests import Floats
from polygym.cost.reach import reach
from polygym.cost.stack import Flags, Integers, Stack
from polygym.pickles import pickled_by_name


@pickled_by_name
@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What features of all schedules of a program at its sizes start from.

    Statements are in the order of ``demands.names``; ``columns`` are where the iterators of each
    stand in a row, the last column being 0. ``pairs`` are the first dependences of each pair of
    statements, and ``sinks`` their second statements.
    """

    demands: Demands
    stack: Stack
    columns: Integers
    operations: Floats
    instances: Floats
    sums: Flags
    accesses: Floats
    pairs: Integers
    sinks: Integers

    @staticmethod
    def of(scop: Scop, sizes: Sizes) -> Ground:
        """Return what features of a program's schedules start from; it is remembered.

        This asks isl: for dependences, for their generators, and for what statements do.

        Raises:
            LimitError: isl would take too long.
        """
        return _ground(scop, tuple(sorted(sizes.items())))


@lru_cache(maxsize=16)
def _ground(scop: Scop, sizes: tuple[tuple[str, int], ...]) -> Ground:
    known = demands(scop)
    by_name = {work.name: work for work in reach(scop, dict(sizes))}
    works = [by_name[name] for name in known.names]
    first = original(scop)
    stack = Stack.of(
        works,
        [equations(scop.statement(name).domain) for name in known.names],
        [[row.iterators for row in first.rows(name)] for name in known.names],
    )
    depth = stack.planes.free.shape[1]
    begins = np.cumsum([0, *known.depths[:-1]])
    columns = begins[:, None] + np.arange(depth)
    columns = np.where(np.arange(depth) < np.array(known.depths)[:, None], columns, -1)
    starts = [k for k, ends in enumerate(known.ends) if not k or known.ends[k - 1] != ends]
    return Ground(
        known,
        stack,
        columns,
        np.array([work.operations for work in works], dtype=np.float64),
        np.array([work.instances for work in works], dtype=np.float64),
        np.array([work.sums for work in works], dtype=np.bool_),
        np.add.reduceat(stack.references.reads + stack.references.writes, stack.references.starts),
        np.array(starts, dtype=np.int64),
        np.array([known.names.index(known.ends[k][1]) for k in starts], dtype=np.int64),
    )
