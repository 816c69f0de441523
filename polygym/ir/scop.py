"""The Scop (static control part): an immutable program, free of library objects.

Everything later in the pipeline (dependences, code, printing, features) is computed from a Scop
alone. Sets and maps stand as isl *text*: isl's objects belong to a context and a process and cannot
be pickled or shared, text can. What the text refers to:

* the tuple name of a statement is its ``name``, its dimensions are the surrounding loops' iterators
  with the values they have in the source (a downward loop counts down, a strided one in strides);
* the parameters are the names of ``Scop.parameters``.

The running example of these docstrings is y = Ax::

    for (i = 0; i < n; i++)
    S:  y[i] = 0;
    for (i = 0; i < n; i++)
      for (j = 0; j < n; j++)
    T:    y[i] += A[i][j] * x[j];

with ``context = "[n] -> { : n >= 1 }"``, S's domain ``[n] -> { S[i] : 0 <= i < n }``, T's write
``{ T[i, j] -> y[i] }`` and ``schedule = "{ S[i] -> [0, i, 0]; T[i, j] -> [1, i, j] }"``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from polygym.errors import SourceLocation
from polygym.ir.expressions import Access, Expression, Update, loaded_accesses
from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


class StorageClass(Enum):
    """Where an array or scalar of the region comes from in the source."""

    ARGUMENT = "argument"  # an array or pointer argument: the caller sees what is written to it
    VALUE = "value"  # a scalar argument passed by value
    GLOBAL = "global"  # a variable at file scope
    LOCAL = "local"  # declared in the function, outside the region
    BLOCK = "block"  # declared inside the region
    TILE = "tile"  # none of the source's: small, a thread's own, on its stack
    SCRATCH = "scratch"  # none of the source's: on the heap while the generated code runs
    PRIVATE = "private"  # none of the source's: a thread's own if loops allow it, else as scratch
    ONLY_PRIVATE = "only private"  # the same, where scratch would take more than is allowed


PRIVATE_STORAGE_CLASSES = frozenset({StorageClass.PRIVATE, StorageClass.ONLY_PRIVATE})
"""What a plan calls private; where loops do not allow it, it is as scratch."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Parameter:
    """A symbolic integer: an argument of the function that bounds or sizes use."""

    name: str
    type: ScalarType = ScalarType.INT


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StructureView:
    """The array of structures, of ``size`` bytes each, that an array shows as rows of one type.

    ``name`` is that of the structures in the program, ``p`` or ``g.cells``. ``members`` are those
    that the program uses, ``.at.x`` in C, with their places behind the beginning of a structure in
    bytes; of members that are arrays, the first and the last element.
    """

    name: str
    size: int
    members: tuple[tuple[str, int], ...]


# A number for a scalar; for an array all its elements, row by row.
InitialValue: TypeAlias = int | float | tuple[int | float, ...]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Array:
    """An array, or a scalar (no extents).

    ``extents`` holds one isl text each, a function of the parameters alone such as
    ``[n] -> { [(2 + n)] }``; ``c_extents`` the same sizes as C text, ``n + 2``. ``live_out`` says
    whether the value after the region can be observed. ``initial`` is what the source gives a
    variable before the region, where that is constant, and None otherwise: the value of a scalar,
    or all elements of an array with constant extents, row by row. ``int w[2][2] = {{1}, {2, 3}}``
    has ``(1, 0, 2, 3)``: as in C, zeros stand for what is not listed.

    Structures are rows of numbers, with padding and all else between them: ``p[i].y`` of ``struct {
    double x, y; }`` is ``p[i][1]``. Then ``structure`` has their layout. If there are members of
    several types, there are several arrays, which share memory and no element in use.
    """

    name: str
    type: ScalarType
    extents: tuple[str, ...]
    c_extents: tuple[str, ...]
    storage_class: StorageClass
    live_out: bool
    initial: InitialValue | None = None
    structure: StructureView | None = None

    @property
    def rank(self) -> int:
        """The number of dimensions; 0 for a scalar."""
        return len(self.extents)

    @property
    def is_constant(self) -> bool:
        """Whether it stands outside of the function, with values that nothing changes."""
        return self.storage_class is StorageClass.GLOBAL and self.initial is not None

    @property
    def is_observable(self) -> bool:
        """Whether its contents can be seen when the region has run."""
        return self.live_out or self.storage_class in (StorageClass.ARGUMENT, StorageClass.GLOBAL)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Statement:
    """One assignment and the set of iterations in which it runs.

    ``domain`` is isl text of a set ``[n] -> { T[i, j] : ... }``. An instance evaluates ``body`` and
    stores the result, which has the type of the array, through ``write``; one whose body is an
    :class:`~polygym.ir.expressions.Update` may store nothing. ``y += x`` is stored as ``y = y +
    x``. ``text`` is the statement in the source, ``location`` where it stands.
    """

    name: str
    iterators: tuple[str, ...]
    domain: str
    write: Access
    body: Expression
    text: str
    location: SourceLocation

    def __hash__(self) -> int:
        """Return a hash that is quick: a program is the key of much that is remembered."""
        return hash((self.name, self.domain))

    @property
    def depth(self) -> int:
        """The number of loops around the statement."""
        return len(self.iterators)

    @property
    def reads(self) -> tuple[Access, ...]:
        """Every access that the body reads."""
        return _reads(self)

    @property
    def accumulator_reads(self) -> frozenset[int]:
        """The numbers of the reads whose relation is, word for word, the write's: ``y += x``.

        One that *may* be of that element is none of them, nor what an update keeps.
        """
        if isinstance(self.body, Update):
            return frozenset()
        return frozenset(
            number
            for number, access in enumerate(self.reads)
            if (access.array, access.relation) == (self.write.array, self.write.relation)
            and not access.gathered
        )


@lru_cache(maxsize=4096)
def _reads(statement: Statement) -> tuple[Access, ...]:
    return loaded_accesses(statement.body)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Scop:
    """A static control part.

    ``name`` is the function's; ``signature`` the names of its arguments in order: parameters,
    arrays, and those that the region does not use, whose C declarations (name and text) are in
    ``unused_arguments``. ``context`` is the isl text of the parameter values for which the program
    is meaningful: a lower bound where the code needs one, nothing above. ``conditions`` says in C,
    for people, what the context holds beyond the positive sizes of declared arrays. ``schedule`` is
    isl text of the original order, one map for every statement, all into one space; ``statements``
    are in textual order. ``contraction`` says whether ``a * b + c`` may be a fused multiply-add,
    which C allows by default and ``#pragma STDC FP_CONTRACT OFF`` forbids.
    """

    name: str
    file: str
    parameters: tuple[Parameter, ...]
    signature: tuple[str, ...]
    context: str
    conditions: tuple[str, ...]
    arrays: tuple[Array, ...]
    statements: tuple[Statement, ...]
    schedule: str
    contraction: bool = True
    unused_arguments: tuple[tuple[str, str], ...] = ()

    def __hash__(self) -> int:
        """Return a hash that is quick: a program is the key of much that is remembered."""
        return hash((self.name, self.schedule, self.statements))

    def widest_element(self, statements: Iterable[str]) -> int:
        """Return the bytes of the widest element that statements read or write."""
        return max(
            self.array(access.array).type.size
            for name in statements
            for statement in (self.statement(name),)
            for access in (statement.write, *statement.reads)
        )

    def array(self, name: str) -> Array:
        """Return the array of that name."""
        return next(array for array in self.arrays if array.name == name)

    def statement(self, name: str) -> Statement:
        """Return the statement of that name."""
        for statement in self.statements:
            if statement.name == name:
                return statement
        raise KeyError(name)

    @property
    def depth(self) -> int:
        """The depth of the deepest statement."""
        return max((statement.depth for statement in self.statements), default=0)

    @property
    def names(self) -> frozenset[str]:
        """All names in use here; new names must differ from them."""
        return frozenset(
            {
                self.name,
                *self.signature,
                *(parameter.name for parameter in self.parameters),
                *(array.name for array in self.arrays),
                *(statement.name for statement in self.statements),
                *(iterator for statement in self.statements for iterator in statement.iterators),
            }
        )
