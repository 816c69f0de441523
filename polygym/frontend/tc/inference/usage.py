"""Usage of tensors by a statement: which it may read and assign, and how."""

from collections.abc import Mapping

import islpy as isl

from polygym.errors import SourceError
from polygym.frontend.tc.inference import assigned_elements
from polygym.frontend.tc.inference.assigned_elements import (
    access_map,
    affine_subscripts,
    check_rank,
    write_map,
)
from polygym.frontend.tc.inference.lowering_state import StatementContext
from polygym.frontend.tc.semantics.environment import TensorRole, elements_read
from polygym.frontend.tc.semantics.functions import name_suggestion
from polygym.frontend.tc.semantics.name_resolution import ResolvedStatement, is_computed
from polygym.frontend.tc.semantics.types import callee_of
from polygym.frontend.tc.syntax.printer import expression_text
from polygym.frontend.tc.syntax.tree import AssignKind, ElementOrCall, names_of_expression


def check_reads(here: StatementContext) -> None:
    """Refuse what there is not or has no value yet, and too many or too few subscripts."""
    draft, meaning = here.draft, here.meaning
    later = {resolved.statement.tensor for resolved in draft.resolved_statements}
    later |= {output.name for output in draft.definition.outputs}
    for part in (*meaning.evaluated, *meaning.witnesses, *meaning.unused_values):
        for statement in names_of_expression(part):
            tensor = draft.tensors.get(statement.name)
            if tensor is None and statement.name in later:
                own = statement.name == meaning.statement.tensor
                raise SourceError(
                    statement.location,
                    f"{statement.name} is read before it has values",
                    f"an output that is updated is a parameter too: float(...) {statement.name}"
                    if own
                    else "assign it in a statement above",
                )
            if tensor is not None:
                check_rank(statement, tensor)
            elif isinstance(statement, ElementOrCall):
                callee_of(statement, here.environment)


def check_assignment(here: StatementContext) -> None:
    """Refuse what may not be assigned, or not so."""
    draft, meaning = here.draft, here.meaning
    statement = meaning.statement
    name, assign = statement.tensor, statement.assign
    tensor = draft.tensors.get(name)
    if tensor is not None and tensor.role is TensorRole.INPUT:
        raise SourceError(
            statement.location,
            f"{name} is an input, which nothing may change",
            f"return it to update it: -> ({name})",
        )
    if assign is AssignKind.SET and any(map(is_computed, statement.subscripts)):
        raise SourceError(
            statement.location,
            f"an element of {name} may be assigned twice: expected a reduction such as += or max=, "
            "found =",
        )
    if assign is AssignKind.SET and meaning.reductions:
        index = meaning.reductions[0]
        if index not in _in_subscripts(meaning):
            raise SourceError(
                meaning.indices[index],
                f"{index} is neither an index on the left nor a parameter, a size or a value",
                name_suggestion(index, [*draft.tensors, *draft.size_names]),
            )
        raise SourceError(
            meaning.indices[index],
            f"{index} is not on the left: expected a reduction such as +=! or max=!, found =",
            f"{name} would be assigned once for every {index}",
        )
    if tensor is not None and tensor.rank != len(statement.subscripts):
        raise SourceError(
            statement.location,
            f"{name} has {tensor.rank} dimension(s) and is assigned with "
            f"{len(statement.subscripts)}",
        )


def _in_subscripts(meaning: ResolvedStatement) -> set[str]:
    """Return the names that are given a range, or stand in arguments of anything."""
    result = {entry.name for entry in meaning.ranges}
    for call in (name for part in meaning.evaluated for name in names_of_expression(part)):
        if isinstance(call, ElementOrCall):
            result |= {
                name.name for argument in call.arguments for name in names_of_expression(argument)
            }
    return result


def check_writes(here: StatementContext, ranges: Mapping[str, isl.Set]) -> None:
    """Refuse in-place updates that depend on their order, and values that nobody reads."""
    draft, meaning, scope, environment = here.draft, here.meaning, here.scope, here.environment
    statement, loops = meaning.statement, tuple(meaning.indices)
    domain = assigned_elements.instances(scope, loops, ranges, environment.condition)
    domain = domain.intersect_params(draft.context).coalesce()
    written = draft.tensors[statement.tensor].valid
    members, write = scope.tuple_of(loops), write_map(meaning, scope, loops, written)
    assigned_elements.check_assigned_once(meaning, domain, write)
    own = []
    reads = (read for part in meaning.evaluated for read in elements_read(part, environment))
    for element, condition in reads:
        if element.name != statement.tensor:
            continue
        values = affine_subscripts(element, scope, environment)
        valid = draft.tensors[element.name].valid
        read = access_map(scope, members, "", values, valid, condition)
        own.append((read, expression_text(element), element.location))
    if own and statement.initializes:
        raise SourceError(
            own[0][2],
            f"{own[0][1]} is read where {statement.assign.value}! has begun it anew",
            f"{statement.assign.value} goes on with what is there",
        )
    assigned_elements.check_no_conflicts(domain, write, own, loops)
    touched = domain.apply(write).coalesce()
    begins = statement.initializes or (statement.assign is AssignKind.SET and not own)
    before = draft.written_elements.get(statement.tensor, [])
    updated = draft.tensors[statement.tensor].role is TensorRole.UPDATED
    if begins and not updated and any(not touched.is_disjoint(elements) for elements in before):
        raise SourceError(
            statement.location,
            f"{statement.tensor} has values already, which would be lost",
            "assign to another tensor, or update this one: +=, max= ...",
        )
    draft.written_elements.setdefault(statement.tensor, []).append(touched)
