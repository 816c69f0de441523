"""Values that a program certainly reads and needs: the ground of every bound below its time.

A *leaf* is a read of a statement that every instance performs: no read in an arm of a ``?:``, whose
condition may leave it out, and none at a computed subscript, whose element is not known. For each
leaf it is exact which write's value it sees (value-based flow, whatever storage is chosen later)
and which of its elements come from before the program. Where isl cannot tell, or a store to the
array may not happen or goes to a computed element, the leaf is unknown, and bounds are lower for
it.

An instance is *live* if what it computes is needed: it writes an output for the last time, or a
leaf of a live instance sees its value. With F the last writes and R the flow relation, live
instances are the greatest set X with::

    X = F + (X * R^-1(X))

for from any instance of it one may go on to a reader until a last write is reached, since time goes
on and ends. It is found from above, starting with all instances. Example: in ``s = 0; for (i = 0;
i < n; i++) s += x[i]; y = s;`` everything is live if y is an output; with ``y = 0`` nothing but
that is, and no time has to be spent on s.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polygym.ir import expressions
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes
from polygym.poly.dependences import flow_sources, maps_of, original_order, sets_of
from polygym.poly.isl_budget import attempt_bounded

# For one question whose answer only makes a bound better.
MAX_OPERATIONS = 400_000

# So often the set of live instances may shrink beyond once for every statement: a recurrence that
# is dead loses one instance each time.
_EXTRA_ROUNDS = 4

# What is larger is one case for isl, whatever it is; what is smaller has its value.
_LARGE_SIZE = 8


@dataclass(frozen=True, slots=True)
class CertainRead:
    """A read that every instance of a statement performs (holds isl).

    ``sources`` are the pairs (writing instance, reading instance), ``live_in`` the pairs (reading
    instance, element) of elements that nothing has written before. Both are None if unknown.
    """

    statement: str
    access: expressions.Access
    sources: isl.UnionMap | None
    live_in: isl.UnionMap | None


@dataclass(frozen=True, slots=True)
class ValueFlows:
    """The leaves of a program, its live instances, and what it writes for good (holds isl).

    ``live`` has a set for every statement of which an instance is live. ``last_writes`` are the
    pairs (instance, element) of the last writes of outputs.
    """

    scop: Scop
    certain_reads: Mapping[tuple[str, expressions.Access], CertainRead]
    live: Mapping[str, isl.Set]
    last_writes: isl.UnionMap

    def reads_of(self, statement: str) -> tuple[CertainRead, ...]:
        """Return the leaves of a statement."""
        return tuple(read for (name, _), read in self.certain_reads.items() if name == statement)


def certain_nodes(expression: expressions.Expression) -> Iterator[expressions.Expression]:
    """Yield the nodes that are evaluated in any case, parents first."""
    yield expression
    match expression:
        case expressions.Conditional(condition=condition):
            yield from certain_nodes(condition)
            return
        case expressions.Update(condition=condition) if condition is not None:
            yield from certain_nodes(condition)
            return
    for child in expressions.children(expression):
        yield from certain_nodes(child)


def certain_reads(statement: Statement) -> tuple[expressions.Access, ...]:
    """Return the accesses of the reads that every instance performs, each once."""
    accesses = (
        node.access for node in certain_nodes(statement.body) if isinstance(node, expressions.Load)
    )
    return tuple(dict.fromkeys(access for access in accesses if not access.gathered))


def find_value_flows(scop: Scop, outputs: Sequence[str], sizes: Sizes) -> ValueFlows:
    """Return the flows of a program of which the arrays in ``outputs`` are what is wanted.

    They hold for the given sizes, and for all others that are large where these are.
    """
    context = isl.Set(scop.context).intersect(_size_region(sizes))
    order = original_order(scop)
    leaves: dict[tuple[str, expressions.Access], CertainRead] = {}
    final = isl.UnionMap("{ }")
    for array in dict.fromkeys(_arrays(scop)):
        writes = _writes(scop, array)
        if array in outputs:
            final = final.union(_last_writes(writes, order).intersect_params(context))
        for leaf in _certain_reads_of(scop, array, writes, order, context):
            leaves[leaf.statement, leaf.access] = leaf
    live = _live_instances(scop, tuple(leaves.values()), final, context)
    return ValueFlows(scop, leaves, live, final)


def _size_region(sizes: Sizes) -> isl.Set:
    """Return the sizes that are like the given ones.

    >>> _size_region({"n": 1000, "m": 3})
    Set("[n, m] -> {  : m = 3 and n >= 8 }")
    """
    terms = [
        f"{name} >= {_LARGE_SIZE}" if value >= _LARGE_SIZE else f"{name} = {value}"
        for name, value in sizes.items()
    ]
    return isl.Set(f"[{', '.join(sizes)}] -> {{ : {' and '.join(terms)} }}")


def _arrays(scop: Scop) -> Iterator[str]:
    for statement in scop.statements:
        yield statement.write.array
        yield from (access.array for access in certain_reads(statement))


def _writes(scop: Scop, array: str) -> isl.UnionMap:
    union_map = isl.UnionMap("{ }")
    for statement in scop.statements:
        if statement.write.array == array:
            union_map = union_map.union(_restricted(statement, statement.write))
    return union_map


def _restricted(statement: Statement, access: expressions.Access) -> isl.UnionMap:
    return isl.UnionMap(access.relation).intersect_domain(isl.UnionSet(statement.domain))


def _certain_reads_of(
    scop: Scop, array: str, writes: isl.UnionMap, order: isl.UnionMap, context: isl.Set
) -> Iterator[CertainRead]:
    """Yield the leaves that read an array; isl analyses all of them together."""
    wanted = [
        (statement.name, access, _restricted(statement, access))
        for statement in scop.statements
        for access in certain_reads(statement)
        if access.array == array
    ]
    if not wanted:
        return
    if any(
        statement.write.array == array and isinstance(statement.body, expressions.Update)
        for statement in scop.statements
    ):
        for name, access, _ in wanted:
            yield CertainRead(name, access, None, None)
        return
    if writes.is_empty():
        for name, access, reads in wanted:
            yield CertainRead(name, access, isl.UnionMap("{ }"), reads.intersect_params(context))
        return
    together = isl.UnionMap("{ }")
    for _, _, reads in wanted:
        together = together.union(reads)
    union_maps = flow_sources(together, writes, order)
    for name, access, reads in wanted:
        if union_maps is None:
            yield CertainRead(name, access, None, None)
            continue
        pairs, fresh = union_maps
        # Of the values that an instance reads those at the place of this read.
        here = writes.apply_range(reads.reverse())
        yield CertainRead(
            name,
            access,
            pairs.intersect(here).intersect_params(context).coalesce(),
            fresh.intersect(reads).intersect_params(context).coalesce(),
        )


def _last_writes(writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """Return the writes that nothing overwrites, pairs (instance, element); none if isl fails."""
    try:
        with attempt_bounded(MAX_OPERATIONS):
            when = writes.reverse().apply_range(order).lexmax()
            return when.apply_range(order.reverse()).reverse().intersect(writes).coalesce()
    except isl.Error:
        return isl.UnionMap("{ }")


def _live_instances(
    scop: Scop, leaves: Sequence[CertainRead], final: isl.UnionMap, context: isl.Set
) -> dict[str, isl.Set]:
    """Return the live instances by statement, or some of them where all are not found."""
    flow = isl.UnionMap("{ }")
    for leaf in leaves:
        if leaf.sources is not None:
            flow = flow.union(leaf.sources)
    last, every = final.domain(), isl.UnionSet("{ }")
    leading = _statements_reaching_output(leaves, final)
    for statement in scop.statements:
        if statement.name in leading:
            every = every.union(isl.UnionSet(statement.domain).intersect_params(context))
    try:
        with attempt_bounded(MAX_OPERATIONS):
            for _ in range(len(scop.statements) + _EXTRA_ROUNDS):
                needed = flow.intersect_range(every).domain()
                fewer = last.union(every.intersect(needed)).coalesce()
                if every.is_subset(fewer):
                    return _by_name(every)
                every = fewer
    except isl.Error:
        pass
    return _by_name(last)


def _statements_reaching_output(leaves: Sequence[CertainRead], final: isl.UnionMap) -> set[str]:
    """Return the statements from which flow leads to a last write, instances aside."""
    result = {part.get_tuple_name() for part in sets_of(final.domain())}
    edges = [
        (part.get_tuple_name(isl.dim_type.in_), leaf.statement)
        for leaf in leaves
        if leaf.sources is not None
        for part in maps_of(leaf.sources)
    ]
    while more := {source for source, sink in edges if sink in result} - result:
        result |= more
    return result


def _by_name(points: isl.UnionSet) -> dict[str, isl.Set]:
    return {part.get_tuple_name(): part for part in sets_of(points)}
