"""The arrays of an observation of an episode, and the columns of its progress.

The columns of statements and dependences are those of
:mod:`polygym.mdp.observation.static_observation`.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType

import numpy as np

from polygym.mdp.construction import ConstructionRules
from polygym.mdp.episode import Episode
from polygym.mdp.observation import arrays
from polygym.mdp.observation.static_observation import DEPENDENCES, STATEMENTS
from polygym.mdp.task_options import Phase

MOST_REMAINING = 1_000_000

ROW_COLUMNS = (
    *(f"iterator_{level}" for level in range(1, arrays.MOST_LOOPS + 1)),
    *(f"parameter_{number}" for number in range(1, arrays.MOST_PARAMETERS + 1)),
    "constant",
)
"""The columns of ``rows``, ``generator`` and ``point``."""


class EpisodeProgress:
    """The state of an episode in the numbers that its columns are computed from."""

    def __init__(self, episode: Episode) -> None:
        """Count the decisions."""
        self.episode = episode
        self.state = episode.construction
        self.rules: ConstructionRules = episode.task.rules
        self.is_constructing = episode.phase is Phase.CONSTRUCT
        self.is_exploring = episode.phase is Phase.EXPLORE
        self.dependences = len(self.state.carrying_dimension)
        self.left = self.state.carrying_dimension.count(0)
        self.explored = len(episode.exploration.points)
        self.decided, self.coefficients, self.is_vertex = 0, 0, False
        if self.is_exploring:
            current = episode.dimensions[self.explored].generators
            self.decided = len(episode.exploration.coefficients)
            self.coefficients = current.coefficient_count
            self.is_vertex = self.decided < self.coefficients - len(current.rays)

    @property
    def complete_share(self) -> float:
        """The share of the dimensions so far of which no generator was left out; 1 of none."""
        known = [dimension.generators.is_complete for dimension in self.episode.dimensions]
        return sum(known) / len(known) if known else 1.0

    @property
    def looked_at(self) -> float:
        """The share of the dependences that have been looked at in this dimension."""
        if not self.is_constructing:
            return 1.0
        limit = self.rules.dimension_start(self.state).move_limit
        return min(1.0, self.state.next_dep_count / max(1, limit))

    @cached_property
    def steps(self) -> int:
        """The steps until the end at most."""
        if self.episode.is_over:
            return 0
        if not self.is_exploring:
            return min(self.rules.step_bound, MOST_REMAINING)
        behind = self.episode.dimensions[self.explored + 1 :]
        counts = [dimension.generators.coefficient_count for dimension in behind]
        return min(self.coefficients - self.decided + sum(counts), MOST_REMAINING)


def _share(name: str, doc: str, number: Callable[[EpisodeProgress], float]) -> arrays.Column:
    return arrays.Column(name, doc, number, 0.0, 1.0)


def _count(name: str, doc: str, number: Callable[[EpisodeProgress], int]) -> arrays.Column:
    return arrays.Column(name, doc, number, 0, MOST_REMAINING)


PROGRESS = (
    _share("constructing", "1 while the space is constructed", lambda at: at.is_constructing),
    _share("exploring", "1 while coefficients are chosen", lambda at: at.is_exploring),
    _share(
        "dimension",
        "i_dim / the largest number of dimensions",
        lambda at: min(1.0, at.state.dimension / at.rules.dimensions),
    ),
    _share(
        "dependences_carried",
        "share of the dependences that have been selected",
        lambda at: (at.dependences - at.left) / max(1, at.dependences),
    ),
    _share(
        "dependences_looked_at",
        "next_dep made in this dimension / dependences left when it was opened",
        lambda at: at.looked_at,
    ),
    _share(
        "dimensions_explored",
        "share of the dimensions whose point is decided",
        lambda at: at.explored / max(1, len(at.episode.dimensions)),
    ),
    _share(
        "coefficients_decided",
        "share of this dimension's coefficients that are decided",
        lambda at: at.decided / max(1, at.coefficients),
    ),
    _share(
        "is_vertex",
        "1 if the current generator is a vertex, 0 if it is a ray",
        lambda at: at.is_vertex,
    ),
    _share(
        "illegal_actions",
        "actions that were not offered so far / 100",
        lambda at: min(1.0, at.episode.illegal_count / 100),
    ),
    _share(
        "dimensions_complete",
        "share of the finished dimensions whose vertices and rays are all there; less than 1 where "
        "the limits on them left some out",
        lambda at: at.complete_share,
    ),
)
"""The columns of ``progress``."""

REMAINING = (
    _count("dependences", "dependences to be selected", lambda at: at.left),
    _count(
        "dimensions",
        "dimensions to be explored (at most, while constructing)",
        lambda at: (
            len(at.episode.dimensions) - at.explored if at.is_exploring else at.rules.dimensions
        ),
    ),
    _count(
        "coefficients_here",
        "coefficients of this dimension to be chosen",
        lambda at: at.coefficients - at.decided,
    ),
    _count(
        "steps_at_most",
        "steps until the end at most (in this phase, while constructing)",
        lambda at: at.steps,
    ),
)
"""The columns of ``remaining``."""

PROGRESS_COLUMNS = arrays.names_of(PROGRESS)
REMAINING_COLUMNS = arrays.names_of(REMAINING)
DEPENDENCE_COLUMNS = arrays.names_of(DEPENDENCES)
STATEMENT_COLUMNS = arrays.names_of(STATEMENTS)


def observation_arrays(max_dimensions: int, actions: int) -> Mapping[str, arrays.ArraySpec]:
    """Return the arrays of an observation by name."""

    def coefficients(*rows: int) -> arrays.ArraySpec:
        shape = (*rows, arrays.MOST_STATEMENTS, len(ROW_COLUMNS))
        return arrays.ArraySpec(shape, np.float32, -32.0, 32.0)

    return MappingProxyType(
        {
            "progress": arrays.spec_of(PROGRESS, np.float32),
            "remaining": arrays.spec_of(REMAINING, np.int32),
            "dependences": arrays.spec_of(DEPENDENCES, np.int8, (arrays.MOST_DEPENDENCES,)),
            "statements": arrays.spec_of(STATEMENTS, np.int8, (arrays.MOST_STATEMENTS,)),
            "rows": coefficients(max_dimensions),
            "generator": coefficients(),
            "point": coefficients(),
            "action_mask": arrays.ArraySpec((actions,), np.int8, 0, 1),
        }
    )
