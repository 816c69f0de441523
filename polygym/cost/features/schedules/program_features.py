"""Common ground of the features of all schedules of a program: statements and dependences.

A :class:`ProgramFeatures` belongs to a program at its sizes. To make one takes some tenths of a
second, and isl; after that :mod:`polygym.cost.features.schedules.schedule_vector` asks nobody.
Example: gemm has two statements with two and three loops, six references, and two dependences with
nine generators.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.cost.features.loops.nests import Floats
from polygym.cost.features.loops.stacked_statements import Flags, Integers, StackedStatements
from polygym.cost.features.schedules.ordering import DependenceForms, build_dependence_forms
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.mapping.sizes import Sizes
from polygym.pickling import pickle_by_name
from polygym.poly.innermost import domain_equations
from polygym.poly.scheduling.baselines import original_schedule


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class ProgramFeatures:
    """What features of all schedules of a program at its sizes start from.

    Statements are in the order of ``demands.names``; ``columns`` are where the iterators of each
    stand in a row, the last column being 0. ``pairs`` are the first dependences of each pair of
    statements, and ``sinks`` their second statements.
    """

    dependence_forms: DependenceForms
    statements: StackedStatements
    columns: Integers
    operations: Floats
    instances: Floats
    is_reduction: Flags
    accesses: Floats
    pairs: Integers
    sinks: Integers

    @staticmethod
    def of(scop: Scop, sizes: Sizes) -> ProgramFeatures:
        """Return what features of a program's schedules start from; it is remembered.

        This asks isl: for dependences, for their generators, and for what statements do.

        Raises:
            LimitError: isl would take too long.
        """
        return _program_features(scop, tuple(sorted(sizes.items())))


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _program_features(scop: Scop, sizes: tuple[tuple[str, int], ...]) -> ProgramFeatures:
    known = build_dependence_forms(scop)
    by_name = {work.name: work for work in work_of_statements(scop, dict(sizes))}
    works = [by_name[name] for name in known.names]
    first = original_schedule(scop)
    stack = StackedStatements.of(
        works,
        [domain_equations(scop.statement(name).domain) for name in known.names],
        [[row.iterators for row in first.rows(name)] for name in known.names],
    )
    depth = stack.equations.free.shape[1]
    begins = np.cumsum([0, *known.depths[:-1]])
    columns = begins[:, None] + np.arange(depth)
    columns = np.where(np.arange(depth) < np.array(known.depths)[:, None], columns, -1)
    starts = [
        k
        for k, ends in enumerate(known.statement_pairs)
        if not k or known.statement_pairs[k - 1] != ends
    ]
    return ProgramFeatures(
        known,
        stack,
        columns,
        np.array([work.operations for work in works], dtype=np.float64),
        np.array([work.instances for work in works], dtype=np.float64),
        np.array([work.is_reduction for work in works], dtype=np.bool_),
        np.add.reduceat(stack.references.reads + stack.references.writes, stack.references.starts),
        np.array(starts, dtype=np.int64),
        np.array([known.names.index(known.statement_pairs[k][1]) for k in starts], dtype=np.int64),
    )
