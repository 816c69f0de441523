"""``polygym/Explore-v0``: a policy constructs a space; the agent explores it."""

from typing import ClassVar

from polygym.envs.base import PolygymEnv
from polygym.envs.documentation import with_shared_sections
from polygym.mdp.env_ids import EXPLORE
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS, Phase


@with_shared_sections
class ExploreEnv(PolygymEnv):
    """Explore a schedule space: give each of its generators a coefficient.

    ## Description

    The argument `policy` constructs a space during the reset; with the default, which is
    deterministic, it is the same in every episode of a kernel. The agent gets its generators one
    after the other, dimension by dimension, vertices before rays, and gives each a coefficient from
    0 to N. The point of a dimension is the sum of its vertices, normalised (a single vertex has no
    coefficient), and its rays, times the common denominator. The points are the rows of the
    schedule, which is compiled, run and timed.

    ## Action Space

    `Discrete(max_coefficient + 1)`: select_coeffX gives the current vertex or ray the coefficient
    X.
    """

    ID: ClassVar[str] = EXPLORE
    PHASES: ClassVar[frozenset[Phase]] = frozenset({Phase.EXPLORE})
    FIRST_ACTION: ClassVar[int] = CONSTRUCTION_ACTIONS
    LAST_ACTION: ClassVar[int | None] = None
