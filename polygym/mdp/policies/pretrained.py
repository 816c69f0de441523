"""The policy that has learned: it takes what two networks expect to be faster, else the default.

An episode that begins with a schedule and ends with a mapping (Optimize-v0) is played so:

* while the schedule is edited, the program's other schedules are looked at
  (``alternative_schedules``): by their rows alone, then the first few of them with
  their loops, beside the schedule that there is, under the mapping to begin with. The first one is
  adopted if its promise is enough (:mod:`polygym.mdp.policies.predicted_gain`);
* each question about the mapping is answered by what promises most, if that is enough, and as the
  model says if it is not. Nests that have little to do are left to the model, and so is the order
  of loops: nothing that the weights were trained on had another one. Where nothing was gained by
  such answers on programs left out of the training, none is given.

Where a schedule is built from nothing, dependences are carried as early as they can be, and each
generator gets the coefficient with the most promising schedule if all behind it get the least.

With *heat* the policy explores: of the members of the networks one is believed, and no trees; the
random search choose it for each action, and its scores are shaken by as much heat. So it tries
first what some member believes in.

Nothing is run, and nothing depends on names. Example, jacobi-1d: isl skews the loop over space by
the one over time, which costs more than it gains where a row fits a cache; the order of the text is
adopted where the networks see that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, isinf

import numpy as np

from polygym.autoschedule.weights import (
    EnsembleScores,
    PolicyWeights,
    ensemble_gain,
    shipped_weights,
)
from polygym.cost.models.pretrained import pretrained_inference
from polygym.cost.models.tree_inference import TreeInference
from polygym.errors import LimitError
from polygym.lru_cache import LruCache
from polygym.mapping.knobs import QUESTIONS
from polygym.mdp.editing import EDITS, EditKind, EditState
from polygym.mdp.episode import Episode, Task
from polygym.mdp.mapping_decisions import USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.policies.predicted_gain import GainPredictor
from polygym.mdp.policies.rules import earliest
from polygym.mdp.task_options import Phase
from polygym.poly import edits
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.alternatives import alternative_schedules

SHORTLIST = 4
"""So many schedules are looked at with their loops, the first by their rows."""

_MOST_BUSY_NESTS = 3
_LEAST_SHARE = 1 / 64  # of the largest nest's iterations; what has less to do is left to the model

_gain_predictors: LruCache[tuple[Task, PolicyWeights, TreeInference | None], GainPredictor] = (
    LruCache(32)
)


@dataclass(frozen=True, slots=True, eq=False)
class PretrainedPolicy:
    """The policy with some weights, and with trees or none.

    ``temperature`` says how much it explores, in powers of two.
    """

    weights: PolicyWeights
    temperature: float = 0.0
    trees: TreeInference | None = None

    def __call__(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return an action that the episode's mask allows."""
        match episode.phase:
            case Phase.EXPLORE:
                return self._coefficient(episode, generator)
            case Phase.EDIT:
                answer = self._edit_answer(episode, generator)
            case Phase.MAP:
                answer = self._mapping_answer(episode, generator)
            case _:
                return earliest(episode, generator)
        action = episode.task.options.first_answer + answer
        # The default is always allowed.
        return action if episode.mask()[action] else episode.task.options.first_answer + USE_DEFAULT

    def _gain_predictor(self, task: Task) -> GainPredictor:
        return _gain_predictors.get(
            (task, self.weights, self.trees), lambda: GainPredictor(task, self.weights, self.trees)
        )

    def _gain(
        self,
        scores: EnsembleScores | None,
        now: EnsembleScores | None,
        generator: np.random.Generator,
    ) -> float:
        """Return what is promised, or what one member believes, shaken."""
        if not self.temperature or scores is None or now is None:
            return ensemble_gain(scores, now, self.weights.caution)
        member = int(generator.integers(len(scores.members)))
        lead = scores.members[member] - now.members[member]
        return float(lead + self.temperature * generator.gumbel())

    def _best_index(
        self,
        candidates: Sequence[EnsembleScores | None],
        now: EnsembleScores | None,
        least: float,
        generator: np.random.Generator,
    ) -> int | None:
        """Return the place of the most promising, None where it does not promise enough.

        Who explores takes it if it promises anything.
        """
        if not candidates:
            return None
        promised = [self._gain(scores, now, generator) for scores in candidates]
        best = int(np.argmax(promised))
        return best if promised[best] > (0.0 if self.temperature else least) else None

    # A schedule that is edited

    def _edit_answer(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the answer in an edit: towards the schedule to adopt, if there is one."""
        editing = episode.edit_state
        assert editing is not None
        if editing.is_between_edits:
            begin = USE_DEFAULT_FOR_ALL + 1 + EDITS.index(EditKind.ADOPT)
            action = episode.task.options.first_answer + begin
            is_new = editing.edit_count == 0 and episode.mask()[action]
            if not is_new or self._strategy_to_adopt(episode, editing, generator) is None:
                return USE_DEFAULT
            return begin
        if editing.edit is not EditKind.ADOPT:
            return USE_DEFAULT
        strategy = self._strategy_to_adopt(episode, editing, generator)
        if strategy is None:
            return USE_DEFAULT
        return USE_DEFAULT_FOR_ALL + 1 + editing.choices_of_step.index(strategy)

    def _strategy_to_adopt(
        self, episode: Episode, editing: EditState, generator: np.random.Generator
    ) -> int | None:
        """Return the place of the strategy whose schedule is adopted, None where none is."""
        mapping = episode.mapping
        assert mapping is not None
        now = editing.schedule
        others = {
            place: schedule
            for place, schedule in alternative_schedules(episode.task.scop).items()
            if schedule != now and edits.is_small(schedule) and episode.task.is_legal(schedule)
        }
        promise = self._gain_predictor(episode.task)
        schedules = now, *others.values()
        rows = dict(zip(schedules, promise.schedule_scores(schedules), strict=True))
        gain = partial(self._gain, now=rows[now], generator=generator)
        by_rows = {place: gain(rows[schedule]) for place, schedule in others.items()}
        some = sorted(others, key=lambda place: -by_rows[place])[:SHORTLIST]
        some = [place for place in some if by_rows[place] > -inf]
        tried = (now, *(others[place] for place in some))
        scores = [promise.mapping_scores(schedule, (mapping,))[0] for schedule in tried]
        first = self._best_index(scores[1:], scores[0], self.weights.least_gain, generator)
        return None if first is None else some[first]

    # A mapping that is decided

    def _mapping_answer(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the answer to a question about the mapping."""
        deciding = episode.mapping_state
        assert deciding is not None
        question = deciding.question
        assert question is not None
        if isinf(self.weights.least_mapping_gain) and not self.temperature:
            return USE_DEFAULT_FOR_ALL
        busy = _busy_nests([nest.iterations for nest in deciding.nests])
        if question.nest >= 0 and question.nest not in busy:
            return USE_DEFAULT_FOR_ALL if question.nest > max(busy, default=-1) else USE_DEFAULT
        if question.kind is QUESTIONS["order"]:
            return USE_DEFAULT
        answers = range(USE_DEFAULT_FOR_ALL + 1, USE_DEFAULT_FOR_ALL + 1 + len(deciding.values))
        try:
            schedule = episode.schedule()
        except LimitError:
            return USE_DEFAULT_FOR_ALL
        mappings = [deciding.mapping, *(deciding.after(answer).mapping for answer in answers)]
        now, *scores = self._gain_predictor(episode.task).mapping_scores(schedule, mappings)
        first = self._best_index(scores, now, self.weights.least_mapping_gain, generator)
        return USE_DEFAULT if first is None else answers[first]

    # A schedule that is built

    def _coefficient(self, episode: Episode, generator: np.random.Generator) -> int:
        """Return the coefficient with the most promising schedule."""
        allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
        if len(allowed) == 1:
            return allowed[0]
        schedules = [_completed_schedule(episode.after(action), generator) for action in allowed]
        promise = self._gain_predictor(episode.task)
        known = [schedule for schedule in schedules if schedule is not None]
        scores = dict(zip(known, promise.schedule_scores(known), strict=True))
        ensemble_scores = [None if schedule is None else scores[schedule] for schedule in schedules]
        now = next((score for score in ensemble_scores if score is not None), None)
        promised = [self._gain(score, now, generator) for score in ensemble_scores]
        return allowed[int(np.argmax(promised))]


def pretrained_action(episode: Episode, generator: np.random.Generator) -> int:
    """Act as the weights say that come with polygym.

    Raises:
        InputError: this package has none.
    """
    return PretrainedPolicy(shipped_weights(), trees=pretrained_inference())(episode, generator)


def _busy_nests(iterations: Sequence[int]) -> list[int]:
    """Return the places of the nests that have most to do.

    >>> _busy_nests([10, 10**6, 10**5, 3])
    [1, 2]
    """
    most = max(iterations, default=0)
    order = sorted(range(len(iterations)), key=lambda place: -iterations[place])[:_MOST_BUSY_NESTS]
    return sorted(place for place in order if iterations[place] >= _LEAST_SHARE * most)


def _completed_schedule(episode: Episode, generator: np.random.Generator) -> Schedule | None:
    """Return the schedule with the least coefficients from here on."""
    while episode.phase is Phase.EXPLORE:
        episode = episode.after(earliest(episode, generator))
    try:
        return episode.schedule() if episode.phase in (Phase.MAP, Phase.COMPLETE) else None
    except LimitError:
        return None
