"""Integers that step in nests of loops, as polynomials of the counters.

What a variable holds is followed from statement to statement as a polynomial, and through a loop
by what one iteration adds to it: with k = v in front of ``for (i = L; …; i += s)`` whose body adds
c, which does not change in the loop, k is v + c (i - L) / s when iteration i starts, and v + c T
behind all T of them, if T >= 0::

    k = 0;                                               k = 0;
    for (i = 0; i < n; i++)                              for (i = 0; i < n; i++)
      for (j = 0; j < m; j++)      the inner loop adds     for (j = 0; j < m; j++) {
        s[i] += A[k++];            m, where m >= 0            s[i] += A[i * m + j]; k++; }

That T >= 0 follows from the loops around, or is a condition on the parameters, which is said. What
:mod:`polygym.frontend.c.scop.value_tracking` can follow, which is all that is affine, stays as it
is:
names are replaced where they stand in subscripts and headers of loops and some value of theirs is a
product. Statements that change them stay, and disappear where nothing reads what they store.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.loops.polynomials import (
    Polynomial,
    PolynomialHeader,
    constant_polynomial,
    is_nonnegative,
    read_header,
    read_polynomial,
)
from polygym.frontend.c.sema.assumptions import assumption_statement
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements

_MAX_DEPTH = 7


def with_induction_polynomials(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region in which what steps by products is written as such.

    The function of the region is changed, too.
    """
    once = SingleAssignments(tree, region, source)
    followed = _induction_candidates(region, once)
    if not followed:
        return region
    walker = _InductionAnalysis(once, followed, region)
    walker.before(region.function.body)
    known = walker.known
    for item in region.items:
        walker.statement(item)
    if not walker.products:
        return region
    walker.known, walker.written = known, walker.products
    items = [walker.statement(item) for item in region.items]
    zero = syntax.integer_node(0, region.begin)
    conditions = [
        c_ast.BinaryOp(">=", polynomial.to_node(region.begin), zero, region.begin.coord)
        for polynomial in walker.needed.values()
    ]
    return with_statements(region, [*map(assumption_statement, conditions), *items])


def _induction_candidates(region: ScopRegion, once: SingleAssignments) -> frozenset[str]:
    """Return the integers that a loop of the region changes, beside the counters of loops."""
    result = {name for item in region.items for name in _modified_in_loops(item, inside=False)}
    addresses = {
        unary.expr.name
        for unary in syntax.walk(region.function.body, c_ast.UnaryOp)
        if unary.op == "&" and isinstance(unary.expr, c_ast.ID)
    }
    return frozenset(name for name in result - addresses if once.holds_exact_sums(name))


def _modified_in_loops(node: Any, *, inside: bool) -> Iterator[str]:
    """Yield what statements inside of loops change or declare; counters in headers are left out."""
    if isinstance(node, c_ast.For):
        yield from _modified_in_loops(node.stmt, inside=True)
        return
    name = node.name if isinstance(node, c_ast.Decl) else syntax.modified_name(node)
    if inside and name:
        yield name
    for _, child in node.children():
        yield from _modified_in_loops(child, inside=inside)


@dataclass(frozen=True, slots=True, eq=False)
class _InductionValue:
    """What a variable holds, and which polynomials must not be negative for that."""

    value: Polynomial
    nonnegative: tuple[Polynomial, ...] = ()


@dataclass(slots=True, eq=False)
class _InductionAnalysis:
    """Follows the integers of a region; rewrites statements once it is known which are written.

    ``products`` are those that were read as products; ``loops`` are the headers around.
    """

    once: SingleAssignments
    followed: frozenset[str]
    region: ScopRegion
    known: Mapping[str, _InductionValue] = field(default_factory=dict)
    loops: tuple[PolynomialHeader, ...] = ()
    products: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    needed: dict[str, Polynomial] = field(default_factory=dict)
    is_trial: int = 0
    changes: dict[int, tuple[Any, set[str]]] = field(default_factory=dict)

    def _modified(self, node: Any) -> set[str]:
        """Return the names that a statement changes or declares, as found the first time."""
        if node is None:
            return set()
        if id(node) not in self.changes:
            self.changes[id(node)] = node, syntax.modified_names(node)
        return self.changes[id(node)][1]

    def before(self, block: Any) -> None:
        """Follow the code around a region up to it."""
        begin = self.region.begin
        for item in getattr(block, "block_items", None) or ():
            if item is begin:
                return
            if syntax.contains_node(item, begin):
                self._forget(self._modified(item))
                for block in syntax.walk(item, c_ast.Compound):
                    if any(inner is begin for inner in block.block_items or ()):
                        self.before(block)
                return
            self.is_trial += 1
            self.statement(item)
            self.is_trial -= 1
            if syntax.contains(item, c_ast.FuncCall):
                self._forget(set(self.known) - self.once.own)

    def statement(self, node: Any) -> Any:
        """Follow a statement, and return it as it is to be written."""
        match node:
            case c_ast.Compound():
                return self._block(node)
            case c_ast.DeclList():
                decls = [self.statement(decl) for decl in node.decls]
                return c_ast.DeclList(decls, node.coord)
            case c_ast.Label():
                return c_ast.Label(node.name, self.statement(node.stmt), node.coord)
            case c_ast.If():
                return self._branches(node)
            case c_ast.For():
                return self._loop(node)
            case c_ast.Decl() | c_ast.Assignment() | c_ast.UnaryOp():
                return self._set(node)
            case None:
                return None
            case _:
                self._forget(self._modified(node))
                return syntax.copy_tree(node)

    def _block(self, node: Any) -> Any:
        """Follow a block, whose own variables end with it."""
        outside = self.known
        items = [self.statement(item) for item in node.block_items or ()]
        own = {decl.name for decl in node.block_items or () if isinstance(decl, c_ast.Decl)}
        if own:
            self.known = {name: value for name, value in self.known.items() if name not in own}
            changed = self._modified(node)
            kept = {
                name: outside[name]
                for name in own & set(outside)
                if not outside[name].value.names & changed
            }
            self.known = {**self._without(own), **kept}
        return c_ast.Compound(items, node.coord)

    def _branches(self, node: Any) -> Any:
        """Follow both branches of a condition; what they leave alike is known."""
        condition, before = self._substituted(node.cond, is_place=False), self.known
        then = self.statement(node.iftrue)
        first, self.known = self.known, before
        otherwise = self.statement(node.iffalse)
        second = self.known
        self.known = {
            name: replace(value, nonnegative=(*value.nonnegative, *second[name].nonnegative))
            for name, value in first.items()
            if name in second and value.value.equals(second[name].value)
        }
        return c_ast.If(condition, then, otherwise, node.coord)

    def _set(self, node: Any) -> Any:
        """Follow a declaration or an assignment."""
        target = node.name if isinstance(node, c_ast.Decl) else syntax.modified_name(node)
        new = self._substituted(node, is_place=False)
        value = None
        if target in self.followed and len(self._modified(node)) == 1:
            assigned = syntax.assigned_value(node)
            if assigned is not None and self.once.can_hold(target, assigned):
                value = self._value(assigned)
        self._forget(self._modified(node))
        if value is not None and target is not None and target not in value.value.names:
            self.known = {**self.known, target: value}
        return new

    def _value(self, node: Any) -> _InductionValue | None:
        """Return an expression as a polynomial; it has what is known of the names in it."""
        needs: list[Polynomial] = []

        def stands_for(part: Any) -> Any:
            induction_value = self.known.get(part.name) if isinstance(part, c_ast.ID) else None
            if induction_value is None:
                return self.once.definition(part)
            needs.extend(induction_value.nonnegative)
            return induction_value.value.to_node(part)

        value = read_polynomial(node, self._is_exact, stands_for)
        return None if value is None else _InductionValue(value, tuple(needs))

    def _is_exact(self, name: str) -> bool:
        return name.endswith("@") or self.once.is_signed(name)

    def _loop(self, node: Any) -> Any:
        """Follow a loop."""
        start = self._substituted(node.init, is_place=True)
        changed = {name for _, part in node.children() for name in self._modified(part)}
        carried = self.followed & self._modified(node.stmt)
        header = self._header(node) if len(self.loops) < _MAX_DEPTH else None
        entry = {n: value for n, value in self.known.items() if not value.value.names & changed}
        self._forget(changed)
        end, kept = self._substituted(node.cond, is_place=True), self.known
        starts: dict[str, _InductionValue] = {}
        ends: dict[str, _InductionValue] = {}
        outside = self.loops
        if header is not None:
            self.loops = (*outside, header)
            steps = self._steps(node, carried & set(entry))
            self.loops = outside
            for name, step in steps.items():
                if induction_value := _advanced(
                    entry[name], step, header.counter_offset, header.step
                ):
                    starts[name] = induction_value
                if induction_value := self._end(entry[name], step, header):
                    ends[name] = induction_value
            self.loops = (*outside, header)
        self.known = {**kept, **starts}
        body = self.statement(node.stmt)
        self.loops, self.known = outside, {**kept, **ends}
        return c_ast.For(start, end, syntax.copy_tree(node.next), body, node.coord)

    def _header(self, node: Any) -> PolynomialHeader | None:
        """Return a loop's header, if its body changes nothing of it."""

        def read(part: Any) -> Polynomial | None:
            value = self._value(part)
            return None if value is None or value.nonnegative else value.value

        header = read_header(node, self.once, read)
        if header is None:
            return None
        names = header.names_read | header.first.names | header.distance.names | header.step.names
        is_own = header.counter in names
        names |= {header.counter}
        return None if is_own or names & self._modified(node.stmt) else header

    def _steps(self, node: Any, carried: frozenset[str]) -> dict[str, _InductionValue]:
        """Return what one iteration adds to the variables that it changes."""
        if not carried:
            return {}
        outside = self.known
        starts = {name: _InductionValue(_unknown(f"{name}@")) for name in carried}
        self.known = {**outside, **starts}
        self.is_trial += 1
        self.statement(node.stmt)
        self.is_trial -= 1
        left, self.known = self.known, outside
        changed = self._modified(node)
        result = {}
        for name in carried & set(left):
            added = left[name].value.plus(starts[name].value, -1)
            if not added.names & changed and not any("@" in unknown for unknown in added.unknowns):
                result[name] = _InductionValue(added, left[name].nonnegative)
        return result

    def _end(
        self, before: _InductionValue, step: _InductionValue, header: PolynomialHeader
    ) -> _InductionValue | None:
        """Return what a variable holds behind a loop."""
        if not step.value.terms:
            return before
        trips = _divided(header.distance, header.step)
        value = _advanced(before, step, header.distance, header.step)
        if trips is None or value is None:
            return None
        needs = [trips, header.step.plus(constant_polynomial(-1))]
        needs = [polynomial for polynomial in needs if not is_nonnegative(polynomial, self.loops)]
        modified = {name for item in self.region.items for name in self._modified(item)}
        if any(not need.is_linear or need.names & modified for need in needs):
            return None
        return replace(value, nonnegative=(*value.nonnegative, *needs))

    # Names in what is written.

    def _substituted(self, node: Any, *, is_place: bool) -> Any:
        """Return a copy with polynomials for names in subscripts, or everywhere in a header."""
        if node is None or self.is_trial:
            return node

        def replacement(part: Any) -> Any:
            if isinstance(part, c_ast.ArrayRef) and not is_place:
                return c_ast.ArrayRef(
                    syntax.copy_tree(part.name, replacement),
                    self._substituted(part.subscript, is_place=True),
                    part.coord,
                )
            if is_place and isinstance(part, c_ast.Assignment):
                right = syntax.copy_tree(part.rvalue, replacement)
                return c_ast.Assignment(part.op, syntax.copy_tree(part.lvalue), right, part.coord)
            return self._polynomial(part) if is_place and isinstance(part, c_ast.ID) else None

        return syntax.copy_tree(node, replacement)

    def _polynomial(self, node: Any) -> Any:
        """Return what stands for a name in a subscript, None for itself."""
        value = self.known.get(node.name)
        if value is None:
            return None
        if not value.value.is_linear:
            self.products.add(node.name)
        if node.name not in self.written:
            return None
        for polynomial in value.nonnegative:
            self.needed[str(sorted(polynomial.terms.items()))] = polynomial
        # Sums and products of `long` unknowns stay `long`.
        nodes = {text: syntax.as_long(unknown, node) for text, unknown in value.value.nodes.items()}
        return Polynomial(value.value.terms, nodes).to_node(node)

    def _forget(self, names: set[str]) -> None:
        """Know no longer what some names hold, and what is told by them."""
        self.known = self._without(names)

    def _without(self, names: set[str]) -> dict[str, _InductionValue]:
        return {
            name: value
            for name, value in self.known.items()
            if name not in names and not value.value.names & names
        }


def _unknown(name: str) -> Polynomial:
    return Polynomial({(name,): 1}, {name: c_ast.ID(name)})


def _divided(whole: Polynomial, step: Polynomial) -> Polynomial | None:
    """Return a quotient without a rest, None where there is none."""
    if step.constant == 1:
        return whole
    polynomials = whole.divided(step)
    return None if polynomials is None or polynomials[1].terms else polynomials[0]


def _advanced(
    before: _InductionValue, step: _InductionValue, distance: Polynomial, step_value: Polynomial
) -> _InductionValue | None:
    """Return v + c w / s, None where that is no polynomial of integers."""
    times = _divided(step.value.times(distance), step_value)
    needs = (*before.nonnegative, *step.nonnegative)
    return None if times is None else _InductionValue(before.value.plus(times), needs)
