"""Loops of which the guards of their statements say that most iterations do nothing.

::

    for k = 0 .. nnz - 1:                     for k = max(0, row[i]) .. min(nnz, row[i+1]) - 1:
      y[i] = k >= row[i] && k < row[i+1]   →     y[i] = y[i] + …
             ? y[i] + … : y[i]

A temporary that is read in the same iteration alone, ``t = k >= row[i] && … ? value[k] : 0``, has
such a guard, too.

Side conditions: every instance in the loop has the same bound of k; and
the bound is the same number in all iterations, so no instance in the loop writes an array that it
reads, and no loop inside has a part in it. The bound is read in front of the loop, so nothing but
its place in the guard may say that its reads exist: none of them is a guarded one, and a computed
subscript is read early only if all conjuncts before it are bounds of the loop, too.

Where there are loops or guards around the instances there may be none in any iteration, and then
the reads may not exist; an emitter has to check them (``are_reads_sure``).
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from polygym.codegen.loopir.index_arithmetic import (
    coefficient,
    depends_on,
    min_max_operands,
    substitute,
)
from polygym.codegen.loopir.ir import (
    Index,
    IndexConstant,
    IndexOperator,
    Instance,
    Loop,
    LoopProgram,
    instances_in,
    loops_in,
)
from polygym.codegen.loopir.linear_sums import to_linear_sum
from polygym.codegen.loopir.nests import only_instances, sequence_parts
from polygym.ir.data_bounds import Conjunct, DataBound, guard_conjuncts, holds_by
from polygym.ir.expressions import (
    Binary,
    Cast,
    Expression,
    Gather,
    IteratorValue,
    Load,
    Unary,
    loaded_accesses,
    walk,
)
from polygym.ir.scop import Statement

KnownConditions: TypeAlias = Mapping[str, frozenset[Expression]]
"""Conditions, by statement, that hold in all its instances at a place."""


@dataclass(frozen=True, slots=True)
class LoopDataBounds:
    """Bounds of ``sign`` · counter + ``offset``, the value of an iterator in all instances.

    They are those of the statement of ``instance``, which has no lanes. ``known`` holds in the loop
    that they bound.
    """

    sign: int
    offset: Index
    instance: Instance
    bounds: tuple[DataBound, ...]
    known: KnownConditions
    are_reads_sure: bool

    @property
    def is_row(self) -> bool:
        """Whether there are bounds on both sides."""
        return len({bound.is_lower for bound in self.bounds}) == 2

    def affine_subscripts(self, statement: Statement) -> Iterator[tuple[str, int, Index]]:
        """Yield the array, dimension and subscript of what bounds read, but for computed ones."""
        for bound in self.bounds:
            for number in range(bound.start, bound.start + len(loaded_accesses(bound.value))):
                access = statement.reads[number]
                for dimension, subscript in enumerate(self.instance.reads[number]):
                    if dimension not in access.gathered:
                        yield access.array, dimension, subscript


def loop_data_bounds(
    program: LoopProgram, loop: Loop, known: KnownConditions
) -> LoopDataBounds | None:
    """Return the data bounds of a loop in whose surroundings ``known`` holds; None without any."""
    if loop.step != 1:
        return None
    site = _Site(program, loop, known)
    shared: dict[_BoundKey, Conjunct] | None = None
    conditions: list[tuple[str, dict[_BoundKey, Conjunct]]] = []
    for instance in instances_in(loop.body):
        own = dict(site.bounds_of(instance))
        shared = own if shared is None else {key: shared[key] for key in shared if key in own}
        if not shared:
            return None
        conditions.append((instance.statement, own))
    if not shared:
        return None
    sign, offset = next(iter(shared))[:2]
    bounds = {key: part for key, part in shared.items() if key[:2] == (sign, offset)}
    return LoopDataBounds(
        sign,
        offset,
        replace(next(instances_in(loop.body)), lanes=None),
        tuple(part.bound for part in bounds.values() if part.bound is not None),
        {
            name: known.get(name, frozenset()) | {own[key].condition for key in bounds}
            for name, own in conditions
        },
        only_instances(loop.body) is not None,
    )


_BoundKey: TypeAlias = tuple[int, Index, Hashable]
"""The sign and the offset of the iterator, and what a bound is, the same in all statements."""


@dataclass(frozen=True, slots=True)
class _Site:
    """A loop in a program, with the conditions that hold around it."""

    program: LoopProgram
    loop: Loop
    known: KnownConditions

    def bounds_of(self, instance: Instance) -> Iterator[tuple[_BoundKey, Conjunct]]:
        """Yield the bounds of the loop in the guard of an instance, by their keys."""
        statement = self.program.scop.statement(instance.statement)
        known = self.known.get(statement.name, frozenset())
        is_always_evaluated = True
        for part in guard_conjuncts(statement, keeps=not self._is_temporary(statement, instance)):
            if holds_by(part.condition, known):
                continue
            key = None if part.bound is None else self._key(statement, instance, part.bound)
            if part.bound is None or key is None:
                is_always_evaluated = False
            elif is_always_evaluated or not _has_gathers(part.bound.value):
                yield key, part

    def _key(self, statement: Statement, instance: Instance, bound: DataBound) -> _BoundKey | None:
        """Return the key of a bound, None where it is not one of the loop's counter."""
        values = dict(zip(statement.iterators, instance.iterators, strict=True))
        variable, index = self.loop.variable, values[bound.iterator]
        sign = coefficient(index, variable)
        if sign not in (1, -1) or not self._is_fixed(statement, instance, bound):
            return None
        offset = substitute(index, {variable: IndexConstant(0)})
        if bound.is_unsigned and not self._is_nonnegative(sign, offset):
            return None
        parts: list[Hashable] = [bound.operator]
        number = bound.start
        for node in walk(bound.value):
            match node:
                case Load(access) | Gather(access):
                    parts.append((access.array, access.gathered, instance.reads[number]))
                    number += 1
                case IteratorValue(name, scalar):
                    parts.append((values[name], scalar))
                case Binary(operator) | Unary(operator):
                    parts.append((operator, node.type))
                case Cast():
                    parts.append((Cast, node.type))
                case _:
                    parts.append(node)
        return sign, offset, tuple(parts)

    def _is_fixed(self, statement: Statement, instance: Instance, bound: DataBound) -> bool:
        """Whether a bound is the same in all iterations, and may be read in front of them."""
        values = dict(zip(statement.iterators, instance.iterators, strict=True))
        numbers = range(bound.start, bound.start + len(loaded_accesses(bound.value)))
        names = {node.name for node in walk(bound.value) if isinstance(node, IteratorValue)}
        indices = [index for number in numbers for index in instance.reads[number]]
        indices += [values[name] for name in names]
        inside = {loop.variable for loop in loops_in(self.loop.body)}
        if instance.lanes is not None:
            inside.add(instance.lanes.variable)
        moving = inside | {self.loop.variable}
        guarded = self.program.guarded_reads
        written = {
            self.program.scop.statement(other.statement).write.array
            for other in instances_in(self.loop.body)
        }
        return (
            (instance.lanes is None or instance.lanes.variable != self.loop.variable)
            and not any(depends_on(values[bound.iterator], name) for name in inside)
            and not any(depends_on(index, name) for index in indices for name in moving)
            and not any((statement.name, number) in guarded for number in numbers)
            and written.isdisjoint(statement.reads[number].array for number in numbers)
        )

    def _is_temporary(self, statement: Statement, instance: Instance) -> bool:
        """Whether all reads of an element come after it in the same iteration.

        Then it does not matter what it is where the guards of all of them fail.
        """
        array, parts = statement.write.array, list(sequence_parts(self.loop.body))
        place = next((number for number, part in enumerate(parts) if part is instance), None)
        if place is None or self.program.scop.array(array).is_observable:
            return False
        readers = [
            (other, number)
            for other in instances_in(self.program.body)
            for number, access in enumerate(self.program.scop.statement(other.statement).reads)
            if access.array == array
        ]
        after = [own for part in parts[place + 1 :] for own in instances_in(part)]
        return all(
            any(reader is other for other in after) and reader.reads[number] == instance.write
            for reader, number in readers
        )

    def _is_nonnegative(self, sign: int, offset: Index) -> bool:
        """Whether the iterator is surely not negative in the loop: it starts from a number."""
        if sign > 0:
            ends = min_max_operands(self.loop.lower, IndexOperator.MAXIMUM)
        else:
            pieces = min_max_operands(self.loop.upper, IndexOperator.MINIMUM)
            ends = tuple(IndexOperator.NEGATE(piece) for piece in pieces)
        sums = [to_linear_sum(IndexOperator.ADD(end, offset)) for end in ends]
        return any(not any(terms.values()) and constant >= 0 for terms, constant in sums)


def _has_gathers(value: Expression) -> bool:
    """Whether a computed subscript is read."""
    return any(isinstance(node, Gather) for node in walk(value))
