"""Statements of derivatives, each with the ranges of all of its indices.

What a derivative adds up has the size of the tensor that it is the derivative of. A tensor of which
the first statement would assign a part is filled with zeros before.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import (
    FLOATS,
    DefinitionFacts,
    IndexRange,
    wide_type,
)
from polygym.frontend.tc.derivatives.transposition import AddedValue, transposed_sum
from polygym.frontend.tc.semantics.environment import condition_of
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, ElementType, Expression


@dataclass
class StatementEmitter:
    """The statements of a derivative so far; ``declared`` are the tensors with declared sizes."""

    facts: DefinitionFacts
    statements: list[tree.TcStatement] = field(default_factory=list)
    declared: set[str] = field(default_factory=set)
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Keep to the names of the definition."""
        self._taken |= self.facts.names

    @property
    def _sizes(self) -> frozenset[str]:
        return frozenset(size_locations(self.facts.definition))

    def new_name(self, wanted: str) -> str:
        """Return a name that is free."""
        result, number = wanted, 1
        while result in self._taken or function_named(result) is not None:
            number += 1
            result = f"{wanted}_{number}"
        self._taken.add(result)
        return result

    def element_indices(self, rank: int) -> tuple[str, ...]:
        """Return names for the indices of statements over all elements of a tensor."""
        return tuple(self.new_name(f"e{dimension}") for dimension in range(rank))

    def add(
        self,
        name: str,
        subscripts: Sequence[Expression],
        assign: AssignKind,
        value: Expression,
        ranges: Mapping[str, IndexRange],
        conditions: Sequence[Expression] = (),
        *,
        initializes: bool = False,
    ) -> None:
        """Emit a statement; ranges of indices that do not occur are left out."""
        used = arithmetic.names_in(*subscripts, value, *conditions)
        where: list[tree.Where] = [
            tree.WhereRange(index, values.lower, values.upper, arithmetic.NOWHERE)
            for index, values in ranges.items()
            if index in used
        ]
        where += [tree.WhereCondition(part, arithmetic.NOWHERE) for part in conditions]
        self.statements.append(
            tree.TcStatement(
                name,
                tuple(_on_the_left(part, ranges) for part in subscripts),
                assign,
                initializes,
                value,
                tuple(where),
                arithmetic.NOWHERE,
            )
        )

    def fill(
        self, name: str, like: str, value: Callable[[tuple[Expression, ...]], Expression]
    ) -> None:
        """Emit an assignment to all elements of a tensor that is as large as another one."""
        extents = self.facts.tensors[like].extents
        indices = self.element_indices(len(extents))
        subscripts = tuple(map(arithmetic.name, indices))
        ranges = {
            index: IndexRange(arithmetic.ZERO, extent)
            for index, extent in zip(indices, extents, strict=True)
        }
        self.add(name, subscripts, AssignKind.SET, value(subscripts), ranges)

    def accumulate(
        self,
        name: str,
        like: str,
        subscripts: Sequence[Expression],
        value: Expression,
        ranges: Mapping[str, IndexRange],
        conditions: Sequence[Expression],
        *,
        adjoint: str,
        is_first: bool,
    ) -> None:
        """Emit the addition of a value, for every instance of a statement, to elements.

        The value is proportional to an element of the tensor ``adjoint``.

        An index that does not occur in it any more would add the value many times: it is
        multiplied by the number of times.
        """
        added = AddedValue(subscripts, value, ranges, adjoint, self._sizes)
        turned = None
        if not conditions:
            turned = transposed_sum(added, self.facts.tensors[like].extents, self.new_name)
        if turned is not None:
            for place, read in (
                (turned.corner, arithmetic.ZERO),
                (turned.copy_subscripts, turned.copied),
            ):
                assign = AssignKind.ADD if read is turned.copied else AssignKind.SET
                self.add(turned.copy, place, assign, read, turned.copy_ranges)
            subscripts, value, ranges = turned.subscripts, turned.value, turned.ranges
        affine, computed = self._split(conditions, ranges)
        is_scattered = any(
            isinstance(part, tree.ElementOrCall) for s in subscripts for part in tree.parts_of(s)
        )
        where = [*affine, *computed] if is_scattered else affine
        whole = arithmetic.all_of(computed)
        if whole is not None and not is_scattered:
            value = arithmetic.choice(whole, value, arithmetic.ZERO)
        used = arithmetic.names_in(*subscripts, value, *where)
        for index, values in ranges.items():
            if index not in used:
                value = arithmetic.times(values.count, value)
        left = [part.name for part in subscripts if isinstance(part, tree.NameUse)]
        is_plain = len(set(left)) == len(subscripts) and set(left) <= ranges.keys()
        if is_first and name not in self.declared:
            extents = self.facts.tensors[like].extents
            is_whole = is_plain and all(
                _is_range(ranges[index], extent)
                for index, extent in zip(left, extents, strict=True)
            )
            if not is_whole:
                self.fill(name, like, lambda _: arithmetic.ZERO)
                is_first = False
        is_each_once = is_plain and used & ranges.keys() == set(left)
        assign = AssignKind.SET if is_first and is_each_once else AssignKind.ADD
        begins = is_first and assign is AssignKind.ADD
        self.add(name, subscripts, assign, value, ranges, where, initializes=begins)

    def converted(self, value: Expression, tensor: str) -> Expression:
        """Return a value in the type in which the derivative of a tensor is added up."""
        kinds = {facts.type for facts in self.facts.tensors.values() if facts.type in FLOATS}
        if len(kinds) == 1 and kinds <= {ElementType.FLOAT, ElementType.DOUBLE}:
            return value
        wide = wide_type(self.facts.tensors[tensor].type)
        return tree.ConvertExpression(wide, value, arithmetic.NOWHERE)

    def _split(
        self, conditions: Iterable[Expression], ranges: Mapping[str, IndexRange]
    ) -> tuple[list[Expression], list[Expression]]:
        """Return what conditions say of indices and sizes, and those that say more."""
        known = self._sizes | ranges.keys()
        affine: list[Expression] = []
        computed: list[Expression] = []
        for condition in conditions:
            if condition_of(condition, known, {name: name for name in known}).is_exact:
                affine.append(condition)
                continue
            computed.append(condition)
            affine += affine_parts(condition, known)
        return affine, computed


def affine_parts(
    condition: Expression, known: frozenset[str], *, is_true: bool = True
) -> list[Expression]:
    """Return what is known of indices and sizes where a condition holds, or where it does not."""
    if condition_of(condition, known, {name: name for name in known}).is_exact:
        return [condition if is_true else arithmetic.opposite(condition)]
    match condition:
        case tree.InfixExpression(operator, left, right):
            joined = tree.InfixOperator.AND if is_true else tree.InfixOperator.OR
            if operator is not joined:
                return []
            sides = (affine_parts(side, known, is_true=is_true) for side in (left, right))
            return [part for side in sides for part in side]
        case tree.PrefixExpression(tree.PrefixOperator.NOT, operand):
            return affine_parts(operand, known, is_true=not is_true)
        case _:
            return []


def _is_range(values: IndexRange, extent: Expression) -> bool:
    return arithmetic.is_number(values.lower, 0) and arithmetic.is_same(values.upper, extent)


def _on_the_left(subscript: Expression, ranges: Mapping[str, IndexRange]) -> Expression:
    """Return a subscript as the left side has it, where a name alone is an index."""
    if isinstance(subscript, tree.NameUse) and subscript.name not in ranges:
        return arithmetic.infix("+", subscript, arithmetic.ZERO)
    return subscript
