"""The way from an episode to a schedule and a mapping: the inverse of deciding them.

An episode that edits a schedule, or decides a mapping, is a sequence of answers. Here the end is
given and the answers are looked for:

    the schedule   is the one at hand, or another one that the program has without a search, which
                   is adopted (:mod:`polygym.episodes.editing`)
    the mapping    question by question (:mod:`polygym.episodes.decisions`): the answer with which
                   what the question is about is what the end has, *as the model says* where it is
                   that already

Answers to a question change nothing but what it is about, and no two of them mean the same, so
there is one way through the questions at most, and no search. Where it does not lead to an equal
mapping (a tile size that is not asked for, say) there is none.

Example, one nest {S0} with loops of 100 and 26, to ``S0:tile=32x13``: model to all questions before
tile, then 32, then 13, then model to all questions behind.

A mapping may say of all nests at once what a process decides for each; :func:`nest_by_nest` is the
one that says the same as a process does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polygym.compiler.codegen.common.mapping import Mapping, Sharing
from polygym.compiler.codegen.common.nest_entries import OF_NESTS, nests_of
from polygym.compiler.poly.alternatives import ALTERNATIVES, alternatives
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.decisions import DONE, ENTRY, MODEL, Deciding, Question, Subject
from polygym.episodes.editing import EDITS, Edit
from polygym.episodes.episode import Episode
from polygym.episodes.nest_shapes import NestShape
from polygym.episodes.task_options import Phase


def toward(episode: Episode, schedule: Schedule, mapping: Mapping) -> tuple[int, ...] | None:
    """Return the actions from an episode to the end with that schedule and mapping.

    None if no answers lead there, or other edits than to adopt a schedule would have to.
    """
    before = episode
    if episode.phase is Phase.STORE:  # a schedule is of the program as it was written
        episode = episode.after(episode.task.options.first_answer + DONE)
    if episode.phase is Phase.EDIT:
        adopted = _adopted(episode, schedule)
        if adopted is None:
            return None
        edit_no_more = adopted.after(adopted.task.options.first_answer + MODEL)
        found = _decided(edit_no_more, mapping)
    else:
        found = _decided(episode, mapping)
    if found is None or found.schedule() != schedule or found.mapping != mapping:
        return None
    return found.actions[len(before.actions) :]


def nest_by_nest(mapping: Mapping, start: Mapping, nests: tuple[NestShape, ...]) -> Mapping:
    """Return the mapping that says of each nest what another one says of all, beside ``start``.

    What has no meaning is left out, such as how many vectors run together where there are none.
    Loops outside of these nests are as ``start`` has them.
    """
    own = {max(nest.statements): _own(mapping, start, nest) for nest in nests}
    usual = {entry: getattr(start, entry) for entry in OF_NESTS}
    return replace(mapping, **usual, nests=nests_of(own))


def _own(mapping: Mapping, start: Mapping, nest: NestShape) -> dict[str, Any]:
    """Return the entries of a nest that are others than those to begin with."""
    said, usual = (_effective(one, nest) for one in (mapping, start))
    found = {entry: value for entry, value in said.items() if value != usual[entry]}
    if said["parallel"] is Sharing.OFF or mapping.threads == 1:
        found = {k: v for k, v in found.items() if k not in ("wavefront", "diamond")}
    if "wavefront" in found or ("diamond" in found and said["wavefront"]):
        found["wavefront"] = said["wavefront"]
        found["diamond"] = said["wavefront"] and said["diamond"]
    elif "diamond" in found:
        del found["diamond"]
    if said["vector_bits"] == 0:
        found.pop("vector_copies", None)
    if said["tile"] == ():
        found.pop("outer_tile", None)
        found.pop("sink", None)
    if "order" in found:
        found["order"] = _told(said, nest)
        if found["order"] == usual["order"]:
            del found["order"]
    return {entry: value for entry, value in found.items() if value is not None}


def _told(said: dict[str, Any], nest: NestShape) -> tuple[int, ...]:
    """Return those loops of an order whose place in a nest it tells."""
    moving = said["sink"] and said["tile"] != ()
    found: tuple[int, ...] = ()
    for loop in reversed(said["order"]):
        if loop in nest.next_loops(found, moving=moving):
            found = (loop, *found)
    return found


def _effective(mapping: Mapping, nest: NestShape) -> dict[str, Any]:
    own = dict(mapping.of_nest(nest.statements))
    return {entry: own.get(entry, getattr(mapping, entry)) for entry in OF_NESTS}


def _adopted(episode: Episode, schedule: Schedule) -> Episode | None:
    """Return the episode at rest with the schedule, the one at hand or an adopted one."""
    options, editing = episode.task.options, episode.editing
    assert editing is not None
    if not editing.is_at_rest:
        episode = episode.after(options.first_answer + MODEL)
    if episode.schedule() == schedule:
        return episode
    places = [place for place, one in alternatives(episode.task.scop).items() if one == schedule]
    if not places:
        return None
    for value, every in ((EDITS.index(Edit.ADOPT), len(EDITS)), (places[0], len(ALTERNATIVES))):
        assert episode.editing is not None
        assert len(episode.editing.values) == every, "a step for all of them"
        action = options.first_answer + 2 + episode.editing.values.index(value)
        if not episode.mask()[action]:
            return None
        episode = episode.after(action)
    return episode


def _decided(episode: Episode, mapping: Mapping) -> Episode | None:
    """Return the episode at its end, all questions answered so that the mapping becomes that."""
    first = episode.task.options.first_answer
    while episode.phase is Phase.MAP:
        assert episode.deciding is not None
        answer = _answer(episode.deciding, mapping)
        if answer is None:
            return None
        episode = episode.after(first + answer)
    return episode if episode.phase is Phase.COMPLETE else None


def _answer(deciding: Deciding, mapping: Mapping) -> int | None:
    """Return the answer to the question at hand with which its entry is as a mapping has it."""
    question = deciding.question
    assert question is not None
    wanted, usual = (_entry(one, deciding, question) for one in (mapping, deciding.start))
    if wanted == usual:
        return MODEL
    if question.subject is Subject.ORDER and wanted:
        # From the innermost loop out; what is around the last one is the model's to say.
        wanted = wanted[::-1][question.loop : question.loop + 1]
        if not wanted:
            return MODEL
    if question.subject is Subject.TILE and wanted:
        # Loop by loop; what is behind the last size is the model's to say.
        wanted = wanted[question.loop : question.loop + 1]
        if not wanted:
            return MODEL
    return DONE + 1 + deciding.values.index(wanted) if wanted in deciding.values else None


def _entry(mapping: Mapping, deciding: Deciding, question: Question) -> Any:
    """Return what a mapping itself says of what a question is about; None where it says nothing."""
    subject = question.subject
    if subject in (Subject.REGISTERS, Subject.PACK, Subject.SEPARATE):
        return getattr(mapping, subject.value)
    nest = deciding.nests[question.nest]
    own = dict(dict(mapping.nests).get(max(nest.statements), ()))
    if subject is Subject.WAVEFRONT:
        found = own.get("wavefront"), own.get("diamond")
        return None if found == (None, None) else found
    return own.get(ENTRY[subject])
