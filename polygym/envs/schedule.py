"""Environments whose result is a schedule: ``Construct-v0``, ``Explore-v0`` and ``Schedule-v0``.

The agent constructs a space, explores one, or does both in one episode; a policy does the rest.
"""

from typing import ClassVar

from polygym.envs.base import PolygymEnv
from polygym.envs.documentation import with_shared_sections, with_storage_section
from polygym.envs.storage_base import StorageEnv
from polygym.mdp.construction import ConstructionAction
from polygym.mdp.env_ids import CONSTRUCT, EXPLORE, SCHEDULE
from polygym.mdp.task_options import CONSTRUCTION_ACTIONS, Phase


@with_shared_sections
@with_storage_section
class ScheduleEnv(StorageEnv):
    """Build a schedule from nothing: first its space, then a point of every dimension.

    ## Description

    The agent goes through the dependences of a loop program and decides which dimension of the
    schedule carries which (Construct-v0), then gives every generator of the space that follows a
    coefficient (Explore-v0). The schedule that results is legal whatever the agent did. It is
    compiled, run and timed, and its speedup is the reward.

    ## Action Space

    `Discrete(4 + max_coefficient)`, six actions with the default:

    | number | action | phase |
    |---|---|---|
    | 0 | next_dim: go on to the next dimension | construct |
    | 1 | next_dep: look at the next dependence that is not carried | construct |
    | 2 | select_dep: carry the dependence looked at in this dimension | construct |
    | 3 + X | select_coeffX: give the current vertex or ray the coefficient X | explore |
    """

    ID: ClassVar[str] = SCHEDULE
    PHASES: ClassVar[frozenset[Phase]] = frozenset({Phase.STORE, Phase.CONSTRUCT, Phase.EXPLORE})
    FIRST_ACTION: ClassVar[int] = 0
    LAST_ACTION: ClassVar[int | None] = None


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


@with_shared_sections
class ConstructEnv(PolygymEnv):
    """Construct a schedule space: decide which dimension carries which dependence.

    ## Description

    The state is (i_dim, i_dep, d_1 … d_|D|): the dimension being built, the dependence looked at,
    and for every dependence the dimension that carries it, 0 for none yet. The process starts in
    (1, 1, 0 … 0) and accepts when every d is positive; then the argument `policy` picks a schedule
    from the space in the same step, which is compiled, run and timed.

    ## Action Space

    `Discrete(3)`:

    | number | action | effect |
    |---|---|---|
    | 0 | next_dim | i_dim ← i_dim + 1 |
    | 1 | next_dep | i_dep ← the next k > i_dep with d_k = 0, else the first k with d_k = 0 |
    | 2 | select_dep | d_i_dep ← i_dim |
    """

    ID: ClassVar[str] = CONSTRUCT
    PHASES: ClassVar[frozenset[Phase]] = frozenset({Phase.CONSTRUCT})
    FIRST_ACTION: ClassVar[int] = 0
    LAST_ACTION: ClassVar[int | None] = ConstructionAction.SELECT_DEP.value
