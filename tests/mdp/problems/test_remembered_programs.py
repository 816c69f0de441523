"""Programs that a training goes round are read once."""

from __future__ import annotations

from polygym.agents.experiments.splits import selected_kernels
from polygym.lru_cache import REMEMBERED_PROGRAMS
from polygym.mdp.problems.loading import ProgramSource, dataset_named, problem_of
from polygym.mdp.task_options import TaskOptions
from polygym.poly.dependences import dependences


def test_all_programs_of_the_training_split_are_remembered() -> None:
    assert len(selected_kernels("split:train")) <= REMEMBERED_PROGRAMS


def test_what_was_read_is_not_read_again() -> None:
    """A hundred programs in turn, twice: more than a cache of 64 holds."""
    sources = [
        ProgramSource(f"random:{number}", None, dataset_named("mini"), ()) for number in range(100)
    ]
    first = [problem_of(source, TaskOptions()) for source in sources]
    again = [problem_of(source, TaskOptions()) for source in sources]
    assert all(left is right for left, right in zip(first, again, strict=True))
    scop = first[0].program.scop
    known = dependences(scop)
    for problem in first[1:80]:
        dependences(problem.program.scop)
    assert dependences(scop) is known
