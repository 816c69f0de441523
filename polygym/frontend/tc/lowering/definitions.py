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

The finished program: its arrays, its signature, its order.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import islpy as isl

from polygym.errors import InternalError, LimitError, SourceError
from polygym.frontend.tc.inference import lowering_state
from polygym.frontend.tc.inference.assigned_elements import is_computed_integer
from polygym.frontend.tc.inference.ranges import c_text_of, extent_of
from polygym.frontend.tc.inference.statement_ranges import infer_ranges
from polygym.frontend.tc.inference.usage import check_assignment, check_reads, check_writes
from polygym.frontend.tc.lowering.statements import emit_statements, new_tensor
from polygym.frontend.tc.semantics import name_resolution
from polygym.frontend.tc.semantics.environment import TensorInfo, TensorRole
from polygym.frontend.tc.semantics.types import is_narrowing, type_of, type_text
from polygym.frontend.tc.syntax.tree import TcDefinition
from polygym.ir.scop import Array, Parameter, Scop, StorageClass
from polygym.ir.verifier import verify
from polygym.poly.isl_budget import is_exhausted
from polygym.poly.isl_values import isl_text

_Result = TypeVar("_Result")


def _assemble(draft: lowering_state.LoweringState) -> Scop:
    """Put the program together."""
    definition = draft.definition
    used = {statement.write.array for statement in draft.statements}
    used |= {access.array for statement in draft.statements for access in statement.reads}
    arrays = [_array(draft, tensor) for tensor in draft.tensors.values() if tensor.name in used]
    inputs = [parameter.name for parameter in definition.parameters]
    inputs = [name for name in inputs if name not in draft.constants]
    unused = [draft.tensors[name] for name in inputs if draft.tensors[name].name not in used]
    order = dict.fromkeys([*inputs, *(output.name for output in definition.outputs)])
    gisted = draft.context.gist(draft.sizes.unrestricted)
    plain = gisted.plain_is_universe()
    return Scop(
        name=lowering_state.IdentifierAllocator().take(definition.name),
        file=definition.location.file,
        parameters=tuple(Parameter(name) for name in draft.sizes.names),
        signature=(*draft.sizes.names, *(draft.tensors[name].name for name in order)),
        context=isl_text(draft.context),
        conditions=() if plain else (_conditions(gisted),),
        arrays=tuple(arrays),
        statements=tuple(draft.statements),
        schedule=_schedule(draft),
        unused_arguments=tuple((tensor.name, _declaration(draft, tensor)) for tensor in unused),
    )


def _array(draft: lowering_state.LoweringState, tensor: TensorInfo) -> Array:
    sizes = [extent_of(valid, draft.context) for valid in tensor.valid]
    match tensor.role:
        case TensorRole.INPUT if not tensor.rank:
            storage = StorageClass.VALUE
        case TensorRole.TEMPORARY:
            storage = StorageClass.LOCAL
        case _:
            storage = StorageClass.ARGUMENT
    return Array(
        name=tensor.name,
        type=tensor.type,
        extents=tuple(map(isl_text, sizes)),
        c_extents=tuple(c_text_of(size, draft.context) for size in sizes),
        storage_class=storage,
        live_out=tensor.role in (TensorRole.OUTPUT, TensorRole.UPDATED),
    )


def _schedule(draft: lowering_state.LoweringState) -> str:
    """Return the order of the text: statement by statement, each in the order of its loops."""
    length = max(statement.depth for statement in draft.statements)
    maps = []
    for number, statement in enumerate(draft.statements):
        padding = ["0"] * (length - statement.depth)
        stamp = ", ".join([str(number), *statement.iterators, *padding])
        maps.append(f"{statement.name}[{', '.join(statement.iterators)}] -> [{stamp}]")
    return f"[{', '.join(draft.sizes.names)}] -> {{ {'; '.join(maps)} }}"


def _declaration(draft: lowering_state.LoweringState, tensor: TensorInfo) -> str:
    """Return the C declaration of a parameter that nothing uses."""
    sizes = [c_text_of(extent_of(valid, draft.context), draft.context) for valid in tensor.valid]
    return f"{tensor.type.value} {tensor.name}{''.join(f'[{size}]' for size in sizes)}"


def _conditions(gisted: isl.Set) -> str:
    """Return conditions on sizes as people write them."""
    text = isl_text(gisted)
    return text[text.index("{") + 1 : text.rindex("}")].strip().removeprefix(":").strip()


# About a hundred times what the largest comprehension of the library needs.
_MOST_OPERATIONS = 5_000_000


def lower_definition(
    definition: TcDefinition,
    constants: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Scop:
    """Return the program that a definition stands for.

    ``constants`` are values of scalar integer parameters; those that
    :func:`~polygym.frontend.tc.semantics.name_resolution.required_constants` lists must be among
    them. With ``sizes`` the program is for these alone, and is refused where it has none for them.

    Raises:
        SourceError: the definition makes no sense; says where and why.
        LimitError: its ranges take too much work.
    """
    return after_lowering(definition, constants, sizes, lambda draft: verify(_assemble(draft)))


def after_lowering(
    definition: TcDefinition,
    constants: Mapping[str, int] | None,
    sizes: Mapping[str, int] | None,
    use: Callable[[lowering_state.LoweringState], _Result],
) -> _Result:
    """Return what is made of a definition when all of its statements have been lowered."""
    context = isl.Context()
    context.set_on_error(isl.on_error.CONTINUE)
    context.set_max_operations(_MOST_OPERATIONS)
    try:
        return use(_lower(definition, dict(constants or {}), dict(sizes or {}), context))
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
) -> lowering_state.LoweringState:
    name_resolution.check_names(definition)
    name_resolution.check_initialized(definition)
    draft = lowering_state.initial_state(definition, constants, sizes, context)
    lowering_state.check_constants(draft)
    for parameter in definition.parameters:
        lowering_state.declare_parameter(draft, parameter)
    draft.resolved_statements = [
        name_resolution.resolve_statement(statement, definition, constants)
        for statement in definition.statements
    ]
    draft.types = lowering_state.tensor_types(definition, draft.assigned_values)
    for place, meaning in enumerate(draft.resolved_statements):
        _lower_statement(lowering_state.StatementContext.of(draft, meaning), place)
    for output in definition.outputs:
        if output.name not in draft.tensors:
            raise SourceError(output.location, f"the output {output.name} is never assigned")
    return draft


def _lower_statement(here: lowering_state.StatementContext, place: int) -> None:
    """Lower one statement."""
    draft, meaning, environment = here.draft, here.meaning, here.environment
    statement = meaning.statement
    check_reads(here)
    check_assignment(here)
    for expression in (*meaning.witnesses, *meaning.unused_values, *meaning.conditions):
        type_of(expression, environment)
    for subscript in meaning.subscripts:
        is_computed_integer(subscript, statement.tensor, environment)
    value_type = type_of(meaning.value, environment)
    target = draft.types[statement.tensor]
    if is_narrowing(value_type, target):
        values = draft.assigned_values
        hint = lowering_state.hint_for_value(draft.definition, values, meaning.value, target)
        raise SourceError(
            statement.location,
            f"{statement.tensor} is {type_text(target)} and the value {type_text(value_type)}: "
            "that would narrow it",
            hint or f"convert it: {type_text(target)}(...)",
        )
    ranges = infer_ranges(here, place)
    draft.index_ranges.append(ranges)
    tensor = new_tensor(here, ranges, target)
    check_writes(here, ranges)
    emit_statements(here, ranges, tensor)
