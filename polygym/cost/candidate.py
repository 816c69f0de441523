"""The features of a candidate: all statements' nests, added up, each with its share of the work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.compiler.codegen.common.machine import Machine, this_machine
from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.codegen.common.sizes import Sizes, row_at_sizes
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.memory import Memory
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.codegen.trees.tree import Member, Tree, path
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.legality import LegalSchedule
from polygym.cost.columns import KNOWLEDGE, RELATIONS, Touched, context, knowledge, relations, slog
from polygym.cost.loop_tree import LoopTree, Statement, loop_tree
from polygym.cost.nests import Floats, Nest, nest
from polygym.cost.reach import Work, reach

NAMES = (
    *(f"{name}_sum" for name in KNOWLEDGE),
    *(f"{name}_main" for name in KNOWLEDGE),
    *RELATIONS,
    "statements",
    "total_cycles",
    "total_operations",
    *(f"total_{name}" for name in KNOWLEDGE if name.startswith("traffic")),
)
"""What the columns of :attr:`Features.vector` are."""


_CYCLES = KNOWLEDGE.index("cycles")
_TOTALS = [
    _CYCLES,
    KNOWLEDGE.index("operations"),
    *(k for k, name in enumerate(KNOWLEDGE) if name.startswith("traffic")),
]


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features of a candidate: one vector, and what its loops are worked out from if asked."""

    vector: Floats
    heaviest: Touched
    planned: Tree
    statements: tuple[Statement, ...]

    @property
    def context(self) -> Floats:
        """The loop context of the heaviest statement, a row for every loop."""
        return context(self.heaviest)

    @property
    def loops(self) -> LoopTree:
        """The loops and statements of the planned tree, with a row for each."""
        return loop_tree(self.planned, self.statements)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What there is to say about one statement's loops."""

    statement: Statement
    relations: Floats


def nests(legal: LegalSchedule, tree: Tree, sizes: Sizes) -> tuple[Nest, ...]:
    """Return the loops of every statement in a planned tree."""
    return tuple(
        _nest(work, path(tree, work.name), legal.schedule.parameters, sizes)
        for work in reach(legal.scop, sizes)
    )


def _nest(
    work: Work, members: tuple[Member, ...], parameters: tuple[str, ...], sizes: Sizes
) -> Nest:
    offsets = [
        [row_at_sizes(part.rows[0], parameters, sizes).constant for part in member.parts]
        for member in members
    ]
    return nest(work, members, offsets)


def _seen(one: Nest, threads: int) -> _Seen:
    touched = Touched.of(one)
    statement = Statement(one.work.name, touched, knowledge(touched, threads))
    return _Seen(statement, relations(touched))


@lru_cache(maxsize=64)
def _tree(legal: LegalSchedule) -> Tree:
    return build_tree(legal)


@lru_cache(maxsize=16)
def _memory(_scop: Scop, _sizes: tuple[tuple[str, int], ...], _machine: Machine) -> Memory:
    """Return what is remembered of plans for a program at given sizes on a machine."""
    return Memory()


def features(
    legal: LegalSchedule, mapping: Mapping, sizes: Sizes, machine: Machine | None = None
) -> Features:
    """Return the features of a legal schedule under a mapping at given sizes.

    Raises:
        LimitError: isl would take too long.
    """
    machine = machine or this_machine()
    memory = _memory(legal.scop, tuple(sizes.items()), machine)
    tree = plan(_tree(legal), legal, mapping, machine, sizes, memory)
    parameters, threads = legal.schedule.parameters, mapping.threads

    def seen(work: Work) -> _Seen:
        members = path(tree, work.name)
        return memory.of(
            ("seen", work.name, members, parameters, threads),
            lambda: _seen(_nest(work, members, parameters, sizes), threads),
        )

    return _together(tree, [seen(work) for work in reach(legal.scop, sizes)])


def _together(tree: Tree, seen: Sequence[_Seen]) -> Features:
    """Add statements up, each with its share of the work."""
    known = np.array([one.statement.knowledge for one in seen])
    related = np.array([one.relations for one in seen])
    cycles = known[:, _CYCLES]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    main = int(cycles.argmax())
    totals = slog(np.sum(np.exp2(known[:, _TOTALS]) - 1.0, axis=0))
    vector = np.concatenate(
        [weights @ known, known[main], weights @ related, [float(len(seen))], totals]
    )
    statements = tuple(one.statement for one in seen)
    return Features(vector, statements[main].touched, tree, statements)
