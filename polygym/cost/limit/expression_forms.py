"""Forms of operators: texts with a mark for each operand.

``A[i] * B[j] + 1.0`` and ``C[j] * D[i] + 1.0`` have one form, ``add(multiply(*, *), 1.0)``. Where a
value that is read was computed by a statement without recurrence, the form of that statement stands
in the place of the mark: with ``t = A[i] * B[i]``, ``t + 1.0`` has the form of ``A[i] * B[i] +
1.0`` and may be the same operation. A read of values from several places has several forms, and two
operators can only be one operation if they have one in common. What has no mark is a constant.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import islpy as isl

from polygym.cost.limit.operation_kinds import has_data
from polygym.cost.limit.value_flows import ValueFlows
from polygym.cost.limit.value_numbering import maps_of_union, recurrent_statements
from polygym.ir.expressions import (
    Access,
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
    walk,
)
from polygym.ir.scop import Statement

_COMMUTATIVE = (BinaryOperator.ADD, BinaryOperator.MULTIPLY)
_MARK = "*"

# Beyond, an operator may be any other; longer texts are told apart by what is computed of them.
_MAX_FORMS = 16
_MAX_LENGTH = 500

FormTexts: TypeAlias = frozenset[str]
ReadLeaf: TypeAlias = Load | Gather | IteratorValue


def expression_form(node: Expression) -> str:
    """Return what an operator computes from what its statement reads."""
    return _text(node, [expression_form(child) for child in children(node)])


def form_operands(node: Expression, origin: Callable[[ReadLeaf], str]) -> Iterator[ReadLeaf]:
    """Yield what an operator works on, where :func:`expression_form` has a mark for it.

    Of operands that may be exchanged and look the same those come first whose ``origin`` does.
    """
    if isinstance(node, Load | Gather | IteratorValue):
        yield node
    for child in _ordered_operands(node, origin):
        yield from form_operands(child, origin)


def _ordered_operands(
    node: Expression, origin: Callable[[ReadLeaf], str]
) -> tuple[Expression, ...]:
    if not (isinstance(node, Binary) and node.operator in _COMMUTATIVE):
        return children(node)

    def key(child: Expression) -> tuple[str, list[str]]:
        return expression_form(child), [origin(leaf) for leaf in form_operands(child, origin)]

    return tuple(sorted(children(node), key=key))


def _text(node: Expression, operands: list[str]) -> str:
    inner = ", ".join(operands)
    match node:
        case Load() | IteratorValue():
            return _MARK
        case Gather():
            return f"{_MARK}[{inner}]"
        case IntegerLiteral() | FloatLiteral():
            return repr(node.value)
        case ParameterValue(name):
            return name
        case Unary() | Binary() | Comparison():
            if isinstance(node, Binary) and node.operator in _COMMUTATIVE:
                inner = ", ".join(sorted(operands))
            return f"{node.operator.name}:{node.type.name}({inner})"
        case Cast():
            return f"{node.type.name}({inner})"
        case Call():
            return f"{node.function.name}:{node.type.name}({inner})"
        case _:
            return f"{type(node).__name__}({inner})"


@dataclass(slots=True)
class ExpressionForms:
    """The forms of operators, with what values that are read were computed from."""

    flows: ValueFlows
    _recurrent: frozenset[str] = field(init=False)
    _memo: dict[tuple[str, Access], FormTexts | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Find the statements whose form does not come to an end."""
        self._recurrent = recurrent_statements(self.flows)

    def of(self, statement: Statement, node: Expression) -> FormTexts | None:
        """Return the forms of an operator; None where there are too many of them."""
        if isinstance(node, Load):
            return self._of_read(statement, node.access)
        parts = [self.of(statement, child) for child in children(node)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        texts = {_text(node, list(chosen)) for chosen in _form_products(known)}
        return _limited(texts)

    def may_be_constant(self, statement: Statement, node: Expression) -> bool:
        """Whether LLVM may know what something that is read is in some instances."""
        texts = self.of(statement, node)
        return has_data(node) and (texts is None or any(_MARK not in text for text in texts))

    def where_constant(self, statement: Statement, node: Expression) -> isl.Set | None:
        """Return the instances in which LLVM may know what is read; None where that is not known.

        These are at most those in which it may know each thing that is read.
        """
        domain = isl.Set(statement.domain)
        nothing = domain.subtract(domain)
        if not self.may_be_constant(statement, node):
            return nothing
        result = domain
        for access in dict.fromkeys(
            expression.access for expression in walk(node) if isinstance(expression, Load)
        ):
            leaf = self.flows.certain_reads.get((statement.name, access))
            if leaf is None or leaf.sources is None or leaf.live_in is None:
                return None
            given = nothing
            for part in maps_of_union(leaf.sources):
                if self.is_written_constant(
                    self.flows.scop.statement(part.get_tuple_name(isl.dim_type.in_))
                ):
                    given = given.union(part.range())
            if self.flows.scop.array(access.array).initial is not None:
                for part in maps_of_union(leaf.live_in):
                    given = given.union(part.domain())
            result = result.intersect(given)
        return result

    def is_constant(self, statement: Statement, node: Expression) -> bool:
        """Whether LLVM may know what something that is read is in all instances."""
        texts = self.of(statement, node)
        return has_data(node) and (texts is None or all(_MARK not in text for text in texts))

    def is_written_constant(self, statement: Statement) -> bool:
        """Whether LLVM may know what a statement writes, in some instances."""
        if statement.name in self._recurrent:
            return False
        texts = self.of(statement, statement.body)
        return texts is None or any(_MARK not in text for text in texts)

    def _of_read(self, statement: Statement, access: Access) -> FormTexts | None:
        key = statement.name, access
        if key not in self._memo:
            self._memo[key] = frozenset({_MARK})  # of copies in a circle
            self._memo[key] = self._of_sources(statement, access)
        return self._memo[key]

    def _of_sources(self, statement: Statement, access: Access) -> FormTexts | None:
        leaf = self.flows.certain_reads.get((statement.name, access))
        if leaf is None or leaf.sources is None:
            return None
        initial = self.flows.scop.array(access.array).initial is not None
        result = {f"initial {access.array}" if initial else _MARK}
        if leaf.live_in is not None and leaf.live_in.is_empty():
            result = set()
        for part in maps_of_union(leaf.sources):
            writer = self.flows.scop.statement(part.get_tuple_name(isl.dim_type.in_))
            if writer.name in self._recurrent and not isinstance(writer.body, Load):
                result.add(_MARK)
                continue
            more = self.of(writer, writer.body)
            if more is None:
                return None
            result |= more
        return _limited(result)


def _form_products(parts: list[FormTexts]) -> Iterator[tuple[str, ...]]:
    """Yield every choice, and no more than are looked at."""
    for number, chosen in enumerate(product(*parts)):
        if number > _MAX_FORMS:
            return
        yield chosen


def _limited(texts: set[str]) -> FormTexts | None:
    return frozenset(map(_abbreviate, texts)) if len(texts) <= _MAX_FORMS else None


def _abbreviate(text: str) -> str:
    """Return a text, or what stands for it if it is long."""
    if len(text) <= _MAX_LENGTH:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{digest}{_MARK * (_MARK in text)}"
