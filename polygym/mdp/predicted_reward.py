"""Reward by a cost model in the place of a clock: a predicted speedup.

The trees (:func:`polygym.cost.models.pretrained.reward_model`) have learned log2 of how many times
as fast as the original order a candidate is, so with scores s of the candidate and s₀ of the
original order, in one thread and without a mapping, it is expected to be 2^(s - s₀) times as fast.
Example: scores 2.1 and 0.1 say four times as fast.

The same prediction of an unfinished episode, with the decisions so far, is a potential φ for
reward shaping (Ng, Harada and Russell, 1999): a step that pays φ(after) - φ(before) on top of its
reward tells an agent at once what the decision was worth, and changes no best policy.
"""

from math import log

from polygym.cost.models.pretrained import reward_model
from polygym.errors import LimitError, PolygymError
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.mdp.episode import Episode, Task
from polygym.mdp.extractors import extractor_of
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule

_MOST_SPEEDUP = 1000.0

# What candidates have scored, in all episodes of this process, of the tasks that were used last.
# Tasks are compared by identity.
_SCORES_OF_A_TASK = 4096
_scores: LruCache[Task, LruCache[tuple[Schedule, Mapping], float]] = LruCache(REMEMBERED_PROGRAMS)


def expect_cost_model() -> None:
    """Refuse to go on without a model.

    Raises:
        InputError: there is none, or what reads it is missing.
    """
    reward_model()


def predicted_speedup(task: Task, schedule: Schedule, mapping: Mapping) -> float:
    """Return how many times as fast as the original order a legal schedule is expected to be.

    Raises:
        LimitError: isl would take too long to plan its loops.
    """
    written = task if task.source_task is None else task.source_task
    usual = _remembered_score(written, original_schedule(written.scop), SEQUENTIAL_MAPPING)
    ahead = _remembered_score(task, schedule, mapping) - usual
    return min(_MOST_SPEEDUP, float(2.0 ** min(64.0, ahead)))


def predicted_log_speedup(episode: Episode) -> float:
    """Return the logarithm of the predicted speedup of the decisions so far.

    It is 0 where there is no schedule yet, where an episode is over, and where the features of the
    schedule take isl too long.
    """
    mapping = episode.mapping
    if mapping is None or episode.phase not in (Phase.EDIT, Phase.MAP, Phase.TRANSFORM):
        return 0.0
    try:
        return log(predicted_speedup(episode.task, episode.schedule(), mapping))
    except LimitError:
        return 0.0


def _remembered_score(task: Task, schedule: Schedule, mapping: Mapping) -> float:
    known = _scores.get(task, lambda: LruCache(_SCORES_OF_A_TASK))
    return known.get((schedule, mapping), lambda: _predicted_score(task, schedule, mapping))


def _predicted_score(task: Task, schedule: Schedule, mapping: Mapping) -> float:
    extractor = extractor_of(task, schedule)
    seen = extractor if isinstance(extractor, PolygymError) else extractor.features_of(mapping)
    if isinstance(seen, PolygymError):
        raise LimitError(f"features of a schedule: {seen}")
    return float(reward_model().scores(seen.vector[None]).mean())
