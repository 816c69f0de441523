"""Dependences as sentences, with their distances along the loops of a state.

A dependence from S to T orders pairs of instances. Along a loop around both, its distance is the
counter of T's instance less that of S's. The first loop with a positive distance *carries* the
pair; where all are 0 the order of the bodies does. Distances are those of the generators of the
dependence (:mod:`polygym.transformations.legality`), so they are exact. Example, a stencil::

    S1 depends on S0 through B (flow). Distance: L1 0 or more. Kept by L1, the order of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.errors import LimitError
from polygym.poly.dependences import Dependence, dependences
from polygym.transformations.legality import DependenceGenerators
from polygym.transformations.loop_tree import Loop, LoopTree
from polygym.transformations.state import TransformState

MOST_DEPENDENCES = 24


@dataclass(frozen=True, slots=True)
class LoopDistance:
    """The least and the greatest distance along a loop; None is unbounded."""

    loop: str
    least: int | None
    greatest: int | None

    def __str__(self) -> str:
        """Return it as words.

        >>> print(LoopDistance("L1", 0, 0), LoopDistance("L2", 1, None), sep=", ")
        L1 0, L2 1 or more
        """
        match self.least, self.greatest:
            case None, None:
                words = "any"
            case None, greatest:
                words = f"{greatest} or less"
            case least, None:
                words = f"{least} or more"
            case least, greatest if least == greatest:
                words = str(least)
            case least, greatest:
                words = f"{least} to {greatest}"
        return f"{self.loop} {words}"


@dataclass(frozen=True, slots=True)
class DependenceFacts:
    """A dependence in a state: distances along the loops around both, and what carries it."""

    dependence: Dependence
    distances: tuple[LoopDistance, ...]
    carriers: tuple[str, ...]
    is_kept_by_bodies: bool

    def __str__(self) -> str:
        """Return it as sentences."""
        found = self.dependence
        kinds = ", ".join(found.kind.names())
        arrays = ", ".join(found.arrays)
        what = f"{found.sink} depends on {found.source} through {arrays} ({kinds})."
        if self.distances:
            what += f" Distance: {', '.join(map(str, self.distances))}."
        keepers = list(self.carriers)
        if self.is_kept_by_bodies:
            keepers.append("the order of the nodes")
        return f"{what} Kept by {', '.join(keepers)}." if keepers else what


def dependence_facts(state: TransformState) -> tuple[DependenceFacts, ...]:
    """Return the dependences of a state.

    Raises:
        LimitError: the program has too many generators.
    """
    tables = state.version.tables.tables
    return tuple(_facts(table, state.tree) for table in tables)


def dependence_sentences(state: TransformState, statements: Iterable[str] = ()) -> Iterator[str]:
    """Yield a sentence for each dependence, or those between some statements."""
    wanted = set(statements)
    try:
        known: tuple[DependenceFacts, ...] = dependence_facts(state)
    except LimitError:
        known = tuple(DependenceFacts(one, (), (), False) for one in dependences(state.scop))
    chosen = [
        facts
        for facts in known
        if not wanted or {facts.dependence.source, facts.dependence.sink} <= wanted
    ]
    for number, facts in enumerate(chosen[:MOST_DEPENDENCES]):
        yield f"D{number}: {facts}"
    if len(chosen) > MOST_DEPENDENCES:
        yield f"... and {len(chosen) - MOST_DEPENDENCES} more"


def _facts(table: DependenceGenerators, tree: LoopTree) -> DependenceFacts:
    source, sink = table.dependence.source, table.dependence.sink
    inner = {loop.name for loop in tree.paths[sink]}
    common = [loop for loop in tree.paths[source] if loop.name in inner]
    if not table.is_exact:
        return DependenceFacts(table.dependence, (), (), False)
    alive = np.ones(len(table.at_sink), bool)
    distances, carriers = [], []
    for loop in common:
        along = _along(table, loop)
        distances.append(_range(loop.name, along, table.vertices))
        if (along[alive] > 0).any() and alive[: table.vertices].any():
            carriers.append(loop.name)
        alive &= along == 0
    kept = bool(alive[: table.vertices].any())
    return DependenceFacts(table.dependence, tuple(distances), tuple(carriers), kept)


def _along(table: DependenceGenerators, loop: Loop) -> Any:
    before = table.at_source.astype(object) @ _array(loop, table.dependence.source)
    after = table.at_sink.astype(object) @ _array(loop, table.dependence.sink)
    return np.asarray(after - before)


def _array(loop: Loop, statement: str) -> Any:
    row = loop.row(statement)
    # Python's integers: a schedule by hand may have numbers of any size.
    return np.array([*row.iterators, *row.parameters, row.constant], object)


def _range(loop: str, along: Any, vertices: int) -> LoopDistance:
    at_vertices, on_rays = along[:vertices], along[vertices:]
    least = None if (on_rays < 0).any() else int(at_vertices.min())
    greatest = None if (on_rays > 0).any() else int(at_vertices.max())
    return LoopDistance(loop, least, greatest)
