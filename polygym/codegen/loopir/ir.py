"""The loop IR: the program as loops, guards and statement instances, free of library objects.

It is what isl's AST generator produced, as immutable values; passes over it carry out what loops
have as annotations; the LLVM emitter and the C printer both walk the result, which is why they
agree. Index arithmetic is over mathematical integers (64 bits in practice). Both unions are closed:
match exhaustively.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias, assert_never

from polygym.codegen.common.loop_annotation import SEQUENTIAL_LOOP, LoopAnnotation
from polygym.ir.scop import Array, Scop, Statement
from polygym.mapping.mapping import SEQUENTIAL_MAPPING as SEQUENTIAL_MAPPING
from polygym.mapping.mapping import Mapping


class IndexOperator(Enum):
    """Operators of index arithmetic; comparisons and connectives give truth values."""

    NEGATE = auto()
    ADD = auto()
    SUBTRACT = auto()
    MULTIPLY = auto()
    DIVIDE_EXACT = auto()  # the remainder is known to be 0
    DIVIDE_FLOOR = auto()  # rounds towards minus infinity; the divisor is positive
    DIVIDE_NONNEGATIVE = auto()  # the dividend is known to be >= 0
    REMAINDER_NONNEGATIVE = auto()  # the dividend is known to be >= 0
    REMAINDER_ZERO_TEST = auto()  # only ever compared with 0, so any sign convention will do
    MINIMUM = auto()
    MAXIMUM = auto()
    SELECT = auto()  # condition, then, otherwise
    EQUAL = auto()
    LESS = auto()
    LESS_EQUAL = auto()
    GREATER = auto()
    GREATER_EQUAL = auto()
    AND = auto()
    OR = auto()

    def __call__(self, *operands: Index) -> IndexOperation:
        """Return the operator applied to operands."""
        return IndexOperation(self, operands)


QUOTIENTS = (
    IndexOperator.DIVIDE_EXACT,
    IndexOperator.DIVIDE_FLOOR,
    IndexOperator.DIVIDE_NONNEGATIVE,
)
REMAINDERS = (IndexOperator.REMAINDER_NONNEGATIVE, IndexOperator.REMAINDER_ZERO_TEST)
COMPARISONS = {
    IndexOperator.EQUAL: "==",
    IndexOperator.LESS: "<",
    IndexOperator.LESS_EQUAL: "<=",
    IndexOperator.GREATER: ">",
    IndexOperator.GREATER_EQUAL: ">=",
}
"""Comparisons by their symbols."""
INFIX_SYMBOLS = {
    IndexOperator.ADD: "+",
    IndexOperator.SUBTRACT: "-",
    IndexOperator.MULTIPLY: "*",
    **dict.fromkeys(QUOTIENTS, "//"),
    **dict.fromkeys(REMAINDERS, "%"),
    **COMPARISONS,
    IndexOperator.AND: "and",
    IndexOperator.OR: "or",
}
"""The operators that stand between their operands in Python."""


@dataclass(frozen=True, slots=True)
class IndexConstant:
    """An integer constant."""

    value: int


@dataclass(frozen=True, slots=True)
class IndexVariable:
    """A loop's counter or a parameter of the program, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class IndexOperation:
    """An operator applied to operands; MINIMUM, MAXIMUM, AND and OR take two or more."""

    operator: IndexOperator
    operands: tuple[Index, ...]


Index: TypeAlias = IndexConstant | IndexVariable | IndexOperation


@dataclass(frozen=True, slots=True)
class Block:
    """Nodes that run one after the other."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """``for (variable = lower; variable <= upper; variable += step) body`` with ``step >= 1``."""

    variable: str
    lower: Index
    upper: Index
    step: int
    body: Node
    annotation: LoopAnnotation = SEQUENTIAL_LOOP


@dataclass(frozen=True, slots=True)
class Guard:
    """``if (condition) then; else otherwise``."""

    condition: Index
    then: Node
    otherwise: Node | None


@dataclass(frozen=True, slots=True)
class Lanes:
    """``width`` executions at once: lane k is the one for which ``variable`` is ``base`` + k.

    With ``active``, only that many of the lanes exist (all of them, if it is more).
    """

    variable: str
    base: Index
    width: int
    active: Index | None


@dataclass(frozen=True, slots=True)
class Instance:
    """One execution of a statement, or one in each of several lanes.

    ``iterators`` are the values of the statement's own iterators, ``write`` the subscripts of the
    written element, ``reads`` those of every load of the body in the order of
    :func:`polygym.ir.expressions.loaded_accesses`, with 0 in the place of those that are computed.
    """

    statement: str
    iterators: tuple[Index, ...]
    write: tuple[Index, ...]
    reads: tuple[tuple[Index, ...], ...]
    lanes: Lanes | None = None


Node: TypeAlias = Block | Loop | Guard | Instance


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A read, by its statement and its number, that is asked for ahead.

    What is asked for is what it reads when the counter ``variable`` is greater by ``by``.
    """

    statement: str
    read: int
    variable: str
    distance: int


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """A program as loops.

    ``extents`` are the sizes of every array of the Scop, in its order. ``guarded_reads`` names the
    reads (statement, position among its reads) that are inside the array only where a condition of
    the body holds: they must not be hoisted above it. ``sizes`` are the values of the parameters
    for which alone the loops are right; None where they are for all. ``mapping`` is what has been
    done to them, which may be less than was asked for. ``unproved_accesses`` are the accesses
    (statement, number of the read or -1 for the write) of which nobody knows that they stay inside
    their array: code checks them as it runs. ``exact_divisions`` are divisions in it that are known
    to leave no remainder. ``privatization_failures`` are arrays that were to be private to threads
    and are not, with the reasons. ``nontemporal_stores`` are statements whose vectors go to memory
    past the caches, ``prefetches`` reads of which later ones are asked for.
    """

    scop: Scop
    body: Node
    extents: tuple[tuple[Index, ...], ...]
    guarded_reads: frozenset[tuple[str, int]]
    sizes: tuple[tuple[str, int], ...] | None = None
    mapping: Mapping = SEQUENTIAL_MAPPING
    unproved_accesses: frozenset[tuple[str, int]] = frozenset()
    exact_divisions: frozenset[Index] = frozenset()
    privatization_failures: tuple[tuple[str, str], ...] = ()
    nontemporal_stores: frozenset[str] = frozenset()
    prefetches: frozenset[Prefetch] = frozenset()

    @property
    def threads(self) -> int:
        """How many threads parallel loops may use."""
        return self.mapping.threads if self.mapping.is_parallel else 1

    @property
    def guarded_statements(self) -> frozenset[str]:
        """The statements of which some reads are not to be hoisted above a condition."""
        return frozenset(name for name, _ in self.guarded_reads)

    def extended(
        self,
        body: Node,
        arrays: Iterable[Array],
        extents: Iterable[tuple[Index, ...]],
        statements: Iterable[Statement],
    ) -> LoopProgram:
        """Return the program with other loops, further arrays and further statements."""
        scop = replace(
            self.scop,
            arrays=(*self.scop.arrays, *arrays),
            statements=(*self.scop.statements, *statements),
        )
        return replace(self, scop=scop, body=body, extents=(*self.extents, *extents))

    def with_body(self, body: Node) -> LoopProgram:
        """Return the program with other loops."""
        return replace(self, body=body)


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes of which a node consists, in the order of the text."""
    match node:
        case Block(children):
            return children
        case Loop(body=body):
            return (body,)
        case Guard(_, then, otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Instance():
            return ()
        case _:
            assert_never(node)


def block_of(nodes: Sequence[Node]) -> Node:
    """Return nodes as one: a block, unless there is only one."""
    return nodes[0] if len(nodes) == 1 else Block(tuple(nodes))


def map_children(node: Node, transform: Callable[[Node], Node]) -> Node:
    """Return a node that consists of what becomes of the nodes that it consists of."""
    match node:
        case Block(children):
            return Block(tuple(map(transform, children)))
        case Loop(body=body):
            return replace(node, body=transform(body))
        case Guard(condition, then, otherwise):
            return Guard(
                condition, transform(then), None if otherwise is None else transform(otherwise)
            )
        case Instance():
            return node
        case _:
            assert_never(node)


def instances_in(node: Node) -> Iterator[Instance]:
    """Yield the instances in a node's text, in order."""
    if isinstance(node, Instance):
        yield node
    for part in children_of(node):
        yield from instances_in(part)


def loops_in(node: Node) -> Iterator[Loop]:
    """Yield the loops in a node's text, outer ones first."""
    if isinstance(node, Loop):
        yield node
    for part in children_of(node):
        yield from loops_in(part)


def count_instances(node: Node) -> int:
    """Return how many instances a node has in its text."""
    return sum(1 for _ in instances_in(node))
