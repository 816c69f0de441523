"""Definition → Scop: statements with domains, accesses and bodies, one after the other.

Each statement of a comprehension becomes one statement of the program, or two where it initialises:
``C(i) +=! A(i, k) * x(k)`` is ``C(i) = 0`` for all i, then ``C(i) += A(i, k) * x(k)`` for all i, k.
The original order runs them as they stand, each with the loops of its left side outside, then those
of its reductions::

    { S0[i] -> [0, i, 0];  S1[i, k] -> [1, i, k] }

A tensor that a statement defines is as large as its indices run. (Elements below a range that does
not start at 0 are zero.) Sizes are parameters of the program, and what they must satisfy, so that
no range is empty and no access leaves its tensor, is its context. A scalar whose value is known is
a parameter too, which has only that value.
"""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import InternalError, LimitError, SourceError
from polygym.frontend.tc.inference.declarations import (
    check_constants,
    declare_parameter,
    tensor_types,
)
from polygym.frontend.tc.inference.literals import hint_for_value
from polygym.frontend.tc.inference.lowering_state import LoweringState, initial_state, scope_of
from polygym.frontend.tc.inference.statement_ranges import infer_ranges
from polygym.frontend.tc.inference.usage import check_assignment, check_reads, check_writes
from polygym.frontend.tc.lowering.assembly import assemble
from polygym.frontend.tc.lowering.statements import emit_statements, new_tensor
from polygym.frontend.tc.semantics.name_resolution import (
    ResolvedStatement,
    check_initialized,
    check_names,
    resolve_statement,
)
from polygym.frontend.tc.semantics.types import is_narrowing, type_of, type_text
from polygym.frontend.tc.syntax.tree import TcDefinition
from polygym.ir.scop import Scop
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import is_exhausted

# About a hundred times what the largest comprehension of the library needs.
_MOST_OPERATIONS = 5_000_000


def lower_definition(
    definition: TcDefinition,
    constants: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Scop:
    """Return the program that a definition stands for.

    ``constants`` are values of scalar integer parameters; those that :func:`needed_values` lists
    must be among them. With ``sizes`` the program is for these alone, and is refused where it has
    none for them.

    Raises:
        SourceError: the definition makes no sense; says where and why.
        LimitError: its ranges take too much work.
    """
    context = isl.Context()
    context.set_on_error(isl.on_error.CONTINUE)
    context.set_max_operations(_MOST_OPERATIONS)
    try:
        return _lower(definition, dict(constants or {}), dict(sizes or {}), context)
    except isl.Error as error:
        if is_exhausted(context):
            raise LimitError.at(
                definition.location, f"{definition.name}: its ranges are too complicated"
            ) from None
        raise InternalError(f"{definition.name}: {error}") from error
    except RecursionError as error:
        raise SourceError(definition.location, f"{definition.name} nests too deeply") from error


def _lower(
    definition: TcDefinition,
    constants: dict[str, int],
    sizes: dict[str, int],
    context: isl.Context,
) -> Scop:
    check_names(definition)
    check_initialized(definition)
    draft = initial_state(definition, constants, sizes, context)
    check_constants(draft)
    for parameter in definition.parameters:
        declare_parameter(draft, parameter)
    draft.resolved_statements = [
        resolve_statement(statement, definition, constants) for statement in definition.statements
    ]
    draft.types = tensor_types(definition, draft.assigned_values)
    for place, meaning in enumerate(draft.resolved_statements):
        _lower_statement(draft, place, meaning)
    for output in definition.outputs:
        if output.name not in draft.tensors:
            raise SourceError(output.location, f"the output {output.name} is never assigned")
    return verify(assemble(draft))


def _lower_statement(draft: LoweringState, place: int, meaning: ResolvedStatement) -> None:
    """Lower one statement."""
    statement = meaning.statement
    scope, environment = scope_of(draft, meaning)
    check_reads(draft, meaning, environment)
    check_assignment(draft, meaning)
    for expression in (*meaning.witnesses, *meaning.unused_values):
        type_of(expression, environment)
    value_type = type_of(meaning.value, environment)
    target = draft.types[statement.tensor]
    if is_narrowing(value_type, target):
        raise SourceError(
            statement.location,
            f"{statement.tensor} is {type_text(target)} and the value {type_text(value_type)}: "
            "that would narrow it",
            hint_for_value(draft.definition, draft.assigned_values, meaning.value, target)
            or f"convert it: {type_text(target)}(...)",
        )
    ranges = infer_ranges(draft, place, meaning, scope, environment)
    tensor = new_tensor(draft, meaning, scope, ranges, target)
    check_writes(draft, meaning, scope, environment, ranges)
    emit_statements(draft, meaning, scope, environment, ranges, tensor)
