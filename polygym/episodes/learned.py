"""The policy that has learned: it takes what two networks expect to be faster, else the default.

An episode that begins with a schedule and ends with a mapping (Optimize-v0) is played so:

* while the schedule is edited, the program's other schedules are looked at
  (:mod:`polygym.compiler.poly.alternatives`): by their rows alone, then the first few of them with
  their loops, beside the schedule that there is, under the mapping to begin with. The first one is
  adopted if its promise is enough (:mod:`polygym.episodes.promise`);
* each question about the mapping is answered by what promises most, if that is enough, and as the
  model says if it is not. Nests that have little to do are left to the model, and so is the order
  of loops: nothing that the weights were trained on had another one. Where nothing was gained by
  such answers on programs left out of the training, none is given.

Where a schedule is built from nothing, dependences are carried as early as they can be, and each
generator gets the coefficient with the most promising schedule if all behind it get the least.

With *heat* the policy explores: of the members of the networks one is believed, and no trees; the
dice choose it for each action, and its scores are shaken by as much heat. So it tries first what
some member believes in.

Nothing is run, and nothing depends on names. Example, jacobi-1d: isl skews the loop over space by
the one over time, which costs more than it gains where a row fits a cache; the order of the text is
adopted where the networks see that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf

import numpy as np

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly import edits
from polygym.compiler.poly.alternatives import alternatives
from polygym.compiler.poly.schedule import Schedule
from polygym.cost.shipped import walked
from polygym.cost.walked_trees import WalkedTrees
from polygym.episodes.decisions import DONE, MODEL, Subject
from polygym.episodes.editing import EDITS, Edit, Editing
from polygym.episodes.episode import Episode, Task
from polygym.episodes.learned_weights import Weights, shipped
from polygym.episodes.opinions import Scores, ahead
from polygym.episodes.promise import Promise
from polygym.episodes.rules import earliest
from polygym.episodes.task_options import Phase
from polygym.errors import LimitError
from polygym.lru import Memory

SHORTLIST = 4
"""So many schedules are looked at with their loops, the first by their rows."""

_NESTS = 3
_SHARE = 1 / 64  # of the largest nest's iterations; what has less to do is left to the model

_promises: Memory[tuple[Task, Weights, WalkedTrees | None], Promise] = Memory(32)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """The policy with some weights, and with trees or none.

    ``heat`` says how much it explores, in powers of two.
    """

    weights: Weights
    heat: float = 0.0
    trees: WalkedTrees | None = None

    def __call__(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return an action that the episode's mask allows."""
        match episode.phase:
            case Phase.EXPLORE:
                return self._coefficient(episode, generator)
            case Phase.EDIT:
                answer = self._edit(episode, generator)
            case Phase.MAP:
                answer = self._answer(episode, generator)
            case _:
                return earliest(episode, generator)
        action = episode.task.options.first_answer + answer
        # As the model says is always allowed.
        return action if episode.mask()[action] else episode.task.options.first_answer + MODEL

    def _promise(self, task: Task) -> Promise:
        return _promises.get(
            (task, self.weights, self.trees), lambda: Promise(task, self.weights, self.trees)
        )

    def _ahead(
        self, found: Scores | None, now: Scores | None, generator: np.random.Generator
    ) -> float:
        """Return what is promised, or what one member believes, shaken."""
        if not self.heat or found is None or now is None:
            return ahead(found, now, self.weights.caution)
        member = int(generator.integers(len(found.members)))
        lead = found.members[member] - now.members[member]
        return float(lead + self.heat * generator.gumbel())

    def _first(
        self,
        found: Sequence[Scores | None],
        now: Scores | None,
        least: float,
        generator: np.random.Generator,
    ) -> int | None:
        """Return the place of the most promising, None where it does not promise enough.

        Who explores takes it if it promises anything.
        """
        if not found:
            return None
        promised = [self._ahead(one, now, generator) for one in found]
        best = int(np.argmax(promised))
        return best if promised[best] > (0.0 if self.heat else least) else None

    # A schedule that is edited

    def _edit(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the answer in an edit: towards the schedule to adopt, if there is one."""
        editing = episode.editing
        assert editing is not None
        if editing.is_at_rest:
            begin = DONE + 1 + EDITS.index(Edit.ADOPT)
            is_new = (
                editing.edits == 0 and episode.mask()[episode.task.options.first_answer + begin]
            )
            if not is_new or self._adopted(episode, editing, generator) is None:
                return MODEL
            return begin
        if editing.edit is not Edit.ADOPT:
            return MODEL
        strategy = self._adopted(episode, editing, generator)
        if strategy is None:
            return MODEL
        return DONE + 1 + editing.values.index(strategy)

    def _adopted(
        self, episode: Episode, editing: Editing, generator: np.random.Generator
    ) -> int | None:
        """Return the place of the strategy whose schedule is adopted, None where none is."""
        mapping = episode.mapping
        assert mapping is not None
        now = editing.schedule
        others = {
            place: schedule
            for place, schedule in alternatives(episode.task.scop).items()
            if schedule != now and edits.is_small(schedule) and episode.task.is_legal(schedule)
        }
        promise = self._promise(episode.task)
        rows = dict(
            zip(
                (now, *others.values()),
                promise.of_schedules((now, *others.values())),
                strict=True,
            )
        )
        by_rows = {
            place: self._ahead(rows[schedule], rows[now], generator)
            for place, schedule in others.items()
        }
        some = sorted(others, key=lambda place: -by_rows[place])[:SHORTLIST]
        some = [place for place in some if by_rows[place] > -inf]
        found = [
            self._loops(promise, one, mapping) for one in (now, *(others[place] for place in some))
        ]
        first = self._first(found[1:], found[0], self.weights.least, generator)
        return None if first is None else some[first]

    def _loops(self, promise: Promise, schedule: Schedule, mapping: Mapping) -> Scores | None:
        (found,) = promise.of_mappings(schedule, (mapping,))
        return found

    # A mapping that is decided

    def _answer(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the answer to a question about the mapping."""
        deciding = episode.deciding
        assert deciding is not None
        question = deciding.question
        assert question is not None
        if isinf(self.weights.least_of_mappings) and not self.heat:
            return DONE
        busy = _busy([nest.iterations for nest in deciding.nests])
        if question.nest >= 0 and question.nest not in busy:
            return DONE if question.nest > max(busy, default=-1) else MODEL
        if question.subject is Subject.ORDER:
            return MODEL
        answers = range(DONE + 1, DONE + 1 + len(deciding.values))
        try:
            schedule = episode.schedule()
        except LimitError:
            return DONE
        mappings = [deciding.mapping, *(deciding.after(one).mapping for one in answers)]
        now, *found = self._promise(episode.task).of_mappings(schedule, mappings)
        first = self._first(found, now, self.weights.least_of_mappings, generator)
        return MODEL if first is None else answers[first]

    # A schedule that is built

    def _coefficient(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the coefficient with the most promising schedule."""
        allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
        if len(allowed) == 1:
            return allowed[0]
        schedules = [_completed(episode.after(action), generator) for action in allowed]
        promise = self._promise(episode.task)
        known = [one for one in schedules if one is not None]
        scores = dict(zip(known, promise.of_schedules(known), strict=True))
        found = [None if one is None else scores[one] for one in schedules]
        now = next((one for one in found if one is not None), None)
        promised = [self._ahead(one, now, generator) for one in found]
        return allowed[int(np.argmax(promised))]


def learned(episode: Episode, generator: np.random.Generator) -> int:
    """Act as the weights say that come with polygym.

    Raises:
        InputError: this package has none.
    """
    return Learned(shipped(), trees=walked())(episode, generator)


def _busy(iterations: Sequence[int]) -> list[int]:
    """Return the places of the nests that have most to do.

    >>> _busy([10, 10**6, 10**5, 3])
    [1, 2]
    """
    most = max(iterations, default=0)
    order = sorted(range(len(iterations)), key=lambda place: -iterations[place])[:_NESTS]
    return sorted(place for place in order if iterations[place] >= _SHARE * most)


def _completed(episode: Episode, generator: np.random.Generator) -> Schedule | None:
    """Return the schedule with the least coefficients from here on."""
    while episode.phase is Phase.EXPLORE:
        episode = episode.after(earliest(episode, generator))
    try:
        return episode.schedule() if episode.phase in (Phase.MAP, Phase.COMPLETE) else None
    except LimitError:
        return None


__all__ = ["SHORTLIST", "Learned", "learned"]
