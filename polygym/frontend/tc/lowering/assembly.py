"""The finished program: its arrays, its signature, its order."""

import islpy as isl

from polygym.frontend.tc.inference.lowering_state import LoweringState
from polygym.frontend.tc.inference.ranges import c_text_of, extent_of
from polygym.frontend.tc.semantics.environment import TensorInfo, TensorRole
from polygym.frontend.tc.semantics.identifiers import IdentifierAllocator
from polygym.frontend.tc.syntax.tree import TcParameter as Declaration
from polygym.ir.scop import Array, Parameter, Scop, StorageClass
from polygym.poly.isl_values import isl_text


def assemble(draft: LoweringState) -> Scop:
    """Put the program together."""
    definition = draft.definition
    used = {statement.write.array for statement in draft.statements}
    used |= {access.array for statement in draft.statements for access in statement.reads}
    arrays = [_array(draft, tensor) for tensor in draft.tensors.values() if tensor.name in used]
    unused = [
        (draft.tensors[parameter.name].name, _declaration(parameter, draft))
        for parameter in definition.parameters
        if draft.tensors[parameter.name].name not in used and parameter.name not in draft.constants
    ]
    outputs = [output.name for output in definition.outputs]
    order = dict.fromkeys(
        [
            parameter.name
            for parameter in definition.parameters
            if parameter.name not in draft.constants
        ]
        + outputs
    )
    gisted = draft.context.gist(draft.sizes.unrestricted)
    plain = gisted.plain_is_universe()
    return Scop(
        name=IdentifierAllocator().take(definition.name),
        file=definition.location.file,
        parameters=tuple(Parameter(name) for name in draft.sizes.names),
        signature=(*draft.sizes.names, *(draft.tensors[name].name for name in order)),
        context=isl_text(draft.context),
        conditions=() if plain else (_conditions(gisted),),
        arrays=tuple(arrays),
        statements=tuple(draft.statements),
        schedule=_schedule(draft),
        unused_arguments=tuple(unused),
    )


def _array(draft: LoweringState, tensor: TensorInfo) -> Array:
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


def _schedule(draft: LoweringState) -> str:
    """Return the order of the text: statement by statement, each in the order of its loops."""
    length = max(statement.depth for statement in draft.statements)
    maps = []
    for number, statement in enumerate(draft.statements):
        padding = ["0"] * (length - statement.depth)
        stamp = ", ".join([str(number), *statement.iterators, *padding])
        maps.append(f"{statement.name}[{', '.join(statement.iterators)}] -> [{stamp}]")
    return f"[{', '.join(draft.sizes.names)}] -> {{ {'; '.join(maps)} }}"


def _declaration(parameter: Declaration, draft: LoweringState) -> str:
    """Return the C declaration of a parameter that nothing uses."""
    tensor = draft.tensors[parameter.name]
    sizes = "".join(
        f"[{c_text_of(extent_of(valid, draft.context), draft.context)}]" for valid in tensor.valid
    )
    return f"{tensor.type.value} {tensor.name}{sizes}"


def _conditions(gisted: isl.Set) -> str:
    """Return conditions on sizes as people write them."""
    text = isl_text(gisted)
    return text[text.index("{") + 1 : text.rindex("}")].strip().removeprefix(":").strip()
