"""A definition on its way to a program: what is known so far.

The steps of :mod:`polygym.frontend.tc.lowering.definitions` add to it: ``declarations`` the
parameters and types, ``inference`` what sizes must satisfy, ``emission`` tensors and statements.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference.ranges import IndexScope, SymbolicSizes
from polygym.frontend.tc.semantics.affine import LARGEST_COEFFICIENT
from polygym.frontend.tc.semantics.environment import NameEnvironment, TensorInfo
from polygym.frontend.tc.semantics.identifiers import IdentifierAllocator
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, size_locations
from polygym.frontend.tc.syntax import tree
from polygym.ir.scop import Statement
from polygym.ir.types import ScalarType


@dataclass
class LoweringState:
    """One definition.

    ``constants`` are the scalars whose value is known, ``size_names`` the names of sizes in the
    program. ``context`` holds the sizes that are possible; where they are ``is_fixed``, one for
    each.
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
    resolved_statements: list[ResolvedStatement] = field(default_factory=list)
    types: dict[str, ScalarType] = field(default_factory=dict)
    tensors: dict[str, TensorInfo] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    written_elements: dict[str, list[isl.Set]] = field(default_factory=dict)

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
    size_names = {name: names.take(name) for name in size_locations(definition)}
    known = {names.take(name): value for name, value in constants.items()}
    facts = [f"{name} >= 1" for name in size_names.values()]
    facts += [f"{name} = {value}" for name, value in known.items()]
    facts += [f"{size_names[name]} = {value}" for name, value in fixed.items()]
    sizes = SymbolicSizes(context, (*size_names.values(), *known), " and ".join(facts) or "1 = 1")
    return LoweringState(
        definition, constants, names, size_names, sizes, sizes.unrestricted, is_fixed=bool(fixed)
    )


def scope_of(
    draft: LoweringState, meaning: ResolvedStatement
) -> tuple[IndexScope, NameEnvironment]:
    """Return what the names in a statement stand for: for isl, and for expressions."""
    names = draft.identifiers.copy()
    indices = {**meaning.indices, **meaning.helper_indices}
    iterators = {name: names.take(name) for name in indices}
    scope = IndexScope(draft.sizes, indices, {**draft.size_names, **iterators})
    return scope, NameEnvironment(dict(draft.tensors), iterators, draft.size_names)


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
