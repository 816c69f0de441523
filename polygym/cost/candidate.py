"""The features of a candidate: all statements' nests, added up, each with its share of the work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from polygym.compiler.codegen.machine import Machine, this_machine
from polygym.compiler.codegen.mapping import Mapping
from polygym.compiler.codegen.sizes import Sizes, row_at_sizes
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.plan import plan
from polygym.compiler.codegen.trees.tree import Member, Tree, path
from polygym.compiler.poly.legality import LegalSchedule
from polygym.cost.columns import KNOWLEDGE, RELATIONS, Touched, context, knowledge, relations, slog
from polygym.cost.nests import Floats, Nest, nest
from polygym.cost.reach import reach

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


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The features of a candidate: one vector, and the loop context of its heaviest statement."""

    vector: Floats
    context: Floats


def nests(legal: LegalSchedule, tree: Tree, sizes: Sizes) -> tuple[Nest, ...]:
    """Return the loops of every statement in a planned tree."""
    parameters = legal.schedule.parameters
    found = []
    for work in reach(legal.scop, sizes):
        members = path(tree, work.name)
        offsets = [_offsets(member, parameters, sizes) for member in members]
        found.append(nest(work, members, offsets))
    return tuple(found)


def _offsets(member: Member, parameters: tuple[str, ...], sizes: Sizes) -> list[int]:
    return [row_at_sizes(part.rows[0], parameters, sizes).constant for part in member.parts]


@lru_cache(maxsize=64)
def _tree(legal: LegalSchedule) -> Tree:
    return build_tree(legal)


def features(
    legal: LegalSchedule, mapping: Mapping, sizes: Sizes, machine: Machine | None = None
) -> Features:
    """Return the features of a legal schedule under a mapping at given sizes.

    Raises:
        LimitError: isl would take too long.
    """
    machine = machine or this_machine()
    tree = plan(_tree(legal), legal, mapping, machine, sizes)
    return features_of(nests(legal, tree, sizes), mapping.threads)


def features_of(found: tuple[Nest, ...], threads: int) -> Features:
    """Return the features of loops."""
    seen = [Touched.of(one) for one in found]
    known = np.array([knowledge(one, threads) for one in seen])
    related = np.array([relations(one) for one in seen])
    cycles = known[:, KNOWLEDGE.index("cycles")]
    weights = np.exp2(cycles - cycles.max())
    weights /= weights.sum()
    main = int(cycles.argmax())
    traffic = [k for k, name in enumerate(KNOWLEDGE) if name.startswith("traffic")]
    totals = [_total(known[:, k]) for k in traffic]
    vector = np.concatenate(
        [
            weights @ known,
            known[main],
            weights @ related,
            [float(len(found)), _total(cycles), _total(known[:, 0])],
            totals,
        ]
    )
    return Features(vector, context(seen[main]))


def _total(logarithms: Floats) -> float:
    return float(slog(np.sum(np.exp2(logarithms) - 1.0)))
