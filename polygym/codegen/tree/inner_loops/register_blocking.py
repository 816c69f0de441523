"""Register blocking: jammed iterations and vectors, by the mapping or by the model.

Blocks of large sums, and of everything whose size is not known, follow from the number of registers
alone; for small sums of known sizes the block is chosen that takes the fewest cycles, counting what
is left over (:mod:`polygym.codegen.tree.analysis.default_sizes`).
"""

from polygym.codegen.common import loop_annotation
from polygym.codegen.recurrences.skewed_copies.analysis import skewed_arrays, skewed_vector_bits
from polygym.codegen.recurrences.streams.analysis import exceeds_last_level_cache
from polygym.codegen.tree.analysis.access_strides import StrideKind, shared_vectors, shares_vectors
from polygym.codegen.tree.analysis.default_sizes import (
    RegisterBlock,
    default_block,
    small_reduction_block,
)
from polygym.codegen.tree.analysis.loop_roles import StatementGroup
from polygym.codegen.tree.analysis.planner_context import PlannerContext
from polygym.mapping.tuning_parameters import TUNING


def choose_block(group: StatementGroup, context: PlannerContext) -> RegisterBlock:
    """Return how many iterations of a group run together."""
    usual = default_block(
        group.roles,
        len(group.statements),
        context.machine,
        rows_share=_has_row_reuse(group),
        rows_add=_rows_share_accumulators(group),
        only_sums=_has_reductions_only(group),
        streams=_shared_streams(group, context),
    )
    if _is_elementwise(group) and _exceeds_cache(group, context):
        usual = RegisterBlock(1, 1)
    return apply_requested(_small_reduction_block(group, context) or usual, context)


def _is_elementwise(group: StatementGroup) -> bool:
    """Whether rows run in vectors and in copies that share nothing."""
    jammed, vector, held = group.roles.jammed, group.roles.vector, group.roles.reduction
    if jammed is None or vector is None or held is not None or _has_row_reuse(group):
        return False
    if not group.access_strides:
        return False
    rows, columns = group.access_strides[jammed], group.access_strides[vector]
    return not any(shares_vectors(rows[name], columns[name]) for name in group.statements)


def _exceeds_cache(group: StatementGroup, context: PlannerContext) -> bool:
    return exceeds_last_level_cache(
        group.statements, group.members, group.roles.reduction, group.loop_context, context
    )


def _has_row_reuse(group: StatementGroup) -> bool:
    """Whether a third of what jammed rows read is what the row before has read, or more."""
    jammed = group.roles.jammed
    if jammed is None or not group.access_strides:
        return False
    rows = group.access_strides[jammed].values()
    reads = sum(len(row.reads) for row in rows)
    return 3 * sum(row.overlapping_reads for row in rows) >= max(1, reads)


def _rows_share_accumulators(group: StatementGroup) -> bool:
    """Whether all jammed rows change the same vectors."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if jammed is None or vector is None or not group.access_strides:
        return False
    rows, columns = group.access_strides[jammed], group.access_strides[vector]
    return all(
        rows[name].write is StrideKind.ZERO and columns[name].write is StrideKind.UNIT
        for name in group.statements
    )


def _has_reductions_only(group: StatementGroup) -> bool:
    """Whether along the loop that may be held every statement changes one element alone."""
    held = group.roles.reduction
    if held is None or not group.access_strides:
        return False
    strides = group.access_strides[held]
    return all(strides[name].write is StrideKind.ZERO for name in group.statements)


def _shared_streams(group: StatementGroup, context: PlannerContext) -> int:
    """Return how many different reads of a sum need the same vectors for all jammed rows."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if jammed is None or vector is None:
        return 1
    if not group.replaced_statements or len(group.statements) > 1:
        return 1
    (name,) = group.statements
    reads = context.scop.statement(name).reads
    shared = shared_vectors(group.access_strides[jammed][name], group.access_strides[vector][name])
    return max(1, len({reads[number] for number in shared}))


def apply_requested(default: RegisterBlock, context: PlannerContext) -> RegisterBlock:
    """Return the copies with those that the mapping asks for in their place."""
    asked = context.mapping
    return RegisterBlock(
        asked.unroll_jam or default.unroll_jam, asked.vector_copies or default.vector_copies
    )


def annotations_of(
    group: StatementGroup, context: PlannerContext
) -> dict[int, loop_annotation.LoopAnnotation]:
    """Return what the members of a group are given to do, by their place."""
    chosen = group.roles
    loop_annotations: dict[int, loop_annotation.LoopAnnotation] = {}
    if group.has_recurrence_lanes and chosen.jammed is not None:
        number = choose_block(group, context)
        usual = 1 if _exceeds_cache(group, context) else TUNING.lane_vectors
        vectors = context.mapping.vector_copies or usual
        rows = loop_annotation.LaneRows(context.vector_bits, vectors, number.unroll_jam)
        loop_annotations = {chosen.jammed: rows}
    elif chosen.vector is not None or chosen.jammed is not None:
        number = choose_block(group, context)
        bits = context.vector_bits
        loop_annotations = make_annotations(chosen.vector, chosen.jammed, number, bits)
        if chosen.jammed in loop_annotations and skewed_arrays(group, context):
            diagonal = loop_annotation.DiagonalLoop(skewed_vector_bits(context), number.unroll_jam)
            loop_annotations[chosen.jammed] = diagonal
    if chosen.reduction is not None and group.replaced_statements:
        held = loop_annotation.ScalarReplacement(group.replaced_statements)
        loop_annotations[chosen.reduction] = held
    return loop_annotations


def make_annotations(
    vector: int | None, jammed: int | None, copies: RegisterBlock, bits: int
) -> dict[int, loop_annotation.LoopAnnotation]:
    """Return what the loop that runs in vectors and the jammed one are given to do."""
    loop_annotations: dict[int, loop_annotation.LoopAnnotation] = {}
    if vector is not None:
        loop_annotations[vector] = loop_annotation.VectorLoop(bits, copies.vector_copies)
    if jammed is not None and copies.unroll_jam > 1:
        loop_annotations[jammed] = loop_annotation.UnrollAndJam(copies.unroll_jam)
    return loop_annotations


def _small_reduction_block(group: StatementGroup, context: PlannerContext) -> RegisterBlock | None:
    """Return the block that suits a small sum of known sizes; None for others."""
    jammed, vector = group.roles.jammed, group.roles.vector
    if context.sizes is None or not group.replaced_statements or jammed is None or vector is None:
        return None
    if len(group.statements) > 1:
        return None
    (name,) = group.statements
    loops = (group.members[jammed], group.members[vector])
    rows, columns = context.trip_counts(group.statements, loops, group.loop_context)
    shared = shares_vectors(group.access_strides[jammed][name], group.access_strides[vector][name])
    width = context.lanes(group.statements)
    streams = _shared_streams(group, context)
    return small_reduction_block(
        rows, columns, width, context.machine, shared=shared, streams=streams
    )
