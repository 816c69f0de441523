"""Transformation steps as values with a text.

A step names loops (``L3``), statements (``S0``) and numbers; its text is what ``str`` writes and
:func:`polygym.transformations.parsing.parse_step` reads. The docstring of each class shows its
effect, before → after, and its side condition. Legality is always that of the resulting order of
instances, decided exactly (:mod:`polygym.transformations.legality`); for a step about the mapping,
such as tiling, it is that of every order that the step permits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from polygym.mapping.knob_domains import WorkSharing

LARGEST_AMOUNT = 1024
"""The largest shift or factor that a step may have."""

LARGEST_TILE = 65536


def amount_text(factors: Sequence[tuple[str, int]], constant: int) -> str:
    """Return an affine amount in one word.

    >>> amount_text([("n", 1), ("m", -2)], -1), amount_text([], 3)
    ('n-2*m-1', '3')
    """
    terms = [
        ("-" if factor < 0 else "+") + ("" if abs(factor) == 1 else f"{abs(factor)}*") + name
        for name, factor in factors
        if factor
    ]
    if constant or not terms:
        terms.append(f"{constant:+d}")
    return "".join(terms).removeprefix("+")


@dataclass(frozen=True, slots=True)
class Interchange:
    """Exchange two loops of a perfect nest.

    ``for i { for j { S } }``  →  ``for j { for i { S } }``

    Side condition: between the two loops there are only loops. Legal unless a dependence would run
    backwards: one with the distances (1, -1) forbids it.
    """

    syntax: ClassVar[str] = "interchange LOOP LOOP"
    example: ClassVar[str] = "interchange L1 L2"

    outer: str
    inner: str

    def __str__(self) -> str:
        """Return the text."""
        return f"interchange {self.outer} {self.inner}"


@dataclass(frozen=True, slots=True)
class Fuse:
    """Join two neighbouring nests, the second one later by a shift.

    ``for i { S }  for k { T }``  →  ``for i { S; T }``

    With ``depth 2`` the next loops inside are joined as well. A statement beside a loop is moved
    into the loop, to its first iteration if it stands before, to its last one if it stands behind:
    ``S; for i { T }``  →  ``for i { if (i == 0) S; T }``. With ``sink L1`` the nest L1 is moved
    like a statement, as a whole; then the shift moves that node. A shift may have parameters and
    counters of loops around both, such as ``n-1`` or ``L1+1``: in this way a statement gets to
    other iterations than the first and the last. Side condition: the two are neighbours. Legal
    unless an instance of the second nest would run before one that it needs.
    """

    syntax: ClassVar[str] = "fuse NODE NODE [depth D] [shift K] [sink NODE]"
    example: ClassVar[str] = "fuse L1 L3 shift 1"

    first: str
    second: str
    depth: int = 1
    shift: int = 0
    terms: tuple[tuple[str, int], ...] = ()
    sink: str = ""

    def __str__(self) -> str:
        """Return the text."""
        depth = f" depth {self.depth}" if self.depth != 1 else ""
        amount = amount_text(self.terms, self.shift)
        shift = f" shift {amount}" if amount != "0" else ""
        sink = f" sink {self.sink}" if self.sink else ""
        return f"fuse {self.first} {self.second}{depth}{shift}{sink}"


@dataclass(frozen=True, slots=True)
class Distribute:
    """Divide a loop before a node in it.

    ``for i { S; T }``  →  ``for i { S }  for i { T }``

    The second loop gets a new name and the marks of the first. Side condition: something stands
    before the node. Legal unless an instance of T is needed by an instance of S in a later
    iteration.
    """

    syntax: ClassVar[str] = "distribute LOOP before NODE"
    example: ClassVar[str] = "distribute L1 before S1"

    loop: str
    before: str

    def __str__(self) -> str:
        """Return the text."""
        return f"distribute {self.loop} before {self.before}"


@dataclass(frozen=True, slots=True)
class Reorder:
    """Move a node before another one of the same body; neighbours change places.

    ``S; T; U``  →  ``U; S; T``    (reorder S U)

    Side condition: the second node stands behind the first. Legal unless an instance of U needs one
    of S or T in the same iteration of the loops around them.
    """

    syntax: ClassVar[str] = "reorder NODE NODE"
    example: ClassVar[str] = "reorder S0 S1"

    first: str
    second: str

    def __str__(self) -> str:
        """Return the text."""
        return f"reorder {self.first} {self.second}"


@dataclass(frozen=True, slots=True)
class Skew:
    """Add a multiple of one counter to another one.

    ``for t { for i { S(t, i) } }``  →  ``for t { for i' { S(t, i' - t) } }``, i' = i + t

    Side condition: the loop is inside of the other one, or both contain the same statements. Always
    legal for an inner loop; it makes negative distances positive, so that loops can be tiled or
    interchanged.
    """

    syntax: ClassVar[str] = "skew LOOP BY_LOOP FACTOR"
    example: ClassVar[str] = "skew L2 L1 1"

    loop: str
    by: str
    factor: int

    def __str__(self) -> str:
        """Return the text."""
        return f"skew {self.loop} {self.by} {self.factor}"


@dataclass(frozen=True, slots=True)
class Reverse:
    """Run a loop from its last iteration to its first.

    ``for (i = 0; i < n; i++) S``  →  ``for (i = n - 1; i >= 0; i--) S``

    Legal if the loop carries no dependence.
    """

    syntax: ClassVar[str] = "reverse LOOP"
    example: ClassVar[str] = "reverse L2"

    loop: str

    def __str__(self) -> str:
        """Return the text."""
        return f"reverse {self.loop}"


@dataclass(frozen=True, slots=True)
class Shift:
    """Run a part of a loop's body some iterations later.

    ``for i { S(i); T(i) }``  →  ``for i { S(i); T(i - 1) }``

    Side condition: the loop contains other statements too. Legal unless an instance would run after
    one that needs it, or before one that it needs.
    """

    syntax: ClassVar[str] = "shift NODE LOOP AMOUNT"
    example: ClassVar[str] = "shift S1 L1 1"

    node: str
    loop: str
    amount: int

    def __str__(self) -> str:
        """Return the text."""
        return f"shift {self.node} {self.loop} {self.amount}"


@dataclass(frozen=True, slots=True)
class Tile:
    """Run loops of a perfect nest in blocks; one loop alone is strip-mined.

    ``for i { for j { S } }``  →  ``for I { for J { for i in I { for j in J { S } } } }``

    A size of 1 leaves a loop whole. Side condition: between the loops there are only loops. Legal
    if the loops can be interchanged freely (one permutable band). Loops at the same position in
    another band of the nest get the same size. Another size for a loop replaces its first one.
    """

    syntax: ClassVar[str] = "tile LOOP… SIZE…"
    example: ClassVar[str] = "tile L1 L2 32 64"

    loops: tuple[str, ...]
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        """Return the text."""
        return f"tile {' '.join(self.loops)} {' '.join(map(str, self.sizes))}"


@dataclass(frozen=True, slots=True)
class UnrollJam:
    """Run some iterations of an outer loop together in each iteration of the innermost loop.

    ``for i { for j { S(i, j) } }``  →  ``for i by 4 { for j { S(i, j); …; S(i + 3, j) } }``

    A count of 1 turns it off. Side condition: inside of the loop there are only loops, and at least
    one. Legal unless a dependence between iterations that run together would run backwards: one
    with the distances (4, -1) forbids more than 4. Code that the planner does not prove runs alone.
    """

    syntax: ClassVar[str] = "unroll_jam LOOP COUNT"
    example: ClassVar[str] = "unroll_jam L1 4"

    loop: str
    count: int

    def __str__(self) -> str:
        """Return the text."""
        return f"unroll_jam {self.loop} {self.count}"


@dataclass(frozen=True, slots=True)
class Vectorize:
    """Run a loop innermost and in vectors; ``off`` is scalar code for the nest.

    ``for j { S(j) }``  →  ``for j by 8 { S(j … j + 7) }``

    Without a number the vectors are as wide as the machine's. Side condition: inside of the loop
    there are only loops. Legal if the loop can be moved innermost and no dependence is between
    iterations of one vector there: without a number, between any. Code that the planner does not
    prove stays scalar.
    """

    syntax: ClassVar[str] = "vectorize LOOP [BITS|off]"
    example: ClassVar[str] = "vectorize L2 512"

    loop: str
    bits: int | None = None

    def __str__(self) -> str:
        """Return the text."""
        bits = "" if self.bits is None else f" {self.bits}" if self.bits else " off"
        return f"vectorize {self.loop}{bits}"


@dataclass(frozen=True, slots=True)
class Parallelize:
    """Distribute the iterations of a loop over the threads; ``off`` runs its nest in one thread.

    ``for i { S(i) }``  →  ``#pragma omp parallel for  for i { S(i) }``

    ``static`` gives each thread one chunk, ``dynamic`` many. Side condition: the mapping has more
    than one thread, and no loop around it can run in parallel. Legal if the loop carries no
    dependence.
    """

    syntax: ClassVar[str] = "parallel LOOP [static|dynamic|off]"
    example: ClassVar[str] = "parallel L1 static"

    loop: str
    sharing: WorkSharing = WorkSharing.DYNAMIC

    def __str__(self) -> str:
        """Return the text."""
        return f"parallel {self.loop} {self.sharing.value}"


@dataclass(frozen=True, slots=True)
class SplitIndexSet:
    """Divide the instances of a statement by a condition into statements of their own.

    ``for i { S(i) }``  →  ``for i { if (i < k) S_0(i); if (i == k) S_1(i); if (i > k) S_2(i) }``

    Always legal: the same instances run in the same order. The new statements can then be moved
    apart. Side condition: the statement has not been divided before, and no array is stored
    differently yet.
    """

    syntax: ClassVar[str] = "split STATEMENT: CONDITION[, CONDITION][; STATEMENT: …]"
    example: ClassVar[str] = "split S0: i = k"

    cuts: str

    def __str__(self) -> str:
        """Return the text."""
        return f"split {self.cuts}"


@dataclass(frozen=True, slots=True)
class Store:
    """Expand, privatize or rename an array, so that fewer dependences are left.

    ``for i { w = …; … = w; }``  →  ``for i { w_1[i] = …; … = w_1[i]; }``    (w=expand:i)

    ``private:i`` needs one copy for each thread, ``rename`` gives unconnected values of an array
    different arrays. Legal if every read still reads the same value, which is proved.
    """

    syntax: ClassVar[str] = "store [STATEMENT:]ARRAY=expand[:LOOPS]|private:LOOPS|rename"
    example: ClassVar[str] = "store w=expand:i"

    entry: str

    def __str__(self) -> str:
        """Return the text."""
        return f"store {self.entry}"


@dataclass(frozen=True, slots=True)
class Contract:
    """Let elements of expanded arrays share memory wherever the schedule permits it.

    ``w_1[i]`` of which one element at a time is used  →  ``w_1[1]``

    Always legal: it is decided when the schedule is known. Side condition: some array is expanded.
    """

    syntax: ClassVar[str] = "contract"
    example: ClassVar[str] = "contract"

    def __str__(self) -> str:
        """Return the text."""
        return "contract"


@dataclass(frozen=True, slots=True)
class SetMapping:
    """Set options of the mapping by hand, as ``polygym optimize --mapping`` has them.

    Always legal: no option changes results, and ``reassociate=on`` is refused here. Side condition:
    the number of threads stays.
    """

    syntax: ClassVar[str] = "mapping OPTION=VALUE…"
    example: ClassVar[str] = "mapping vector_bits=512 pack=off"

    options: str

    def __str__(self) -> str:
        """Return the text."""
        return f"mapping {self.options}"


@dataclass(frozen=True, slots=True)
class SetSchedule:
    """Set the whole schedule by hand; its loops get new names.

    ``schedule { S0[i, j] -> [j, i] }``. Legal if it respects every dependence.
    """

    syntax: ClassVar[str] = "schedule { STATEMENT[ITERATORS] -> [ROWS]; … }"
    example: ClassVar[str] = "schedule { S0[i, j] -> [j, i] }"

    schedule: str

    def __str__(self) -> str:
        """Return the text."""
        return f"schedule {self.schedule}"


@dataclass(frozen=True, slots=True)
class Undo:
    """Take the last step back. Side condition: there is one."""

    syntax: ClassVar[str] = "undo"
    example: ClassVar[str] = "undo"

    def __str__(self) -> str:
        """Return the text."""
        return "undo"


@dataclass(frozen=True, slots=True)
class Stop:
    """Make no more changes: the program is compiled, run and timed as it is."""

    syntax: ClassVar[str] = "stop"
    example: ClassVar[str] = "stop"

    def __str__(self) -> str:
        """Return the text."""
        return "stop"


TreeStep: TypeAlias = Interchange | Fuse | Distribute | Reorder | Skew | Reverse | Shift
MappingStep: TypeAlias = Tile | UnrollJam | Vectorize | Parallelize
ProgramStep: TypeAlias = SplitIndexSet | Store | Contract
TextStep: TypeAlias = SetMapping | SetSchedule
Step: TypeAlias = TreeStep | MappingStep | ProgramStep | TextStep | Undo | Stop

STEP_TYPES: tuple[type[Step], ...] = (
    Stop, Undo, Interchange, Fuse, Distribute, Reorder, Skew, Reverse, Shift, Tile, UnrollJam,
    Vectorize, Parallelize, SplitIndexSet, Store, Contract, SetMapping, SetSchedule,
)  # fmt: skip
"""The kinds of steps, in the order of observations; a new one comes last."""

KEYWORDS: dict[str, type[Step]] = {kind.syntax.split()[0]: kind for kind in STEP_TYPES}
