"""Extractors of the cost features of candidates: one for each schedule of a task.

Observations and predicted rewards ask for the features of the same candidates. What has been
worked out of a schedule (its tree, its plans, its nests) serves both.
"""

from polygym.cost.features.candidates.candidate_vector import FeatureExtractor
from polygym.errors import PolygymError
from polygym.lru_cache import REMEMBERED_PROGRAMS, LruCache
from polygym.mdp.episode import Task
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule

_SCHEDULES_OF_A_TASK = 32
_Extractors = LruCache[Schedule, FeatureExtractor | PolygymError]

# Tasks are compared by identity.
_extractors: LruCache[Task, _Extractors] = LruCache(REMEMBERED_PROGRAMS)


def extractor_of(task: Task, schedule: Schedule) -> FeatureExtractor | PolygymError:
    """Return the extractor of a legal schedule, or why there is none."""

    def build() -> FeatureExtractor | PolygymError:
        try:
            return FeatureExtractor(LegalSchedule(task.scop, schedule), task.sizes)
        except PolygymError as error:
            return error

    known = _extractors.get(task, lambda: _Extractors(_SCHEDULES_OF_A_TASK))
    return known.get(schedule, build)
