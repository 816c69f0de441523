"""A definition on its way to a program: what is known so far.

The steps of :mod:`polygym.frontend.tc.lowering.definitions` add to it: ``declarations`` the
parameters and types, ``inference`` what sizes must satisfy, ``emission`` tensors and statements.

Declarations of a definition: known scalars, parameters, and the type of every tensor.

Literals that make tensors double by themselves, and what to say where that is in the way.

In ``b(i) = 4.0`` nothing beside the literal has a type, so b is float64, and so is ``c(i) = a(i) +
b(i)`` with a float32 a. Were the literals of such statements written ``4.0f``, both were float32:
with types found once as they are and once so, those that differ are the literals' doing.

Names that both C and isl can take.

A tensor may be called ``for`` and an index ``mod``: words of C, of which a program in C is printed,
and of isl, in whose texts domains are written. Such names get an underscore; so do names that begin
with a digit, and those that another one has become.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference.ranges import IndexScope, SymbolicSizes
from polygym.frontend.tc.semantics import name_resolution
from polygym.frontend.tc.semantics.environment import (
    LARGEST_COEFFICIENT,
    NameEnvironment,
    TensorInfo,
    TensorRole,
    condition_of,
)
from polygym.frontend.tc.semantics.types import (
    SCALAR_TYPES,
    UntypedKind,
    ValueType,
    check_fits,
    default_type,
    is_narrowing,
    type_of,
    unified_type,
)
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import Expression, TcDefinition
from polygym.frontend.tc.syntax.tree import TcParameter as Declaration
from polygym.frontend.tc.syntax.where_values import substitute_values
from polygym.ir.scop import Statement
from polygym.ir.types import ScalarType


@dataclass
class LoweringState:
    """One definition.

    ``constants`` are the scalars whose value is known, ``size_names`` the names of sizes in the
    program. ``context`` holds the sizes that are possible; where they are ``is_fixed``, one for
    each.
    ``index_ranges`` has the ranges of each statement's indices.
    ``resolved_statements`` are all statements, ``types`` those of all tensors; ``tensors`` have
    been met, ``statements`` made, and the elements in ``written_elements`` assigned.
    """

    definition: tree.TcDefinition
    constants: Mapping[str, int]
    identifiers: IdentifierAllocator
    size_names: dict[str, str]
    sizes: SymbolicSizes
    context: isl.Set
    is_fixed: bool = False
    resolved_statements: list[name_resolution.ResolvedStatement] = field(default_factory=list)
    types: dict[str, ScalarType] = field(default_factory=dict)
    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    written_elements: dict[str, list[isl.Set]] = field(default_factory=dict)
    index_ranges: list[Mapping[str, isl.Set]] = field(default_factory=list)

    @property
    def assigned_values(self) -> list[tuple[str, tree.Expression]]:
        """What the statements assign, with the names of the tensors."""
        return [
            (statement.statement.tensor, statement.value) for statement in self.resolved_statements
        ]


def initial_state(
    definition: tree.TcDefinition,
    constants: Mapping[str, int],
    fixed: Mapping[str, int],
    context: isl.Context,
) -> LoweringState:
    """Return the draft of a definition whose statements have not been read yet.

    Sizes may be ``fixed``.
    """
    names = IdentifierAllocator()
    size_names = {name: names.take(name) for name in name_resolution.size_locations(definition)}
    known = {names.take(name): value for name, value in constants.items()}
    facts = [f"{name} >= 1" for name in size_names.values()]
    facts += [f"{name} = {value}" for name, value in known.items()]
    facts += [f"{size_names[name]} = {value}" for name, value in fixed.items()]
    sizes = SymbolicSizes(context, (*size_names.values(), *known), " and ".join(facts) or "1 = 1")
    return LoweringState(
        definition, constants, names, size_names, sizes, sizes.unrestricted, is_fixed=bool(fixed)
    )


@dataclass(frozen=True, slots=True)
class StatementContext:
    """A statement of a definition, and what its names stand for: for isl, and for expressions."""

    draft: LoweringState
    meaning: name_resolution.ResolvedStatement
    scope: IndexScope
    environment: NameEnvironment

    @property
    def computed_conditions(self) -> tuple[tree.Expression, ...]:
        """The conditions that are not affine: they are computed when the program runs."""
        names = self.environment.names
        return tuple(
            condition
            for condition in self.meaning.conditions
            if not condition_of(condition, frozenset(names), names).is_exact
        )

    @staticmethod
    def of(draft: LoweringState, meaning: name_resolution.ResolvedStatement) -> StatementContext:
        """Return the context of the statement that comes next."""
        names = draft.identifiers.copy()
        indices = {**meaning.indices, **meaning.helper_indices}
        iterators = {name: names.take(name) for name in indices}
        scope = IndexScope(draft.sizes, indices, {**draft.size_names, **iterators})
        environment = NameEnvironment(dict(draft.tensors), iterators, draft.size_names)
        for condition in meaning.conditions:
            environment = environment.under_condition(condition, is_true=True)
        return StatementContext(draft, meaning, scope, environment)


def declared_output(draft: LoweringState, name: str) -> tree.TcOutput | None:
    """Return the declaration of an output, None if it is none."""
    return next((output for output in draft.definition.outputs if output.name == name), None)


def declared_sizes(
    draft: LoweringState, declaration: tree.TcParameter | tree.TcOutput
) -> tuple[isl.Set, ...]:
    """Return the values that the subscripts of a declared tensor may have."""
    result = []
    for size in declaration.sizes or ():
        match size:
            case tree.NumberLiteral(value, text, place):
                if not 1 <= value < LARGEST_COEFFICIENT:
                    raise SourceError(
                        place,
                        f"expected a size from 1 to {LARGEST_COEFFICIENT - 1:,}, found {text}",
                    )
                text = str(value)
            case tree.NameUse(name):
                text = draft.size_names[name]
        result.append(draft.sizes.set(f"{{ [x'] : 0 <= x' < {text} }}"))
    return tuple(result)


def expected_sizes(draft: LoweringState, name: str) -> tuple[isl.Set, ...] | None:
    """Return what the subscripts of a tensor that is assigned may be, if that is known."""
    if name in draft.tensors:
        return draft.tensors[name].valid
    output = declared_output(draft, name)
    if output is None or output.sizes is None:
        return None
    return declared_sizes(draft, output)


_SCALAR_TENSOR = TensorInfo("", ScalarType.INT, (), TensorRole.INPUT)


def check_constants(draft: LoweringState) -> None:
    """Refuse scalars without a value on which something depends, and values of other things."""
    scalars = name_resolution.scalar_parameters(draft.definition)
    for name in name_resolution.required_constants(draft.definition):
        if (output := declared_output(draft, name)) is not None:
            raise SourceError(
                output.location,
                f"{name} cannot be returned: a subscript or a range depends on it, so that it must "
                "be known before",
            )
        if name not in draft.constants:
            raise SourceError(
                scalars[name].location,
                f"{name} must be known: a subscript or a range depends on it",
                f"give its value: -p {name}=VALUE; from Python, parameters={{{name!r}: VALUE}}",
            )
    for name, value in draft.constants.items():
        if name not in scalars:
            raise SourceError(
                draft.definition.location,
                f"{name} is no scalar parameter of {draft.definition.name}",
            )
        if abs(value) >= LARGEST_COEFFICIENT:
            raise SourceError(scalars[name].location, f"{name} = {value} is too large")
        scalar = SCALAR_TYPES[scalars[name].type]
        check_fits(value, f"{name} = {value}", scalar, scalars[name].location)


def declare_parameter(draft: LoweringState, parameter: Declaration) -> None:
    """Add a parameter."""
    output = declared_output(draft, parameter.name)
    if output is not None and output.type is not None and output.type is not parameter.type:
        raise SourceError(
            output.location,
            f"{output.name} is {parameter.type.value} as a parameter and "
            f"{output.type.value} as an output",
        )
    draft.tensors[parameter.name] = TensorInfo(
        draft.identifiers.take(parameter.name),
        SCALAR_TYPES[parameter.type],
        declared_sizes(draft, parameter),
        TensorRole.INPUT if output is None else TensorRole.UPDATED,
    )


def tensor_types(
    definition: TcDefinition,
    values: Sequence[tuple[str, Expression]],
    real: ScalarType = ScalarType.DOUBLE,
) -> dict[str, ScalarType]:
    """Return the type of every tensor; ``values`` are assigned to tensors by name.

    One that is not declared has that of the first value assigned to it that has one; literals
    give way, so that ``C(i) = 0`` may be followed by ``C(i) += A(i, k)``. Where literals with a
    point are all that there is, it is ``real``.
    """
    types = {parameter.name: SCALAR_TYPES[parameter.type] for parameter in definition.parameters}
    for output in definition.outputs:
        if output.type is not None:
            types.setdefault(output.name, SCALAR_TYPES[output.type])
    weak: dict[str, ValueType] = {}
    while any(name not in types for name, _ in values):
        before = len(types)
        for name, value in values:
            if name in types:
                continue
            try:
                value_type = type_of_value(types, value)
            except SourceError:
                continue
            if value_type is UntypedKind.TRUTH:
                value_type = ScalarType.INT
            if isinstance(value_type, ScalarType):
                types[name] = value_type
            else:
                weak[name] = unified_type(weak.get(name, value_type), value_type)
        if len(types) == before:
            left = next(name for name, _ in values if name not in types)
            kind = weak.get(left, UntypedKind.REAL)
            types[left] = real if kind is UntypedKind.REAL else default_type(kind)
    return types


def type_of_value(types: Mapping[str, ScalarType], value: Expression) -> ValueType:
    """Return the type of a value where tensors have these types.

    Raises:
        SourceError: an operand does not fit, or is of a tensor without a type.
    """
    tensors = {name: replace(_SCALAR_TENSOR, type=scalar) for name, scalar in types.items()}
    return type_of(value, NameEnvironment(tensors, {}, {}))


TensorValues: TypeAlias = Sequence[tuple[str, tree.Expression]]
"""What is assigned, with the tensor that it is assigned to."""


def hint_for_output(definition: tree.TcDefinition, name: str) -> str:
    """Return the hint at the literal that makes an output float64; nothing if none does.

    >>> from polygym.frontend.tc import parse_definitions
    >>> (found,) = parse_definitions("def f(float(N) a) -> (b) { b(i) = 4.0 where exists a(i) }")
    >>> hint_for_output(found, "b")
    'b is float64 by the literal 4.0 alone; 4.0f makes it float32'
    """
    values = []
    for statement in definition.statements:
        known: dict[str, tree.Expression] = {}
        for entry in statement.where:
            if isinstance(entry, tree.WhereValue):
                known[entry.name] = substitute_values(entry.value, known)
        values.append((statement.tensor, substitute_values(statement.value, known)))
    return _literal_hint(definition, values, (name,))


def hint_for_value(
    definition: tree.TcDefinition, values: TensorValues, value: tree.Expression, target: ScalarType
) -> str:
    """Return the hint at the literal but for which a value would fit its target; or nothing."""
    single = tensor_types(definition, values, ScalarType.FLOAT)
    if is_narrowing(type_of_value(single, value), target):
        return ""
    names = [part.name for part in tree.parts_of(value) if isinstance(part, tree.ElementOrCall)]
    return _literal_hint(definition, values, names)


def _literal_hint(definition: tree.TcDefinition, values: TensorValues, names: Sequence[str]) -> str:
    double = tensor_types(definition, values)
    single = tensor_types(definition, values, ScalarType.FLOAT)
    waiting = [name for name in names if double.get(name) is not single.get(name)]
    seen = set(waiting)
    for name in waiting:  # which grows
        assigned = [value for tensor, value in values if tensor == name]
        parts = [part for value in assigned for part in tree.parts_of(value)]
        if all(isinstance(type_of_value(double, value), UntypedKind) for value in assigned):
            for part in parts:
                if isinstance(part, tree.NumberLiteral) and isinstance(part.value, float):
                    if part.text[-1] not in "fF":
                        why = f"by the literal {part.text} alone"
                        return f"{name} is float64 {why}; {part.text}f makes it float32"
        further = {part.name for part in parts if isinstance(part, tree.ElementOrCall)}
        further = {
            tensor for tensor in further if double.get(tensor) is not single.get(tensor)
        } - seen
        seen |= further
        waiting += sorted(further)
    return ""


_C_KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while bool true false nullptr asm typeof main
    _Bool exit fprintf stderr
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
    """.split()
)
_ISL_KEYWORDS = frozenset(
    """
    and or not implies exists exist mod floor ceil floord ceild min max lt le gt ge eq ne
    lex_lt lex_le lex_gt lex_ge infty infinity nan NaN Infinity true false rat
    """.split()
)


class IdentifierAllocator:
    """Gives out names, each once."""

    def __init__(self) -> None:
        """Start with all names free."""
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return a name that is free and no word of C or isl, as much like ``wanted`` as can be."""
        name = f"_{wanted}" if wanted[0].isdigit() else wanted
        while name in self._taken or name in _C_KEYWORDS or name in _ISL_KEYWORDS:
            name += "_"
        self._taken.add(name)
        return name

    def copy(self) -> IdentifierAllocator:
        """Return as many names that go their own way from here."""
        other = IdentifierAllocator()
        other._taken = set(self._taken)
        return other
