"""How many iterations of the innermost loops run together: what the mapping says, else the model.

Blocks of large sums, and of everything whose size is not known, follow from the number of registers
alone; for small sums of known sizes the block is chosen that takes the fewest cycles, counting what
is left over (:mod:`polygym.compiler.codegen.trees.model`).
"""

from __future__ import annotations

from polygym.compiler.codegen.common.loop_annotation import (
    Diagonal,
    Hold,
    Jam,
    LoopAnnotation,
    Rows,
    Vector,
)
from polygym.compiler.codegen.trees.across import VECTORS
from polygym.compiler.codegen.trees.group import Group
from polygym.compiler.codegen.trees.model import Copies, copies, small_block
from polygym.compiler.codegen.trees.moves import Move, shared_vectors, shares_vectors
from polygym.compiler.codegen.trees.setting import Setting
from polygym.compiler.codegen.trees.skewed import bits_of_skewed, skewed_arrays
from polygym.compiler.codegen.trees.streaming import runs_through_memory
from polygym.compiler.codegen.trees.trips import length


def copies_of(group: Group, setting: Setting) -> Copies:
    """Return how many iterations of a group run together."""
    usual = copies(
        group.roles,
        len(group.statements),
        setting.machine,
        rows_share=_rows_share(group),
        rows_add=_rows_add(group),
        only_sums=_only_sums(group),
        streams=_streams(group, setting),
    )
    if _is_a_map(group) and _runs_through_memory(group, setting):
        usual = Copies(1, 1)
    return as_asked(_small_block(group, setting) or usual, setting)


def _is_a_map(group: Group) -> bool:
    """Whether rows run in vectors and in copies that share nothing."""
    jammed, vector, held = group.roles.jammed, group.roles.vector, group.roles.held
    if jammed is None or vector is None or held is not None or _rows_share(group):
        return False
    if not group.moves:
        return False
    rows, columns = group.moves[jammed], group.moves[vector]
    return not any(shares_vectors(rows[name], columns[name]) for name in group.statements)


def _runs_through_memory(group: Group, setting: Setting) -> bool:
    return runs_through_memory(
        group.statements, group.members, group.roles.held, group.around, setting
    )


def _rows_share(group: Group) -> bool:
    """Whether a third of what jammed rows read is what the row before has read, or more."""
    jammed = group.roles.jammed
    if jammed is None or not group.moves:
        return False
    rows = group.moves[jammed].values()
    return 3 * sum(row.again for row in rows) >= max(1, sum(len(row.reads) for row in rows))


def _rows_add(group: Group) -> bool:
    """Whether all jammed rows change the same vectors."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if jammed is None or vector is None or not group.moves:
        return False
    rows, columns = group.moves[jammed], group.moves[vector]
    return all(
        rows[name].write is Move.SAME and columns[name].write is Move.NEXT
        for name in group.statements
    )


def _only_sums(group: Group) -> bool:
    """Whether along the loop that may be held every statement changes one element alone."""
    held = group.roles.held
    if held is None or not group.moves:
        return False
    return all(group.moves[held][name].write is Move.SAME for name in group.statements)


def _streams(group: Group, setting: Setting) -> int:
    """Return how many different reads of a sum need the same vectors for all jammed rows."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if not group.held or jammed is None or vector is None or len(group.statements) > 1:
        return 1
    (name,) = group.statements
    reads = setting.scop.statement(name).reads
    shared = shared_vectors(group.moves[jammed][name], group.moves[vector][name])
    return max(1, len({reads[number] for number in shared}))


def as_asked(found: Copies, setting: Setting) -> Copies:
    """Return the copies with those that the mapping asks for in their place."""
    asked = setting.mapping
    return Copies(asked.unroll_jam or found.unroll_jam, asked.vector_copies or found.vector_copies)


def annotations_of(group: Group, setting: Setting) -> dict[int, LoopAnnotation]:
    """Return what the members of a group are given to do, by their place."""
    chosen = group.roles
    found: dict[int, LoopAnnotation] = {}
    if group.across and chosen.jammed is not None:
        number = copies_of(group, setting)
        usual = 1 if _runs_through_memory(group, setting) else VECTORS
        vectors = setting.mapping.vector_copies or usual
        found = {chosen.jammed: Rows(setting.vector_bits, vectors, number.unroll_jam)}
    elif chosen.vector is not None or chosen.jammed is not None:
        number = copies_of(group, setting)
        found = given_to(chosen.vector, chosen.jammed, number, setting.vector_bits)
        if chosen.jammed in found and skewed_arrays(group, setting):
            found[chosen.jammed] = Diagonal(bits_of_skewed(setting), number.unroll_jam)
    if chosen.held is not None and group.held:
        found[chosen.held] = Hold(group.held)
    return found


def given_to(
    vector: int | None, jammed: int | None, number: Copies, bits: int
) -> dict[int, LoopAnnotation]:
    """Return what the loop that runs in vectors and the jammed one are given to do."""
    found: dict[int, LoopAnnotation] = {}
    if vector is not None:
        found[vector] = Vector(bits, number.vector_copies)
    if jammed is not None and number.unroll_jam > 1:
        found[jammed] = Jam(number.unroll_jam)
    return found


def _small_block(group: Group, setting: Setting) -> Copies | None:
    """Return the block that suits a small sum of known sizes; None for others."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if setting.sizes is None or not group.held or jammed is None or vector is None:
        return None
    if len(group.statements) > 1:
        return None
    (name,) = group.statements
    rows, columns = (
        length(
            setting.scop,
            group.statements,
            group.members[place],
            group.around.parameters,
            setting.sizes,
        )
        for place in (jammed, vector)
    )
    shared = shares_vectors(group.moves[jammed][name], group.moves[vector][name])
    width = setting.lanes(group.statements)
    streams = _streams(group, setting)
    return small_block(rows, columns, width, setting.machine, shared=shared, streams=streams)
