"""The arrays that an observation has beside the usual ones where a mapping is decided.

==============  ====================================================================================
``question``    what is asked: what it is about, of which nest and loop, and how far the process is
``choices``     a row for every answer: whether it is allowed, and what it would choose
``nests``       the nests of the schedule: their loops, and what is decided of them so far
``nest_of``     the nest of each statement, from 1 on; 0 for none
``candidate``   the features of the whole candidate (:mod:`polygym.cost`), with everything that is
                not decided as the model says; 0 before there is a schedule
==============  ====================================================================================

Numbers of things, sizes and lengths stand there as log2(1 + x). Nothing is said of names, and the
nests are in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.mapping.knobs import NEST_COLUMNS as KNOB_COLUMNS
from polygym.mapping.knobs import QUESTIONS, LoopDirection
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mapping.mapping import WorkSharing
from polygym.mdp.editing import EDITS, MOST_STEPS, EditState, Operand
from polygym.mdp.mapping_decisions import (
    ANSWERS,
    MOST_NESTS,
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingQuestion,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape
from polygym.mdp.observation.arrays import MOST_STATEMENTS, Array, ArraySpec

_LOOPS = 6
_LEVELS = tuple(range(1, _LOOPS + 1))
_FAR_STRIDE = 1e6  # features are signed logarithms and shares

QUESTION_COLUMNS = (
    "editing",
    "mapping",
    *(f"about_{name}" for name in QUESTIONS),
    *(f"operand_{operand.value}" for operand in Operand),
    "is_part",
    "nest",
    "loop",
    "length",
    "threads",
    "questions_left",
    "edits",
    "edit_steps",
)
CHOICE_COLUMNS = (
    "allowed",
    "as_the_model_says",
    "ends",
    "value",
    "negative",
    "share_of_loop",
    "off",
    "static",
    "wavefront",
    "diamond",
    "level",
    "independent",
    *(f"edit_{edit_kind.value}" for edit_kind in EDITS),
)
NEST_COLUMNS = (
    "exists",
    "at_hand",
    "statements",
    "depth",
    "iterations",
    *(f"length_{level}" for level in _LEVELS),
    *(f"independent_{level}" for level in _LEVELS),
    *(column.name for _, column in KNOB_COLUMNS),
)
_QUESTION = {name: place for place, name in enumerate(QUESTION_COLUMNS)}
_CHOICE = {name: place for place, name in enumerate(CHOICE_COLUMNS)}


def mapping_arrays() -> Mapping[str, ArraySpec]:
    """Return the arrays by name."""

    def logarithms(*shape: int) -> ArraySpec:
        return ArraySpec(shape, np.float32, 0.0, 64.0)

    return MappingProxyType(
        {
            "question": logarithms(len(QUESTION_COLUMNS)),
            "choices": logarithms(ANSWERS, len(CHOICE_COLUMNS)),
            "nests": logarithms(MOST_NESTS, len(NEST_COLUMNS)),
            "nest_of": ArraySpec((MOST_STATEMENTS,), np.int8, 0, MOST_NESTS),
            "candidate": ArraySpec((len(FEATURE_NAMES),), np.float32, -_FAR_STRIDE, _FAR_STRIDE),
        }
    )


def question_array(deciding: MappingState | None, editing: EditState | None) -> Array:
    """Return the array ``question``; the editing counts where nothing is decided yet."""
    array1_d = np.zeros(len(QUESTION_COLUMNS), np.float32)
    if editing is not None:
        array1_d[_QUESTION["edits"]] = _logarithm(editing.edit_count)
        array1_d[_QUESTION["edit_steps"]] = editing.step_count / MOST_STEPS
    if deciding is not None:
        array1_d[_QUESTION["mapping"]] = 1
        array1_d[_QUESTION["threads"]] = _logarithm(deciding.initial_mapping.threads)
        array1_d[_QUESTION["questions_left"]] = _logarithm(deciding.questions_left)
        question = deciding.question
        if question is not None:
            array1_d[_QUESTION[f"about_{question.kind.name}"]] = 1
            array1_d[_QUESTION["nest"]] = question.nest + 1
            array1_d[_QUESTION["loop"]] = question.loop + (question.kind.direction is not None)
            array1_d[_QUESTION["length"]] = _logarithm(_loop_length(question, deciding))
    elif editing is not None:
        array1_d[_QUESTION["editing"]] = 1
        array1_d[_QUESTION[f"operand_{editing.operand.value}"]] = 1
        array1_d[_QUESTION["is_part"]] = editing.is_choosing_part
    return array1_d


def choices_array(
    deciding: MappingState | None, editing: EditState | None, allowed: tuple[bool, ...]
) -> Array:
    """Return the table ``choices``; ``allowed`` says which answers the mask has."""
    array = np.zeros((ANSWERS, len(CHOICE_COLUMNS)), np.float32)
    if deciding is None and editing is None:
        return array
    array[: len(allowed), _CHOICE["allowed"]] = allowed
    array[USE_DEFAULT, _CHOICE["as_the_model_says"]] = 1
    array[USE_DEFAULT_FOR_ALL, _CHOICE["ends"]] = 1
    if deciding is not None:
        question = deciding.question
        for row, value in zip(array[USE_DEFAULT_FOR_ALL + 1 :], deciding.values, strict=False):
            assert question is not None
            _show_value(row, question, value, deciding)
    elif editing is not None:
        for row, value in zip(
            array[USE_DEFAULT_FOR_ALL + 1 :], editing.choices_of_step, strict=False
        ):
            if editing.edit is None:
                row[_CHOICE[f"edit_{EDITS[value].value}"]] = 1
            else:
                row[_CHOICE["value"]] = _logarithm(abs(value))
                row[_CHOICE["negative"]] = value < 0
    return array


def _show_value(row: Array, question: MappingQuestion, value: Any, deciding: MappingState) -> None:
    """Write down what an answer would choose."""
    match value:
        case WorkSharing():
            row[_CHOICE["static"]] = value is WorkSharing.STATIC
            row[_CHOICE["off"]] = value is WorkSharing.OFF
        case bool():
            row[_CHOICE["value"]] = value
            row[_CHOICE["off"]] = not value
        case (bool() as wavefront, bool() as diamond):
            row[_CHOICE["wavefront"]], row[_CHOICE["diamond"]] = wavefront, diamond
            row[_CHOICE["off"]] = not wavefront
        case () | 0:
            row[_CHOICE["off"]] = 1
        case (int(loop),) if question.kind.direction is LoopDirection.OUTWARD:
            nest = deciding.nests[question.nest]
            row[_CHOICE["value"]] = _logarithm(nest.trip_counts[loop - 1])
            row[_CHOICE["level"]] = loop
            row[_CHOICE["independent"]] = nest.coincident[loop - 1]
        case (int(size),):
            row[_CHOICE["value"]] = _logarithm(size)
            if question.kind.direction is LoopDirection.INWARD:
                row[_CHOICE["share_of_loop"]] = size / _loop_length(question, deciding)
        case _:
            row[_CHOICE["value"]] = _logarithm(value)


def nests_array(
    nests: tuple[NestShape, ...], mapping: MachineMapping, question: MappingQuestion | None
) -> Array:
    """Return the table ``nests``: shapes, and what the mapping so far has for each."""
    array = np.zeros((MOST_NESTS, len(NEST_COLUMNS)), np.float32)
    for place, (row, nest) in enumerate(zip(array, nests, strict=False)):
        own = dict(mapping.for_nest(nest.statements))
        row[:] = (
            1,
            question is not None and question.nest == place,
            _logarithm(len(nest.statements)),
            nest.depth,
            np.log2(1.0 + float(min(nest.iterations, 2**60))),
            *_padded([_logarithm(count) for count in nest.trip_counts]),
            *_padded(nest.coincident),
            *(
                column(own.get(knob.name, getattr(mapping, knob.name)), mapping.threads)
                for knob, column in KNOB_COLUMNS
            ),
        )
    return array


def nest_of_statements(nests: tuple[NestShape, ...], statements: tuple[str, ...]) -> Array:
    """Return the array ``nest_of``."""
    array1_d = np.zeros(MOST_STATEMENTS, np.int8)
    for number, nest in enumerate(nests, start=1):
        for name in nest.statements:
            place = statements.index(name)
            if place < MOST_STATEMENTS:
                array1_d[place] = number
    return array1_d


def candidate_array(vector: Array | None) -> Array:
    """Return the array ``candidate``; None where there are no features."""
    if vector is None:
        return np.zeros(len(FEATURE_NAMES), np.float32)
    return np.nan_to_num(vector).clip(-_FAR_STRIDE, _FAR_STRIDE).astype(np.float32)


def _loop_length(question: MappingQuestion, deciding: MappingState) -> int:
    """Return how long the loop is for which a tile is chosen; 0 for other questions."""
    if question.kind.direction is not LoopDirection.INWARD:
        return 0
    return deciding.nests[question.nest].trip_counts[question.loop]


def _logarithm(value: int) -> float:
    return float(np.log2(1.0 + value))


def _padded(values: Any) -> tuple[float, ...]:
    return (*map(float, values), *(0.0,) * _LOOPS)[:_LOOPS]
