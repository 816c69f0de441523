"""Values of a function that is printed: constants, arguments, and operations with their kinds.

Operations are those of LLVM IR, with what C says in one word as one: minima, broadcasts, masks of
the first lanes (:mod:`polygym.codegen.c.kernel.lifting`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a value.

    ``base`` is ``f`` for floating numbers, ``i`` for integers (one bit: a truth value), ``m`` for
    the lanes of a mask, each 0 or -1, ``p`` for pointers and ``v`` for nothing.
    """

    base: str
    bits: int = 0
    lanes: int | None = None

    @property
    def scalar(self) -> Kind:
        """The kind of one lane."""
        return Kind("i" if self.base == "m" else self.base, self.bits)

    @property
    def is_truth(self) -> bool:
        """Whether it is one truth value."""
        return self.base == "i" and self.bits == 1

    @property
    def mask(self) -> Kind:
        """The kind of a mask with lanes as wide as these."""
        return Kind("m", self.bits, self.lanes)


POINTER, VOID, TRUTH, LONG = Kind("p"), Kind("v"), Kind("i", 1), Kind("i", 64)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or one for every lane; None stands for any number at all."""

    kind: Kind
    value: Any

    @property
    def uniform(self) -> Any:
        """The number that all lanes have; None where they differ."""
        if not isinstance(self.value, tuple):
            return self.value
        return self.value[0] if len(set(map(repr, self.value))) == 1 else None


@dataclass(eq=False, slots=True)
class Argument:
    """An argument of the function; ``pointee`` is the C type of what a pointer points to."""

    kind: Kind
    name: str
    pointee: str = ""
    is_written: bool = False


@dataclass(eq=False, slots=True)
class Operation:
    """An operation; ``data`` is what it has besides operands, ``hint`` a part of a name."""

    name: str
    kind: Kind
    operands: list[Value]
    block: BasicBlock
    data: Any = None
    hint: str = ""


Value: TypeAlias = Constant | Argument | Operation


def are_same(value: Value, other: Value) -> bool:
    """Whether two values are known to be the same; 0 and -0 are not."""
    if isinstance(value, Constant) and isinstance(other, Constant):
        return (value.kind, repr(value.value)) == (other.kind, repr(other.value))
    return value is other


@dataclass(eq=False, slots=True)
class Phi:
    """Values by the predecessors from which control comes."""

    operation: Operation
    incoming: dict[BasicBlock, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class BasicBlock:
    """Operations without a branch between; ``targets`` are where control goes on.

    With two targets, ``condition`` decides; without any, the function returns ``condition``.
    """

    number: int
    phis: list[Phi] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    condition: Value | None = None
    targets: list[BasicBlock] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class LiftedFunction:
    """A function: blocks in an order in which definitions come before uses."""

    name: str
    arguments: list[Argument]
    blocks: list[BasicBlock]
    returns: bool
    tables: dict[str, tuple[str, tuple[Any, ...]]] = field(default_factory=dict)

    def operations(self) -> Iterator[Operation]:
        """Yield all operations, those of phis too."""
        for block in self.blocks:
            yield from (phi.operation for phi in block.phis)
            yield from block.operations


MEMORY_READS = frozenset({"load", "masked_load", "strided_load", "gather", "scattered_load"})
"""Operations that read memory and do nothing else."""

EFFECTS = frozenset(
    {
        "store",
        "masked_store",
        "strided_store",
        "scatter",
        "scattered_store",
        "stream",
        "prefetch",
        "trap",
        "fence",
        "copy_memory",
        "allocate",
        "reserve",
        "free",
        "call",
        "parallel_call",
        "publish",
        "alloca",
    }
)
"""Operations that must stay where they are."""
