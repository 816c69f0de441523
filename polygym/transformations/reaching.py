"""Construction of a target tree by steps, each legal in its turn.

Two legal orders of one program, the source s = (s₁, s₂, …) and the target t = (t₁, t₂, …), have
legal orders between them: *every* shuffle of the rows of s and t that keeps the rows of each in
their order. The first row of a shuffle that tells two dependent instances apart is the first such
row of s or of t, so it has the right sign. The construction moves the rows of t in front of those
of s, one at a time, from the outside to the inside, and the states in between are shuffles::

    s₁ s₂ s₃   →   t₁ s₁ s₂ s₃   →   t₁ t₂ s₁ s₂ s₃   →   …   →   t₁ t₂ t₃

A row of constants moves in front of a loop by distributing it, and of other constants by reordering
nodes. A row of a loop begins inside, where it is made of the innermost loop that it depends on
(reverse, skew, shift), moves out by interchanges, and the loops that have it are fused. Loops that
order nothing any more stay in the tree and need no code.

Example, trmm, target ``S0: (0, j, i, k)  S1: (1, i, j)``::

    L1 (i)                      L1 (i)                           L2 (j)
      L2 (j)    distribute        L2 (j)         interchange       L1 (i)
        L3 (k)    L1 before S1      L3 (k) S0      L1 L2             L3 (k) S0
          S0          →           L4 (i)             →             L4 (i)
        S1                          L5 (j) S1                        L5 (j) S1
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.poly.row_combinations import Offset, RowAlgebra
from polygym.poly.schedule import ScheduleRow, combine_rows
from polygym.transformations.loop_tree import LOOP_PREFIX, Body, Loop, Node
from polygym.transformations.state import TransformState
from polygym.transformations.steps import (
    LARGEST_AMOUNT,
    Distribute,
    Fuse,
    Interchange,
    Reorder,
    Reverse,
    Shift,
    Skew,
    TreeStep,
)

MOST_STEPS = 600
"""Steps after which a construction is given up."""


class StuckError(InputError):
    """The end of a construction before its target."""


@dataclass(frozen=True, slots=True)
class _Front:
    """A loop with a row of the target, less multiples of the loops around it."""

    name: str
    factors: tuple[int, ...]


class TargetConstruction:
    """One construction: the state so far, and the target's rows."""

    def __init__(
        self, state: TransformState, algebra: RowAlgebra, others: frozenset[int] = frozenset()
    ) -> None:
        """``others`` are the places, in the order of the construction, of the other of two ways."""
        self.state = state
        self.choices = 0
        self._algebra = algebra
        self._others = others
        self._left = MOST_STEPS

    # The levels of the target, from the outside to the inside

    def reach(self, target: Body) -> None:
        """Take the steps to a simplified body.

        Raises:
            StuckError: some step is not legal, or none is known.
        """
        self._reach([node.name for node in self.state.tree.body], target)

    def _reach(self, names: list[str], target: Body) -> None:
        """Arrange neighbouring nodes as the nodes of a target."""
        parts: list[list[str]] = []
        for node in target[:-1]:
            first, names = self._divided(names, set(node.statements))
            parts.append(first)
        parts.append(names)
        for part, node in zip(parts, target, strict=True):
            if isinstance(node, Loop):
                self._reach_loop(part, node)

    def _reach_loop(self, names: list[str], target: Loop) -> None:
        rows = dict(zip(target.statements, target.rows, strict=True))
        front = self._front(names, rows)
        if front is None:
            self._reach(names, target.body)
            return
        self._skew(front, range(len(front.factors)))
        self._reach(self._body(front.name), target.body)

    # Steps

    def _try(self, step: TreeStep) -> bool:
        (verdict,) = self.state.verdicts([step])
        if verdict.state is None:
            return False
        self._left -= 1
        if self._left < 0:
            raise StuckError(f"more than {MOST_STEPS} steps")
        self.state = verdict.state
        return True

    def _do(self, *choices: TreeStep) -> None:
        """Take the first step that is legal."""
        if not any(self._try(step) for step in choices):
            (verdict,) = self.state.verdicts(choices[:1])
            raise StuckError(verdict.reason)

    def _body(self, name: str) -> list[str]:
        node = self._node(name)
        return [child.name for child in node.body] if isinstance(node, Loop) else []

    def _node(self, name: str) -> Node:
        return self.state.tree.nodes[name]

    def _loop(self, name: str) -> Loop:
        node = self._node(name)
        assert isinstance(node, Loop)
        return node

    def _around(self, name: str) -> tuple[Loop, ...]:
        return self.state.tree.paths[name]

    def _takes_other(self) -> bool:
        """Whether the other of two ways is taken at this place."""
        self.choices += 1
        return self.choices - 1 in self._others

    # Rows of constants: statements that run before others

    def _divided(self, names: list[str], first: set[str]) -> tuple[list[str], list[str]]:
        """Arrange neighbours so that the nodes of some statements stand before the others."""
        mixed = [name for name in names if self._is_mixed(name, first)]
        for name in mixed:
            self._gather(name, first)
        for name in mixed:
            names = self._distributed(names, name, first)
        names = self._sorted(names, first)
        count = sum(self._is_first(name, first) for name in names)
        return names[:count], names[count:]

    def _gather(self, name: str, first: set[str]) -> None:
        """Arrange the body of a loop so that it can be distributed by one step."""
        names = self._body(name)
        mixed = [child for child in names if self._is_mixed(child, first)]
        for child in mixed:
            self._gather(child, first)
        classes = [
            1 if child in mixed else 0 if self._is_first(child, first) else 2 for child in names
        ]
        if len(mixed) == 1 and classes == sorted(classes):
            return
        for child in mixed:
            names = self._distributed(names, child, first)
        self._sorted(names, first)

    def _distributed(self, names: list[str], name: str, first: set[str]) -> list[str]:
        """Distribute one of some neighbours, and return them all."""
        number = self.state.tree.next_number
        self._do(Distribute(name, self._border(name, first)))
        assert self.state.tree.next_number > number
        around = self._around(name)
        body = around[-1].body if around else self.state.tree.body
        siblings = [node.name for node in body]
        new = siblings[siblings.index(name) + 1]
        place = names.index(name)
        return [*names[: place + 1], new, *names[place + 1 :]]

    def _border(self, name: str, first: set[str]) -> str:
        """Return the node in a gathered loop before which it must be distributed."""
        for child in self._body(name):
            if self._is_mixed(child, first):
                return self._border(child, first)
            if not self._is_first(child, first):
                return child
        raise AssertionError(name)

    def _sorted(self, names: list[str], first: set[str]) -> list[str]:
        """Move nodes of some statements before their neighbours."""
        before = [name for name in names if self._is_first(name, first)]
        behind = [name for name in names if name not in before]
        for name in before:
            if behind and names.index(behind[0]) < names.index(name):
                self._do(Reorder(behind[0], name))
        return [*before, *behind]

    def _is_first(self, name: str, first: set[str]) -> bool:
        return set(self._node(name).statements) <= first

    def _is_mixed(self, name: str, first: set[str]) -> bool:
        return 0 < len(first & set(self._node(name).statements)) < len(self._node(name).statements)

    # Rows of loops

    def _front(self, names: list[str], rows: dict[str, ScheduleRow]) -> _Front | None:
        """Make one loop with some rows of neighbouring nodes; None if they order nothing."""
        fronts: dict[str, _Front] = {}
        items: list[str] = []
        waiting = list(names)
        while waiting:
            name = waiting.pop(0)
            if self._is_known(name, rows):
                items.append(name)
                continue
            if not isinstance(self._node(name), Loop):
                raise StuckError(f"{name}: it has too few loops around it")
            if self._can_be_taken_apart(name, rows) and self._takes_other():
                if parts := self._taken_apart(name, rows):
                    waiting[:0] = parts
                    continue
            front = self._front_of(name, rows)
            if front is None:
                parts = self._taken_apart(name, rows)
                if not parts:
                    raise StuckError(f"{name}: no loop in it has the rows of the target")
                waiting[:0] = parts
                continue
            fronts[front.name] = front
            items.append(front.name)
        if not fronts:
            return None
        if len({front.factors for front in fronts.values()}) > 1:
            for name, front in fronts.items():
                self._skew(front, range(len(front.factors)))
                fronts[name] = _Front(name, (0,) * len(front.factors))
        factors = next(iter(fronts.values())).factors
        return _Front(self._fused(items, set(fronts), rows, factors), factors)

    def _is_known(self, name: str, rows: dict[str, ScheduleRow]) -> bool:
        """Whether the loops around a node determine the rows of its statements."""
        around = self._around(name)
        return all(
            self._algebra.determines(own, rows[own], [loop.row(own) for loop in around])
            for own in self._node(name).statements
        )

    def _can_be_taken_apart(self, name: str, rows: dict[str, ScheduleRow]) -> bool:
        loop = self._loop(name)
        return len(loop.body) > 1 and self._made(loop, rows) is None

    def _taken_apart(self, name: str, rows: dict[str, ScheduleRow]) -> list[str]:
        """Distribute a loop whose statements need different rows; nothing where it cannot be."""
        if not self._can_be_taken_apart(name, rows):
            return []
        children = self._loop(name).body
        made = [self._made(self._loop(name), rows, child.statements) for child in children]
        for place in range(1, len(children)):
            if made[place] != made[place - 1] or made[place] is None:
                behind = children[place].name
                number = self.state.tree.next_number
                if self._try(Distribute(name, behind)):
                    return [name, f"{LOOP_PREFIX}{number}"]
        return []

    def _made(
        self, loop: Loop, rows: dict[str, ScheduleRow], statements: tuple[str, ...] = ()
    ) -> tuple[int, ...] | None:
        """Return factors of a loop and those around it that make the rows of its statements."""
        statements = statements or loop.statements
        columns = [
            [outer.row(own) for own in statements] for outer in (*self._around(loop.name), loop)
        ]
        wanted = [rows[own] for own in statements]
        found = self._algebra.combination(statements, wanted, columns)
        return None if found is None else found.factors

    def _front_of(self, name: str, rows: dict[str, ScheduleRow]) -> _Front | None:
        """Bring rows to the front of a loop: it, or one from its inside, gets them."""
        around = self._around(name)
        made = self._made(self._loop(name), rows)
        if made is not None and abs(made[-1]) > 1 and self._is_reduced(name, made):
            made = self._made(self._loop(name), rows)
        if made is not None and made[-1]:
            return self._made_of(self._loop(name), made, rows)
        if made is not None:
            return None
        factors = self._inner_factors(name, rows)
        if factors and self._takes_other() and (outer := self._skewed(name, factors, rows)):
            return outer
        inner = self._front(self._body(name), rows)
        if inner is None:
            return None
        if len(self._body(name)) != 1:
            raise StuckError(f"{inner.name}: it is not alone in {name}")
        self._skew(inner, [len(around)])
        self._do(Interchange(name, inner.name))
        return _Front(inner.name, inner.factors[:-1])

    def _inner_factors(self, name: str, rows: dict[str, ScheduleRow]) -> list[tuple[str, int]]:
        """Return loops right inside a loop, and factors by which it must be skewed for rows.

        Example, the loops i and j and the row i + j: (j, 1). The list is empty where that is no way
        to the rows.
        """
        loop, around = self._loop(name), self._around(name)
        inner = [
            other
            for other in self.state.tree.chain(name)[1:]
            if set(other.statements) == set(loop.statements)
        ]
        columns = [[other.row(own) for own in loop.statements] for other in (*around, loop, *inner)]
        wanted = [rows[own] for own in loop.statements]
        found = self._algebra.combination(loop.statements, wanted, columns)
        if found is None or abs(sign := found.factors[len(around)]) != 1:
            return []
        factors = found.factors[len(around) + 1 :]
        return [
            (other.name, sign * factor)
            for other, factor in zip(inner, factors, strict=True)
            if factor
        ]

    def _skewed(
        self, name: str, factors: list[tuple[str, int]], rows: dict[str, ScheduleRow]
    ) -> _Front | None:
        """Skew a loop by loops inside it; None if that is not legal."""
        before = self.state
        for inner, factor in factors:
            if not self._try(Skew(name, inner, factor)):
                self.state = before
                return None
        made = self._made(self._loop(name), rows)
        assert made is not None
        return self._made_of(self._loop(name), made, rows)

    def _is_reduced(self, name: str, factors: tuple[int, ...]) -> bool:
        """Skew the loop around a loop by it, as in Euclid's algorithm; whether that is legal."""
        around = self._around(name)
        if (
            not around
            or not factors[-2]
            or set(around[-1].statements) != set(self._node(name).statements)
        ):
            return False
        sign = 1 if factors[-1] * factors[-2] > 0 else -1
        return self._try(Skew(around[-1].name, name, sign))

    def _made_of(
        self, loop: Loop, factors: tuple[int, ...], rows: dict[str, ScheduleRow]
    ) -> _Front:
        """Reverse a loop and shift its statements for rows that are made of it."""
        if abs(factors[-1]) > 1:
            raise StuckError(
                f"{loop.name}: the target has {factors[-1]} times its counter, which no step makes"
            )
        if factors[-1] < 0 and not self._try(Reverse(loop.name)):
            self._align(loop.name, -1, factors[:-1], rows)
            self._do(Reverse(loop.name))
        self._align(loop.name, 1, factors[:-1], rows)
        return _Front(loop.name, factors[:-1])

    def _align(
        self, name: str, sign: int, factors: tuple[int, ...], rows: dict[str, ScheduleRow]
    ) -> None:
        """Shift parts of a loop until all statements have one offset from their rows."""
        offsets = {
            own: self._offset(self._loop(name).row(own), own, sign, factors, rows, name)
            for own in self._loop(name).statements
        }
        if any(offset is None for offset in offsets.values()):
            return
        counts = list(offsets.values())
        usual = max(counts, key=counts.count)
        waiting = list(self._parts(self._loop(name).body, offsets, usual))
        while waiting:
            for entry in waiting:
                node, offset = entry
                amount = _amount(offset, usual)
                if amount is None:
                    raise StuckError(f"{node}: it would move by a parameter in {name}")
                if self._try(Shift(node, name, sign * amount)):
                    waiting.remove(entry)
                    break
            else:
                node, offset = waiting[0]
                self._do(Shift(node, name, sign * (_amount(offset, usual) or 0)))

    def _parts(
        self, body: Body, offsets: dict[str, Offset | None], usual: Offset | None
    ) -> Iterable[tuple[str, Offset]]:
        """Yield the nodes whose statements have one offset, other than the usual one."""
        for node in body:
            own = {offsets[name] for name in node.statements}
            if len(own) > 1:
                assert isinstance(node, Loop)
                yield from self._parts(node.body, offsets, usual)
                continue
            (offset,) = own
            if offset is not None and offset != usual:
                yield node.name, offset

    def _offset(
        self,
        row: ScheduleRow,
        statement: str,
        sign: int,
        factors: tuple[int, ...],
        rows: dict[str, ScheduleRow],
        name: str,
    ) -> Offset | None:
        """Return a target's row less one of a loop, if only parameters and a constant are left."""
        rest = self._rest(row, statement, sign, factors, rows, name)
        found = self._algebra.combination([statement], [rest], [])
        return None if found is None else found.offsets[0]

    def _rest(
        self,
        row: ScheduleRow,
        statement: str,
        sign: int,
        factors: tuple[int, ...],
        rows: dict[str, ScheduleRow],
        name: str,
    ) -> ScheduleRow:
        """Return a target's row less one of a loop and multiples of those around it."""
        rest = combine_rows(rows[statement], row, 1, -sign)
        for factor, loop in zip(factors, self._around(name), strict=False):
            rest = combine_rows(rest, loop.row(statement), 1, -factor)
        return rest

    # Fusion

    def _fused(
        self,
        items: list[str],
        loops: set[str],
        rows: dict[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> str:
        """Fuse neighbours, of which some are loops with the rows, and return the name of the loop.

        Loops beside each other come first; what is left moves into the next loop, or the last.
        """
        items = list(items)
        place = 0
        while place + 1 < len(items):
            if items[place] in loops and items[place + 1] in loops:
                self._fuse(items[place], items[place + 1], "", rows, factors)
                del items[place + 1]
            else:
                place += 1
        while len(items) > 1:
            places = [
                place
                for place in range(len(items) - 1)
                if (items[place] in loops) != (items[place + 1] in loops)
            ]
            places.sort(key=lambda place: self._sinking_cost(items, place, loops, rows, factors))
            failure: StuckError | None = None
            for place in places:
                one, other = items[place : place + 2]
                sunk = other if one in loops else one
                try:
                    self._fuse(one, other, sunk, rows, factors)
                except StuckError as error:
                    failure = failure or error
                    continue
                kept = one if one in loops else other
                items[place : place + 2] = [kept]
                break
            else:
                assert failure is not None
                raise failure
            self._join(items, loops, rows, factors)
        return items[0]

    def _sinking_cost(
        self,
        items: list[str],
        place: int,
        loops: set[str],
        rows: dict[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> tuple[int, bool, int]:
        """Return an order of choices: the target's row, a simple shift, into the loop behind."""
        one, other = items[place : place + 2]
        sunk = other if one in loops else one
        before, behind = (
            self._offset_of(name, sunk, one, other, rows, factors) for name in (one, other)
        )
        if before is None or behind is None:
            cost = 3
        elif before == behind:
            cost = 0
        else:
            cost = 1 if before[:-1] == behind[:-1] else 2
        return cost, sunk == other, -place

    def _join(
        self,
        items: list[str],
        loops: set[str],
        rows: dict[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> None:
        """Fuse loops that have become neighbours."""
        for place in range(len(items) - 1):
            if items[place] in loops and items[place + 1] in loops:
                self._fuse(items[place], items[place + 1], "", rows, factors)
                del items[place + 1]
                return

    def _fuse(
        self,
        one: str,
        other: str,
        sunk: str,
        rows: dict[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> None:
        """Fuse two neighbours so that their statements keep one offset from their rows."""
        offsets = [self._offset_of(name, sunk, one, other, rows, factors) for name in (one, other)]
        sink = sunk if sunk and isinstance(self._node(sunk), Loop) else ""
        kept = other if sunk == one else one
        if None in offsets:
            self._do(Fuse(one, other, sink=sink))
        else:
            known = [offset for offset in offsets if offset is not None]
            *sizes, constant = (b - a for a, b in zip(known[0], known[1], strict=True))
            if max(map(abs, (*sizes, constant)), default=0) > LARGEST_AMOUNT:
                raise StuckError(f"{one} {other}: the shift is too large")
            names = (*(loop.name for loop in self._around(one)), *self.state.tree.parameters)
            terms = tuple((name, value) for name, value in zip(names, sizes, strict=True) if value)
            self._do(Fuse(one, other, 1, constant, terms, sink))
        if sink:
            self._align(kept, 1, factors, rows)

    def _offset_of(
        self,
        name: str,
        sunk: str,
        one: str,
        other: str,
        rows: dict[str, ScheduleRow],
        factors: tuple[int, ...],
    ) -> Offset | None:
        """Return the offset of a node that will be fused, behind factors of the loops around."""
        node, around = self._node(name), self._around(name)
        if name != sunk:
            own = node.statements[0]
            offset = self._offset(self._loop(name).row(own), own, 1, factors, rows, name)
            return None if offset is None else (*(0 for _ in around), *offset)
        loop = self._loop(other if sunk == one else one)
        edge_row = self.state.version.edge_rows
        rest = [
            self._rest(
                edge_row(self.state.tree, loop, node, own, sunk == one), own, 1, factors, rows, name
            )
            for own in node.statements
        ]
        columns = [[outer.row(own) for own in node.statements] for outer in around]
        found = self._algebra.combination(node.statements, rest, columns)
        return None if found is None else (*found.factors, *found.offsets[0])

    def _skew(self, front: _Front, places: Iterable[int]) -> None:
        """Skew a loop by loops around it, where its factors say so."""
        around = self._around(front.name)
        for place in places:
            if factor := front.factors[place]:
                self._do(Skew(front.name, around[place].name, factor))


def _amount(offset: Offset, usual: Offset | None) -> int | None:
    """Return the constant between two offsets, None where parameters differ."""
    if usual is None or offset[:-1] != usual[:-1]:
        return None
    amount = offset[-1] - usual[-1]
    return amount if abs(amount) <= LARGEST_AMOUNT else None
