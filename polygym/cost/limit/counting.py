"""How many operations of each kind a program has to carry out at given sizes.

Every operator that any code carries out (:mod:`polygym.cost.limit.operators`) counts as often as
live instances have different tuples of operands (:mod:`polygym.cost.limit.values`). Two operators
of one form (:mod:`polygym.cost.limit.forms`), ``A[i - 1] + A[i]`` and ``A[i] + A[i + 1]``, may be
one operation of two instances: of operators whose tuples are not apart the one with most counts for
all. So it is of operators that have a form in common but not in their statements, whose tuples are
not compared.

What LLVM may know, a scalar that was given a constant, may be 1 or 0, and what is computed with it
nothing.

Processors have instructions that multiply and add up many narrow integers at once, so of a
statement on bytes or shorts one operation counts.

Example, gemm with n = m = k = 1000: of ``C[i][j] += alpha * A[i][k] * B[k][j]`` there are 10^6
products of alpha and A[i, k], 10^9 others and 10^9 sums, and ``C[i][j] *= beta`` has 10^6 products.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.expr import (
    Binary,
    BinaryOperator,
    Comparison,
    Expression,
    IteratorValue,
    children,
)
from polygym.compiler.ir.scop import Statement
from polygym.compiler.poly.isl_budget import attempt
from polygym.cost.limit.flows import MOST_OPERATIONS, Flows, certain
from polygym.cost.limit.forms import Forms, ReadLeaf, Texts, form, leaves
from polygym.cost.limit.operators import Kind, Operation, kinds_of, lanes_of
from polygym.cost.limit.points import all_points, points
from polygym.cost.limit.values import Named, Names

# Integers narrower than this have instructions that do many things at once.
_NARROW = 32


@dataclass(frozen=True, slots=True)
class _Use:
    """An operator in some instances of a statement, its forms, and what its operands are called."""

    live: isl.Set
    operation: Operation
    form: str
    forms: Texts | None
    operands: Named


@dataclass(slots=True)
class Counting:
    """Counts the operations of one program (holds isl)."""

    flows: Flows
    sizes: Sizes
    _names: Names = field(init=False)
    _forms: Forms = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a name."""
        self._names, self._forms = Names(self.flows), Forms(self.flows)

    def operations(self) -> Counter[Operation]:
        """Return how many operations of each kind there are."""
        uses: defaultdict[Kind, list[_Use]] = defaultdict(list)
        for statement in self.flows.scop.statements:
            if statement.name in self.flows.live:
                for use in self._uses(statement):
                    uses[use.operation.kind].append(use)
        found: Counter[Operation] = Counter()
        for group in (group for of_kind in uses.values() for group in _alike(of_kind)):
            same: defaultdict[tuple[Operation, str], list[_Use]] = defaultdict(list)
            for use in group:
                same[use.operation, use.form].append(use)
            # Of several forms, or types, any two may be one operation.
            numbers = {key: self._different(alike) for key, alike in same.items()}
            operation, form = max(numbers, key=lambda key: numbers[key])
            found[operation] += numbers[operation, form]
        return found

    def _uses(self, statement: Statement) -> Iterator[_Use]:
        """Yield what a statement carries out; of narrow integers that is one thing."""
        for node in certain(statement.body):
            kinds = kinds_of(node)
            live = self._remaining(statement, node) if kinds else None
            if live is None:
                continue
            for kind in kinds:
                operation = self._operation(statement, node, kind)
                forms, operands = self._forms.of(statement, node), self._operands(statement, node)
                yield _Use(live, operation, form(node), forms, operands)
                if operation.type.is_integer and operation.type.bits < _NARROW:
                    return

    def _remaining(self, statement: Statement, node: Expression) -> isl.Set | None:
        """Return the live instances whose operation LLVM cannot leave out; None if there are none.

        A sum with 0 at its beginning does not vanish, since 0 + x is not -0 where x is; one in
        which a term is a constant in all instances may. Of products and divisors that are constants
        in some instances the others remain.
        """
        live = self.flows.live[statement.name]
        if not isinstance(node, Binary):
            return live
        operands = children(node)
        if node.operator in (BinaryOperator.ADD, BinaryOperator.SUBTRACT):
            vanishes = any(self._forms.is_constant(statement, one) for one in operands)
            return None if vanishes else live
        if node.operator in (BinaryOperator.DIVIDE, BinaryOperator.REMAINDER):
            operands = operands[1:]
        for operand in operands:
            given = self._forms.where_constant(statement, operand)
            if given is None:
                return None
            live = live.subtract(given)
        return None if live.is_empty() else live.coalesce()

    def _operation(self, statement: Statement, node: Expression, kind: Kind) -> Operation:
        operand = node.left if isinstance(node, Comparison) else node
        floating = operand.type.is_floating
        return Operation(kind, lanes_of(self.flows.scop, statement, floating=floating))

    def _operands(self, statement: Statement, node: Expression) -> Named:
        """Return the names of all that an operator works on, in the order of its form."""

        def origin(one: ReadLeaf) -> str:
            if isinstance(one, IteratorValue):
                return one.name
            leaf = self.flows.leaves.get((statement.name, one.access))
            return "" if leaf is None else self._names.origin(leaf)

        named = []
        full = True
        for one in leaves(node, origin):
            if isinstance(one, IteratorValue):
                named.append(self._names.of_iterators(statement, [one.name]))
            elif leaf := self.flows.leaves.get((statement.name, one.access)):
                named.append(self._names.of_leaf(leaf))
            else:
                full = False  # in the arm of a condition: nobody knows
        found = self._names.tuple_of(statement, named)
        return Named(found.names, found.full and full)

    def _different(self, alike: list[_Use]) -> int:
        """Return how many different tuples operators of one form have together, or fewer."""
        if len(alike) == 1:
            return self._tuples(alike[0])
        try:
            with attempt(MOST_OPERATIONS):
                groups = _overlapping([(one, self._image(one)) for one in alike])
        except isl.Error:
            groups = [alike]
        return sum(max(self._tuples(one) for one in group) for group in groups)

    def _image(self, use: _Use) -> isl.UnionSet:
        return isl.UnionSet.from_set(use.live).apply(use.operands.names)

    def _tuples(self, use: _Use) -> int:
        """Return how many different tuples an operator has, or fewer."""
        try:
            with attempt(MOST_OPERATIONS):
                here = use.operands.names.intersect_domain(isl.UnionSet.from_set(use.live))
                if here.is_injective():
                    return points(use.live, self.sizes)
                images = here.range()
        except isl.Error:
            return 0
        return all_points(images, self.sizes)


def _overlapping(uses: list[tuple[_Use, isl.UnionSet]]) -> list[list[_Use]]:
    """Return groups of operators; those of two groups have no tuple in common."""
    if not all(one.operands.full for one, _ in uses):
        return [[one for one, _ in uses]]
    groups: list[tuple[list[_Use], isl.UnionSet]] = []
    for one, image in uses:
        apart = []
        members = [one]
        for others, theirs in groups:
            if theirs.is_disjoint(image):
                apart.append((others, theirs))
            else:
                members += others
                image = image.union(theirs)
        groups = [*apart, (members, image)]
    return [members for members, _ in groups]


def _alike(uses: Sequence[_Use]) -> list[list[_Use]]:
    """Return groups of operators; those of two groups have no form in common."""
    groups: list[tuple[list[_Use], Texts | None]] = []
    for one in uses:
        members, forms = [one], one.forms
        apart = []
        for others, theirs in groups:
            if forms is None or theirs is None or forms & theirs:
                members += others
                forms = None if forms is None or theirs is None else forms | theirs
            else:
                apart.append((others, theirs))
        groups = [*apart, (members, forms)]
    return [members for members, _ in groups]
