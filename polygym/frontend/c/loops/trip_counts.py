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
(:mod:`polygym.frontend.c.memory.delinearization`).
"""

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.actual_arguments import substitution
from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.loops.polynomials import (
    Polynomial,
    PolynomialHeader,
    constant_polynomial,
    read_header,
    read_polynomial,
    unknown_polynomial,
)
from polygym.frontend.c.loops.row_ranges import row_range
from polygym.frontend.c.sema.assumptions import assumption_statement
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements

_MAX_DEPTH = 4


def with_trip_counts(
    tree: Any, region: ScopRegion, source: SourceMap, *, in_row_ranges: bool = False
) -> tuple[ScopRegion, bool]:
    """Return a region whose loops over products count iterations; its function is changed, too.

    Affine loops through several rows are parted by rows if they are to be ``in_row_ranges``;
    whether there are any is returned, too.
    """
    loops = syntax.walk(region.items, c_ast.For)
    headers = [part for loop in loops for part in (loop.init, loop.cond, loop.next) if part]
    if not syntax.contains(headers, c_ast.ID):
        return region, False
    has_windows = False
    for _ in range(_MAX_DEPTH):  # what is counted now may stand in the headers inside
        rewriter = _TripCountRewriter(tree, region, source, in_row_ranges=in_row_ranges)
        items = [syntax.copy_tree(item, rewriter.replacement) for item in region.items]
        has_windows |= rewriter.has_windows
        if not rewriter.has_changed:
            break
        region = with_statements(region, [*rewriter.assumed, *items])
    return region, has_windows


class _TripCountRewriter:
    """Rewrites the loops of one region."""

    def __init__(
        self, tree: Any, region: ScopRegion, source: SourceMap, *, in_row_ranges: bool
    ) -> None:
        self._once = SingleAssignments(tree, region, source)
        self._spelled = {token.text for token in source.tokens}
        self._spelled |= syntax.declared_names(region.function)
        self._exposed = syntax.names_read_outside_loops(region.function.body)
        self._fixed = _fixed_names(region)
        self._widths: list[Polynomial] = []
        self._of_rows = self._flat_arrays(region)
        self._flat = self._of_rows | _pointer_arguments(region.function)
        self._in_windows = in_row_ranges
        self.has_changed = self.has_windows = False
        self.assumed: list[Any] = []

    def replacement(self, node: Any) -> Any:
        """Return what stands for a loop over products, None for other nodes."""
        if not isinstance(node, c_ast.For):
            return None
        factors: list[Polynomial] = []
        header = self._header(node, factors)
        if header is None:
            return None
        result = self._counted(header, factors, node)
        self.has_changed |= result is not None
        return result

    def _flat_arrays(self, region: ScopRegion) -> set[str]:
        """Return the arrays with products in their subscripts."""
        result = {
            decl.name
            for decl in syntax.walk(region.function, c_ast.Decl)
            if self._is_product(getattr(decl.type, "dim", None))
        }
        for node in syntax.walk(region.items, c_ast.ArrayRef):
            if isinstance(node.name, c_ast.ID) and self._is_product(node.subscript):
                result.add(node.name.name)
        return result

    def _is_product(self, node: Any) -> bool:
        """Whether the size of an array, or a subscript, is a product; its factors are widths."""
        result = None if node is None else self._read(node, self._widths)
        return result is not None and not result.is_linear

    def _read(self, node: Any, factors: list[Polynomial], *, is_substituting: bool = True) -> Any:
        """Return an expression as a polynomial, with what names stand for put in or not."""
        if is_substituting:
            return read_polynomial(node, self._once.is_exact, self._once.definition, factors)
        return read_polynomial(node, self._once.is_exact, factors=factors)

    def _header(self, loop: Any, factors: list[Polynomial]) -> PolynomialHeader | None:
        """Return the header of a loop that is to be rewritten, None for another."""
        if not isinstance(loop.init, c_ast.DeclList) and syntax.counter_of(loop) in self._exposed:
            return None
        is_flat = not syntax.names_in(loop.stmt).isdisjoint(self._flat)

        def can_stay(header: PolynomialHeader, factors: list[Polynomial]) -> bool:
            return header.is_affine and not is_flat and not self._divides(header, factors)

        plain = read_header(
            loop, self._once, lambda node: self._read(node, [], is_substituting=False)
        )
        if plain is not None and can_stay(plain, []):
            return None
        header = read_header(loop, self._once, lambda node: self._read(node, factors))
        if header is None or can_stay(header, factors):
            return None
        names = header.first.names | header.distance.names | header.step.names
        fixed = names | syntax.names_in([loop.init, loop.cond, loop.next]) | {header.counter}
        is_one = header.counter not in names
        return header if is_one and not syntax.modified_names(loop.stmt) & fixed else None

    def _counted(self, header: PolynomialHeader, factors: list[Polynomial], loop: Any) -> Any:
        """Return the loops that count iterations, None if there are none."""
        step = header.step.constant
        if step is not None:
            if step < 1:
                return None
            if header.is_affine:
                if self._divides(header, factors):
                    return self._row_range_loops(header, factors, loop)
                return self._traversal_loops(header, factors, loop)
            if header.distance.is_linear:
                return self._loops(header, [(header.distance, step, constant_polynomial(1))], loop)
            if step > 1:
                return None
            parts = self._product(header.distance, factors, 1)
            if parts is None:
                return self._row_range_loops(header, factors, loop)
            return self._loops(header, parts, loop)
        divided = header.distance.divided(header.step)
        if divided is None or divided[1].constant not in (0, 1):
            return None
        trips = divided[0].plus(divided[1])
        if not trips.is_linear:
            return None
        zero = syntax.integer_node(0, loop)
        positive = c_ast.BinaryOp(">", header.step.to_node(loop), zero, loop.coord)
        inside = self._loops(header, [(trips, 1, header.step)], loop)
        return c_ast.If(positive, inside, None, loop.coord)

    def _divides(self, header: PolynomialHeader, factors: list[Polynomial]) -> bool:
        """Whether the first or the last value is a quotient of products, and of which factors."""
        nodes = [*header.first.nodes.values(), *header.distance.nodes.values()]
        divided = [
            self._read(binary_op.left, factors)
            for binary_op in nodes
            if isinstance(binary_op, c_ast.BinaryOp) and binary_op.op == "/"
        ]
        return any(dividend is not None and not dividend.is_linear for dividend in divided)

    def _is_linear_traversal(self, counter: str, body: Any) -> bool:
        """Whether a counter walks through an array of rows from element to element."""
        for node in syntax.walk(body, c_ast.ArrayRef):
            if isinstance(node.name, c_ast.ID) and node.name.name in self._of_rows:
                place = self._read(node.subscript, [])
                alone = () if place is None else (t for t in place.terms if counter in t)
                if [abs(place.terms[term]) for term in alone if term == (counter,)] == [1]:
                    return True
        return False

    def _traversal_loops(
        self, header: PolynomialHeader, factors: Sequence[Polynomial], loop: Any
    ) -> Any:
        """Return the loops for an affine one through rows, if they are asked for."""
        if not self._is_linear_traversal(header.counter, loop.stmt):
            return None
        if self._in_windows:
            return self._row_range_loops(header, factors, loop)
        self.has_windows = True
        return None

    def _row_range_loops(
        self, header: PolynomialHeader, factors: Sequence[Polynomial], loop: Any
    ) -> Any:
        """Return two loops over what starts or ends inside of a row; None where it is no such."""
        for width in self._likely([*factors, *self._widths]):
            if width.constant is not None:
                continue
            result = row_range(header, width, self._fixed, lambda node: self._read(node, []), loop)
            if result is None or result.is_in_one_row:
                continue
            row, element = self._fresh_name(header.counter), self._fresh_name(header.counter)
            value = result.counter_value(row, element, loop).to_node(loop)
            body: Any = syntax.copy_tree(loop.stmt, self.replacement)
            body = syntax.copy_tree(body, substitution({header.counter: value}))
            for polynomial in result.nonnegative:
                self._assume(polynomial, loop)
            return result.loops(row, element, self._once.type_name(header.counter), body, loop)
        return None

    def _product(
        self, whole: Polynomial, factors: Sequence[Polynomial], depth: int
    ) -> list[tuple[Polynomial, int, Polynomial]] | None:
        """Return the ranges of loops inside each other, with what one iteration of each adds."""
        for factor in self._likely(factors):
            if factor.constant is not None or not factor.names <= self._fixed:
                continue
            divided = whole.divided(factor) if factor.is_linear else None
            if divided is None or divided[1].terms:
                continue
            inner = (factor, 1, constant_polynomial(1))
            if divided[0].is_linear:
                return [(divided[0], 1, factor), inner]
            rest = self._product(divided[0], factors, depth + 1) if depth < _MAX_DEPTH else None
            if rest is not None:
                return [*((size, by, each.times(factor)) for size, by, each in rest), inner]
        return None

    def _likely(self, factors: Sequence[Polynomial]) -> list[Polynomial]:
        """Return factors in an order: those that subscripts have first, then the last ones."""

        def is_strange(factor: Polynomial) -> bool:
            return not any(factor.equals(width) for width in self._widths)

        return sorted(reversed(factors), key=is_strange)

    def _loops(
        self,
        header: PolynomialHeader,
        parts: Sequence[tuple[Polynomial, int, Polynomial]],
        loop: Any,
    ) -> Any:
        """Return loops inside each other, their body the one of the loop."""
        like, value, counters = loop, header.first, []
        for _, _, each in parts:
            counters.append(self._fresh_name(header.counter))
            trip = unknown_polynomial(counters[-1], like.coord)
            value = value.plus(each.times(trip), 1 if header.is_increasing else -1)
        body: Any = syntax.copy_tree(loop.stmt, self.replacement)
        body = syntax.copy_tree(body, substitution({header.counter: value.to_node(like)}))
        word = self._once.type_name(header.counter)
        for counter, (size, by, _) in reversed(list(zip(counters, parts, strict=True))):
            zero = syntax.integer_node(0, like)
            declared = syntax.declaration(counter, syntax.type_node(word, like), zero, like)
            start = c_ast.DeclList([declared], like.coord)
            place, steps = c_ast.ID(counter, like.coord), syntax.integer_node(by, like)
            end = c_ast.BinaryOp("<", place, size.to_node(like), loop.cond.coord)
            step = c_ast.Assignment("+=", syntax.copy_tree(place), steps, like.coord)
            body = c_ast.For(start, end, step, body, like.coord)
        for size, _, _ in parts[1:]:
            self._assume(size, like)
        return body

    def _assume(self, size: Polynomial, like: Any) -> None:
        """State that a size is not negative, in front of the region."""
        zero = syntax.integer_node(0, like)
        condition = c_ast.BinaryOp(">=", size.to_node(like), zero, like.coord)
        self.assumed.append(assumption_statement(condition))

    def _fresh_name(self, name: str) -> str:
        number = 0
        while (result := f"{name}_t{number or ''}") in self._spelled:
            number += 1
        self._spelled.add(result)
        return result


def _pointer_arguments(function: Any) -> set[str]:
    """Return the arguments of a function that are pointers, whose sizes are in arguments, too."""
    arguments = syntax.arguments_of(function)
    return {decl.name for decl in arguments if isinstance(decl.type, c_ast.PtrDecl)}


def _fixed_names(region: ScopRegion) -> frozenset[str]:
    """Return the names of a region's function that the region neither changes nor declares."""
    return frozenset(syntax.names_in(region.function) - syntax.modified_names(region.items))
