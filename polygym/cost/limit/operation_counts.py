"""Number of operations of each kind that a program has to carry out at given sizes.

Every operator that any code carries out (:mod:`polygym.cost.limit.operation_kinds`) counts as often
as live instances have different tuples of operands (:mod:`polygym.cost.limit.expression_forms`).
Two operators of one form, ``A[i - 1] + A[i]`` and ``A[i] + A[i + 1]``, may be one operation of two
instances: of operators whose tuples are not apart the one with most counts for all. So it is of
operators that have a form in common but not in their statements, whose tuples are not compared.

What LLVM may know, a scalar that was given a constant, may be 1 or 0, and what is computed with it
nothing.

Processors have instructions that multiply and add up many narrow integers at once, so of a
statement on bytes or shorts one operation counts.

Example, gemm with n = m = k = 1000: of ``C[i][j] += alpha * A[i][k] * B[k][j]`` there are 10^6
products of alpha and A[i, k], 10^9 others and 10^9 sums, and ``C[i][j] *= beta`` has 10^6 products.

Lower bound on the number of points of a set: uncountable parts are left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import islpy as isl

from polygym.cost.features.statements.point_counts import count_instances_exactly
from polygym.cost.limit import expression_forms
from polygym.cost.limit.operation_kinds import ArithmeticKind, TypedOperation, kinds_of, lane_type
from polygym.cost.limit.value_flows import MAX_OPERATIONS, ValueFlows, certain_nodes
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Comparison,
    Expression,
    IteratorValue,
    children,
)
from polygym.ir.scop import Statement
from polygym.mapping.sizes import Sizes, at_sizes
from polygym.poly.dependences import sets_of
from polygym.poly.isl_budget import attempt_bounded
from polygym.poly.isl_values import count_points, isl_text


def count_points_at_least(points_set: isl.Set, sizes: Sizes) -> int:
    """Return how many points a set has at given sizes, or 0 where isl does not come to an end.

    >>> count_points_at_least(isl.Set("[n] -> { [A[i] -> B[j]] : 0 <= j <= i < n }"), {"n": 1000})
    500500
    """
    try:
        with attempt_bounded(MAX_OPERATIONS):
            flat = _without_determined_dimensions(points_set.flatten().reset_tuple_id().coalesce())
            return _count_points(isl_text(flat), tuple(sorted(sizes.items())))
    except isl.Error:
        return 0


def _without_determined_dimensions(points: isl.Set) -> isl.Set:
    """Return a set with as many points, without the dimensions that the others say.

    >>> _without_determined_dimensions(isl.Set("[n] -> { [i, j, i + j] : 0 <= j <= i < n }"))
    Set("[n] -> { [i, j] : i < n and 0 <= j <= i }")
    """
    for place in reversed(range(points.dim(isl.dim_type.set))):
        if points.identity().project_out(isl.dim_type.out, place, 1).is_injective():
            points = points.project_out(isl.dim_type.set, place, 1)
    return points.coalesce()


@lru_cache(maxsize=512)
def _count_points(text: str, sizes: tuple[tuple[str, int], ...]) -> int:
    known = count_instances_exactly(text, dict(sizes))
    return count_points(at_sizes(isl.Set(text), dict(sizes))) if known is None else known


def count_union_points_at_least(points_set: isl.UnionSet, sizes: Sizes) -> int:
    """Return how many points the sets of a union have together."""
    return sum(count_points_at_least(part, sizes) for part in sets_of(points_set))


# Integers narrower than this have instructions that do many things at once.
_NARROW_BITS = 32


@dataclass(frozen=True, slots=True)
class _OperatorUse:
    """An operator in some instances of a statement, its forms, and what its operands are called."""

    live: isl.Set
    operation: TypedOperation
    form: str
    forms: expression_forms.FormTexts | None
    operands: expression_forms.ValueNames


@dataclass(slots=True)
class OperationCounter:
    """Counts the operations of one program (holds isl)."""

    flows: ValueFlows
    sizes: Sizes
    _names: expression_forms.ExpressionNumbering = field(init=False)
    _forms: expression_forms.ExpressionForms = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a name."""
        self._names, self._forms = (
            expression_forms.ExpressionNumbering(self.flows),
            expression_forms.ExpressionForms(self.flows),
        )

    def operations(self) -> Counter[TypedOperation]:
        """Return how many operations of each kind there are."""
        uses: defaultdict[ArithmeticKind, list[_OperatorUse]] = defaultdict(list)
        for statement in self.flows.scop.statements:
            if statement.name in self.flows.live:
                for use in self._uses(statement):
                    uses[use.operation.kind].append(use)
        result: Counter[TypedOperation] = Counter()
        for group in (group for of_kind in uses.values() for group in _group_by_form(of_kind)):
            same: defaultdict[tuple[TypedOperation, str], list[_OperatorUse]] = defaultdict(list)
            for use in group:
                same[use.operation, use.form].append(use)
            # Of several forms, or types, any two may be one operation.
            numbers = {key: self._count_distinct(alike) for key, alike in same.items()}
            operation, form = max(numbers, key=lambda key: numbers[key])
            result[operation] += numbers[operation, form]
        return result

    def _uses(self, statement: Statement) -> Iterator[_OperatorUse]:
        """Yield what a statement carries out; of narrow integers that is one thing."""
        for node in certain_nodes(statement.body):
            kinds = kinds_of(node)
            live = self._required_instances(statement, node) if kinds else None
            if live is None:
                continue
            for kind in kinds:
                operation = self._operation(statement, node, kind)
                forms, operands = self._forms.of(statement, node), self._operands(statement, node)
                yield _OperatorUse(
                    live, operation, expression_forms.expression_form(node), forms, operands
                )
                if operation.type.is_integer and operation.type.bits < _NARROW_BITS:
                    return

    def _required_instances(self, statement: Statement, node: Expression) -> isl.Set | None:
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
            vanishes = any(
                self._forms.is_constant(statement, expression) for expression in operands
            )
            return None if vanishes else live
        if node.operator in (BinaryOperator.DIVIDE, BinaryOperator.REMAINDER):
            operands = operands[1:]
        for operand in operands:
            given = self._forms.where_constant(statement, operand)
            if given is None:
                return None
            live = live.subtract(given)
        return None if live.is_empty() else live.coalesce()

    def _operation(
        self, statement: Statement, node: Expression, kind: ArithmeticKind
    ) -> TypedOperation:
        operand = node.left if isinstance(node, Comparison) else node
        floating = operand.type.is_floating
        return TypedOperation(kind, lane_type(self.flows.scop, statement, floating=floating))

    def _operands(self, statement: Statement, node: Expression) -> expression_forms.ValueNames:
        """Return the names of all that an operator works on, in the order of its form."""

        def origin(read: expression_forms.ReadLeaf) -> str:
            if isinstance(read, IteratorValue):
                return read.name
            leaf = self.flows.certain_reads.get((statement.name, read.access))
            return "" if leaf is None else self._names.origin(leaf)

        named = []
        full = True
        for read_leaf in expression_forms.form_operands(node, origin):
            if isinstance(read_leaf, IteratorValue):
                named.append(self._names.of_iterators(statement, [read_leaf.name]))
            elif leaf := self.flows.certain_reads.get((statement.name, read_leaf.access)):
                named.append(self._names.of_leaf(leaf))
            else:
                full = False  # in the arm of a condition: nobody knows
        value_names = self._names.tuple_of(statement, named)
        return expression_forms.ValueNames(value_names.names, value_names.is_exact and full)

    def _count_distinct(self, uses: list[_OperatorUse]) -> int:
        """Return how many different tuples operators of one form have together, or fewer."""
        if len(uses) == 1:
            return self._tuples(uses[0])
        try:
            with attempt_bounded(MAX_OPERATIONS):
                groups = _group_by_operands([(use, self._image(use)) for use in uses])
        except isl.Error:
            groups = [uses]
        return sum(max(self._tuples(operator_use) for operator_use in group) for group in groups)

    def _image(self, use: _OperatorUse) -> isl.UnionSet:
        return isl.UnionSet.from_set(use.live).apply(use.operands.names)

    def _tuples(self, use: _OperatorUse) -> int:
        """Return how many different tuples an operator has, or fewer."""
        try:
            with attempt_bounded(MAX_OPERATIONS):
                here = use.operands.names.intersect_domain(isl.UnionSet.from_set(use.live))
                if here.is_injective():
                    return count_points_at_least(use.live, self.sizes)
                images = here.range()
        except isl.Error:
            return 0
        return count_union_points_at_least(images, self.sizes)


def _group_by_operands(uses: list[tuple[_OperatorUse, isl.UnionSet]]) -> list[list[_OperatorUse]]:
    """Return groups of operators; those of two groups have no tuple in common."""
    if not all(operator_use.operands.is_exact for operator_use, _ in uses):
        return [[operator for operator, _ in uses]]
    groups: list[tuple[list[_OperatorUse], isl.UnionSet]] = []
    for use, image in uses:
        apart = []
        members = [use]
        for others, theirs in groups:
            if theirs.is_disjoint(image):
                apart.append((others, theirs))
            else:
                members += others
                image = image.union(theirs)
        groups = [*apart, (members, image)]
    return [members for members, _ in groups]


def _group_by_form(uses: Sequence[_OperatorUse]) -> list[list[_OperatorUse]]:
    """Return groups of operators; those of two groups have no form in common."""
    groups: list[tuple[list[_OperatorUse], expression_forms.FormTexts | None]] = []
    for use in uses:
        members, forms = [use], use.forms
        apart = []
        for others, theirs in groups:
            if forms is None or theirs is None or forms & theirs:
                members += others
                forms = None if forms is None or theirs is None else forms | theirs
            else:
                apart.append((others, theirs))
        groups = [*apart, (members, forms)]
    return [members for members, _ in groups]
