"""Search for good decisions, which cloning imitates and corpora measure.

A *draft* says how an episode of Optimize-v0 that edits a schedule goes: complete edits, then
answers to questions about the mapping. It is played by the episode's own rules:

* an edit that has become illegal is dropped in the middle;
* an answer that a question does not offer, and every question without an answer, gets the default;
* where no answers are left, the episode ends with the default for all.

So any change of a draft can be played. Of the best few drafts one is changed at a time (an edit
more or less, one or more answers anew, the answers of a nest taken over by another), played, and
judged by a reward, the environment's own for example. At the end answers and edits that are worth
nothing are taken out of the best ones: a network could not know why they were given.

Example, one nest: the draft with no edits and the answers {vector: 512, jam: 4} is played as "edit
no more", the default to scalar_replacement, pack, separate and parallel, 512 bits, the default to
copies, 4, the default for all.

Nothing but the reward guides the search; it begins where episodes begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import (
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingQuestion,
    MappingState,
)
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.search.strategies.neighborhood import sample_parent

_RANDOM_PART = 1 / 8  # of the trials, which are drawn anew
_EDIT_CHANCE = 0.3
_COPY_CHANCE = 0.15
_MOST_EDITS = 6
_POOL = 16
_WORTHLESS = 0.005  # of a reward


Answers = tuple[tuple[MappingQuestion, Any], ...]
AskedQuestion = tuple[MappingQuestion, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Draft:
    """Complete edits, each the answers that lead to it, and values for questions of the mapping."""

    edits: tuple[tuple[int, ...], ...] = ()
    answers: Mapping[MappingQuestion, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlayedDraft:
    """What a draft led to: an episode and its reward.

    The draft is without the edits and answers that could not be played. ``mapped`` is the episode
    at the first question, from which :func:`questions_of` asks all of them.
    """

    draft: Draft
    episode: Episode
    mapped: Episode
    reward: float = 0.0

    @property
    def end(self) -> tuple[Schedule, MachineMapping]:
        """The schedule and the mapping that the episode ends with."""
        mapping = self.episode.mapping
        assert mapping is not None
        return self.episode.schedule(), mapping


class DecisionSearch:
    """Searches the episodes of one program from ``start``; ``reward_of`` is what an end is paid."""

    def __init__(
        self, start: Episode, reward_of: Callable[[Episode], float], rng: np.random.Generator
    ) -> None:
        self._start, self._reward_of, self._rng = start, reward_of, rng
        self._first = self._start.task.options.first_answer
        self.rewards: dict[tuple[Schedule, MachineMapping], float] = {}
        """The rewards of all ends, which are different candidates, in the order of their trials."""
        self.trials: list[float] = []
        """The rewards of the trials so far, in their order."""

    def run(self, trials: int, kept: int) -> list[PlayedDraft]:
        """Return the best episodes of so many trials, simplified, the best first."""
        pool: list[PlayedDraft] = [self.play(Draft())]
        self.trials = [pool[0].reward]
        for number in range(1, trials):
            is_random = number < _RANDOM_PART * trials
            parent = pool[sample_parent(len(pool), self._rng)]
            played = self.play(self._random_draft() if is_random else self._changed(parent))
            self.trials.append(played.reward)
            if all(played.end != known.end for known in pool):
                pool = sorted([*pool, played], key=lambda known: -known.reward)[:_POOL]
        simple = {known.end: known for known in map(self._simplified, pool[:kept])}
        return sorted(simple.values(), key=lambda known: -known.reward)

    def play(self, draft: Draft) -> PlayedDraft:
        """Return the episode that a draft leads to."""
        edited, edits = self._edited(draft.edits)
        episode = edited.after(self._first + USE_DEFAULT)
        mapped = episode
        left, given = dict(draft.answers), {}
        while episode.phase is Phase.MAP:
            state = episode.mapping_state
            assert state is not None
            assert state.question is not None
            if left.get(state.question) in state.values:
                given[state.question] = left[state.question]
            episode = episode.after(self._first + _answer(state, left))
        played = PlayedDraft(Draft(edits, given), episode, mapped)
        if played.end not in self.rewards:
            self.rewards[played.end] = self._reward_of(episode)
        return replace(played, reward=self.rewards[played.end])

    def _edited(
        self, edits: tuple[tuple[int, ...], ...]
    ) -> tuple[Episode, tuple[tuple[int, ...], ...]]:
        """Return the episode between two edits, and the edits that were possible."""
        episode, done = self._start, []
        for edit in edits:
            after = self._after_edit(episode, edit)
            if after is not None:
                episode = after
                done.append(edit)
        return episode, tuple(done)

    def _after_edit(self, episode: Episode, edit: tuple[int, ...]) -> Episode | None:
        for answer in edit:
            action = self._first + answer
            if episode.phase is not Phase.EDIT or not episode.mask()[action]:
                return None
            episode = episode.after(action)
        return episode

    def _changed(self, played: PlayedDraft) -> Draft:
        """Return a draft near one that was played."""
        edits, answers = played.draft.edits, dict(played.draft.answers)
        if self._rng.random() < _EDIT_CHANCE:
            return Draft(self._changed_edits(edits), answers)
        if self._rng.random() < _COPY_CHANCE:
            return Draft(edits, self._copied_nest(played, answers))
        asked = questions_of(played)
        for _ in range(int(self._rng.geometric(0.5)) if asked else 0):
            question, values = asked[int(self._rng.integers(len(asked)))]
            self._answer_anew(question, values, answers)
        return Draft(edits, answers)

    def _answer_anew(
        self,
        question: MappingQuestion,
        values: tuple[Any, ...],
        answers: dict[MappingQuestion, Any],
    ) -> None:
        """Give a question any value, or the default."""
        place = int(self._rng.integers(len(values) + 1))
        if place == len(values):
            answers.pop(question, None)
        else:
            answers[question] = values[place]

    def _changed_edits(self, edits: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Return the edits with one more at the end, or without one of them."""
        if edits and (len(edits) == _MOST_EDITS or self._rng.random() < 0.4):
            gone = int(self._rng.integers(len(edits)))
            return edits[:gone] + edits[gone + 1 :]
        more = self._random_edit(self._edited(edits)[0])
        return edits if more is None else (*edits, more)

    def _random_edit(self, episode: Episode) -> tuple[int, ...] | None:
        """Return the answers of some edit that is possible; None where the draw leads to none."""
        answers: list[int] = []
        while episode.phase is Phase.EDIT:
            if answers and episode.edit_state is not None and episode.edit_state.is_between_edits:
                return tuple(answers)
            allowed = np.flatnonzero(episode.mask()[self._first :])
            choices = [answer for answer in allowed.tolist() if answer > USE_DEFAULT_FOR_ALL]
            if not choices:
                return None
            answers.append(choices[int(self._rng.integers(len(choices)))])
            episode = episode.after(self._first + answers[-1])
        return None

    def _copied_nest(
        self, played: PlayedDraft, answers: dict[MappingQuestion, Any]
    ) -> dict[MappingQuestion, Any]:
        """Return the answers with those of a nest taken over for another one."""
        nests = sorted(
            {question.nest for question, _ in questions_of(played) if question.nest >= 0}
        )
        if len(nests) < 2:
            return answers
        source, target = (nests[k] for k in self._rng.permutation(len(nests))[:2])
        rest = {question: value for question, value in answers.items() if question.nest != target}
        copied = {
            replace(question, nest=target): value
            for question, value in answers.items()
            if question.nest == source
        }
        return {**rest, **copied}

    def _random_draft(self) -> Draft:
        """Return a draft that answers every question by chance, half of them by the default."""
        edits: tuple[tuple[int, ...], ...] = ()
        if self._rng.random() < _EDIT_CHANCE:
            edits = self._changed_edits(edits)
        answers: dict[MappingQuestion, Any] = {}
        edited, edits = self._edited(edits)
        state = edited.after(self._first + USE_DEFAULT).mapping_state
        while state is not None and state.question is not None:
            if self._rng.random() < 0.5:
                self._answer_anew(state.question, state.values, answers)
            state = state.after(_answer_of(state, answers.get(state.question)))
        return Draft(edits, answers)

    def _simplified(self, played: PlayedDraft) -> PlayedDraft:
        """Return the episode without edits and answers that are worth nothing."""
        best = played.reward
        played = self.play(played.draft)  # without what could not be played
        for question in reversed(list(played.draft.answers)):
            answers = {key: value for key, value in played.draft.answers.items() if key != question}
            played = _if_as_good(self.play(replace(played.draft, answers=answers)), played, best)
        for edit in reversed(played.draft.edits):
            edits = tuple(other for other in played.draft.edits if other is not edit)
            played = _if_as_good(self.play(replace(played.draft, edits=edits)), played, best)
        return played


@lru_cache(maxsize=4 * _POOL)
def _questions(mapped: MappingState, answers: Answers) -> tuple[AskedQuestion, ...]:
    state, left, asked = mapped, dict(answers), []
    while state.question is not None:
        asked.append((state.question, state.values))
        state = state.after(_answer_of(state, left.get(state.question)))
    return tuple(asked)


def questions_of(played: PlayedDraft) -> tuple[AskedQuestion, ...]:
    """Return all questions that come up under the answers of a draft, with the values to give."""
    state = played.mapped.mapping_state
    return () if state is None else _questions(state, tuple(played.draft.answers.items()))


def _if_as_good(simpler: PlayedDraft, played: PlayedDraft, best: float) -> PlayedDraft:
    is_as_good = simpler.reward >= best - _WORTHLESS * max(1.0, abs(best))
    return simpler if is_as_good else played


def _answer(state: MappingState, left: dict[MappingQuestion, Any]) -> int:
    """Return the answer of a draft to the question at hand, which is one less to be given."""
    if not left:
        return USE_DEFAULT_FOR_ALL
    assert state.question is not None
    return _answer_of(state, left.pop(state.question, None))


def _answer_of(state: MappingState, value: Any) -> int:
    """Return the answer that gives a value, the default for None or what is not offered."""
    if value not in state.values:
        return USE_DEFAULT
    return USE_DEFAULT_FOR_ALL + 1 + state.values.index(value)
