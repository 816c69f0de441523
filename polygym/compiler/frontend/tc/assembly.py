"""The finished program: its arrays, its signature, its order."""

from __future__ import annotations

import islpy as isl

from polygym.compiler.frontend.tc.draft import Draft
from polygym.compiler.frontend.tc.extents import as_c, size_of
from polygym.compiler.frontend.tc.names import Names
from polygym.compiler.frontend.tc.syntax import Parameter as Declaration
from polygym.compiler.frontend.tc.tensors import Role, Tensor
from polygym.compiler.ir.scop import Array, Parameter, Scop, Storage
from polygym.compiler.poly.isl_numbers import isl_text


def assemble(draft: Draft) -> Scop:
    """Put the program together."""
    definition = draft.definition
    used = {one.write.array for one in draft.statements}
    used |= {access.array for one in draft.statements for access in one.reads}
    arrays = [_array(draft, tensor) for tensor in draft.tensors.values() if tensor.name in used]
    unused = [
        (draft.tensors[one.name].name, _declaration(one, draft))
        for one in definition.parameters
        if draft.tensors[one.name].name not in used and one.name not in draft.constants
    ]
    outputs = [one.name for one in definition.outputs]
    order = dict.fromkeys(
        [one.name for one in definition.parameters if one.name not in draft.constants] + outputs
    )
    gisted = draft.context.gist(draft.sizes.at_first)
    plain = gisted.plain_is_universe()
    return Scop(
        name=Names().take(definition.name),
        file=definition.place.file,
        parameters=tuple(Parameter(name) for name in draft.sizes.names),
        signature=(*draft.sizes.names, *(draft.tensors[name].name for name in order)),
        context=isl_text(draft.context),
        conditions=() if plain else (_conditions(gisted),),
        arrays=tuple(arrays),
        statements=tuple(draft.statements),
        schedule=_schedule(draft),
        unused_arguments=tuple(unused),
    )


def _array(draft: Draft, tensor: Tensor) -> Array:
    sizes = [size_of(valid, draft.context) for valid in tensor.valid]
    match tensor.role:
        case Role.INPUT if not tensor.rank:
            storage = Storage.VALUE
        case Role.TEMPORARY:
            storage = Storage.LOCAL
        case _:
            storage = Storage.ARGUMENT
    return Array(
        name=tensor.name,
        type=tensor.type,
        extents=tuple(map(isl_text, sizes)),
        extents_c=tuple(as_c(size, draft.context) for size in sizes),
        storage=storage,
        live_out=tensor.role in (Role.OUTPUT, Role.UPDATED),
    )


def _schedule(draft: Draft) -> str:
    """Return the order of the text: statement by statement, each in the order of its loops."""
    length = max(one.depth for one in draft.statements)
    maps = []
    for number, one in enumerate(draft.statements):
        padding = ["0"] * (length - one.depth)
        stamp = ", ".join([str(number), *one.iterators, *padding])
        maps.append(f"{one.name}[{', '.join(one.iterators)}] -> [{stamp}]")
    return f"[{', '.join(draft.sizes.names)}] -> {{ {'; '.join(maps)} }}"


def _declaration(parameter: Declaration, draft: Draft) -> str:
    """Return the C declaration of a parameter that nothing uses."""
    tensor = draft.tensors[parameter.name]
    sizes = "".join(
        f"[{as_c(size_of(valid, draft.context), draft.context)}]" for valid in tensor.valid
    )
    return f"{tensor.type.value} {tensor.name}{sizes}"


def _conditions(gisted: isl.Set) -> str:
    """Return conditions on sizes as people write them."""
    text = isl_text(gisted)
    return text[text.index("{") + 1 : text.rindex("}")].strip().removeprefix(":").strip()
