"""Loops from, to or by products: counted by their iterations instead.

``for (k = e; k < f; k += s)`` runs D / s times, rounded up, with D = f - e, and k is e + s t in
iteration t. Where e, f or s make it no affine loop, D may be one yet, or a product::

    for (k = i * m; k < (i + 1) * m; k++)  x[k]    D = m      for (t < m)  x[i * m + t]
    for (k = 0; k < n * m; k += m)  x[k]             D = n m    if (m > 0) for (t < n)  x[m * t]
    for (k = 0; k < n * m; k++)  x[k]                D = n m    for (u < n) for (t < m) x[u * m + t]

Beside something unsigned nothing may be subtracted: sums that wrap around at 2^64 are larger than
any array, and any number of iterations.
With a step s <= 0 such a loop does nothing or does not end. For two loops in the place of one, m >=
0 is assumed, which is said: with n and m negative D is not. Subscripts are looked at later
(:mod:`polygym.compiler.frontend.c.flat_arrays`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.compiler.frontend.c.actuals import substitution
from polygym.compiler.frontend.c.assumptions import stated
from polygym.compiler.frontend.c.nodes import (
    changed_in,
    copied,
    counter_of,
    declaration,
    integer_node,
    names_in,
    plain_type,
    read_outside,
    start_of,
    walk,
)
from polygym.compiler.frontend.c.once import Once
from polygym.compiler.frontend.c.parse import Region, with_items
from polygym.compiler.frontend.c.places import SourceMap
from polygym.compiler.frontend.c.polynomials import Polynomial, constant, polynomial

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DEEPEST = 4


def with_trips(tree: Any, region: Region, source: SourceMap) -> Region:
    """Return a region whose loops over products count iterations; its function is changed, too."""
    loops = [one for item in region.items for one in walk(item) if isinstance(one, c_ast.For)]
    headers = [part for loop in loops for part in (loop.init, loop.cond, loop.next) if part]
    if not any(isinstance(one, c_ast.ID) for part in headers for one in walk(part)):
        return region
    for _ in range(_DEEPEST):  # what is counted now may stand in the headers inside
        found = _Trips(tree, region, source)
        items = [copied(item, found.replacement) for item in region.items]
        if not found.has_changed:
            break
        region = with_items(region, [*found.assumed, *items])
    return region


@dataclass(frozen=True, slots=True, eq=False)
class _Header:
    """A loop's counter, the first value, the distance to the end, and the step, each positive.

    ``upwards`` is the direction in which it counts.
    """

    counter: str
    first: Polynomial
    distance: Polynomial
    step: Polynomial
    upwards: bool

    @property
    def is_affine(self) -> bool:
        """Whether the loop can stay as it is."""
        is_linear = self.first.is_linear and self.distance.is_linear
        return is_linear and self.step.constant is not None


class _Trips:
    """Rewrites the loops of one region."""

    def __init__(self, tree: Any, region: Region, source: SourceMap) -> None:
        self._once = Once(tree, region.function, source)
        self._spelled = {token.text for token in source.tokens}
        self._spelled |= {one.name for one in walk(region.function) if isinstance(one, c_ast.Decl)}
        self._exposed = set(read_outside(region.function.body, _name, counter_of))
        self._fixed = _fixed_names(region)
        self._widths: list[Polynomial] = []
        self._flat = self._flat_arrays(region) | _pointers(region.function)
        self.has_changed = False
        self.assumed: list[Any] = []

    def replacement(self, node: Any) -> Any:
        """Return what stands for a loop over products, None for other nodes."""
        if not isinstance(node, c_ast.For):
            return None
        factors: list[Polynomial] = []
        header = self._header(node, factors)
        if header is None:
            return None
        found = self._counted(header, factors, node)
        if found is None:
            return None
        self.has_changed = True
        return found

    def _flat_arrays(self, region: Region) -> set[str]:
        """Return the arrays with products in their subscripts."""
        found = set()
        for item in region.items:
            for node in walk(item):
                if isinstance(node, c_ast.ArrayRef) and isinstance(node.name, c_ast.ID):
                    subscript = self._read(node.subscript, self._widths)
                    if subscript is not None and not subscript.is_linear:
                        found.add(node.name.name)
        return found

    def _read(self, node: Any, factors: list[Polynomial], *, put_in: bool = True) -> Any:
        """Return an expression as a polynomial, with what names stand for put in or not."""
        if put_in:
            return polynomial(node, self._once.is_exact, self._once.stands_for, factors)
        return polynomial(node, self._once.is_exact, factors=factors)

    def _header(self, loop: Any, factors: list[Polynomial]) -> _Header | None:
        """Return the header of a loop that is to be rewritten, None for another."""
        plain = self._parts(loop, [], put_in=False)
        is_flat = any(one.name in self._flat for one in names_in(loop.stmt))
        if plain is not None and plain.is_affine and not is_flat:
            return None
        found = self._parts(loop, factors, put_in=True)
        if found is None or found.is_affine:
            return None
        changed = _changed(loop.stmt)
        read = {one.name for part in (loop.init, loop.cond, loop.next) for one in names_in(part)}
        read |= {name for one in (found.first, found.distance, found.step) for name in one.names}
        is_one = found.counter not in found.first.names | found.distance.names | found.step.names
        return found if is_one and not changed & (read | {found.counter}) else None

    def _parts(self, loop: Any, factors: list[Polynomial], *, put_in: bool) -> _Header | None:
        """Return the header of a loop, if it is one that counts."""
        counter, start = counter_of(loop), start_of(loop)
        if counter is None or start is None or not self._once.is_exact(counter):
            return None
        if not isinstance(loop.init, c_ast.DeclList) and counter in self._exposed:
            return None
        step, upwards = _step(loop.next, counter)
        end, operator = _end(loop.cond, counter)
        if step is None or end is None or operator not in (("<", "<=") if upwards else (">", ">=")):
            return None
        first, by, last = (self._read(one, factors, put_in=put_in) for one in (start, step, end))
        if first is None or by is None or last is None:
            return None
        read = {name for one in (first, by, last) for name in one.names}
        read |= {one.name for part in (start, step, end) for one in names_in(part)}
        if self._once.is_int(counter) and not all(map(self._once.is_int, read)):
            return None
        distance = last.plus(first, -1) if upwards else first.plus(last, -1)
        distance = distance.plus(constant(len(operator) - 1))
        is_signed = all(map(self._once.is_signed, {counter} | read))
        if not is_signed and not all(one.is_positive for one in (first, by, last, distance)):
            return None
        return _Header(counter, first, distance, by, upwards)

    def _counted(self, header: _Header, factors: list[Polynomial], loop: Any) -> Any:
        """Return the loops that count iterations, None if there are none."""
        step = header.step.constant
        if step is not None:
            if step < 1:
                return None
            if header.distance.is_linear:
                return self._loops(header, [(header.distance, step, constant(1))], loop)
            if step > 1:
                return None
            parts = self._product(header.distance, factors, 1)
            return None if parts is None else self._loops(header, parts, loop)
        divided = header.distance.divided(header.step)
        if divided is None or divided[1].constant not in (0, 1):
            return None
        trips = divided[0].plus(divided[1])
        if not trips.is_linear:
            return None
        positive = c_ast.BinaryOp(">", header.step.node(loop), integer_node(0, loop), loop.coord)
        inside = self._loops(header, [(trips, 1, header.step)], loop)
        return c_ast.If(positive, inside, None, loop.coord)

    def _product(
        self, whole: Polynomial, factors: Sequence[Polynomial], depth: int
    ) -> list[tuple[Polynomial, int, Polynomial]] | None:
        """Return the ranges of loops inside each other, with what one iteration of each adds."""
        for factor in self._likely(factors):
            if factor.constant is not None or not factor.names <= self._fixed:
                continue
            if not factor.is_linear or (found := whole.divided(factor)) is None or found[1].terms:
                continue
            inner = (factor, 1, constant(1))
            if found[0].is_linear:
                return [(found[0], 1, factor), inner]
            rest = self._product(found[0], factors, depth + 1) if depth < _DEEPEST else None
            if rest is not None:
                return [*((size, by, each.times(factor)) for size, by, each in rest), inner]
        return None

    def _likely(self, factors: Sequence[Polynomial]) -> list[Polynomial]:
        """Return factors in an order: those that subscripts have first, then the last ones."""

        def is_strange(factor: Polynomial) -> bool:
            return not any(factor.same(width) for width in self._widths)

        return sorted(reversed(factors), key=is_strange)

    def _loops(
        self, header: _Header, parts: Sequence[tuple[Polynomial, int, Polynomial]], loop: Any
    ) -> Any:
        """Return loops inside each other, their body the one of the loop."""
        like, value, counters = loop, header.first, []
        for _, _, each in parts:
            counters.append(self._fresh(header.counter))
            place = c_ast.ID(counters[-1], like.coord)
            trip = Polynomial({(counters[-1],): 1}, {counters[-1]: place})
            value = value.plus(each.times(trip), 1 if header.upwards else -1)
        body: Any = copied(loop.stmt, self.replacement)
        body = copied(body, substitution({header.counter: value.node(like)}))
        word = self._once.word(header.counter)
        for counter, (size, by, _) in reversed(list(zip(counters, parts, strict=True))):
            zero = integer_node(0, like)
            start = c_ast.DeclList([declaration(counter, plain_type(word, like), zero, like)])
            place = c_ast.ID(counter, like.coord)
            end = c_ast.BinaryOp("<", place, size.node(like), loop.cond.coord)
            step = c_ast.Assignment("+=", copied(place), integer_node(by, like), like.coord)
            start.coord = like.coord
            body = c_ast.For(start, end, step, body, like.coord)
        for size, _, _ in parts[1:]:
            self._assume(size, like)
        return body

    def _assume(self, size: Polynomial, like: Any) -> None:
        """State that a size is not negative, in front of the region."""
        condition = c_ast.BinaryOp(">=", size.node(like), integer_node(0, like), like.coord)
        self.assumed.append(stated(condition))

    def _fresh(self, name: str) -> str:
        number = 0
        while (found := f"{name}_t{number or ''}") in self._spelled:
            number += 1
        self._spelled.add(found)
        return found


def _pointers(function: Any) -> set[str]:
    """Return the arguments of a function that are pointers, whose sizes are in arguments, too."""
    given = function.decl.type.args
    return {
        one.name
        for one in (given.params if given else ())
        if isinstance(one, c_ast.Decl) and isinstance(one.type, c_ast.PtrDecl)
    }


def _fixed_names(region: Region) -> frozenset[str]:
    """Return the names of a region's function that the region neither changes nor declares."""
    changed = {name for item in region.items for name in _changed(item)}
    return frozenset(one.name for one in names_in(region.function)) - changed


def _changed(node: Any) -> set[str]:
    """Return the names that a statement changes or declares."""
    found = {one.name for one in changed_in(node) if isinstance(one, c_ast.ID)}
    return found | {one.name for one in walk(node) if isinstance(one, c_ast.Decl) and one.name}


def _name(identifier: Any) -> str:
    return str(identifier.name)


def _step(node: Any, counter: str) -> tuple[Any, bool]:
    """Return what a loop adds to its counter, or takes from it, and whether it adds."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--", expr=c_ast.ID(name=name)) if (
            name == counter
        ):
            return integer_node(1, node), node.op.endswith("++")
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=name)) if name == counter:
            return node.rvalue, node.op == "+="
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name),
            rvalue=c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=again)),
        ) if name == counter == again:
            return node.rvalue.right, node.rvalue.op == "+"
        case _:
            return None, True


def _end(condition: Any, counter: str) -> tuple[Any, str]:
    """Return what a loop's counter is compared with, and how."""
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in _MIRRORED:
        return None, ""
    if isinstance(condition.left, c_ast.ID) and condition.left.name == counter:
        return condition.right, condition.op
    if isinstance(condition.right, c_ast.ID) and condition.right.name == counter:
        return condition.left, _MIRRORED[condition.op]
    return None, ""
