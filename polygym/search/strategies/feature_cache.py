"""Feature cache of a search: candidates of one program, and considered schedules.

Features are worked out once for every candidate, and for those of one schedule together
(:class:`polygym.cost.features.candidates.candidate_vector.FeatureExtractor`). Schedules get names:
one that is only considered, as those that policies play, is forgotten with all that was seen of it
unless it is taken.
"""

from collections.abc import Callable, Collection, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass

import numpy as np

from polygym.codegen.passes import code_key
from polygym.cost.features.candidates import candidate_vector
from polygym.cost.features.candidates.candidate_vector import mapping_vector
from polygym.cost.features.candidates.loop_tree import LoopForest, LoopTree
from polygym.cost.features.loops.nests import Floats
from polygym.errors import PolygymError
from polygym.ir.scop import Scop
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import Mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import (
    Candidate,
    EditedSchedule,
    ScheduleSource,
    known_source,
)
from polygym.search.strategies.schedule_edits import edit_schedule

# So many looks are remembered; with loops one has tens of kilobytes.
_MAX_ENTRIES, _MAX_ENTRIES_WITH_LOOPS = 20_000, 4_000


@dataclass(frozen=True, slots=True, eq=False)
class CachedFeatures:
    """What models are shown of a candidate; the tree of its loops where one of them wants it.

    ``vector`` has the features, and the numbers of the mapping. ``code`` is the same for two of the
    same code.
    """

    vector: Floats
    loops: LoopTree | None
    code: int


def stack_features(looks: Sequence[CachedFeatures]) -> tuple[Floats, LoopForest | None]:
    """Return the vectors as rows, and the trees as a forest where there are any."""
    trees = [look.loops for look in looks if look.loops is not None]
    return np.array([look.vector for look in looks]), LoopForest.of(trees) if trees else None


class FeatureCache:
    """A program's schedules, with what was seen of every candidate that was looked at."""

    def __init__(
        self,
        scop: Scop,
        sizes: Dictionary[str, int],
        known: dict[ScheduleSource, Schedule],
        with_loops: bool = False,
        *,
        machine: Machine | None = None,
    ) -> None:
        """Look at nothing yet; ``known`` gets the schedules that are found, and has some.

        Loops are planned for ``machine``, for this one if none is given.
        """
        self.scop = scop
        self._sizes = scop_sizes(scop, sizes)
        self._known = known
        self._machine = machine
        self._considered: dict[ScheduleSource, Schedule] = {}
        self._ways = list(known)
        self._candidates: dict[ScheduleSource, candidate_vector.FeatureExtractor] = {}
        self._wants_loops = with_loops
        self._looks: dict[Candidate, CachedFeatures | None] = {}

    @property
    def sources(self) -> tuple[ScheduleSource, ...]:
        """The schedules among which a search chooses, by name."""
        return tuple(self._ways)

    def is_new(self, schedule: Schedule) -> bool:
        """Whether a schedule is none of those that have a name."""
        return schedule not in self._known.values()

    def consider(self, source: ScheduleSource, schedule: Schedule) -> None:
        """Give a schedule a name until it is decided whether it is taken."""
        self._considered[source] = schedule

    def decide(self, accepted: Collection[ScheduleSource]) -> None:
        """Have the search choose among some of what is considered, too; forget the others."""
        for way, schedule in self._considered.items():
            if way in accepted and known_source(self._known, way, schedule) == way:
                self._ways.append(way)
        dropped = self._considered.keys() - self._known.keys()
        self._considered.clear()
        for way in dropped:
            self._candidates.pop(way, None)
        if dropped:
            looks = self._looks.items()
            self._looks = {
                candidate: look for candidate, look in looks if candidate.source not in dropped
            }

    def features(
        self, candidates: Sequence[Candidate], is_over: Callable[[], bool] = lambda: False
    ) -> list[CachedFeatures | None]:
        """Return what there is to see of candidates; None where isl would take too long.

        Those of one schedule are looked at together. ``is_over`` is asked before each; what has
        not been looked at then is None too.
        """
        self._evict()
        new: dict[ScheduleSource, list[Mapping]] = {}
        for candidate in dict.fromkeys(candidates):
            if candidate not in self._looks:
                new.setdefault(candidate.source, []).append(candidate.mapping)
        for way, mappings in new.items():
            if is_over():
                break
            candidate_features = self._features(way, mappings, is_over)
            # There are fewer than mappings where it was over meanwhile.
            for mapping, seen in zip(mappings, candidate_features, strict=False):
                candidate = Candidate(way, mapping)
                self._looks[candidate] = self._cached(candidate, seen)
        return [self._looks.get(candidate) for candidate in candidates]

    def _evict(self) -> None:
        """Forget the older half of what was seen, if it is much; it can be worked out again."""
        most = _MAX_ENTRIES_WITH_LOOPS if self._wants_loops else _MAX_ENTRIES
        if len(self._looks) > most:
            half = list(self._looks.items())[len(self._looks) // 2 :]
            self._looks = dict(half)

    def _features(
        self, way: ScheduleSource, mappings: Sequence[Mapping], is_over: Callable[[], bool]
    ) -> Sequence[candidate_vector.CandidateFeatures | PolygymError]:
        """Return the features of a schedule under some mappings."""
        try:
            if way not in self._candidates:
                schedule = self._considered[way] if way in self._considered else self._known[way]
                legal = LegalSchedule(self.scop, schedule)
                self._candidates[way] = candidate_vector.FeatureExtractor(
                    legal, self._sizes, self._machine
                )
        except PolygymError as error:
            return [error] * len(mappings)
        return self._candidates[way].features(mappings, is_over)

    def _cached(
        self, candidate: Candidate, features: candidate_vector.CandidateFeatures | PolygymError
    ) -> CachedFeatures | None:
        if isinstance(features, PolygymError):
            return None
        assert features.vector.shape == (len(candidate_vector.FEATURE_NAMES),)
        vector = np.concatenate([features.vector, mapping_vector(candidate.mapping)])
        code = hash((candidate.source, code_key(features.tree, candidate.mapping)))
        return CachedFeatures(vector, features.loop_tree if self._wants_loops else None, code)

    def edit(self, source: ScheduleSource, name: EditedSchedule, rng: np.random.Generator) -> bool:
        """Add a change of a schedule under a name; return whether there is one that is new."""
        schedule = edit_schedule(self._known[source], self.scop, rng)
        if schedule is None or not self.is_new(schedule):
            return False
        self.consider(name, schedule)
        self.decide((name,))
        return True
