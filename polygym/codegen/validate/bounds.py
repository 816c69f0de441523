"""Does every access stay inside its array? Proved for the sizes, or left to a check as code runs.

isl writes the loops and the subscripts, and passes over loops rewrite both; code that is made of
them takes them at their word. Here they are not: every subscript of every instance gets a greatest
and a least value (:mod:`polygym.codegen.analysis.value_ranges`), from the loops' bounds and the
guards around it alone.

On the way it is seen which divisions leave no remainder. LLVM is told of these, and of no others.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias, assert_never

from polygym.codegen.analysis import value_ranges
from polygym.codegen.analysis.disjointness import counter_form
from polygym.codegen.loopir import ir
from polygym.mapping.tuning_parameters import TUNING

AccessKey: TypeAlias = tuple[str, int]
"""A statement, and the number of one of its reads, or ``WRITE_ACCESS``."""
WRITE_ACCESS = -1


def with_bounds_proofs(program: ir.LoopProgram, sizes: Mapping[str, int] | None) -> ir.LoopProgram:
    """Return the program with what is known of it, and what is not, at the sizes or at all."""
    effort = value_ranges.ProofBudget(steps_left=TUNING.bounds_steps)
    unproved = _collect_unproved(program, sizes, effort)
    if unproved:  # perhaps more is known of what is around than bounds one by one
        harder = value_ranges.ProofBudget(
            steps_left=TUNING.bounds_steps, combinations_left=TUNING.bounds_combinations
        )
        unproved &= _collect_unproved(program, sizes, harder)
    exact = frozenset(index for index, is_exact in effort.exact_divisions.items() if is_exact)
    if effort.steps_left < 0:  # not all places were looked at
        exact = frozenset()
    return replace(program, unproved_accesses=unproved, exact_divisions=exact)


def unproved_accesses(
    program: ir.LoopProgram, sizes: Mapping[str, int] | None
) -> frozenset[AccessKey]:
    """Return the accesses that are not known to stay inside, at the sizes or at all of them."""
    return with_bounds_proofs(program, sizes).unproved_accesses


def _collect_unproved(
    program: ir.LoopProgram, sizes: Mapping[str, int] | None, budget: value_ranges.ProofBudget
) -> frozenset[AccessKey]:
    names = (parameter.name for parameter in program.scop.parameters)
    top = value_ranges.BoundContext.outermost(names, sizes, budget)
    walk = _BoundsProver(program)
    try:
        walk.visit_node(program.body, top)
    except value_ranges.ProofBudgetError:
        return frozenset(
            (statement.name, access)
            for statement in program.scop.statements
            for access in (WRITE_ACCESS, *range(len(statement.reads)))
        )
    return frozenset(walk.unproved)


class _BoundsProver:
    """Goes through a program and collects what cannot be proved."""

    def __init__(self, program: ir.LoopProgram) -> None:
        arrays = (array.name for array in program.scop.arrays)
        self.extents = dict(zip(arrays, program.extents, strict=True))
        self.statements = {statement.name: statement for statement in program.scop.statements}
        self.unproved: set[AccessKey] = set()

    def visit_node(self, node: ir.Node, context: value_ranges.BoundContext) -> None:
        match node:
            case ir.Block(children):
                for child in children:
                    self.visit_node(child, context)
            case ir.Loop(variable, body=body):
                inside = context.with_names({})
                inside.assume_not_empty(node.lower, node.upper)
                self.visit_node(body, inside.with_names({variable: counter_form(inside, node)}))
            case ir.Guard(condition, then, otherwise):
                for branch, holds in ((then, True), (otherwise, False)):
                    if branch is not None:
                        inside = context.with_names({})
                        inside.assume(condition, holds=holds)
                        self.visit_node(branch, inside)
            case ir.Instance():
                self.visit_instance(node, context)
            case _:
                assert_never(node)

    def visit_instance(self, instance: ir.Instance, context: value_ranges.BoundContext) -> None:
        statement = self.statements[instance.statement]
        some = True
        if instance.lanes is not None:
            some = _has_lanes(instance.lanes, context)
            context = self._lanes_context(instance.lanes, context)
        reads = zip(statement.reads, instance.reads, strict=True)
        accesses = ((statement.write, instance.write), *reads)
        for number, (access, subscripts) in enumerate(accesses, WRITE_ACCESS):
            extents = self.extents[access.array]
            for subscript, extent in zip(subscripts, extents, strict=True):
                form = context.form(subscript)
                room = context.form(extent).plus(form, -1)
                if not (some and context.is_at_least(form, 0) and context.is_at_least(room, 1)):
                    self.unproved.add((statement.name, number))

    def _lanes_context(
        self, lanes: ir.Lanes, context: value_ranges.BoundContext
    ) -> value_ranges.BoundContext:
        """Return the context in which the lanes' variable is that of any lane."""
        inside = context.with_names({})
        base = inside.form(lanes.base)
        highs = [base.shifted(lanes.width - 1)]
        if lanes.active is not None:
            highs.append(base.plus(inside.form(lanes.active)).shifted(-1))
        lane = inside.new_variable(value_ranges.VariableBounds((base,), tuple(highs)))
        return inside.with_names({lanes.variable: lane})


def _has_lanes(lanes: ir.Lanes, context: value_ranges.BoundContext) -> bool:
    """Whether lane 0 is known to exist: what is the same in all of them is read there."""
    if lanes.active is None:
        return True
    inside = context.with_names({})
    return inside.is_at_least(inside.form(lanes.active), 1)
