"""Episodes that lead to what a corpus has measured.

A case of a corpus (a program, its sizes, threads, a kind of machine) becomes an environment with
that program, those sizes and threads. A row of it, a schedule under a mapping, becomes the actions
that lead there from the environment's start, where an episode can reach it
(:func:`~polygym.mdp.action_sequence.actions_to`). Episodes are of programs as they were written:
cases with changed storage have none.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate

from polygym.envs.base import PolygymEnv
from polygym.errors import PolygymError
from polygym.mapping.mapping import parse_mapping
from polygym.mdp.action_sequence import actions_to, per_nest_mapping
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Observation
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.search.corpus.rows import CorpusRow
from polygym.search.corpus.samples import CaseRows

Step = tuple[Observation, tuple[bool, ...], int]
"""What is seen, what is allowed, and what is done."""


def reached_rows(env: PolygymEnv, group: CaseRows) -> Iterator[tuple[CorpusRow, tuple[int, ...]]]:
    """Yield the rows that the environment's episode can reach, with the actions, the best first."""
    for row in sorted(group.rows, key=lambda row: row.seconds):
        try:
            actions = _actions_to_row(env.episode, row)
        except PolygymError:  # of another version, or out of isl's reach
            continue
        if actions is not None:
            yield row, actions


def steps_of(env: PolygymEnv, actions: Sequence[int]) -> list[Step]:
    """Return the steps of these actions from the environment's state, which stays as it is."""
    episodes = accumulate(actions, env.following, initial=env.episode)
    return [
        (env.observation_of(episode), env.allowed(episode), action)
        for episode, action in zip(episodes, actions, strict=False)
    ]


def end_of(env: PolygymEnv, actions: Sequence[int]) -> Episode:
    """Return the episode behind these actions."""
    return reduce(env.following, actions, env.episode)


def _actions_to_row(episode: Episode, row: CorpusRow) -> tuple[int, ...] | None:
    """Return the actions that lead to a row's schedule and mapping."""
    scop, decides = episode.task.scop, episode.task.options.mapping_decisions
    assert decides is not None
    mapping = parse_mapping(row.mapping)
    if mapping.threads != decides.mapping.threads:
        return None
    schedule: Schedule = LegalSchedule(scop, parse_schedule(row.schedule, scop)).schedule
    nests = episode.task.nests(schedule)
    return actions_to(episode, schedule, per_nest_mapping(mapping, decides.mapping, nests))
