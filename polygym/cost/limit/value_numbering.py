"""Names of values: two instances whose operands have the same names compute the same.

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

from collections.abc import Iterable
from dataclasses import dataclass, field

import islpy as isl

from polygym.cost.limit.value_flows import CertainRead, ValueFlows, certain_nodes
from polygym.ir.expressions import Access, IteratorValue, Load
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
class ValueNumbering:
    """The names of what leaves read (holds isl); each is worked out once."""

    flows: ValueFlows
    _recurrent: frozenset[str] = field(init=False)
    _values: dict[str, ValueNames] = field(init=False, default_factory=dict)
    _leaves: dict[tuple[str, Access], ValueNames] = field(init=False, default_factory=dict)
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
        if isinstance(statement.body, Load) and leaves:
            return self.of_leaf(leaves[0])  # a copy has the name of what it copies
        if statement.name in self._recurrent:
            return _instance_names(statement)
        nodes = certain_nodes(statement.body)
        counters = [node.name for node in nodes if isinstance(node, IteratorValue)]
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
