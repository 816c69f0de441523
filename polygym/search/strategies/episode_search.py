"""Indexed strategies: each proposal is an episode, which its number and the seed decide alone."""

from collections.abc import Callable, Sequence

from polygym.mapping.mapping import Mapping
from polygym.mdp.episode import Episode
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import Candidate, EpisodeSchedule, ScheduleSource
from polygym.search.strategies.protocol import Proposal, Unscheduled
from polygym.search.strategies.samplers import EpisodeSampler, schedule_or_reason


class EpisodeSearch:
    """The initial candidates, then episode after episode of a sampler.

    ``mapping`` is that of episodes that decide about none.
    """

    is_indexed = True
    cuts_off = False

    def __init__(
        self,
        sampler: EpisodeSampler,
        name: str,
        seed: int,
        initial: Sequence[Candidate],
        mapping: Mapping,
        known: dict[ScheduleSource, Schedule],
    ) -> None:
        """Begin with the initial candidates; ``known`` gets the schedules of the episodes."""
        self._sampler, self._name, self._seed = sampler, name, seed
        self._initial, self._mapping, self._known = list(initial), mapping, known
        self._next = 0
        self._episodes: dict[ScheduleSource, Episode] = {}
        self.is_over: Callable[[], bool] = lambda: False

    @property
    def batch_size(self) -> int:
        """The initial candidates together, then one by one."""
        return len(self._initial) or 1

    def ask(self, count: int) -> list[Proposal]:
        """Return the initial candidates, then the next episodes."""
        result: list[Proposal] = list(self._initial[:count])
        del self._initial[:count]
        self._episodes.clear()
        while len(result) < count:
            result.append(self._sample(self._next))
            self._next += 1
        return result

    def _sample(self, index: int) -> Proposal:
        episode = self._sampler(self._seed, index)
        source = EpisodeSchedule(self._name, index)
        self._episodes[source] = episode
        schedule = schedule_or_reason(episode)
        if isinstance(schedule, str):
            return Unscheduled(source, schedule)
        self._known[source] = schedule
        return Candidate(source, episode.mapping or self._mapping)

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Learn nothing."""

    def episode_of(self, proposal: Proposal) -> Episode | None:
        """Return the episode of a proposal of the last batch; None for an initial candidate."""
        return self._episodes.get(proposal.source)

    def skip(self, count: int) -> None:
        """Go on with the episode of this number."""
        self._next = count
