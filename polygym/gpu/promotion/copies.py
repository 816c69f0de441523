"""Arrays and statements that are made for promotion, collected for the program.

A promoted array is one of our own, with a statement that copies an element there, and one that
copies it back; statements that use it have another copy::

    S: C[i][j] += A[i][k] * B[k][j]     →     S_device: C_sum[r] += A_block[…] * B_block[…]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.names import CodegenNames
from polygym.codegen.transforms.packed_tiles import copy_statement, declare_copy
from polygym.gpu.device_program import aligned
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.expressions import Access, Cast, Expression, FloatLiteral, IntegerLiteral
from polygym.ir.scop import Array, Statement
from polygym.ir.types import ScalarType

Subscripts: TypeAlias = tuple[ir.Index, ...]


@dataclass(frozen=True, slots=True)
class Promoted:
    """An array in the place of another one, with its statements."""

    source: Array
    array: Array
    copy_in: str
    copy_back: str
    clear: str
    template: Statement

    def filled(self, element: Sequence[ir.Index], inside: Sequence[ir.Index]) -> ir.Instance:
        """Return the instance that copies an element there."""
        return ir.Instance(self.copy_in, tuple(element), tuple(inside), (tuple(element),))

    def stored(self, element: Sequence[ir.Index], inside: Sequence[ir.Index]) -> ir.Instance:
        """Return the instance that copies an element back."""
        return ir.Instance(self.copy_back, tuple(element), tuple(element), (tuple(inside),))

    def cleared(self, inside: Sequence[ir.Index]) -> ir.Instance:
        """Return the instance that sets an element to zero."""
        return ir.Instance(self.clear, (), tuple(inside), ())


Replacement: TypeAlias = tuple[Promoted, Callable[[Subscripts], Subscripts]]
"""The array in the place of another one, and the subscripts there of an element."""


@dataclass
class MadeCode:
    """Arrays and statements made so far for a program; arrays come with their lengths."""

    program: ir.LoopProgram
    names: CodegenNames
    arrays: list[tuple[Array, tuple[int, ...]]] = field(default_factory=list)
    statements: dict[str, Statement] = field(default_factory=dict)

    @staticmethod
    def of(program: ir.LoopProgram) -> MadeCode:
        """Begin with the statements of a program."""
        own = {statement.name: statement for statement in program.scop.statements}
        names = CodegenNames(program.scop)
        for loop in ir.loops_in(program.body):
            if names.fresh(loop.variable) != loop.variable:
                pass  # a counter that several loops have
        return MadeCode(program, names, statements=own)

    def extended(self) -> ir.LoopProgram:
        """Return the program with everything that was made."""
        before = len(self.program.scop.statements)
        return self.program.extended(
            self.program.body,
            (array for array, _ in self.arrays),
            (tuple(map(ir.IndexConstant, lengths)) for _, lengths in self.arrays),
            list(self.statements.values())[before:],
        )

    def bytes_of(self, names: Collection[str]) -> int:
        """Return the bytes of shared memory that some of our arrays take."""
        made = ((array, lengths) for array, lengths in self.arrays if array.name in names)
        return sum(aligned(array.type.size * prod(lengths)) for array, lengths in made)

    def promote(self, source: Array, suffix: str, lengths: tuple[int, ...]) -> Promoted:
        """Return a new array in the place of another one."""
        array, copy_in, copy_back = declare_copy(source, suffix, lengths, self.names)
        self.arrays.append((array, lengths))
        clear = self.names.fresh(f"{array.name}_zero")
        own = copy_statement(array, array.name, (), ["0"] * array.rank)
        zero = replace(own, name=clear, body=zero_literal(array.type), text=f"{array.name} = 0")
        copy_in = replace(copy_in, name=self.names.fresh(f"{array.name}_fill"))
        for statement in (copy_in, copy_back, zero):
            self.statements[statement.name] = statement
        return Promoted(source, array, copy_in.name, copy_back.name, clear, zero)

    def added(self, statement: Statement) -> str:
        """Return the name under which a statement is known from now on."""
        name = self.names.fresh(statement.name)
        self.statements[name] = replace(statement, name=name)
        return name

    def redirected(self, node: ir.Node, new: Mapping[str, Replacement]) -> ir.Node:
        """Return a node with promoted arrays in the place of others."""
        made: dict[str, str] = {}

        def changed(part: ir.Node) -> ir.Node:
            if not isinstance(part, ir.Instance):
                return ir.map_children(part, changed)
            return self._redirected_instance(part, new, made)

        return changed(node)

    def _redirected_instance(
        self, instance: ir.Instance, new: Mapping[str, Replacement], made: dict[str, str]
    ) -> ir.Instance:
        statement = self.statements[instance.statement]
        accesses = (statement.write, *statement.reads)
        if not any(access.array in new for access in accesses):
            return instance
        if statement.name not in made:
            name = made[statement.name] = self.names.fresh(f"{statement.name}_device")
            elsewhere = {
                access: _moved(access, new[access.array][0])
                for access in accesses
                if access.array in new
            }
            self.statements[name] = replace(
                statement,
                name=name,
                write=elsewhere.get(statement.write, statement.write),
                body=replace_accesses(statement.body, elsewhere),
            )

        def inside(access: Access, subscripts: Subscripts) -> Subscripts:
            return new[access.array][1](subscripts) if access.array in new else subscripts

        reads = zip(statement.reads, instance.reads, strict=True)
        return replace(
            instance,
            statement=made[statement.name],
            write=inside(statement.write, instance.write),
            reads=tuple(inside(access, subscripts) for access, subscripts in reads),
        )


def _moved(access: Access, promoted: Promoted) -> Access:
    """Return an access to what an array is promoted to; its instances say which element it is."""
    return Access(promoted.array.name, access.relation, promoted.array.name)


def zero_literal(scalar: ScalarType) -> Expression:
    """Return 0 as a value of a type."""
    if scalar.is_storage_only:
        return Cast(FloatLiteral(0.0, ScalarType.FLOAT), scalar)
    if scalar.is_floating:
        return FloatLiteral(0.0, scalar)
    zero = IntegerLiteral(0)
    return zero if scalar is ScalarType.INT else Cast(zero, scalar)
