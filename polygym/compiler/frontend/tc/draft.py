"""A definition on its way to a program: what is known so far.

The steps of :mod:`polygym.compiler.frontend.tc.lower` add to it: ``declarations`` the parameters
and types, ``inference`` what sizes must satisfy, ``emission`` tensors and statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl

from polygym.compiler.frontend.tc.affine import LARGEST
from polygym.compiler.frontend.tc.environment import Environment
from polygym.compiler.frontend.tc.names import Names
from polygym.compiler.frontend.tc.ranges import Scope, Sizes
from polygym.compiler.frontend.tc.resolve import Meaning, sizes_of
from polygym.compiler.frontend.tc.syntax import Definition, Expression, Name, Number, Output
from polygym.compiler.frontend.tc.syntax import Parameter as Declaration
from polygym.compiler.frontend.tc.tensors import Tensor
from polygym.compiler.ir.scop import Statement
from polygym.compiler.ir.types import ScalarType
from polygym.errors import SourceError


@dataclass
class Draft:
    """One definition.

    ``constants`` are the scalars whose value is known, ``size_names`` the names of sizes in the
    program. ``context`` holds the sizes that are possible; where they are ``is_fixed``, one for
    each.
    ``meanings`` are all statements, ``types`` those of all tensors; ``tensors`` have been met,
    ``statements`` made, and the elements in ``written`` assigned.
    """

    definition: Definition
    constants: Mapping[str, int]
    names: Names
    size_names: dict[str, str]
    sizes: Sizes
    context: isl.Set
    is_fixed: bool = False
    meanings: list[Meaning] = field(default_factory=list)
    types: dict[str, ScalarType] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    written: dict[str, list[isl.Set]] = field(default_factory=dict)

    @property
    def values(self) -> list[tuple[str, Expression]]:
        """What the statements assign, with the names of the tensors."""
        return [(one.statement.tensor, one.value) for one in self.meanings]


def begin(
    definition: Definition,
    constants: Mapping[str, int],
    fixed: Mapping[str, int],
    context: isl.Context,
) -> Draft:
    """Return the draft of a definition whose statements have not been read yet.

    Sizes may be ``fixed``.
    """
    names = Names()
    size_names = {name: names.take(name) for name in sizes_of(definition)}
    known = {names.take(name): value for name, value in constants.items()}
    facts = [f"{name} >= 1" for name in size_names.values()]
    facts += [f"{name} = {value}" for name, value in known.items()]
    facts += [f"{size_names[name]} = {value}" for name, value in fixed.items()]
    sizes = Sizes(context, (*size_names.values(), *known), " and ".join(facts) or "1 = 1")
    return Draft(
        definition, constants, names, size_names, sizes, sizes.at_first, is_fixed=bool(fixed)
    )


def scope_of(draft: Draft, meaning: Meaning) -> tuple[Scope, Environment]:
    """Return what the names in a statement stand for: for isl, and for expressions."""
    names = draft.names.copy()
    indices = {**meaning.indices, **meaning.helpers}
    iterators = {name: names.take(name) for name in indices}
    scope = Scope(draft.sizes, indices, {**draft.size_names, **iterators})
    return scope, Environment(dict(draft.tensors), iterators, draft.size_names)


def output_named(draft: Draft, name: str) -> Output | None:
    """Return the declaration of an output, None if it is none."""
    return next((one for one in draft.definition.outputs if one.name == name), None)


def declared_sizes(draft: Draft, declaration: Declaration | Output) -> tuple[isl.Set, ...]:
    """Return the values that the subscripts of a declared tensor may have."""
    found = []
    for size in declaration.sizes or ():
        match size:
            case Number(value, text, place):
                if not 1 <= value < LARGEST:
                    raise SourceError(
                        place, f"expected a size from 1 to {LARGEST - 1:,}, found {text}"
                    )
                text = str(value)
            case Name(name):
                text = draft.size_names[name]
        found.append(draft.sizes.set(f"{{ [x'] : 0 <= x' < {text} }}"))
    return tuple(found)


def expected_sizes(draft: Draft, name: str) -> tuple[isl.Set, ...] | None:
    """Return what the subscripts of a tensor that is assigned may be, if that is known."""
    if name in draft.tensors:
        return draft.tensors[name].valid
    output = output_named(draft, name)
    if output is None or output.sizes is None:
        return None
    return declared_sizes(draft, output)
