"""The way from an episode to a schedule and a mapping: the inverse of deciding them.

An episode that edits a schedule, or decides a mapping, is a sequence of answers. Here the end is
given and the answers are looked for:

    the schedule   is the one at hand, or another one that the program has without a search, which
                   is adopted (:mod:`polygym.mdp.editing`)
    the mapping    question by question (:mod:`polygym.mdp.mapping_decisions`): the answer that
                   gives the option its final value; *use default* where it has that value already

Answers to a question change nothing but what it is about, and no two of them mean the same, so
there is one way through the questions at most, and no search. Where it does not lead to an equal
mapping (a tile size that is not asked for, say) there is none.

Example, one nest {S0} with loops of 100 and 26, to ``S0:tile=32x13``: model to all questions before
tile, then 32, then 13, then model to all questions behind.

A mapping may say of all nests at once what a process decides for each; :func:`per_nest_mapping` is
the one that says the same as a process does.
"""

from dataclasses import replace
from typing import Any

from polygym.mapping.mapping import NEST_OPTIONS, Mapping, WorkSharing, nests_of
from polygym.mdp.editing import EDITS, EditKind
from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import (
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingQuestion,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.alternatives import ALTERNATIVES, alternative_schedules


def actions_to(episode: Episode, schedule: Schedule, mapping: Mapping) -> tuple[int, ...] | None:
    """Return the actions from an episode to the end with that schedule and mapping.

    None if no answers lead there, or other edits than to adopt a schedule would have to.
    """
    before = episode
    if episode.phase is Phase.STORE:  # a schedule is of the program as it was written
        episode = episode.after(episode.task.options.first_answer + USE_DEFAULT_FOR_ALL)
    if episode.phase is Phase.EDIT:
        adopted = _after_adopting(episode, schedule)
        if adopted is None:
            return None
        edit_no_more = adopted.after(adopted.task.options.first_answer + USE_DEFAULT)
        result = _after_answering(edit_no_more, mapping)
    else:
        result = _after_answering(episode, mapping)
    if result is None or result.schedule() != schedule or result.mapping != mapping:
        return None
    return result.actions[len(before.actions) :]


def per_nest_mapping(mapping: Mapping, start: Mapping, nests: tuple[NestShape, ...]) -> Mapping:
    """Return ``initial_mapping`` with the options of another mapping stated for each nest.

    What has no meaning is left out, such as how many vectors run together where there are none.
    Loops outside of these nests are as ``initial_mapping`` has them.
    """
    own = {max(nest.statements): _own_entries(mapping, start, nest) for nest in nests}
    usual = {entry: getattr(start, entry) for entry in NEST_OPTIONS}
    return replace(mapping, **usual, nests=nests_of(own))


def _own_entries(mapping: Mapping, start: Mapping, nest: NestShape) -> dict[str, Any]:
    """Return the entries of a nest that are others than those to begin with."""
    said, usual = (_entries_of_nest(given, nest) for given in (mapping, start))
    result = {entry: value for entry, value in said.items() if value != usual[entry]}
    if said["parallel"] is WorkSharing.OFF or mapping.threads == 1:
        result = {k: v for k, v in result.items() if k not in ("wavefront", "diamond")}
    if "wavefront" in result or ("diamond" in result and said["wavefront"]):
        result["wavefront"] = said["wavefront"]
        result["diamond"] = said["wavefront"] and said["diamond"]
    elif "diamond" in result:
        del result["diamond"]
    if said["vector_bits"] == 0:
        result.pop("vector_copies", None)
    if said["tile"] == ():
        result.pop("outer_tile", None)
        result.pop("sink", None)
    if "order" in result:
        result["order"] = _stated_order(said, nest)
        if result["order"] == usual["order"]:
            del result["order"]
    return {entry: value for entry, value in result.items() if value is not None}


def _stated_order(entries: dict[str, Any], nest: NestShape) -> tuple[int, ...]:
    """Return those loops of an order whose place in a nest it tells."""
    moving = entries["sink"] and entries["tile"] != ()
    result: tuple[int, ...] = ()
    for loop in reversed(entries["order"]):
        if loop in nest.next_loops_outward(result, moving=moving):
            result = (loop, *result)
    return result


def _entries_of_nest(mapping: Mapping, nest: NestShape) -> dict[str, Any]:
    own = dict(mapping.for_nest(nest.statements))
    return {entry: own.get(entry, getattr(mapping, entry)) for entry in NEST_OPTIONS}


def _after_adopting(episode: Episode, schedule: Schedule) -> Episode | None:
    """Return the episode at rest with the schedule, the one at hand or an adopted one."""
    options, editing = episode.task.options, episode.edit_state
    assert editing is not None
    if not editing.is_between_edits:
        episode = episode.after(options.first_answer + USE_DEFAULT)
    if episode.schedule() == schedule:
        return episode
    places = [
        place
        for place, alternative in alternative_schedules(episode.task.scop).items()
        if alternative == schedule
    ]
    if not places:
        return None
    for value, every in ((EDITS.index(EditKind.ADOPT), len(EDITS)), (places[0], len(ALTERNATIVES))):
        assert episode.edit_state is not None
        assert len(episode.edit_state.choices_of_step) == every, "a step for all of them"
        action = options.first_answer + 2 + episode.edit_state.choices_of_step.index(value)
        if not episode.mask()[action]:
            return None
        episode = episode.after(action)
    return episode


def _after_answering(episode: Episode, mapping: Mapping) -> Episode | None:
    """Return the episode at its end, all questions answered so that the mapping becomes that."""
    first = episode.task.options.first_answer
    while episode.phase is Phase.MAP:
        assert episode.mapping_state is not None
        answer = _answer_for(episode.mapping_state, mapping)
        if answer is None:
            return None
        episode = episode.after(first + answer)
    return episode if episode.phase is Phase.COMPLETE else None


def _answer_for(deciding: MappingState, mapping: Mapping) -> int | None:
    """Return the answer to the question at hand with which its entry is as a mapping has it."""
    question = deciding.question
    assert question is not None
    wanted, usual = (
        _entry_of_question(given, deciding, question)
        for given in (mapping, deciding.initial_mapping)
    )
    if wanted == usual:
        return USE_DEFAULT
    answer = question.kind.part(wanted, question.loop)
    if question.kind.direction is not None and wanted and not answer:
        return USE_DEFAULT  # no loop is left to name
    values = deciding.values
    return USE_DEFAULT_FOR_ALL + 1 + values.index(answer) if answer in values else None


def _entry_of_question(mapping: Mapping, deciding: MappingState, question: MappingQuestion) -> Any:
    """Return what a mapping itself says of what a question is about; None where it says nothing."""
    knobs = question.kind.knobs
    if question.nest < 0:
        return getattr(mapping, knobs[0])
    own = dict(dict(mapping.nests).get(max(deciding.nests[question.nest].statements), ()))
    values = tuple(own.get(knob) for knob in knobs)
    if len(values) == 1:
        return values[0]
    return None if set(values) == {None} else values
