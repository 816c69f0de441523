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
    """An operator in a statement: what its operands are called, and which forms it has."""

    statement: Statement
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
            if isinstance(node, Binary) and self._may_vanish(statement, node):
                continue
            for kind in kinds_of(node):
                operation = self._operation(statement, node, kind)
                forms, operands = self._forms.of(statement, node), self._operands(statement, node)
                yield _Use(statement, operation, form(node), forms, operands)
                if operation.type.is_integer and operation.type.bits < _NARROW:
                    return

    def _may_vanish(self, statement: Statement, node: Binary) -> bool:
        """Whether an operand may be a constant, so that LLVM leaves the operation out.

        A sum that begins with the constant 0 and goes on does not vanish; a product that begins
        with 1 may in that instance, and nobody knows in how many.
        """
        match node.operator:
            case BinaryOperator.DIVIDE | BinaryOperator.REMAINDER:
                return self._forms.may_be_constant(statement, node.right)
            case BinaryOperator.ADD | BinaryOperator.SUBTRACT:
                return any(self._forms.is_constant(statement, one) for one in children(node))
            case _:
                return any(self._forms.may_be_constant(statement, one) for one in children(node))

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
        live = isl.UnionSet.from_set(self.flows.live[use.statement.name])
        return live.apply(use.operands.names)

    def _tuples(self, use: _Use) -> int:
        """Return how many different tuples an operator has, or fewer."""
        live = self.flows.live[use.statement.name]
        try:
            with attempt(MOST_OPERATIONS):
                here = use.operands.names.intersect_domain(isl.UnionSet.from_set(live))
                if here.is_injective():
                    return points(live, self.sizes)
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
