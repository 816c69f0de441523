"""How a statement uses tensors: what it may read, what it may assign, and how."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygym.compiler.frontend.tc.draft import Draft
from polygym.compiler.frontend.tc.environment import Environment, elements
from polygym.compiler.frontend.tc.functions import similar
from polygym.compiler.frontend.tc.inplace import refuse_conflicts
from polygym.compiler.frontend.tc.printer import text_of
from polygym.compiler.frontend.tc.ranges import Scope
from polygym.compiler.frontend.tc.resolve import Meaning, names_in
from polygym.compiler.frontend.tc.subscripts import access_map, check_rank, subscripts
from polygym.compiler.frontend.tc.syntax import Assign, Element
from polygym.compiler.frontend.tc.targets import check_once, write_map
from polygym.compiler.frontend.tc.tensors import Role
from polygym.compiler.frontend.tc.types import callee_of
from polygym.errors import SourceError


def check_reads(draft: Draft, meaning: Meaning, environment: Environment) -> None:
    """Refuse what there is not or has no value yet, and too many or too few subscripts."""
    later = {one.statement.tensor for one in draft.meanings}
    later |= {output.name for output in draft.definition.outputs}
    for part in (meaning.value, *meaning.witnesses, *meaning.asides):
        for one in names_in(part):
            tensor = draft.tensors.get(one.name)
            if tensor is None and one.name in later:
                own = one.name == meaning.statement.tensor
                raise SourceError(
                    one.place,
                    f"{one.name} is read before it has values",
                    f"an output that is updated is a parameter too: float(...) {one.name}"
                    if own
                    else "assign it in a statement above",
                )
            if tensor is not None:
                check_rank(one, tensor)
            elif isinstance(one, Element):
                callee_of(one, environment)


def check_assignment(draft: Draft, meaning: Meaning) -> None:
    """Refuse what may not be assigned, or not so."""
    statement = meaning.statement
    name, assign = statement.tensor, statement.assign
    tensor = draft.tensors.get(name)
    if tensor is not None and tensor.role is Role.INPUT:
        raise SourceError(
            statement.place,
            f"{name} is an input, which nothing may change",
            f"return it to update it: -> ({name})",
        )
    if assign is Assign.SET and meaning.reductions:
        index = meaning.reductions[0]
        if index not in _in_subscripts(meaning):
            raise SourceError(
                meaning.indices[index],
                f"{index} is neither an index on the left nor a parameter, a size or a value",
                similar(index, [*draft.tensors, *draft.size_names]),
            )
        raise SourceError(
            meaning.indices[index],
            f"{index} is not on the left: expected a reduction such as +=! or max=!, found =",
            f"{name} would be assigned once for every {index}",
        )
    if tensor is not None and tensor.rank != len(statement.left):
        raise SourceError(
            statement.place,
            f"{name} has {tensor.rank} dimension(s) and is assigned with {len(statement.left)}",
        )


def _in_subscripts(meaning: Meaning) -> set[str]:
    """Return the names that are given a range, or stand in arguments of anything."""
    found = {one.name for one in meaning.ranges}
    for one in names_in(meaning.value):
        if isinstance(one, Element):
            found |= {name.name for argument in one.arguments for name in names_in(argument)}
    return found


def check_writes(
    draft: Draft,
    meaning: Meaning,
    scope: Scope,
    environment: Environment,
    ranges: Mapping[str, isl.Set],
) -> None:
    """Refuse in-place updates that depend on their order, and values that nobody reads."""
    statement, loops = meaning.statement, tuple(meaning.indices)
    domain = scope.box(loops, ranges).intersect_params(draft.context).coalesce()
    check_once(meaning, scope, domain)
    members, write = scope.tuple_of(loops), write_map(meaning, scope, loops)
    own = []
    for element, condition in elements(meaning.value, environment):
        if element.name != statement.tensor:
            continue
        values = subscripts(element, scope, environment)
        valid = draft.tensors[element.name].valid
        read = access_map(scope, members, "", values, valid, condition)
        own.append((read, text_of(element), element.place))
    if own and statement.initialises:
        raise SourceError(
            own[0][2],
            f"{own[0][1]} is read where {statement.assign.value}! has begun it anew",
            f"{statement.assign.value} goes on with what is there",
        )
    refuse_conflicts(domain, write, own, loops)
    touched = domain.apply(write).coalesce()
    begins = statement.initialises or (statement.assign is Assign.SET and not own)
    before = draft.written.get(statement.tensor, [])
    updated = draft.tensors[statement.tensor].role is Role.UPDATED
    if begins and not updated and any(not touched.is_disjoint(one) for one in before):
        raise SourceError(
            statement.place,
            f"{statement.tensor} has values already, which would be lost",
            "assign to another tensor, or update this one: +=, max= ...",
        )
    draft.written.setdefault(statement.tensor, []).append(touched)
