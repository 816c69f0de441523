"""The arrays that an observation has beside the others where storage is decided.

====================  ==============================================================================
``storage_question``  the question: about splitting or a web, the facts about the web, the progress
``storage_choices``   a row for every answer: whether it is allowed, its choice, and its memory
====================  ==============================================================================

Numbers of things, and bytes, are log2(1 + x). Behind the decisions both are 0, but for the memory
that decisions take. No column depends on names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import ANSWERS, USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.observation import arrays
from polygym.mdp.observation.arrays import Column, logarithm, numbers_of, scaled
from polygym.mdp.observation.episode_arrays import REMAINING_COLUMNS
from polygym.mdp.storage_decisions import StorageAnswer, StorageState
from polygym.mdp.task_options import Phase
from polygym.poly.transform.splitting.conditions import SplitRelation, Splitting
from polygym.poly.transform.storage.memory_cost import array_bytes
from polygym.poly.transform.storage.plan import StorageEntry
from polygym.poly.transform.storage.variants import WebVariants


@dataclass(frozen=True, slots=True)
class _StorageQuestion:
    """The question of an episode about storage; ``is_asked`` is false behind the decisions."""

    state: StorageState
    is_asked: bool

    def of_web(self, number: Callable[[WebVariants], float]) -> float:
        """Return a number of the web that is asked about, 0 without one."""
        web = self.state.offer if self.is_asked else None
        return 0 if web is None else number(web)

    def blocks(self, level: int) -> float:
        """Return whether the web inhibits a loop."""

        def number(web: WebVariants) -> float:
            loops = web.enclosing_loops
            return level < len(loops) and loops[level] in web.inhibited_loops

        return self.of_web(number)

    def array(self, number: Callable[[Any], float]) -> float:
        """Return a number of the array of the web."""
        return self.of_web(lambda web: number(self.state.options.scop.array(web.array)))


def _of_web(name: str, doc: str, number: Callable[[WebVariants], float]) -> Column:
    return scaled(name, doc, lambda at: at.of_web(number))


STORAGE_QUESTION = (
    scaled("is_storage_question", "1 while storage is decided", lambda at: at.is_asked),
    scaled("about_splitting", "the subject", lambda at: at.is_asked and at.state.offer is None),
    _of_web("about_a_web", "the subject", lambda web: 1),
    scaled("splits", "made so far", lambda at: logarithm(at.state.split_count)),
    scaled(
        "storage_changes",
        "webs with another storage so far",
        lambda at: logarithm(sum(entry is not None for entry in at.state.entries)),
    ),
    scaled(
        "bytes",
        "of all new arrays so far",
        lambda at: logarithm(at.state.options.bytes_of(at.state.splitting, at.state.storage) or 0),
    ),
    scaled("limit", "of these bytes", lambda at: logarithm(at.state.options.limit)),
    scaled(
        "questions_left", "at most", lambda at: at.is_asked and logarithm(at.state.questions_left)
    ),
    scaled("rank", "of the array of the web", lambda at: at.array(lambda array: array.rank)),
    scaled(
        "elements_bytes",
        "of the array of the web",
        lambda at: at.array(lambda array: logarithm(array_bytes(array, at.state.options.sizes))),
    ),
    _of_web("writers", "statements that write the web", lambda web: logarithm(len(web.statements))),
    _of_web("reads", "of the web", lambda web: logarithm(web.reads)),
    _of_web(
        "is_live_in", "1 if it is read before the region writes it", lambda web: web.is_live_in
    ),
    _of_web("is_live_out", "1 if it is read behind the region", lambda web: web.is_live_out),
    _of_web("loops_around", "around all of the web", lambda web: len(web.enclosing_loops)),
    *arrays.by_level(
        "blocks_loop_{level}",
        "1 if it blocks the loop of that level by memory",
        lambda at, level: at.blocks(level),
        *arrays.SCALED_BOUNDS,
    ),
)
"""The columns of ``storage_question``, of a :class:`_StorageQuestion`."""


@dataclass(frozen=True, slots=True)
class _StorageChoice:
    """An answer: its number, and its value with the bytes of all new arrays, None for defaults."""

    state: StorageState
    answer: int
    is_allowed: bool
    value: StorageAnswer | None = None
    bytes: int | None = None

    @property
    def entry(self) -> StorageEntry | None:
        """What becomes of the web."""
        return self.value if isinstance(self.value, StorageEntry) else None

    def new_conditions(self, *, is_equal: bool) -> float:
        """Return how many conditions of one relation it adds to the splitting."""
        if not isinstance(self.value, Splitting):
            return 0
        before = {condition for _, own in self.state.splitting.statements for condition in own}
        return logarithm(
            sum(
                (condition.relation is SplitRelation.EQUAL) == is_equal
                for _, own in self.value.statements
                for condition in own
                if condition not in before
            )
        )

    def is_along(self, level: int) -> bool:
        """Whether the web gets a version for each iteration of a loop."""
        entry, offer = self.entry, self.state.offer
        if entry is None or offer is None or level >= len(offer.enclosing_loops):
            return False
        names = {loop.loop for loop in entry.loops or ()}
        return entry.loops is None or offer.enclosing_loops[level] in names

    @property
    def entry_bytes(self) -> int:
        """The bytes of all new arrays with a change of a web; 0 without one."""
        return 0 if self.entry is None or self.bytes is None else self.bytes


STORAGE_CHOICES = (
    scaled("allowed", "1 if the mask has it", lambda at: at.is_allowed),
    scaled("source", "1: as in the source", lambda at: at.answer == USE_DEFAULT),
    scaled("ends", "1: source for all remaining", lambda at: at.answer == USE_DEFAULT_FOR_ALL),
    scaled("split_equal", "new splits at an equation", lambda at: at.new_conditions(is_equal=True)),
    scaled("split_below", "new splits at a border", lambda at: at.new_conditions(is_equal=False)),
    scaled("renaming", "1: a new array", lambda at: at.entry is not None and at.entry.loops == ()),
    scaled(
        "expansion",
        "1: versions along loops",
        lambda at: at.entry is not None and at.entry.loops != (),
    ),
    *arrays.by_level(
        "along_{level}",
        "1 if the web gets a version for each iteration of the loop of that level around it",
        lambda at, level: at.is_along(level),
        *arrays.SCALED_BOUNDS,
    ),
    scaled("bytes", "of all new arrays with it", lambda at: logarithm(at.entry_bytes)),
    scaled("over_limit", "1 if these are", lambda at: at.entry_bytes > at.state.options.limit),
)
"""The columns of ``storage_choices``, of a :class:`_StorageChoice`."""

STORAGE_QUESTION_COLUMNS = arrays.names_of(STORAGE_QUESTION)
STORAGE_CHOICES_COLUMNS = arrays.names_of(STORAGE_CHOICES)


def storage_arrays() -> Mapping[str, arrays.ArraySpec]:
    """Return the arrays by name."""
    return MappingProxyType(
        {
            "storage_question": arrays.spec_of(STORAGE_QUESTION, np.float32),
            "storage_choices": arrays.spec_of(STORAGE_CHOICES, np.float32, (ANSWERS,)),
        }
    )


def add_storage_arrays(shown: arrays.Observation, episode: Episode) -> None:
    """Write down the question about storage, and how many steps the rest takes at most."""
    state = episode.storage_state
    assert state is not None
    is_asked = episode.phase is Phase.STORE
    shown["storage_question"][:] = numbers_of(STORAGE_QUESTION, _StorageQuestion(state, is_asked))
    shown["storage_choices"][:] = 0.0
    if not is_asked:
        return
    values, allowed = (None, None, *state.values), state.mask()
    taken = (None, None, *state.bytes)
    table = shown["storage_choices"].reshape(ANSWERS, len(STORAGE_CHOICES))
    for answer, row in enumerate(table):
        value, taken_bytes = (
            (values[answer], taken[answer]) if answer < len(values) else (None, None)
        )
        choice = _StorageChoice(state, answer, allowed[answer], value, taken_bytes)
        row[:] = numbers_of(STORAGE_CHOICES, choice)
    shown["remaining"][REMAINING_COLUMNS.index("steps_at_most")] = state.questions_left
