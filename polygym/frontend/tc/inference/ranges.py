"""Range inference: over which values an index runs, from what it indexes.

An index runs over the largest range with which no access leaves its tensor. In rounds: the accesses
in which one index alone is unresolved say where that index may be; what several of them say in one
round is intersected; then it is resolved, and the next round begins. In a later round the resolved
indices take *all* of their values. O(i) +=! K(x) * I(i + x) resolves x first, from K, as
0 <= x < N; then i, from I, as the largest range with

    for all x in [0, N):  0 <= i + x < M,        that is  0 <= i <= M - N.

All indices are non-negative. So every index has an interval, the iterations of a statement form a
box, and the loops of the generated code need no conditions. Sizes are symbols: an end of a range is
a function of them, in general with cases (two tensors that are read along one index may have
different sizes, and the smaller one counts).

"For all" is computed exactly: the values of i for which *some* x leaves the tensor are a
projection, and what is left without them are the good ones. An access that happens only under a
condition on indices and sizes (``i > 0 ? A(i - 1) : 0``) leaves the tensor only where that holds;
so there may be good values behind bad ones, and the range is what comes before these. An index ends
where an access would end it without its condition, if nothing that is read is left out: i at N in
``i < N ? A(i) : 0`` and in ``i != 1 ? A(i) : 0``, with N = 1 too; kh at the size of K in
``h >= kh && h - kh < H ? A(h - kh) * K(kh) : 0`` with h in a range that is smaller. But x has no
end in ``x + k >= 1 && x + k <= N ? A(x + k - 1) : 0`` with k in 0:3. Without its condition, A would
end x where x + 2 <= N, but with it there are elements to be read behind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.environment import (
    TRUE_CONDITION,
    AffineExpression,
    IslCondition,
    Rounding,
)
from polygym.poly.isl_values import isl_c_text


@dataclass(frozen=True, slots=True)
class SubscriptConstraint:
    """One subscript of an access: it has to lie in ``valid_values`` where ``condition`` holds.

    ``valid_values`` is a set of one dimension. ``required_text`` is the subscript as people know
    it, ``i + x``, and ``text`` the access, ``I(i + x)``. ``rounding`` is that of quotients.
    """

    subscript: AffineExpression
    valid_values: isl.Set
    condition: IslCondition
    required_text: str
    text: str
    location: SourceLocation
    rounding: Rounding = Rounding.DOWN


@dataclass(frozen=True, slots=True)
class SymbolicSizes:
    """The symbolic sizes, and the isl context in which sets are made.

    ``possible`` is what they satisfy in any case: they are positive. Sizes may have any name
    without a prime; so the dimensions of sets that nobody has named are called x', y' and so on.
    """

    context: isl.Context
    names: tuple[str, ...]
    possible: str = "1 = 1"

    @property
    def unrestricted(self) -> isl.Set:
        """The sizes that are possible before anything is asked of them, without dimensions."""
        return self.set(f"{{ : {self.possible} }}").params()

    def set(self, text: str) -> isl.Set:
        """Return a set, given without its parameters: ``{ [x'] : 0 <= x' < M }``."""
        return isl.Set.read_from_str(self.context, f"[{', '.join(self.names)}] -> {text}")

    def map(self, text: str) -> isl.Map:
        """Return a map, given without its parameters."""
        return isl.Map.read_from_str(self.context, f"[{', '.join(self.names)}] -> {text}")


@dataclass(frozen=True, slots=True)
class IndexScope:
    """The indices of one statement in the order of its loops, with their places.

    ``isl_names`` has the name of every index and size in isl's texts.
    """

    sizes: SymbolicSizes
    indices: Mapping[str, SourceLocation]
    isl_names: Mapping[str, str]

    def tuple_of(self, indices: Sequence[str]) -> str:
        """Return ``[i, j]``."""
        return f"[{', '.join(self.isl_names[name] for name in indices)}]"

    def box(self, indices: Sequence[str], ranges: Mapping[str, isl.Set]) -> isl.Set:
        """Return the set of all combinations of the values of some indices."""
        if not indices:
            return self.sizes.set("{ [] }")
        result = ranges[indices[0]]
        for name in indices[1:]:
            result = result.flat_product(ranges[name])
        return result


def infer_index_ranges(
    scope: IndexScope, given: Mapping[str, isl.Set], subscripts: Sequence[SubscriptConstraint]
) -> dict[str, isl.Set]:
    """Return the range of every index, as a set of one dimension; some are given.

    Raises:
        SourceError: one has no range, an unbounded one, or one that is empty for all sizes.
    """
    ranges = dict(given)
    # Sizes for which an index has no value bound nothing: they are left out.
    sizes = scope.sizes.unrestricted
    for values in given.values():
        sizes = sizes.intersect(values.params())
    while missing := [name for name in scope.indices if name not in ranges]:
        deciding: dict[str, list[SubscriptConstraint]] = {}
        for constraint in subscripts:
            unresolved = [name for name in missing if name in constraint.subscript.names]
            if len(unresolved) == 1:
                deciding.setdefault(unresolved[0], []).append(constraint)
        if not deciding:
            raise _ambiguity_error(scope, missing, subscripts)
        sets = {
            name: _range_from(scope, name, those, ranges, sizes) for name, those in deciding.items()
        }
        for name, values in sets.items():
            _check_range(scope, name, values, ranges, subscripts)
            sizes = sizes.intersect(values.params())
        ranges |= sets
    return ranges


def instances_outside(
    scope: IndexScope,
    indices: Sequence[str],
    constraint: SubscriptConstraint,
    ranges: Mapping[str, isl.Set],
) -> isl.Set:
    """Return the values of some indices for which a subscript may leave its tensor.

    Its condition may mention further indices: then it may hold where it does for some of theirs.
    """
    instances = instances_reading(scope, indices, constraint, ranges)
    members = scope.tuple_of(indices)
    text = constraint.subscript.text(scope.isl_names, constraint.rounding)
    element = scope.sizes.map(f"{{ {members} -> [{text}] }}")
    return instances.subtract(element.intersect_range(constraint.valid_values).domain())


def instances_reading(
    scope: IndexScope,
    indices: Sequence[str],
    constraint: SubscriptConstraint,
    ranges: Mapping[str, isl.Set],
) -> isl.Set:
    """Return the values of some indices for which the condition of a subscript may hold."""
    further = [name for name in scope.indices if name in constraint.condition.names - set(indices)]
    everything = [*indices, *further]
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    instances = scope.box(everything, {**dict.fromkeys(further, from_zero), **ranges})
    holds = scope.sizes.set(f"{{ {scope.tuple_of(everything)} : {constraint.condition.text} }}")
    instances = instances.intersect(holds)
    return instances.project_out(isl.dim_type.set, len(indices), len(further))


def _range_from(
    scope: IndexScope,
    name: str,
    deciding: Sequence[SubscriptConstraint],
    ranges: Mapping[str, isl.Set],
    sizes: isl.Set,
) -> isl.Set:
    """Return the range of an index from the subscripts in which it is the last unresolved one."""
    result = scope.sizes.set("{ [x'] : x' >= 0 }").intersect_params(sizes)
    for constraint in deciding:
        result = result.intersect(_valid_values(scope, name, constraint, ranges))
    result = _first_interval(scope, result)
    conditional = [each for each in deciding if each.condition != TRUE_CONDITION]
    if not conditional:
        return result
    reading = scope.sizes.set("{ [x'] : 1 = 0 }")
    for constraint in deciding:
        reading = reading.union(_reading_values(scope, name, constraint, ranges))
    for constraint in conditional:
        plain = replace(constraint, condition=TRUE_CONDITION)
        end = _valid_values(scope, name, plain, ranges)
        result = _cut_behind(scope, result, end, reading.intersect(result))
    return result


def _cut_behind(scope: IndexScope, values: isl.Set, end: isl.Set, reading: isl.Set) -> isl.Set:
    """Return the values up to the end of a set, for sizes for which none behind it is ``reading``.

    For sizes for which the set has no end, all of the values are left.
    """
    before = end.apply(scope.sizes.map("{ [x'] -> [y'] : 0 <= y' <= x' }"))
    counts = end.params().subtract(reading.subtract(before).params())
    return values.subtract(values.intersect_params(counts).subtract(before)).coalesce()


def _reading_values(
    scope: IndexScope, name: str, constraint: SubscriptConstraint, ranges: Mapping[str, isl.Set]
) -> isl.Set:
    """Return the values of an index for which the condition of a subscript may hold."""
    others = _other_indices(scope, constraint, ranges)
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    reading = instances_reading(scope, [name, *others], constraint, {**ranges, name: from_zero})
    return reading.project_out(isl.dim_type.set, 1, len(others))


def _valid_values(
    scope: IndexScope, name: str, constraint: SubscriptConstraint, ranges: Mapping[str, isl.Set]
) -> isl.Set:
    """Return the values of an index for which all values of the others stay inside."""
    others = _other_indices(scope, constraint, ranges)
    from_zero = scope.sizes.set("{ [x'] : x' >= 0 }")
    leaving = instances_outside(scope, [name, *others], constraint, {**ranges, name: from_zero})
    return from_zero.subtract(leaving.project_out(isl.dim_type.set, 1, len(others)))


def _other_indices(
    scope: IndexScope, constraint: SubscriptConstraint, ranges: Mapping[str, isl.Set]
) -> list[str]:
    """Return the resolved indices that a subscript or its condition mentions."""
    mentioned = constraint.subscript.names | constraint.condition.names
    return [other for other in scope.indices if other in mentioned and other in ranges]


def _first_interval(scope: IndexScope, values: isl.Set) -> isl.Set:
    """Return the values from the lowest one on, up to the first that is missing."""
    from_lowest = values.lexmin().apply(scope.sizes.map("{ [a'] -> [x'] : x' >= a' }"))
    missing = from_lowest.subtract(values)
    behind = missing.apply(scope.sizes.map("{ [a'] -> [x'] : x' >= a' }"))
    return values.subtract(behind).coalesce()


def _ambiguity_error(
    scope: IndexScope, missing: Sequence[str], subscripts: Sequence[SubscriptConstraint]
) -> SourceError:
    """Say why nothing more can be resolved."""
    name = missing[0]
    touching = [constraint for constraint in subscripts if name in constraint.subscript.names]
    if not touching:
        return SourceError(
            scope.indices[name],
            f"the range of {name} cannot be inferred: it stands in no affine subscript of what is "
            "read",
            f"say it: where {name} in 0:...",
        )
    others = sorted(
        {other for constraint in touching for other in constraint.subscript.names} & set(missing)
    )
    others.remove(name)
    return SourceError(
        scope.indices[name],
        f"the range of {name} is ambiguous: in {_texts(touching)} it stands beside "
        f"{', '.join(others)}, whose range is not known either",
        f"say one of them: where {name} in 0:...",
    )


def _check_range(
    scope: IndexScope,
    name: str,
    values: isl.Set,
    known: Mapping[str, isl.Set],
    subscripts: Sequence[SubscriptConstraint],
) -> None:
    """Refuse a range without an end, or without any value whatever the sizes.

    ``known`` are the ranges of the rounds before.
    """
    place = scope.indices[name]
    touching = [constraint for constraint in subscripts if name in constraint.subscript.names]
    if values.is_empty():
        others = {
            other for constraint in touching for other in constraint.subscript.names
        } & known.keys()
        said = [_range_text(scope, other, known[other]) for other in sorted(others)]
        raise SourceError(
            place,
            f"the range of {name} is empty: no value keeps "
            + " and ".join(
                dict.fromkeys(_constraint_text(scope, constraint) for constraint in touching)
            )
            + (f", with {', '.join(said)}" if said else ""),
            f"if it is to run over less, say it: where {name} in 0:...",
        )
    if not values.dim_has_upper_bound(isl.dim_type.set, 0):
        size = next(
            (_range_end_text(scope, constraint.valid_values) for constraint in touching), "..."
        )
        raise SourceError(
            place,
            f"the range of {name} has no end: {_texts(touching)} "
            f"{'is' if len(touching) == 1 else 'are'} read only under conditions, which hold for "
            f"no {name} that is large",
            f"say how far it runs, such as: where {name} in 0:{size}",
        )


def _constraint_text(scope: IndexScope, constraint: SubscriptConstraint) -> str:
    """Return what a subscript has to be: ``i + x of I(i + x) in 0:M``."""
    end = _range_end_text(scope, constraint.valid_values)
    return f"{constraint.required_text} of {constraint.text} in 0:{end}"


def _range_text(scope: IndexScope, name: str, values: isl.Set) -> str:
    """Return the range of an index as a ``where`` would give it."""
    first = c_text_of(
        values.dim_min(0).gist(scope.sizes.unrestricted).coalesce(), scope.sizes.unrestricted
    )
    return f"{name} in {first}:{_range_end_text(scope, values)}"


def _range_end_text(scope: IndexScope, values: isl.Set) -> str:
    """Return the number behind the last of some values."""
    return c_text_of(extent_of(values, scope.sizes.unrestricted), scope.sizes.unrestricted)


def _texts(subscripts: Sequence[SubscriptConstraint]) -> str:
    return ", ".join(dict.fromkeys(constraint.text for constraint in subscripts)) or "the statement"


def extent_of(valid: isl.Set, context: isl.Set) -> isl.PwAff:
    """Return how many values a subscript may have, which count from 0."""
    last = valid.dim_max(0)
    val = isl.Val.int_from_si(valid.get_ctx(), 1)
    return last.add_constant_val(val).gist(context).coalesce()


def c_text_of(size: isl.PwAff, context: isl.Set) -> str:
    """Return a size as C text: ``M``, ``(H - KH) / 2 + 1``, ``M <= N ? M : N``."""
    build = isl.AstBuild.from_context(context)
    pieces = size.get_pieces()
    texts = [isl_c_text(build.expr_from_pw_aff(isl.PwAff.from_aff(value))) for _, value in pieces]
    text = texts[-1]
    for (where, _), value in zip(reversed(pieces[:-1]), reversed(texts[:-1]), strict=True):
        text = f"({isl_c_text(build.expr_from_set(where))} ? {value} : {text})"
    return text
