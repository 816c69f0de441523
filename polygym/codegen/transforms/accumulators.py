"""Sums and the like along a loop in several chains, where terms may be taken in any order.

::

    for k: s = s + a[k] * b[k];     →     the same, 4 chains of 8 lanes

An innermost loop in which every statement takes terms together in an element of its own
(:mod:`polygym.codegen.common.reductions`) runs so if

* the mapping says ``reassociate=on``, or the elements are integers, whose sums, products, bits and
  extremes are the same in any order, bit for bit. (Maxima of floats are so too; LLVM finds chains
  for them where registers hold the element.)
* the elements stand still while the loop runs, and are different ones;
* no term needs one of them. Either the planner knows that, exactly, and has the loop hold them, or
  it is shown here: they are of other arrays than all that is read, or of an array in which what is
  read has another subscript at all iterations of the loop, by the bounds of the loops
  (:mod:`polygym.codegen.analysis.disjointness`).

Example, nussinov: ``t[i][j] = max(t[i][j], t[i][k] + t[k + 1][j])`` with i < k < j. The element is
t[i][j], and what is read is left of it (k < j) or below (k + 1 > i): the maximum stays in registers
while k runs, in several chains.

Lanes need every read to stay, or go to its neighbour to either side, from one iteration to the
next; if some do not, gathers would take longer than the chains save, and each of these is of single
numbers. There are as many chains as it takes for no operation to wait for the one before it, but
not more than fill a loop whose length is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polygym.codegen.analysis.disjointness import PathCondition, ProgramPoint
from polygym.codegen.common.loop_annotation import (
    ParallelLoop,
    ScalarReplacement,
    SequentialLoop,
    SplitAccumulators,
)
from polygym.codegen.common.reduction_order import reorderable_reductions
from polygym.codegen.common.reductions import reduction_operator
from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, coefficient, depends_on, minimum
from polygym.codegen.loopir.linear_sums import constant_difference
from polygym.codegen.loopir.nests import constant_spans, only_instances, sequence_parts
from polygym.codegen.loopir.pass_types import loop_pass
from polygym.codegen.transforms.vectorization import element_size, is_vectorizable
from polygym.mapping.machine import this_machine
from polygym.mapping.tuning_parameters import TUNING


def split_accumulators(program: ir.LoopProgram, bits: int, *, reassociate: bool) -> ir.LoopProgram:
    """Give chains to the loops that may have them, with vectors of so many bits (0 for none).

    Only integers have them unless floats may be taken in any order, too.
    """
    walk = _AccumulatorSplitter(program, bits, reassociate)
    return replace(program, body=walk.visit_node(program.body, (), ()))


@dataclass(frozen=True, slots=True)
class _AccumulatorSplitter:
    """The walk over a program's loops."""

    program: ir.LoopProgram
    bits: int
    reassociate: bool

    def visit_node(
        self, node: ir.Node, outer: tuple[ir.Loop, ...], conditions: tuple[PathCondition, ...]
    ) -> ir.Node:
        """Return a node inside of some loops, under some conditions."""
        match node:
            case ir.Block() | ir.Instance():
                return ir.map_children(node, lambda part: self.visit_node(part, outer, conditions))
            case ir.Guard(condition, then, otherwise):
                holds, fails = (
                    (*conditions, PathCondition(len(outer), condition, which))
                    for which in (True, False)
                )
                other = None if otherwise is None else self.visit_node(otherwise, outer, fails)
                return ir.Guard(condition, self.visit_node(then, outer, holds), other)
            case ir.Loop():
                parts = peel_guarded_start(node)
                loops = tuple(self._visit_loop(part, outer, conditions) for part in parts)
                return ir.block_of(loops)

    def _visit_loop(
        self, loop: ir.Loop, outer: tuple[ir.Loop, ...], conditions: tuple[PathCondition, ...]
    ) -> ir.Loop:
        instances = only_instances(loop.body)
        if instances is None:
            return replace(loop, body=self.visit_node(loop.body, (*outer, loop), conditions))
        held = _register_statements(loop)
        if held is None or not self._are_reductions(instances, loop.variable):
            return loop
        if not self._are_disjoint(instances, held, loop, outer, conditions):
            return loop
        chains = self._plan_accumulators(instances, loop)
        if chains is None:
            return loop
        replacement = ScalarReplacement(frozenset(_statement_names(instances)) | held, chains)
        if isinstance(loop.annotation, ParallelLoop):
            parallel = replace(loop.annotation, scalar_replacement=replacement)
            return replace(loop, annotation=parallel)
        return replace(loop, annotation=replacement)

    def _are_reductions(self, instances: Sequence[ir.Instance], variable: str) -> bool:
        """Whether instances take terms together, in any order, in elements that stand still."""
        scop, kinds = self.program.scop, set()
        checked = {name for name, _ in self.program.unproved_accesses}
        for instance in instances:
            statement = scop.statement(instance.statement)
            operator = reduction_operator(statement)
            if operator is None or instance.lanes is not None or instance.statement in checked:
                return False
            if any(depends_on(subscript, variable) for subscript in instance.write):
                return False
            if not (
                self.reassociate
                or reorderable_reductions(scop, instance.statement, reassociate=False)
            ):
                return False
            kinds.add(statement.body.type.is_floating and operator.is_min_max)
        # Maxima of floats are of keys, in a loop that has nothing else.
        return len(kinds) == 1 and 0 < len(instances) <= TUNING.max_reductions

    def _are_disjoint(
        self,
        instances: Sequence[ir.Instance],
        held: frozenset[str],
        loop: ir.Loop,
        outer: tuple[ir.Loop, ...],
        conditions: tuple[PathCondition, ...],
    ) -> bool:
        """Whether the elements are different ones, and no term needs any of them."""
        scop = self.program.scop
        written: dict[str, list[tuple[ir.Index, ...]]] = {}
        for instance in instances:
            others = written.setdefault(scop.statement(instance.statement).write.array, [])
            if not all(any(map(constant_difference, instance.write, other)) for other in others):
                return False
            others.append(instance.write)
        if set(_statement_names(instances)) <= held:
            return True
        names = tuple(parameter.name for parameter in scop.parameters)
        sizes = None if self.program.sizes is None else dict(self.program.sizes)
        place = ProgramPoint(outer, conditions, names, sizes)
        return all(
            place.are_disjoint(written[array], read, (loop,))
            for array, read in self._terms(instances)
            if array in written
        )

    def _terms(
        self, instances: Sequence[ir.Instance]
    ) -> Iterator[tuple[str, tuple[ir.Index, ...]]]:
        """Yield what terms read."""
        for instance in instances:
            statement = self.program.scop.statement(instance.statement)
            reads = zip(statement.reads, instance.reads, strict=True)
            for number, (access, read) in enumerate(reads):
                if number not in statement.accumulator_reads:
                    yield access.array, read

    def _plan_accumulators(
        self, instances: Sequence[ir.Instance], loop: ir.Loop
    ) -> SplitAccumulators | None:
        """Return the chains; None where there is nothing to win."""
        scop, names = self.program.scop, set(_statement_names(instances))
        bytes_of_all = max(element_size(scop, name) for name in names)
        width = max(1, self.bits // (8 * bytes_of_all))
        in_lanes = loop.step == 1 and names.isdisjoint(self.program.guarded_statements)
        in_lanes = in_lanes and all(is_vectorizable(scop.statement(name)) for name in names)
        reads = [read for _, read in self._terms(instances)]
        if not (in_lanes and all(_has_unit_stride(read, loop.variable) for read in reads)):
            width = 1
        count = max(1, TUNING.max_accumulators // len(instances))
        longest = min((last + 1 for _, _, last in constant_spans(loop)), default=None)
        if longest is not None:
            while width > 1 and longest < width:
                width //= 2
            count = max(1, min(count, longest // (2 * width)))
        is_single = width == 1 and len(instances) > 1
        return None if is_single or (width == 1 and count == 1) else SplitAccumulators(width, count)


def peel_guarded_start(loop: ir.Loop) -> tuple[ir.Loop, ...]:
    """Return a loop without its first iteration, and that before it, if that alone has guards.

    ``for j: if (j == 0) S; T(j)`` becomes ``S; T(0)`` and ``for j = 1 ..: T(j)``.
    """
    first = ir.IndexOperator.EQUAL(ir.IndexVariable(loop.variable), loop.lower)
    parts = tuple(sequence_parts(loop.body))
    guards = [part for part in parts if isinstance(part, ir.Guard)]
    if not guards or loop.step != 1:
        return (loop,)
    if any(guard.condition != first or guard.otherwise is not None for guard in guards):
        return (loop,)
    others = tuple(part for part in parts if not isinstance(part, ir.Guard))
    body = ir.block_of(others)
    if only_instances(body) is None:
        return (loop,)
    return (
        replace(loop, upper=minimum(loop.lower, loop.upper)),
        replace(loop, lower=add_constant(loop.lower, 1), body=body),
    )


def _register_statements(loop: ir.Loop) -> frozenset[str] | None:
    """Return the statements whose elements a loop holds; None if it has other things to do."""
    match loop.annotation:
        case SequentialLoop() | ParallelLoop(reductions=(_, *_), scalar_replacement=None):
            return frozenset()
        case (
            ScalarReplacement(statements)
            | ParallelLoop(reductions=(_, *_), scalar_replacement=ScalarReplacement(statements))
        ):
            return statements
        case _:
            return None


def _statement_names(instances: Sequence[ir.Instance]) -> list[str]:
    return [instance.statement for instance in instances]


def _has_unit_stride(read: Sequence[ir.Index], variable: str) -> bool:
    """Whether a read stays where it is, or goes to its neighbour in memory."""
    steps = [coefficient(subscript, variable) for subscript in read]
    return not steps or (steps[-1] in (-1, 0, 1) and not any(step != 0 for step in steps[:-1]))


def _split(program: ir.LoopProgram) -> ir.LoopProgram:
    mapping = program.mapping
    bits = mapping.vector_bits_on(this_machine().vector_bits) if mapping.has_vectors else 0
    return split_accumulators(program, bits, reassociate=mapping.reassociate)


PASS = loop_pass(
    "split_accumulators",
    "several accumulators per reduction (of integers, or reassociate=on)",
    _split,
    lambda mapping: mapping.scalar_replacement and not mapping.keeps_schedule_order,
)
