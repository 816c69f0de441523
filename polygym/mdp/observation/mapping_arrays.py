"""The arrays that an observation has beside the usual ones where a mapping is decided.

==============  ====================================================================================
``question``    the question: what it is about, of which nest and loop, and the progress so far
``choices``     a row for every answer: whether it is allowed, and what it would choose
``nests``       the nests of the schedule: their loops, and the decisions about them so far
``nest_of``     the nest of each statement, from 1 on; 0 for none
``candidate``   the features of the whole candidate (:mod:`polygym.cost`), with the default for all
                that is not decided; 0 before there is a schedule
==============  ====================================================================================

Numbers of things, sizes and lengths are log2(1 + x). No column depends on names, and the nests are
in the order in which they run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.mapping.knob_domains import KnobColumn
from polygym.mapping.knobs import NEST_COLUMNS as KNOB_COLUMNS
from polygym.mapping.knobs import QUESTIONS, Knob, KnobQuestion, LoopDirection
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mapping.mapping import WorkSharing
from polygym.mdp.editing import EDITS, MOST_STEPS, EditKind, EditState, Operand
from polygym.mdp.mapping_decisions import (
    ANSWERS,
    MOST_NESTS,
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingQuestion,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape
from polygym.mdp.observation import arrays
from polygym.mdp.observation.arrays import Column, logarithm, numbers_of, scaled

_FAR_STRIDE = 1e6  # features are signed logarithms and shares


@dataclass(frozen=True, slots=True)
class _Decision:
    """The question of an episode: about a mapping, or else an edit."""

    mapping: MappingState | None
    edit: EditState | None

    @property
    def question(self) -> MappingQuestion | None:
        """The question about the mapping."""
        return None if self.mapping is None else self.mapping.question

    @property
    def editing(self) -> EditState | None:
        """The edit, as long as it is the subject."""
        return self.edit if self.mapping is None else None

    def about(self, number: Callable[[MappingQuestion], float]) -> float:
        """Return a number of the question about the mapping, 0 without one."""
        return 0 if self.question is None else number(self.question)

    @property
    def loop_length(self) -> int:
        """The length of the loop for which a tile is chosen; 0 for other questions."""
        question = self.question
        if question is None or question.kind.direction is not LoopDirection.INWARD:
            return 0
        assert self.mapping is not None
        return self.mapping.nests[question.nest].trip_counts[question.loop]


def _is_about(kind: KnobQuestion) -> Column:
    def number(at: _Decision) -> float:
        return at.about(lambda question: question.kind is kind)

    return scaled(f"about_{kind.name}", "the subject of the question", number)


def _is_operand(operand: Operand) -> Column:
    def number(at: _Decision) -> float:
        return at.editing is not None and at.editing.operand is operand

    return scaled(f"operand_{operand.value}", "what an edit needs next", number)


QUESTION = (
    scaled("editing", "1 while a schedule is edited", lambda at: at.editing is not None),
    scaled("mapping", "1 while a mapping is decided", lambda at: at.mapping is not None),
    *map(_is_about, QUESTIONS.values()),
    *map(_is_operand, Operand),
    scaled(
        "is_part",
        "1 if a part of the choices is chosen first",
        lambda at: at.editing is not None and at.editing.is_choosing_part,
    ),
    scaled(
        "nest", "from 1; 0: the program", lambda at: at.about(lambda question: question.nest + 1)
    ),
    scaled(
        "loop",
        "from 1; of an order from the inside",
        lambda at: at.about(lambda question: question.loop + (question.kind.direction is not None)),
    ),
    scaled("length", "of the loop that is tiled", lambda at: logarithm(at.loop_length)),
    scaled(
        "threads",
        "of the mapping to begin with",
        lambda at: 0 if at.mapping is None else logarithm(at.mapping.initial_mapping.threads),
    ),
    scaled(
        "questions_left",
        "at most",
        lambda at: 0 if at.mapping is None else logarithm(at.mapping.questions_left),
    ),
    scaled(
        "edits", "made so far", lambda at: 0 if at.edit is None else logarithm(at.edit.edit_count)
    ),
    scaled(
        "edit_steps",
        f"steps of edits so far / {MOST_STEPS}",
        lambda at: 0 if at.edit is None else at.edit.step_count / MOST_STEPS,
    ),
)
"""The columns of ``question``, of a :class:`_Decision`."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """An answer: its number, and the value that it would choose, None for the two defaults."""

    decision: _Decision
    answer: int
    is_allowed: bool
    value: Any = None

    @property
    def is_edit(self) -> bool:
        """Whether it chooses an operand of an edit."""
        editing = self.decision.editing
        return self.value is not None and editing is not None and editing.edit is not None

    @property
    def loop(self) -> int:
        """The loop that it names, from 1; 0 for none."""
        question = self.decision.question
        is_order = question is not None and question.kind.direction is LoopDirection.OUTWARD
        return self.value[0] if is_order and self.value else 0

    @property
    def nest(self) -> NestShape:
        """The nest of the question."""
        assert self.decision.mapping is not None
        assert self.decision.question is not None
        return self.decision.mapping.nests[self.decision.question.nest]

    @property
    def number(self) -> float:
        """The number that it chooses, of a loop its length."""
        if self.loop:
            return logarithm(self.nest.trip_counts[self.loop - 1])
        if self.decision.editing is not None:
            return logarithm(abs(self.value)) if self.is_edit else 0
        match self.value:
            case bool():
                return self.value
            case (bool(), bool()) | () | WorkSharing() | None:
                return 0
            case (int(size),):
                return logarithm(size)
            case _:
                return logarithm(self.value)

    @property
    def share_of_loop(self) -> float:
        """The size of a tile over the length of its loop."""
        length = self.decision.loop_length
        return self.value[0] / length if length and self.value else 0

    @property
    def is_off(self) -> bool:
        """Whether it turns something off."""
        if self.decision.editing is not None:
            return False
        match self.value:
            case (bool() as wavefront, bool()):
                return not wavefront
            case WorkSharing():
                return self.value is WorkSharing.OFF
            case _:
                return self.value is not None and not self.value

    def time_tiling(self, place: int) -> bool:
        """Return whether it turns on the wavefront (0) or diamonds (1)."""
        match self.value:
            case (bool(), bool()):
                return bool(self.value[place])
            case _:
                return False


def _is_edit(kind: EditKind) -> Column:
    def number(at: _Choice) -> float:
        editing = at.decision.editing
        begins = at.value is not None and editing is not None and editing.edit is None
        return begins and EDITS[at.value] is kind

    return scaled(f"edit_{kind.value}", "the kind of an edit", number)


CHOICES = (
    scaled("allowed", "1 if the mask has it", lambda at: at.is_allowed),
    scaled("use_default", "1: use the default", lambda at: at.answer == USE_DEFAULT),
    scaled("ends", "1: use the default for all", lambda at: at.answer == USE_DEFAULT_FOR_ALL),
    scaled("value", "the number that it chooses, of a loop its length", lambda at: at.number),
    scaled("negative", "1 if the amount of an edit is", lambda at: at.is_edit and at.value < 0),
    scaled("share_of_loop", "tile size over the length of the loop", lambda at: at.share_of_loop),
    scaled("off", "1 if it turns something off", lambda at: at.is_off),
    scaled("static", "1: static chunks", lambda at: at.value is WorkSharing.STATIC),
    scaled("wavefront", "1 if it turns that on", lambda at: at.time_tiling(0)),
    scaled("diamond", "1 if it turns that on", lambda at: at.time_tiling(1)),
    scaled("level", "the loop that it names, from 1", lambda at: at.loop),
    scaled(
        "independent", "1 if that loop is", lambda at: at.loop and at.nest.coincident[at.loop - 1]
    ),
    *map(_is_edit, EDITS),
)
"""The columns of ``choices``, of a :class:`_Choice`."""


@dataclass(frozen=True, slots=True)
class _MappedNest:
    """A nest under a mapping, with the options that are its own."""

    shape: NestShape
    mapping: MachineMapping
    own: dict[str, Any]
    is_current: bool

    def knob_number(self, knob: Knob, column: KnobColumn) -> float:
        """Return the number of a knob."""
        value = self.own.get(knob.name, getattr(self.mapping, knob.name))
        return column(value, self.mapping.threads)


def _of_knob(knob: Knob, column: KnobColumn) -> Column:
    return scaled(column.name, knob.doc, lambda at: at.knob_number(knob, column))


NESTS = (
    scaled("exists", "1", lambda at: 1),
    scaled("is_current", "1 if the question is about it", lambda at: at.is_current),
    scaled("statements", "their number", lambda at: logarithm(len(at.shape.statements))),
    scaled("depth", "the number of its loops", lambda at: at.shape.depth),
    scaled(
        "iterations",
        "of all loops together at most",
        lambda at: logarithm(float(min(at.shape.iterations, 2**60))),
    ),
    *arrays.by_level(
        "length_{level}",
        "the iterations of that loop at most",
        lambda at, level: logarithm(_at(at.shape.trip_counts, level)),
        *arrays.SCALED_BOUNDS,
    ),
    *arrays.by_level(
        "independent_{level}",
        "1 if that loop is coincident",
        lambda at, level: _at(at.shape.coincident, level),
        *arrays.SCALED_BOUNDS,
    ),
    *(_of_knob(knob, column) for knob, column in KNOB_COLUMNS),
)
"""The columns of ``nests``, of a :class:`_MappedNest`; 0 stands for a default."""

QUESTION_COLUMNS = arrays.names_of(QUESTION)
CHOICE_COLUMNS = arrays.names_of(CHOICES)
NEST_COLUMNS = arrays.names_of(NESTS)


def _at(values: tuple[int, ...], level: int) -> int:
    return values[level] if level < len(values) else 0


def mapping_arrays() -> Mapping[str, arrays.ArraySpec]:
    """Return the arrays by name."""
    features = arrays.ArraySpec((len(FEATURE_NAMES),), np.float32, -_FAR_STRIDE, _FAR_STRIDE)
    return MappingProxyType(
        {
            "question": arrays.spec_of(QUESTION, np.float32),
            "choices": arrays.spec_of(CHOICES, np.float32, (ANSWERS,)),
            "nests": arrays.spec_of(NESTS, np.float32, (MOST_NESTS,)),
            "nest_of": arrays.ArraySpec((arrays.MOST_STATEMENTS,), np.int8, 0, MOST_NESTS),
            "candidate": features,
        }
    )


def question_array(deciding: MappingState | None, editing: EditState | None) -> arrays.Array:
    """Return the array ``question``; the editing counts where nothing is decided yet."""
    return np.array(numbers_of(QUESTION, _Decision(deciding, editing)), np.float32)


def choices_array(
    deciding: MappingState | None, editing: EditState | None, allowed: tuple[bool, ...]
) -> arrays.Array:
    """Return the table ``choices``; ``allowed`` is the mask of the answers."""
    array = np.zeros((ANSWERS, len(CHOICES)), np.float32)
    decision = _Decision(deciding, editing)
    if deciding is None and editing is None:
        return array
    chosen = deciding.values if deciding else editing.choices_of_step if editing else ()
    values: tuple[Any, ...] = (None, None, *chosen)
    # Answers beyond the last one choose nothing: their rows are 0.
    for answer, (row, value) in enumerate(zip(array, values, strict=False)):
        is_allowed = answer < len(allowed) and allowed[answer]
        row[:] = numbers_of(CHOICES, _Choice(decision, answer, is_allowed, value))
    return array


def nests_array(
    nests: tuple[NestShape, ...], mapping: MachineMapping, question: MappingQuestion | None
) -> arrays.Array:
    """Return the table ``nests``: shapes, and what the mapping so far has for each."""
    array = np.zeros((MOST_NESTS, len(NESTS)), np.float32)
    for place, (row, nest) in enumerate(zip(array, nests, strict=False)):
        is_current = question is not None and question.nest == place
        own = dict(mapping.for_nest(nest.statements))
        row[:] = numbers_of(NESTS, _MappedNest(nest, mapping, own, is_current))
    return array


def nest_of_statements(nests: tuple[NestShape, ...], statements: tuple[str, ...]) -> arrays.Array:
    """Return the array ``nest_of``."""
    array = np.zeros(arrays.MOST_STATEMENTS, np.int8)
    for number, nest in enumerate(nests, start=1):
        for name in nest.statements:
            place = statements.index(name)
            if place < arrays.MOST_STATEMENTS:
                array[place] = number
    return array


def candidate_array(vector: arrays.Array | None) -> arrays.Array:
    """Return the array ``candidate``; None where there are no features."""
    if vector is None:
        return np.zeros(len(FEATURE_NAMES), np.float32)
    return np.nan_to_num(vector).clip(-_FAR_STRIDE, _FAR_STRIDE).astype(np.float32)
