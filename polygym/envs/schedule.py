"""``polygym/Schedule-v0``: a space is constructed and explored in one episode."""

from typing import ClassVar

from polygym.envs.documentation import with_shared_sections, with_storage_section
from polygym.envs.storage_base import StorageEnv
from polygym.mdp.env_ids import SCHEDULE
from polygym.mdp.task_options import Phase


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
