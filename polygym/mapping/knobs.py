"""The table of mapping knobs: every fact about an option of a mapping, in one row.

A row says which values the option has (:mod:`polygym.mapping.knob_domains`: how they print, parse
and vary), whether nests may have their own, what an episode asks about it, and what it does. All
else follows from the rows::

    the text of a mapping           polygym.mapping.mapping
    questions and their answers     polygym.mdp.mapping_decisions, polygym.mdp.action_sequence
    columns of observations         polygym.mdp.observation.mapping_arrays
    questions in words              polygym.envs.decision_text, the docstring of Optimize-v0
    features of a mapping           polygym.cost.features.candidates.candidate_vector
    genes, mutations, variants      polygym.search.strategies.neighborhood

A new knob touches three files: a field of :class:`polygym.mapping.mapping.Mapping` (its default), a
row here, and the pass that reads it. ``tests/mapping/test_knobs.py`` shows it.

The table has the order of the questions: those about the program, then those about a nest. Orders
that models, seeds and files know stand in the tuples below it; a new knob comes last in each.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from polygym.mapping.knob_domains import (
    Flag,
    KnobColumn,
    KnobDomain,
    LoopNumbers,
    Number,
    Sharing,
    TileFactors,
    TileSizes,
    VectorBits,
    WorkSharing,
)

MOST_VALUES = 13
"""A question has at most so many answers beside those that leave things to the default."""

_TILE_POWERS = (1, 4, 8, 16, 32, 64, 128, 256, 512)
_TILE_PARTS = (2, 3, 4)
_TIME_TILINGS = ((True, True), (True, False), (False, False))
_COUNTS = (1, 2, 3, 4, 6, 8, 12)


class QuestionContext(Protocol):
    """The state in which a question about a nest, or the program, is asked."""

    @property
    def initial_mapping(self) -> Any:
        """The mapping to begin with."""

    @property
    def trip_count(self) -> int:
        """The iterations of the loop that is asked about."""

    @property
    def movable_loops(self) -> tuple[int, ...]:
        """The loops that may come next in an order, from the innermost out."""

    @property
    def is_first_loop(self) -> bool:
        """Whether the first loop is asked about."""

    def default(self, knob: str) -> Any:
        """Return the value that the mapping to begin with has."""

    def current(self, knob: str) -> Any:
        """Return the value that was decided, or else the default."""


class LoopDirection(Enum):
    """The order in which a question is asked again for the loops of a nest."""

    INWARD = "inward"
    OUTWARD = "outward"


def _fixed_choices(choices: Iterable[Any]) -> Callable[[QuestionContext, Any], tuple[Any, ...]]:
    values = tuple(choices)
    return lambda _, default: tuple(value for value in values if value != default)


def _always(_: QuestionContext) -> bool:
    return True


@dataclass(frozen=True, eq=False)
class KnobQuestion:
    """A question that an episode asks, about one knob or some together.

    ``choices`` are the answers for a default value; ``is_asked`` is false where no answer has an
    effect; ``describe`` puts a value in words, which stand for the question too if ``is_complete``.
    A question with a ``direction`` is asked loop by loop, until the default is chosen.
    """

    name: str
    knobs: tuple[str, ...]
    choices: Callable[[QuestionContext, Any], tuple[Any, ...]]
    answers: str
    describe: Callable[[Any], str]
    is_asked: Callable[[QuestionContext], bool] = _always
    condition: str = ""
    direction: LoopDirection | None = None
    is_complete: bool = False

    def __repr__(self) -> str:
        """Return the name."""
        return self.name

    def joined(self, before: Any, value: Any) -> Any:
        """Return the value after another answer; of loops, those of all answers."""
        match self.direction:
            case None:
                return value
            case LoopDirection.INWARD:
                return (*(before or ()), *value)
            case LoopDirection.OUTWARD:
                return (*value, *(before or ()))

    def part(self, value: Any, loop: int) -> Any:
        """Return the answer for one loop that leads to a value; () where the default does."""
        match self.direction:
            case LoopDirection.INWARD if value:
                return value[loop : loop + 1]
            case LoopDirection.OUTWARD if value:
                return value[::-1][loop : loop + 1]
            case _:
                return value


@dataclass(frozen=True, eq=False)
class Knob:
    """One option of a mapping.

    ``variants`` are mappings that a search tries first, as texts. A knob that ``needs_threads`` has
    no effect in one. Nobody searches for one that is not ``is_searched``.
    """

    name: str
    domain: KnobDomain
    doc: str
    is_per_nest: bool = False
    question: KnobQuestion | None = None
    variants: tuple[str, ...] = ()
    needs_threads: bool = False
    is_searched: bool = True

    @property
    def columns(self) -> tuple[KnobColumn, ...]:
        """The columns of a mapping's own features."""
        return self.domain.columns(self.name) if self.is_searched else ()

    @property
    def nest_columns(self) -> tuple[KnobColumn, ...]:
        """The columns that an observation has of it for a nest."""
        return self.domain.nest_columns(self.name) if self.is_per_nest else ()


def _flag_text(value: Any) -> str:
    return "on" if value else "off"


def flag_question(name: str, is_asked: Callable[[QuestionContext], bool] = _always) -> KnobQuestion:
    """Return the question of a flag."""
    return KnobQuestion(
        name, (name,), _fixed_choices((False, True)), "the other of on and off", _flag_text,
        is_asked,
    )  # fmt: skip


def _count_question(name: str, knob: str, noun: str, **others: Any) -> KnobQuestion:
    def describe(count: int) -> str:
        return f"{count} {noun}" if count == 1 else f"{count} {noun}s together"

    answers = f"{', '.join(map(str, _COUNTS))} {noun}s together"
    return KnobQuestion(
        name, (knob,), _fixed_choices(_COUNTS), answers, describe, is_complete=True, **others
    )


def _has_tiles(context: QuestionContext) -> bool:
    return bool(context.current("tile") != ())


def _time_tilings(_: QuestionContext, default: Any) -> tuple[Any, ...]:
    """Return the others; without a wavefront the shape of its tiles does not matter."""
    others = (tiling for tiling in _TIME_TILINGS if tiling != default)
    return tuple(tiling for tiling in others if tiling[0] or default[0])


def _time_tiling_text(value: tuple[bool, bool]) -> str:
    wavefront, diamond = value
    return ("with diamonds" if diamond else "without diamonds") if wavefront else "off"


def _tile_choices(context: QuestionContext, default: Any) -> tuple[Any, ...]:
    off = ((),) if context.is_first_loop and default != () else ()
    return (*off, *tile_choices(context.trip_count))


def tile_choices(length: int) -> tuple[tuple[int], ...]:
    """Return the tile sizes for a loop.

    >>> tile_choices(26)
    ((1,), (4,), (7,), (8,), (9,), (13,), (16,))
    """
    parts = {-(-length // part) for part in _TILE_PARTS}
    result = sorted({1, *(size for size in {*_TILE_POWERS, *parts} if size < length)})
    return tuple((size,) for size in result)


def _sizes_text(sizes: tuple[int, ...]) -> str:
    return " x ".join("whole" if size == 1 else str(size) for size in sizes) or "off"


def _order_choices(context: QuestionContext, default: Any) -> tuple[Any, ...]:
    off = ((),) if context.is_first_loop and default else ()
    return (*off, *((loop,) for loop in context.movable_loops[: MOST_VALUES - 1]))


KNOBS: tuple[Knob, ...] = (
    Knob("threads", Number(1024, is_optional=False), "threads for parallel loops",
         is_searched=False),
    Knob("scalar_replacement", Flag(), "sums of an inner loop stay in registers",
         question=flag_question("scalar_replacement"), variants=("scalar_replacement=off",)),
    Knob("pack", Flag(), "read-only arrays that vectors read down columns are copied "
         "before the nest", question=flag_question("pack"), variants=("pack=off",)),
    Knob("separate", Flag(is_likely=0.3), "full tiles have loops of their own, with known bounds",
         question=flag_question("separate"), variants=("separate=on",)),
    Knob("reassociate", Flag(), "sums and products of floats may be computed in another order",
         is_searched=False),
    Knob("parallel", Sharing(), "distribution of iterations: many chunks, one a thread, or none",
         is_per_nest=True, needs_threads=True, variants=("parallel=static", "parallel=off"),
         question=KnobQuestion(
             "parallel", ("parallel",), _fixed_choices(WorkSharing),
             "the other ways to share iterations out: dynamic, static, off",
             lambda value: str(value.value), lambda context: context.initial_mapping.threads > 1,
             "with threads")),
    Knob("wavefront", Flag(), "tiles that depend on each other run in parallel along diagonals",
         is_per_nest=True, needs_threads=True, variants=("wavefront=off",),
         question=KnobQuestion(
             "wavefront", ("wavefront", "diamond"), _time_tilings,
             "wavefront and diamonds, wavefront alone, neither", _time_tiling_text,
             lambda context: context.initial_mapping.threads > 1
             and context.current("parallel") is not WorkSharing.OFF, "with threads")),
    Knob("diamond", Flag(), "tiles get a shape with which all tiles of a diagonal start at once",
         is_per_nest=True, needs_threads=True, variants=("diamond=off",)),
    Knob("vector_bits", VectorBits(), "bits of a vector", is_per_nest=True,
         variants=("vector_bits=256", "vector_bits=off scalar_replacement=off"),
         question=KnobQuestion(
             "vector", ("vector_bits",), _fixed_choices((0, 128, 256, 512)),
             "off, 128, 256, 512 bits", lambda value: f"{value} bits" if value else "off")),
    Knob("vector_copies",
         Number(16, samples=(None, None, 1, 2, 3, 4), mutations=(None, *_COUNTS)),
         "vectors of the vector loop that run together", is_per_nest=True,
         question=_count_question("copies", "vector_copies", "vector",
                                  is_asked=lambda context: context.current("vector_bits") != 0)),
    Knob("unroll_jam",
         Number(16, samples=(None, None, 1, 2, 3, 4, 6, 8), mutations=(None, *_COUNTS)),
         "iterations of a loop around it that run together", is_per_nest=True,
         variants=("unroll_jam=1 vector_copies=1", "unroll_jam=4 vector_copies=2",
                   "unroll_jam=8 vector_copies=1"),
         question=_count_question("jam", "unroll_jam", "iteration")),
    Knob("tile", TileSizes("sizes such as 32x64, or off", _TILE_POWERS, is_optional=True),
         "tile sizes of each band, outermost member first; the last counts for further members, 1 "
         "leaves one whole", is_per_nest=True,
         variants=("tile=off", "tile=32", "tile=16x64x256", "tile=64x256x512"),
         question=KnobQuestion(
             "tile", ("tile",), _tile_choices,
             "off; 1 (whole), 4 … 512, and halves, thirds, quarters of the loop", _sizes_text,
             direction=LoopDirection.INWARD)),
    Knob("outer_tile", TileFactors("sizes such as 4x4, or off", (1, 2, 4, 8)),
         "a second level of tiles, in tiles of the first", is_per_nest=True,
         variants=("outer_tile=4",),
         question=KnobQuestion(
             "outer_tile", ("outer_tile",), _fixed_choices(((2,), (4,), (8,))), "2, 4, 8",
             _sizes_text, _has_tiles)),
    Knob("sink", Flag(), "loops around a sequence are tiled, their points moved into its branches",
         is_per_nest=True, question=flag_question("sink", _has_tiles), variants=("sink=off",)),
    Knob("order", LoopNumbers("numbers of loops such as 3x2, or off", (1, 2, 3, 4)),
         "loops of the points that run innermost: loop 2, and loop 3 right around it",
         is_per_nest=True,
         question=KnobQuestion(
             "order", ("order",), _order_choices,
             "the loops that may change places, by their numbers; off where `mapping` has an order",
             lambda value: f"loop {', '.join(map(str, value))}" if value else "off",
             direction=LoopDirection.OUTWARD)),
)  # fmt: skip

# The orders that seeds, models and observations know.
_SAMPLE_ORDER = (
    "tile", "outer_tile", "sink", "vector_bits", "vector_copies", "unroll_jam", "separate",
    "scalar_replacement", "pack", "order", "parallel", "wavefront", "diamond",
)  # fmt: skip
_MUTATION_ORDER = (  # what stands twice is the likelier
    "tile", "tile", "outer_tile", "unroll_jam", "vector_copies", "vector_bits",
    "scalar_replacement", "pack", "sink", "separate", "order", "parallel", "wavefront", "diamond",
)  # fmt: skip
_VARIANT_ORDER = (
    "tile", "outer_tile", "unroll_jam", "vector_bits", "scalar_replacement", "pack", "sink",
    "separate", "wavefront", "diamond", "parallel",
)  # fmt: skip
_COLUMN_ORDER = (
    "tile", "outer_tile", "tile_is_free", "sink", "separate", "scalar_replacement", "pack",
    "wavefront", "diamond", "vector_bits", "vector_copies", "unroll_jam", "parallel", "order",
)  # fmt: skip
_NEST_COLUMN_ORDER = (
    "parallel", "wavefront", "diamond", "sink", "vector_bits", "vector_copies", "unroll_jam",
    "tile", "outer_tile", "order",
)  # fmt: skip


def _in_order(first: tuple[str, ...]) -> Iterator[Knob]:
    """Yield the knobs of some names, then the others."""
    rest = (knob.name for knob in KNOBS if knob.name not in first)
    return (KNOB_NAMED[name] for name in (*first, *rest) if name in KNOB_NAMED)


def _column_rank(name: str) -> int:
    """Return the place of a column; ``tile_0`` and the like stand where ``tile`` does."""
    group = name.rstrip("0123456789").rstrip("_")
    return _COLUMN_ORDER.index(group) if group in _COLUMN_ORDER else len(_COLUMN_ORDER)


KNOB_NAMED = {knob.name: knob for knob in KNOBS}
QUESTIONS = {knob.question.name: knob.question for knob in KNOBS if knob.question is not None}
"""The questions by their names, in their order."""

SAMPLED_KNOBS = tuple(knob for knob in _in_order(_SAMPLE_ORDER) if knob.is_searched)
MUTATED_KNOBS = tuple(knob for knob in _in_order(_MUTATION_ORDER) if knob.is_searched)
VARIANTS = tuple((knob, variant) for knob in _in_order(_VARIANT_ORDER) for variant in knob.variants)
COLUMNS = tuple(
    sorted(
        ((knob, column) for knob in KNOBS for column in knob.columns),
        key=lambda row: _column_rank(row[1].name),
    )
)
NEST_COLUMNS = tuple(
    (knob, column) for knob in _in_order(_NEST_COLUMN_ORDER) for column in knob.nest_columns
)
