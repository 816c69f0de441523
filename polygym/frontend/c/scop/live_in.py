"""Values that come into the region from the function around it, by code that polygym does not run.

A region is run by itself: its arguments and globals are given, its constants known
(:mod:`polygym.frontend.c.scop.initial_constants`), and its local variables start with nothing. A
local variable that other code fills, and that the region reads before it writes it, is an input
like an argument::

    double w = 2 * alpha;                      w = 2 * alpha;
    #pragma scop                               #pragma scop
    A[i] = A[i] * w;      an input             w = 1; A[i] = A[i] * w;      a local variable

A ``static`` one has what the call before has left: it is an input wherever that is read, and only
then, or where code around the region mentions it, does somebody see what the region leaves in it.

Which reads see a value from outside is asked exactly: those instances and elements for which the
dataflow analysis finds no earlier write in the region.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import islpy as isl

from polygym.frontend.c.scop.extraction import StatementDraft
from polygym.frontend.c.sema.accesses import SourceAccess, access_relation
from polygym.frontend.c.sema.bindings import Bindings
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.poly.dependences import reads_without_source


def live_in_variables(
    scop: Scop,
    drafts: Sequence[StatementDraft],
    source_accesses: Sequence[SourceAccess],
    symbols: Iterable[Symbol],
    sizes: Mapping[Symbol, Sequence[Any]],
    bindings: Bindings,
) -> tuple[Symbol, ...]:
    """Return the variables of the function whose values from outside the region sees.

    ``drafts`` are those of the finished statements, in their order; ``symbols`` the variables in
    memory that have no constant value when the region starts; ``sizes`` the sizes of arrays.
    """
    suspects = {symbol for symbol in symbols if _has_value_from_outside(symbol, bindings.names)}
    if not suspects:
        return ()
    accesses = _AccessRelations(scop, drafts, source_accesses, suspects, sizes, bindings.context)
    outside = accesses.reads_from_outside()
    result = [
        touch.symbol for touch, reads in accesses.reads if not reads.intersect(outside).is_empty()
    ]
    return tuple(dict.fromkeys(result))


def with_live_in(scop: Scop, names: Sequence[str]) -> Scop:
    """Return a Scop with some of its local variables as further arguments.

    A scalar is handed over by value, unless somebody sees what becomes of it.
    """
    arrays = tuple(
        replace(array, storage_class=_storage(array)) if array.name in names else array
        for array in scop.arrays
    )
    return replace(scop, arrays=arrays, signature=(*scop.signature, *names))


def without_dead_outputs(scop: Scop, names: Collection[str]) -> Scop:
    """Return a Scop whose last values of some variables are not observed."""
    arrays = (
        replace(array, live_out=array.live_out and array.name not in names) for array in scop.arrays
    )
    return replace(scop, arrays=tuple(arrays))


def _storage(array: Array) -> StorageClass:
    return StorageClass.ARGUMENT if array.rank or array.live_out else StorageClass.VALUE


def _has_value_from_outside(symbol: Symbol, names: ResolvedNames) -> bool:
    """Whether code around the region, or an earlier call, gives a local variable a value."""
    return symbol.scope is DeclarationScope.FUNCTION and (
        symbol.initializer is not None or names.is_changed_before(symbol) or names.is_static(symbol)
    )


class _AccessRelations:
    """The accesses to some variables, as isl relations restricted to what runs."""

    def __init__(
        self,
        scop: Scop,
        drafts: Sequence[StatementDraft],
        source_accesses: Sequence[SourceAccess],
        candidates: set[Symbol],
        sizes: Mapping[Symbol, Sequence[Any]],
        context: Any,
    ) -> None:
        """Collect reads, each with its touch, in the order of the text, and all writes."""
        parameters = isl.Set.read_from_str(context, scop.context)
        self.domain = isl.UnionSet.read_from_str(context, "{ }")
        self.writes = isl.UnionMap.read_from_str(context, "{ }")
        self.reads: list[tuple[SourceAccess, Any]] = []
        for statement, draft in zip(scop.statements, drafts, strict=True):
            instances = isl.Set.read_from_str(context, statement.domain)
            instances = instances.intersect_params(parameters)
            self.domain = self.domain.union(isl.UnionSet.from_set(instances))
            for index in draft.source_accesses:
                touch = source_accesses[index]
                if touch.symbol not in candidates:
                    continue
                found = access_relation(
                    touch, statement.name, draft.environment.domain, context, sizes[touch.symbol]
                )
                accessed = isl.UnionMap.from_map(found.intersect_domain(instances))
                if index == draft.source_accesses.start:
                    self.writes = self.writes.union(accessed)
                else:
                    self.reads.append((touch, accessed))
        self.order = isl.UnionMap.read_from_str(context, scop.schedule)

    def reads_from_outside(self) -> Any:
        """Return the pairs (instance, element) whose value no earlier instance has written."""
        every = isl.UnionMap.read_from_str(self.domain.get_ctx(), "{ }")
        for _, reads in self.reads:
            every = every.union(reads)
        order = self.order.intersect_domain(self.domain)
        return reads_without_source(every, self.writes, order)
