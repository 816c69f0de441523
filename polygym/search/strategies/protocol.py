"""Strategies behind ask and tell: proposals of what to measure next, told what became of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from polygym.mdp.episode import Episode
from polygym.search.strategies.candidates import Candidate, EpisodeSchedule


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """An episode without a schedule: it ended in an invalid state, or with too large numbers."""

    source: EpisodeSchedule
    reason: str


Proposal: TypeAlias = Candidate | Unscheduled


class Strategy(Protocol):
    """Chooses what is measured next.

    The first proposals are the initial candidates. With ``is_indexed`` a proposal follows from the
    seed and its number alone, so a search that is resumed skips those that are recorded; the
    others are asked again and are told the recorded outcomes. With ``cuts_off`` a run that takes
    several times as long as the best is cut off. ``is_over`` is set by the search; a strategy that
    takes long to choose asks it from time to time.
    """

    is_indexed: bool
    cuts_off: bool
    is_over: Callable[[], bool]

    @property
    def batch_size(self) -> int:
        """The number of proposals to ask for; their code is generated on all cores together."""
        ...

    def ask(self, count: int) -> Sequence[Proposal]:
        """Return the next proposals; none where there is nothing more to propose."""
        ...

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """Take note of a speedup over the original order, 0 where the candidate failed."""
        ...

    def episode_of(self, proposal: Proposal) -> Episode | None:
        """Return the episode of a proposal of the last batch; None where none led to it."""
        ...

    def skip(self, count: int) -> None:
        """Go on behind so many proposals, the initial ones excluded, of an indexed strategy."""
        ...
