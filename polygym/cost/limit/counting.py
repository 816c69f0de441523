"""How many operations of each kind a program has to carry out at given sizes.

Every operator that any code carries out (:mod:`polygym.cost.limit.operators`) counts as often as
live instances have different tuples of operands (:mod:`polygym.cost.limit.values`). Two operators
of one form, ``A[i - 1] + A[i]`` and ``A[i] + A[i + 1]``, may be one operation of two instances: of
operators whose tuples are not apart the one with most counts for all.

Example, gemm with n = m = k = 1000: of ``C[i][j] += alpha * A[i][k] * B[k][j]`` there are 10^6
products of alpha and A[i, k], 10^9 others and 10^9 sums, and ``C[i][j] *= beta`` has 10^6 products.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import islpy as isl

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.expr import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Comparison,
    Expression,
    FloatLiteral,
    Gather,
    IntegerLiteral,
    IteratorValue,
    Load,
    ParameterValue,
    Unary,
    children,
)
from polygym.compiler.ir.scop import Statement
from polygym.compiler.poly.isl_budget import attempt
from polygym.cost.limit.flows import MOST_OPERATIONS, Flows, certain
from polygym.cost.limit.operators import Kind, Operation, kinds_of, lanes_of
from polygym.cost.limit.points import all_points, points
from polygym.cost.limit.values import Named, Names

_COMMUTE = (BinaryOperator.ADD, BinaryOperator.MULTIPLY)


@dataclass(frozen=True, slots=True)
class _Use:
    """An operator in a statement: what its operands are called, and in how many instances."""

    statement: Statement
    operands: Named


@dataclass(slots=True)
class Counting:
    """Counts the operations of one program (holds isl)."""

    flows: Flows
    sizes: Sizes
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a name."""
        self.names = Names(self.flows)

    def operations(self) -> Counter[Operation]:
        """Return how many operations of each kind there are."""
        uses: defaultdict[tuple[Operation, str], list[_Use]] = defaultdict(list)
        for statement in self.flows.scop.statements:
            if statement.name in self.flows.live:
                for node in certain(statement.body):
                    for kind in kinds_of(node):
                        key = self._operation(statement, node, kind), _form(node)
                        uses[key].append(_Use(statement, self._operands(statement, node)))
        found: Counter[Operation] = Counter()
        for (operation, _), alike in uses.items():
            found[operation] += self._different(alike)
        return found

    def _operation(self, statement: Statement, node: Expression, kind: Kind) -> Operation:
        operand = node.left if isinstance(node, Comparison) else node
        floating = operand.type.is_floating
        return Operation(kind, lanes_of(self.flows.scop, statement, floating=floating))

    def _operands(self, statement: Statement, node: Expression) -> Named:
        """Return the names of all that an operator works on, in the order of its form."""
        named = []
        full = True
        for one in _leaves(node):
            if isinstance(one, IteratorValue):
                named.append(self.names.of_iterators(statement, [one.name]))
            elif leaf := self.flows.leaves.get((statement.name, one.access)):
                named.append(self.names.of_leaf(leaf))
            else:
                full = False  # in the arm of a condition: nobody knows
        found = self.names.tuple_of(statement, named)
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


def _leaves(node: Expression) -> Iterator[Load | Gather | IteratorValue]:
    """Yield what an operator works on, where :func:`_form` has a mark for it."""
    if isinstance(node, Load | Gather | IteratorValue):
        yield node
    for child in _in_order(node):
        yield from _leaves(child)


def _in_order(node: Expression) -> tuple[Expression, ...]:
    """Return the operands, those that may be exchanged by what they look like."""
    if isinstance(node, Binary) and node.operator in _COMMUTE:
        return tuple(sorted(children(node), key=_sorting))
    return children(node)


def _sorting(node: Expression) -> tuple[str, list[str]]:
    names = [
        one.name if isinstance(one, IteratorValue) else one.access.array for one in _leaves(node)
    ]
    return _form(node), names


def _form(node: Expression) -> str:
    """Return what an operator computes, with one mark for all that is read."""
    inner = ", ".join(_form(child) for child in _in_order(node))
    match node:
        case Load() | IteratorValue():
            return "*"
        case Gather():
            return f"*[{inner}]"
        case IntegerLiteral(value) | FloatLiteral(value):
            return repr(value)
        case ParameterValue(name):
            return name
        case Unary() | Binary() | Comparison():
            return f"{node.operator.name}:{node.type.name}({inner})"
        case Cast():
            return f"{node.type.name}({inner})"
        case Call():
            return f"{node.function.name}:{node.type.name}({inner})"
        case _:
            return f"{type(node).__name__}({inner})"
