"""Dependences of a Scop: the pairs of instances that must keep their order.

Two instances s (source) and t (sink), s before t in the original order, depend on each other when
both touch one element of an array and at least one of them writes it:

* FLOW, value-based: t reads the very value that s wrote, no write in between (where isl cannot
  tell, memory-based, which leaves the same schedules legal);
* ANTI, memory-based: s reads the element that t writes later;
* OUTPUT, memory-based: both write it.

A schedule that keeps all three orders computes what the original order computes: a value-based flow
relation says which write a read must see, and the memory-based relations keep every other write out
of the time between the two.

The relations of all kinds and arrays between one pair of statements overlap heavily, and what
legality asks is the order of the pair, not its reason. So they are united, coalesced, and split
into convex pieces; each :class:`Dependence` is one convex relation which remembers the kinds and
arrays that it stands for. In y = Ax (see :mod:`polygym.ir.scop`) this leaves two::

    S -> T  flow, output  { S[i] -> T[i, j] : 0 <= i, j < n }
    T -> T  flow, anti, output  { T[i, j] -> T[i, j'] : 0 <= i, j and j < j' < n }

The order of the tuple is deterministic: by the source's position in the text, then the sink's, then
the text of the relation, in which counters are called i, j, k and sizes n, m whatever the program
calls them, the sizes in the order in which statements need them. So neither names nor the order in
which a function takes its arguments say anything.

Arrays whose contents before the program do not matter.

An array does not if every element is written, and no element is read before that. ::

    C(i) = 0                                     C(i) = A(i) where i in 1:N
    C(i) += A(i, j)      owes nothing            C(i) += B(i)         reads C(0) before

Both are asked exactly, at certain sizes. The order of the text decides what is before: every legal
schedule keeps each read behind the write whose value it sees, and before those whose it does not.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import islpy as isl

from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.pickling import pickle_by_name
from polygym.poly.evaluation import fix_parameters
from polygym.poly.isl_budget import attempt_bounded, bounded_operations, is_exhausted

# For who reads whose value of one array; those of the suite need less than a tenth.
_MOST_OPERATIONS = 1_000_000

# What variables are called where relations are put in order, so that it does not depend on names.
_COUNTERS, _SIZES = "ijklxyzuvw", "nmpqrs"
_WORD = re.compile(r"[A-Za-z_]\w*")

# A number from 32 on that something is multiplied by, in isl's text: ``987i0``, ``40*floor(…)``.
_FACTOR = re.compile(r"(?<![\w.])(3[2-9]|[4-9]\d|\d{3,})(?=[A-Za-z_*(])")


class DependenceKind(Flag):
    """Why two instances keep their order; a dependence may have several reasons."""

    FLOW = 1
    ANTI = 2
    OUTPUT = 4

    def names(self) -> tuple[str, ...]:
        """Return the reasons in lower case, ``("flow", "output")``."""
        return tuple(str(kind.name).lower() for kind in DependenceKind if kind in self)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Dependence:
    """One convex set of pairs (source instance, sink instance), as isl text of a basic map."""

    source: str
    sink: str
    kind: DependenceKind
    arrays: tuple[str, ...]
    relation: str


RelationsOfArray: TypeAlias = dict[tuple[DependenceKind, str], isl.UnionMap]


def dependences(scop: Scop) -> tuple[Dependence, ...]:
    """Return every dependence of the program, in the order that the module's docstring fixes."""
    return _dependences(scop)


@lru_cache(maxsize=REMEMBERED_PROGRAMS)
def _dependences(scop: Scop) -> tuple[Dependence, ...]:
    with bounded_operations("finding the dependences"):
        relations = relations_by_array(scop)
        position = {statement.name: index for index, statement in enumerate(scop.statements)}
        pairs = _group_by_pair(relations)
        ordered = sorted(pairs, key=lambda pair: (position[pair[0]], position[pair[1]]))
        sizes = _parameters_in_order(scop)
        return tuple(
            dependence
            for pair in ordered
            for dependence in _convex_pieces(*pair, pairs[pair], sizes)
        )


def _parameters_in_order(scop: Scop) -> list[str]:
    """Return the parameters in the order in which the domains of statements need them."""
    own = {parameter.name for parameter in scop.parameters}
    words = [
        word
        for statement in scop.statements
        for word in _WORD.findall(statement.domain.partition("{")[2])
    ]
    needed = dict.fromkeys(word for word in words if word in own)
    return [
        *needed,
        *(parameter.name for parameter in scop.parameters if parameter.name not in needed),
    ]


def relations_by_array(scop: Scop) -> RelationsOfArray:
    """Return the unsplit relation of each kind on each array, empty ones left out.

    Parameter values outside the program's context are left out too.
    """
    return dict(_relations_by_array(scop))


@lru_cache(maxsize=8)
def _relations_by_array(scop: Scop) -> RelationsOfArray:
    context = isl.Set(scop.context)
    order = original_order(scop)
    before = order.lex_lt_union_map(order)
    result: RelationsOfArray = {}
    accessed = dict.fromkeys(
        access.array
        for statement in scop.statements
        for access in (statement.write, *statement.reads)
    )
    for array in accessed:
        writes = access_relation(scop, array, is_write=True)
        if writes is None:
            continue
        reads = access_relation(scop, array, is_write=False)
        union_maps = {DependenceKind.OUTPUT: writes.apply_range(writes.reverse()).intersect(before)}
        if reads is not None:
            union_maps[DependenceKind.FLOW] = value_based_flow(reads, writes, order)
            union_maps[DependenceKind.ANTI] = reads.apply_range(writes.reverse()).intersect(before)
        for kind in DependenceKind:
            if kind not in union_maps:
                continue
            relation = union_maps[kind].intersect_params(context).coalesce()
            if not relation.is_empty():
                result[kind, array] = relation
    return result


def union_of(parts: Iterable[isl.UnionSet]) -> isl.UnionSet:
    """Return the union of one or more sets."""
    first, *others = parts
    for other in others:
        first = first.union(other)
    return first


@lru_cache(maxsize=8)
def original_order(scop: Scop) -> isl.UnionMap:
    """Return the original order of all instances."""
    domain = union_of(isl.UnionSet(statement.domain) for statement in scop.statements)
    return isl.UnionMap(scop.schedule).intersect_domain(domain)


def access_relation(scop: Scop, array: str, *, is_write: bool) -> isl.UnionMap | None:
    """Return the union of one array's accesses, restricted to the instances that run."""
    union_map: isl.UnionMap | None = None
    for statement in scop.statements:
        for access in (statement.write,) if is_write else statement.reads:
            if access.array != array:
                continue
            relation = isl.UnionMap(access.relation).intersect_domain(
                isl.UnionSet(statement.domain)
            )
            union_map = relation if union_map is None else union_map.union(relation)
    return union_map


def value_based_flow(
    reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionMap:
    """Return which write's value each read sees: pairs (writing instance, reading instance).

    Where isl's analysis fails, all pairs of a write and a later read of its element stand in. No
    schedule becomes illegal by it: if w' overwrites what w wrote before r reads it, then w → w' is
    an output dependence and w' → r, or what comes between, is one of these pairs, so that
    Θ(w) < Θ(w') < Θ(r) holds anyway.
    """
    flow = _flow_analysis(reads, writes, order)
    if flow is not None:
        return flow.get_must_dependence()
    return writes.apply_range(reads.reverse()).intersect(_earlier_writes(reads, writes, order))


def reads_without_source(
    reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionMap:
    """Return the reads, pairs (instance, element), of elements that nothing has written before."""
    flow = _flow_analysis(reads, writes, order)
    if flow is not None:
        return flow.get_must_no_source()
    earlier = _earlier_writes(reads, writes, order).reverse()
    return reads.subtract(earlier.apply_range(writes))


def flow_sources(
    reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap
) -> tuple[isl.UnionMap, isl.UnionMap] | None:
    """Return whose value each read sees, and the reads of what was there before any write.

    The first has pairs (writing instance, reading instance), the second pairs (instance, element).
    None where isl's analysis fails: nothing stands in for it.
    """
    flow = _flow_analysis(reads, writes, order)
    return None if flow is None else (flow.get_must_dependence(), flow.get_must_no_source())


def _flow_analysis(
    reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap
) -> isl.UnionFlow | None:
    """Return isl's analysis of which reads see the value of which write, and which of none.

    Every write is certain (statements run unconditionally on their domain), so the last write
    before a read is *the* source and no pair is a mere possibility. isl looks for it by parametric
    integer programming, which fails ("affine expression involves some of the domain dimensions")
    where conditions have several moduli, or takes it minutes; then it is None. Where numbers are
    odd it is not even tried: isl's count of operations does not see how long these take.
    """
    if _has_coprime_factors(f"{reads} {writes}"):
        return None
    try:
        with attempt_bounded(_MOST_OPERATIONS, reads.get_ctx()):
            return (
                isl.UnionAccessInfo.from_sink(reads)
                .set_must_source(writes)
                .set_schedule_map(order)
                .compute_flow()
            )
    except isl.Error:
        if is_exhausted(reads.get_ctx()):
            raise
        return None


def _has_coprime_factors(relations: str) -> bool:
    """Whether relations multiply by larger numbers neither of which divides the other one.

    Rows of rows have 1, 8, 8·64, each a multiple of those before. Where a[987i + 541j] is read and
    a[1001i + 613j] written, who reads whose value is a question of the least solutions of an
    equation with four such numbers, which takes isl minutes.
    """
    result = sorted({int(number) for number in _FACTOR.findall(relations)})
    return any(larger % smaller for smaller, larger in pairwise(result))


def _earlier_writes(reads: isl.UnionMap, writes: isl.UnionMap, order: isl.UnionMap) -> isl.UnionMap:
    """Return the pairs of a writing instance and a reading one that runs later."""
    writing = order.intersect_domain(writes.domain())
    return writing.lex_lt_union_map(order.intersect_domain(reads.domain()))


def _group_by_pair(
    relations: RelationsOfArray,
) -> dict[tuple[str, str], list[tuple[DependenceKind, str, isl.Map]]]:
    """Sort the relations by (source statement, sink statement)."""
    pairs: dict[tuple[str, str], list[tuple[DependenceKind, str, isl.Map]]] = {}
    for (kind, array), relation in relations.items():
        for part in maps_of(relation):
            pair = (part.get_tuple_name(isl.dim_type.in_), part.get_tuple_name(isl.dim_type.out))
            pairs.setdefault(pair, []).append((kind, array, part))
    return pairs


def _convex_pieces(
    source: str, sink: str, reasons: list[tuple[DependenceKind, str, isl.Map]], sizes: Sequence[str]
) -> list[Dependence]:
    """Unite the relations between two statements and split the union into convex pieces."""
    united = reasons[0][2]
    for _, _, relation in reasons[1:]:
        united = united.union(relation)
    pieces = []
    for piece in basic_maps_of(united.coalesce()):
        as_map = piece.to_map()
        kind, arrays = DependenceKind(0), set()
        for reason, array, relation in reasons:
            if not relation.is_disjoint(as_map):
                kind |= reason
                arrays.add(array)
        dependence = Dependence(source, sink, kind, tuple(sorted(arrays)), str(piece))
        pieces.append((_canonical_text(piece, sizes), dependence))
    return [entry for _, entry in sorted(pieces, key=lambda item: item[0])]


def _canonical_text(piece: isl.BasicMap, sizes: Sequence[str]) -> str:
    """Return the text of a relation between two statements, whatever its variables are called."""
    space = isl.Space.params_alloc(piece.get_ctx(), len(sizes))
    for place, name in enumerate(sizes):
        space = space.set_dim_name(isl.dim_type.param, place, name)
    piece = piece.align_params(space)
    for kind, names in (
        (isl.dim_type.in_, _COUNTERS),
        (isl.dim_type.out, _COUNTERS),
        (isl.dim_type.param, _SIZES),
    ):
        for place in range(piece.dim(kind)):
            name = names[place] if place < len(names) else f"{names[-1]}{place}"
            piece = piece.set_dim_name(kind, place, name)
    return str(piece)


def maps_of(relation: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of a union, one for each pair of spaces."""
    return _collect(relation.foreach_map)


def sets_of(points: isl.UnionSet) -> list[isl.Set]:
    """Return the sets of a union, one for each space."""
    return _collect(points.foreach_set)


def basic_maps_of(relation: isl.Map) -> list[isl.BasicMap]:
    """Return the convex pieces of a map."""
    return _collect(relation.foreach_basic_map)


def basic_sets_of(points: isl.Set) -> list[isl.BasicSet]:
    """Return the convex pieces of a set."""
    return _collect(points.foreach_basic_set)


def _collect(visit: Callable[[Callable[[object], None]], None]) -> list:  # type: ignore[type-arg]
    result: list[object] = []
    visit(result.append)
    return result


_OPERATIONS = 2_000_000


def arrays_without_live_in(scop: Scop, parameters: Mapping[str, int]) -> frozenset[str]:
    """Return the arrays that owe nothing to what their memory held before.

    ``parameters`` may leave values out: then it is so for all of theirs that are possible. A
    computed subscript may read any element. What takes isl too long is taken to owe something.
    """
    names = ", ".join(parameter.name for parameter in scop.parameters)
    sizes = fix_parameters(isl.Set(f"[{names}] -> {{ : }}"), parameters)
    sizes = sizes.intersect(isl.Set(scop.context))
    order = original_order(scop).intersect_params(sizes)
    result = set()
    for name in {statement.write.array for statement in scop.statements}:
        try:
            with bounded_operations(f"what {name} held before", _OPERATIONS):
                elements = _elements(scop, name).intersect_params(sizes)
                if _is_written_before_read(scop, name, elements, order, sizes):
                    result.add(name)
        except LimitError:
            continue
    return frozenset(result)


def _is_written_before_read(
    scop: Scop, name: str, elements: isl.UnionSet, order: isl.UnionMap, sizes: isl.Set
) -> bool:
    writes = access_relation(scop, name, is_write=True)
    reads = access_relation(scop, name, is_write=False)
    if writes is None:
        return False
    writes = writes.intersect_params(sizes)
    if not elements.is_subset(writes.range()):
        return False
    if reads is None:
        return True
    reads = reads.intersect_params(sizes)
    return bool(reads_without_source(reads, writes, order).is_empty())


def _elements(scop: Scop, name: str) -> isl.UnionSet:
    """Return all elements of an array."""
    elements = isl.Set("{ [] }")
    below = isl.Map("{ [size] -> [x] : 0 <= x < size }")
    for extent in scop.array(name).extents:
        elements = elements.flat_product(isl.Set.from_pw_aff(isl.PwAff(extent)).apply(below))
    return isl.UnionSet.from_set(elements.set_tuple_name(name))
