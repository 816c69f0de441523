"""Workload of a sweep: programs, strategies, budget, and time."""

from dataclasses import dataclass

from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class SweepWorkload:
    """How much is explored and confirmed.

    ``time_limit`` is the time of searching, all jobs together, None without limit; ``against`` are
    other compilers, measured beside the schedules. ``model`` is the file of the model that a policy
    asks, empty for the one that comes with polygym.
    """

    programs: tuple[str, ...]
    policies: tuple[str, ...]
    budget: int
    confirm_count: int
    time_limit: float | None = None
    jobs: int = 1
    against: tuple[str, ...] = ()
    model: str = ""
