"""Forms of operators: texts with a mark for each operand.

``A[i] * B[j] + 1.0`` and ``C[j] * D[i] + 1.0`` have one form, ``add(multiply(*, *), 1.0)``. Where a
value that is read was computed by a statement without recurrence, the form of that statement stands
in the place of the mark: with ``t = A[i] * B[i]``, ``t + 1.0`` has the form of ``A[i] * B[i] +
1.0`` and may be the same operation. A read of values from several places has several forms, and two
operators can only be one operation if they have one in common. What has no mark is a constant.

Names of values: two instances whose operands have the same names compute the same.

What is computed once need not be computed again: LLVM moves ``alpha * A[i][k]`` out of a loop over
j, and adds what two instances both need once. So the operations of a program are not instances
times operators, and a bound below its time may only count as many as there are different tuples of
operands. The name of what a leaf reads is

* the element, if nothing has written it before: ``A[i, k]``;
* the instance that wrote it, if that is one of a *recurrence*, a statement that its own values lead
  back to: ``T[i, j, k]``. Instances of recurrences are taken to compute different things;
* else the names of all that the writing statement reads, so that ``t = alpha * x[i]`` in a loop
  over j has one name for each i, wherever it is stored.

Example: in gemm's ``C[i][j] += alpha * A[i][k] * B[k][j]`` the operands of the first product are
alpha and A[i, k], of which there are n·m pairs; those of the second are these and B[k, j], and
those of the sum these and T[i, j, k - 1]: as many as there are instances.

A copy, ``A[i] = B[i]``, has the name of what it copies. Where names would be of too many kinds for
isl, or flow is unknown, a leaf has one name for all instances: coarser names are sound for one
operator, and a caller that compares names of several is told that they are not full.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

import islpy as isl

from polygym.cost.limit.operation_kinds import has_data
from polygym.cost.limit.value_flows import CertainRead, ValueFlows, certain_nodes
from polygym.ir import expressions
from polygym.ir.scop import Statement
from polygym.poly.dependences import maps_of
from polygym.poly.isl_values import isl_text

# A name has so many kinds at most, by where the values come from.
_MAX_SPACES = 8


@dataclass(frozen=True, slots=True)
class ValueNames:
    """Pairs (instance, name); where it is not ``is_exact``, some different values have one name."""

    names: isl.UnionMap
    is_exact: bool


@dataclass(slots=True)
class ExpressionNumbering:
    """The names of what leaves read (holds isl); each is worked out once."""

    flows: ValueFlows
    _recurrent: frozenset[str] = field(init=False)
    _values: dict[str, ValueNames] = field(init=False, default_factory=dict)
    _leaves: dict[tuple[str, expressions.Access], ValueNames] = field(
        init=False, default_factory=dict
    )
    _in_progress: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        """Find the statements that their own values lead back to."""
        self._recurrent = recurrent_statements(self.flows)

    def of_leaf(self, leaf: CertainRead) -> ValueNames:
        """Return the names of what a leaf reads."""
        key = leaf.statement, leaf.access
        if key not in self._leaves:
            self._leaves[key] = self._of_leaf(leaf)
        return self._leaves[key]

    def origin(self, leaf: CertainRead) -> str:
        """Return where values that a leaf reads come from, whatever they are stored in."""
        kinds = maps_of_union(self.of_leaf(leaf).names)
        return "; ".join(sorted(isl_text(kind.get_space().range()) for kind in kinds))

    def of_iterators(self, statement: Statement, names: Iterable[str]) -> ValueNames:
        """Return the values of some of a statement's iterators as names."""
        kept, wanted = isl.Set(statement.domain).identity(), set(names)
        for place in reversed(range(statement.depth)):
            if statement.iterators[place] not in wanted:
                kept = kept.project_out(isl.dim_type.out, place, 1)
        return ValueNames(
            isl.UnionMap.from_map(kept.set_tuple_name(isl.dim_type.out, "values")), True
        )

    def tuple_of(self, statement: Statement, operands: Iterable[ValueNames]) -> ValueNames:
        """Return tuples of names as names."""
        value_names = _unknown_names(statement)
        for operand in operands:
            more = value_names.names.range_product(operand.names)
            if more.n_map() > _MAX_SPACES:
                value_names = ValueNames(value_names.names, False)
            else:
                value_names = ValueNames(more, value_names.is_exact and operand.is_exact)
        return value_names

    def _of_leaf(self, leaf: CertainRead) -> ValueNames:
        if leaf.sources is None or leaf.live_in is None:
            return self._nothing(leaf)
        union_map, full = leaf.live_in, True
        for part in maps_of_union(leaf.sources):
            writer = part.get_tuple_name(isl.dim_type.in_)
            reader_to_writer = isl.UnionMap.from_map(part.reverse())
            value = self._of_value(self.flows.scop.statement(writer))
            union_map = union_map.union(reader_to_writer.apply_range(value.names))
            full = full and value.is_exact
        return (
            ValueNames(union_map, full) if union_map.n_map() <= _MAX_SPACES else self._nothing(leaf)
        )

    def _nothing(self, leaf: CertainRead) -> ValueNames:
        value_names = _unknown_names(self.flows.scop.statement(leaf.statement))
        return ValueNames(value_names.names, False)

    def _of_value(self, statement: Statement) -> ValueNames:
        """Return the names of what a statement computes."""
        name = statement.name
        if name in self._in_progress:  # copies in a circle
            return _instance_names(statement)
        if name not in self._values:
            self._in_progress.add(name)
            self._values[name] = self._of_new_value(statement)
            self._in_progress.remove(name)
        return self._values[name]

    def _of_new_value(self, statement: Statement) -> ValueNames:
        leaves = self.flows.reads_of(statement.name)
        if isinstance(statement.body, expressions.Load) and leaves:
            return self.of_leaf(leaves[0])  # a copy has the name of what it copies
        if statement.name in self._recurrent:
            return _instance_names(statement)
        nodes = certain_nodes(statement.body)
        counters = [node.name for node in nodes if isinstance(node, expressions.IteratorValue)]
        operands = [self.of_leaf(leaf) for leaf in leaves]
        return self.tuple_of(statement, [*operands, self.of_iterators(statement, counters)])


def _instance_names(statement: Statement) -> ValueNames:
    return ValueNames(isl.UnionMap.from_map(isl.Set(statement.domain).identity()), True)


def _unknown_names(statement: Statement) -> ValueNames:
    domain = isl.UnionSet(statement.domain)
    return ValueNames(isl.UnionMap.from_domain_and_range(domain, isl.UnionSet("{ all[] }")), True)


def recurrent_statements(flows: ValueFlows) -> frozenset[str]:
    """Return the statements that their own values lead back to, through others or not."""
    reached: dict[str, set[str]] = {statement.name: set() for statement in flows.scop.statements}
    for leaf in flows.certain_reads.values():
        for part in maps_of_union(leaf.sources):
            reached[part.get_tuple_name(isl.dim_type.in_)].add(leaf.statement)
    growing = True
    while growing:
        growing = False
        for others in reached.values():
            more = {name for other in others for name in reached[other]} - others
            others |= more
            growing = growing or bool(more)
    return frozenset(name for name, others in reached.items() if name in others)


def maps_of_union(relation: isl.UnionMap | None) -> list[isl.Map]:
    """Return the maps of a union, one for each pair of spaces; none of nothing."""
    return [] if relation is None else maps_of(relation)


_COMMUTATIVE = (expressions.BinaryOperator.ADD, expressions.BinaryOperator.MULTIPLY)
_MARK = "*"

# Beyond, an operator may be any other; longer texts are told apart by what is computed of them.
_MAX_FORMS = 16
_MAX_LENGTH = 500

FormTexts: TypeAlias = frozenset[str]
ReadLeaf: TypeAlias = expressions.Load | expressions.Gather | expressions.IteratorValue


def expression_form(node: expressions.Expression) -> str:
    """Return what an operator computes from what its statement reads."""
    return _text(node, [expression_form(child) for child in expressions.children(node)])


def form_operands(
    node: expressions.Expression, origin: Callable[[ReadLeaf], str]
) -> Iterator[ReadLeaf]:
    """Yield what an operator works on, where :func:`expression_form` has a mark for it.

    Of operands that may be exchanged and look the same those come first whose ``origin`` does.
    """
    if isinstance(node, expressions.Load | expressions.Gather | expressions.IteratorValue):
        yield node
    for child in _ordered_operands(node, origin):
        yield from form_operands(child, origin)


def _ordered_operands(
    node: expressions.Expression, origin: Callable[[ReadLeaf], str]
) -> tuple[expressions.Expression, ...]:
    if not (isinstance(node, expressions.Binary) and node.operator in _COMMUTATIVE):
        return expressions.children(node)

    def key(child: expressions.Expression) -> tuple[str, list[str]]:
        return expression_form(child), [origin(leaf) for leaf in form_operands(child, origin)]

    return tuple(sorted(expressions.children(node), key=key))


def _text(node: expressions.Expression, operands: list[str]) -> str:
    inner = ", ".join(operands)
    match node:
        case expressions.Load() | expressions.IteratorValue():
            return _MARK
        case expressions.Gather():
            return f"{_MARK}[{inner}]"
        case expressions.IntegerLiteral() | expressions.FloatLiteral():
            return repr(node.value)
        case expressions.ParameterValue(name):
            return name
        case expressions.Unary() | expressions.Binary() | expressions.Comparison():
            if isinstance(node, expressions.Binary) and node.operator in _COMMUTATIVE:
                inner = ", ".join(sorted(operands))
            return f"{node.operator.name}:{node.type.name}({inner})"
        case expressions.Cast():
            return f"{node.type.name}({inner})"
        case expressions.Call():
            return f"{node.function.name}:{node.type.name}({inner})"
        case _:
            return f"{type(node).__name__}({inner})"


@dataclass(slots=True)
class ExpressionForms:
    """The forms of operators, with what values that are read were computed from."""

    flows: ValueFlows
    _recurrent: frozenset[str] = field(init=False)
    _memo: dict[tuple[str, expressions.Access], FormTexts | None] = field(
        init=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        """Find the statements whose form does not come to an end."""
        self._recurrent = recurrent_statements(self.flows)

    def of(self, statement: Statement, node: expressions.Expression) -> FormTexts | None:
        """Return the forms of an operator; None where there are too many of them."""
        if isinstance(node, expressions.Load):
            return self._of_read(statement, node.access)
        parts = [self.of(statement, child) for child in expressions.children(node)]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        texts = {_text(node, list(chosen)) for chosen in _form_products(known)}
        return _limited(texts)

    def may_be_constant(self, statement: Statement, node: expressions.Expression) -> bool:
        """Whether LLVM may know what something that is read is in some instances."""
        texts = self.of(statement, node)
        return has_data(node) and (texts is None or any(_MARK not in text for text in texts))

    def where_constant(self, statement: Statement, node: expressions.Expression) -> isl.Set | None:
        """Return the instances in which LLVM may know what is read; None where that is not known.

        These are at most those in which it may know each thing that is read.
        """
        domain = isl.Set(statement.domain)
        nothing = domain.subtract(domain)
        if not self.may_be_constant(statement, node):
            return nothing
        result = domain
        for access in dict.fromkeys(
            expression.access
            for expression in expressions.walk(node)
            if isinstance(expression, expressions.Load)
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

    def is_constant(self, statement: Statement, node: expressions.Expression) -> bool:
        """Whether LLVM may know what something that is read is in all instances."""
        texts = self.of(statement, node)
        return has_data(node) and (texts is None or all(_MARK not in text for text in texts))

    def is_written_constant(self, statement: Statement) -> bool:
        """Whether LLVM may know what a statement writes, in some instances."""
        if statement.name in self._recurrent:
            return False
        texts = self.of(statement, statement.body)
        return texts is None or any(_MARK not in text for text in texts)

    def _of_read(self, statement: Statement, access: expressions.Access) -> FormTexts | None:
        key = statement.name, access
        if key not in self._memo:
            self._memo[key] = frozenset({_MARK})  # of copies in a circle
            self._memo[key] = self._of_sources(statement, access)
        return self._memo[key]

    def _of_sources(self, statement: Statement, access: expressions.Access) -> FormTexts | None:
        leaf = self.flows.certain_reads.get((statement.name, access))
        if leaf is None or leaf.sources is None:
            return None
        initial = self.flows.scop.array(access.array).initial is not None
        result = {f"initial {access.array}" if initial else _MARK}
        if leaf.live_in is not None and leaf.live_in.is_empty():
            result = set()
        for part in maps_of_union(leaf.sources):
            writer = self.flows.scop.statement(part.get_tuple_name(isl.dim_type.in_))
            if writer.name in self._recurrent and not isinstance(writer.body, expressions.Load):
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
