"""Facts about a definition that its derivatives are made from, free of isl's objects.

They are read off its lowering: the ranges of the indices of each statement, the types and the sizes
of its tensors. Values of a ``where`` and known scalars stand in the place of their names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.sizes import size_expression
from polygym.frontend.tc.inference.assigned_elements import begun_elements, is_index_only
from polygym.frontend.tc.inference.lowering_state import LoweringState, StatementContext
from polygym.frontend.tc.inference.ranges import extent_of
from polygym.frontend.tc.lowering.definitions import after_lowering
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.semantics.types import ELEMENT_TYPES
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import ElementType, Expression, TcDefinition

FLOATS = frozenset(
    {ElementType.FLOAT16, ElementType.BFLOAT16, ElementType.FLOAT, ElementType.DOUBLE}
)


def wide_type(kind: ElementType) -> ElementType:
    """Return the type in which derivatives of a type are computed and added up."""
    return ElementType.DOUBLE if kind is ElementType.DOUBLE else ElementType.FLOAT


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The values of an index, from ``lower`` on, below ``upper``."""

    lower: Expression
    upper: Expression

    @property
    def count(self) -> Expression:
        """The number of values."""
        return arithmetic.minus(self.upper, self.lower)


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """A statement, with its indices in the order of its loops, and their ranges.

    ``is_whole`` says that it assigns every element of its tensor, each by an index for every
    dimension; ``begins_whole`` that it begins every element with the neutral one.
    """

    tensor: str
    subscripts: tuple[Expression, ...]
    assign: tree.AssignKind
    initializes: bool
    value: Expression
    conditions: tuple[Expression, ...]
    ranges: Mapping[str, IndexRange]
    is_whole: bool
    begins_whole: bool

    @property
    def begins(self) -> bool:
        """Whether its elements do without the values before."""
        return self.initializes or self.assign is tree.AssignKind.SET


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """The type and the sizes of a tensor."""

    type: ElementType
    extents: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class DefinitionFacts:
    """A definition; ``tensors`` are its parameters and all that it assigns."""

    definition: TcDefinition
    statements: tuple[StatementFacts, ...]
    tensors: Mapping[str, TensorFacts]

    @property
    def names(self) -> frozenset[str]:
        """All names in use."""
        names = {self.definition.name, *self.tensors, *size_locations(self.definition)}
        for statement in self.definition.statements:
            names |= set(statement.local_names)
            for part in tree.parts_of(*statement.expressions):
                if isinstance(part, tree.ElementOrCall):
                    names.add(part.name)
        return frozenset(names)


def definition_facts(
    definition: TcDefinition,
    constants: Mapping[str, int],
    sizes: Mapping[str, int] | None = None,
) -> DefinitionFacts:
    """Return the facts; scalars on which subscripts depend must be given, sizes may be.

    Raises:
        SourceError: the definition makes no sense.
    """
    fixed = sizes or {}
    return after_lowering(definition, constants, sizes, lambda draft: _facts(draft, fixed))


def _facts(draft: LoweringState, fixed: Mapping[str, int]) -> DefinitionFacts:
    values: dict[str, Expression] = {
        isl_name: arithmetic.number(fixed[name]) if name in fixed else arithmetic.name(name)
        for name, isl_name in draft.size_names.items()
    }
    known = list(draft.constants.values())
    for isl_name, value in zip(draft.sizes.names[len(draft.size_names) :], known, strict=True):
        values[isl_name] = arithmetic.number(value)
    tensors = {
        name: TensorFacts(
            ELEMENT_TYPES[tensor.type],
            tuple(
                size_expression(extent_of(valid, draft.context), draft.context, values)
                for valid in tensor.valid
            ),
        )
        for name, tensor in draft.tensors.items()
    }
    statements = tuple(_statement_facts(draft, n, values) for n in range(len(draft.index_ranges)))
    return DefinitionFacts(draft.definition, statements, tensors)


def _statement_facts(
    draft: LoweringState, number: int, values: dict[str, Expression]
) -> StatementFacts:
    meaning, sets = draft.resolved_statements[number], draft.index_ranges[number]
    statement = meaning.statement
    valid = draft.tensors[statement.tensor].valid
    is_whole = is_index_only(meaning) and not meaning.conditions
    if is_whole:
        for part, every in zip(meaning.subscripts, valid, strict=True):
            assert isinstance(part, tree.NameUse)
            own = sets[part.name].intersect_params(draft.context)
            is_whole &= bool(own.is_equal(every.intersect_params(draft.context)))
    ranges = {index: _index_range(sets[index], draft.context, values) for index in meaning.indices}
    return StatementFacts(
        statement.tensor,
        meaning.subscripts,
        statement.assign,
        statement.initializes,
        meaning.value,
        meaning.conditions,
        ranges,
        is_whole,
        statement.initializes and (is_whole or _begins_whole(draft, number)),
    )


def _begins_whole(draft: LoweringState, number: int) -> bool:
    """Whether a reduction begins every element, with subscripts that may be computed."""
    meaning, sets = draft.resolved_statements[number], draft.index_ranges[number]
    valid = draft.tensors[meaning.statement.tensor].valid
    if not valid:
        return True
    here = StatementContext.of(draft, meaning)
    begun = begun_elements(meaning, here.scope, sets, valid, here.environment.condition)
    every = valid[0]
    for values in valid[1:]:
        every = every.flat_product(values)
    return bool(
        begun.intersect_params(draft.context).is_equal(every.intersect_params(draft.context))
    )


def _index_range(values: isl.Set, context: isl.Set, sizes: dict[str, Expression]) -> IndexRange:
    within = values.intersect_params(context)
    one = isl.Val.int_from_si(values.get_ctx(), 1)
    lower = size_expression(within.dim_min(0), context, sizes)
    upper = size_expression(within.dim_max(0).add_constant_val(one), context, sizes)
    return IndexRange(lower, upper)
