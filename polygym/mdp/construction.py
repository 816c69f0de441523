"""The process that constructs a schedule space: which dimension carries which dependence.

The state is (i_dim, i_dep, d_1 … d_|D|): the dimension being built, the dependence being looked at,
both counted from 1, and for every dependence the dimension that carries it, 0 while none does. The
actions and what they change:

    next_dim     i_dim ← i_dim + 1
    next_dep     i_dep ← the next k > i_dep with d_k = 0, or else the first k with d_k = 0
    select_dep   d_i_dep ← i_dim, if d_i_dep = 0

The process starts in (1, 1, 0 … 0) and accepts when every d is positive. Dependences are counted
from the inside out: those between statements that share more loops first, otherwise in the
program's order.

Example, y = Ax, whose dependences are 1: T -> T and 2: S -> T. The actions next_dim, next_dep,
next_dim, next_dep, next_dep, select_dep, next_dim, next_dep, select_dep go through (2,1,0,0)
(2,2,0,0) (3,2,0,0) (3,1,0,0) (3,2,0,0) (3,2,0,3) (4,2,0,3) (4,1,0,3) to (4,1,4,3): the third
dimension carries S -> T and the fourth T -> T, and they have 10, 10, 10 and 13 rays. (That is
Figure 5 of the paper with the space that its text and Figure 6 describe; the text also names the
dependences in the other order, with which the same actions lead to a space with 10, 10, 10 and 11
rays.)

Beyond that, the *mask* keeps the process from dead ends and from going round forever:

* select_dep is allowed for a dependence that a row of this dimension can carry. Whether it can
  depends only on what was left when the dimension was opened, since any dependences that can be
  carried can be carried together (:mod:`polygym.poly.spaces.cone`).
* next_dep is allowed as often in a dimension as dependences were left when it was opened: enough
  to look at each of them once and come back to the first, as in Algorithm 1's inner loop.
* next_dim is allowed while enough dimensions remain to carry what is left. Let K be the fewest
  dimensions for what was left when this one was opened. If only K dimensions remain, this one
  included, it must carry all that it can (K is reached only so): then a dependence that can be
  carried must be selected when it is looked at, and next_dim waits until all of them are.

There is always an allowed action. If more than K dimensions remain, next_dim is. If just K remain
and next_dim is not allowed, some dependence that can be carried is not selected: if it is the one
looked at, select_dep is allowed; if not, it has not been looked at in this dimension (else it would
have been selected), so fewer moves were made than dependences were left, and next_dep is allowed.

An episode ends: a dimension has at most |D| moves, there are at most max_dimensions of them, and
|D| selections and max_dimensions - 1 advances in all; together no more than
max_dimensions·(|D| + 1) + |D| steps.

A program without dependences has nothing to select; it gets as many free dimensions as it has loops
(max_dimensions at most, at least one), and accepts after that many next_dim.

Number of loops of the source that two statements share.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from itertools import product
from typing import TypeAlias

from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.polyhedra import RowPolyhedra


class ConstructionAction(Enum):
    """The decisions of the process, in the order of their numbers."""

    NEXT_DIM = 0
    NEXT_DEP = 1
    SELECT_DEP = 2


@dataclass(frozen=True, slots=True)
class ConstructionState:
    """A state: the components of the paper's tuple, and the next_dep made in this dimension."""

    dimension: int
    dependence: int
    carrying_dimension: tuple[int, ...]
    next_dep_count: int = 0

    def __str__(self) -> str:
        """Return the tuple (i_dim, i_dep, d_1, …)."""
        numbers = self.dimension, self.dependence, *self.carrying_dimension
        return f"({', '.join(map(str, numbers))})"


@dataclass(frozen=True, slots=True)
class UnavailableAction:
    """An action that the state does not offer; nothing changes."""

    reason: str


@dataclass(frozen=True, slots=True)
class EmptyPolyhedron:
    """An action after which the dimension's polyhedron is empty: the end."""

    reason: str


ConstructionStep: TypeAlias = ConstructionState | UnavailableAction | EmptyPolyhedron


@dataclass(frozen=True, slots=True)
class DimensionStart:
    """What is known of a dimension when it is opened, and stays so until the next one is.

    ``remaining`` and ``carryable`` name dependences by their position in the program; of those that
    may be selected ``move_limit`` are left. ``fewest_dimensions`` dimensions, this one included,
    carry what can be carried of what is left.
    """

    remaining: frozenset[int]
    carryable: frozenset[int]
    move_limit: int
    fewest_dimensions: int


@dataclass(frozen=True, eq=False)
class ConstructionRules:
    """The process for one program; ``dimensions`` is how many there may be."""

    polyhedra: RowPolyhedra
    dimensions: int
    candidates: tuple[int, ...]
    # By who carries what now, and by what was carried before, which is the same for many of those.
    _starts: LruCache[tuple[tuple[int, ...], int], DimensionStart] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )
    _starts_by_remaining: LruCache[tuple[bool, ...], DimensionStart] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )

    @staticmethod
    def of(polyhedra: RowPolyhedra, max_dimensions: int) -> ConstructionRules:
        """Return the rules; a program that needs more dimensions than the maximum gets them."""
        candidates = polyhedra.all_carryable
        needed = polyhedra.fewest_dimensions(candidates)
        scop, known = polyhedra.scop, polyhedra.dependences

        def place(index: int) -> tuple[int, int]:
            return -shared_loops(scop, known[index].source, known[index].sink), index

        return ConstructionRules(
            polyhedra, max(1, max_dimensions, needed), tuple(sorted(candidates, key=place))
        )

    @property
    def free_dimensions(self) -> int:
        """How many dimensions a program without dependences gets."""
        return max(1, min(self.polyhedra.scop.depth, self.dimensions))

    @property
    def step_bound(self) -> int:
        """No episode that follows the mask takes more steps (see the module's docstring)."""
        count = len(self.candidates)
        return self.dimensions * (count + 1) + count

    def initial(self) -> ConstructionState:
        """Return the first state."""
        return ConstructionState(1, 1, (0,) * len(self.candidates))

    def is_accepting(self, state: ConstructionState) -> bool:
        """Whether the space is constructed."""
        if not self.candidates:
            return state.dimension > self.free_dimensions
        return all(state.carrying_dimension)

    def remaining(self, state: ConstructionState, dimension: int | None = None) -> frozenset[int]:
        """Return the dependences (by position in the program) left when a dimension was opened."""
        return self.dimension_start(state, dimension).remaining

    def dimension_start(
        self, state: ConstructionState, dimension: int | None = None
    ) -> DimensionStart:
        """Return what was known when a dimension, by default the current one, was opened."""
        number = state.dimension if dimension is None else dimension
        carried_by = state.carrying_dimension

        def find() -> DimensionStart:
            gone = tuple([0 < by < number for by in carried_by])
            return self._starts_by_remaining.get(gone, lambda: self._open(gone))

        return self._starts.get((carried_by, number), find)

    def _open(self, gone: tuple[bool, ...]) -> DimensionStart:
        uncarried = [i for i, is_gone in zip(self.candidates, gone, strict=True) if not is_gone]
        left = frozenset(uncarried) | self.polyhedra.never_carried
        carryable, fewest = self.polyhedra.carryable(left), self.polyhedra.fewest_dimensions(left)
        return DimensionStart(left, carryable, len(uncarried), fewest)

    def selected(self, state: ConstructionState, dimension: int) -> frozenset[int]:
        """Return the dependences that a dimension carries."""
        carried = zip(self.candidates, state.carrying_dimension, strict=True)
        return frozenset(index for index, by in carried if by == dimension)

    def decided_dimensions(self, state: ConstructionState) -> int:
        """Return how many dimensions are decided: those before, and at the end the last one too."""
        includes_last = bool(self.candidates) and self.is_accepting(state)
        return state.dimension if includes_last else state.dimension - 1

    def carryable(self, state: ConstructionState) -> frozenset[int]:
        """Return the dependences that this dimension may carry."""
        return self.dimension_start(state).carryable

    def mask(self, state: ConstructionState) -> tuple[bool, bool, bool]:
        """Return which of next_dim, next_dep and select_dep are allowed."""
        if self.is_accepting(state):
            return (False, False, False)
        if not self.candidates:
            return (True, False, False)
        opening, here = self.dimension_start(state), state.dependence - 1
        select = not state.carrying_dimension[here] and self.candidates[here] in opening.carryable
        can_move = state.next_dep_count < opening.move_limit and _next_unselected(state) is not None
        # Whether a dimension can be spared.
        if self.dimensions - state.dimension + 1 > opening.fewest_dimensions:
            return (True, can_move, select)
        carried = zip(self.candidates, state.carrying_dimension, strict=True)
        done = all(by for index, by in carried if index in opening.carryable)
        # The last alternative is reached only where the mask was not followed before.
        return (done, not select and (can_move or not done), select)

    def step(self, state: ConstructionState, action: ConstructionAction) -> ConstructionStep:
        """Return what an action leads to; whether the mask allows it is not asked."""
        match action:
            case ConstructionAction.NEXT_DIM:
                if state.dimension >= self.dimensions + (not self.candidates):
                    return UnavailableAction(f"there are at most {self.dimensions} dimensions")
                return replace(state, dimension=state.dimension + 1, next_dep_count=0)
            case ConstructionAction.NEXT_DEP:
                following = _next_unselected(state)
                if following is None:
                    return UnavailableAction("there is no other dependence left")
                return replace(state, dependence=following, next_dep_count=state.next_dep_count + 1)
            case ConstructionAction.SELECT_DEP:
                return self._select(state)

    def _select(self, state: ConstructionState) -> ConstructionStep:
        here = state.dependence - 1
        if not self.candidates or state.carrying_dimension[here]:
            return UnavailableAction("the dependence has been selected already")
        if self.candidates[here] not in self.carryable(state):
            return EmptyPolyhedron(
                f"no row of dimension {state.dimension} carries dependence {state.dependence} "
                "strongly and satisfies the others"
            )
        carried = list(state.carrying_dimension)
        carried[here] = state.dimension
        return replace(state, carrying_dimension=tuple(carried))


def _next_unselected(state: ConstructionState) -> int | None:
    """Return where next_dep goes, or None if there is no other place."""
    here, carried_by = state.dependence, state.carrying_dimension
    if 0 in carried_by[here:]:
        return carried_by.index(0, here) + 1
    first = carried_by.index(0) + 1 if 0 in carried_by else here
    return None if first == here else first


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _shared_loop_counts(scop: Scop) -> dict[tuple[str, str], int]:
    order = original_schedule(scop)
    rows = {statement.name: order.rows(statement.name) for statement in scop.statements}
    pairs = product(rows, repeat=2)
    return {(first, second): _common_rows(rows[first], rows[second]) for first, second in pairs}


def shared_loops(scop: Scop, first: str, second: str) -> int:
    """Return the number of loops that surround both statements (all of its own, for one).

    In the original order a loop is a row that depends on iterators, and statements part ways at
    the first row in which both have a constant and the constants differ.
    """
    return _shared_loop_counts(scop)[first, second]


def _common_rows(first: tuple[ScheduleRow, ...], second: tuple[ScheduleRow, ...]) -> int:
    count = 0
    for row, other in zip(first, second, strict=True):
        if row.is_constant != other.is_constant:
            break
        if row.is_constant:
            if row != other:
                break
        else:
            count += 1
    return count
