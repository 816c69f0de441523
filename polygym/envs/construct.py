"""``polygym/Construct-v0``: a space is constructed; a policy explores it."""

from typing import ClassVar

from polygym.envs.base import PolygymEnv
from polygym.envs.documentation import with_shared_sections
from polygym.mdp.construction import ConstructionAction
from polygym.mdp.env_ids import CONSTRUCT
from polygym.mdp.task_options import Phase


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
