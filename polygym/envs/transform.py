"""``polygym/Transform-v0``: a program is transformed loop by loop, each step proved to be legal."""

from dataclasses import replace
from typing import Any, ClassVar

from polygym.envs.base import PolygymEnv
from polygym.envs.documentation import with_shared_sections, with_steps
from polygym.envs.episode_end import Info
from polygym.errors import InputError
from polygym.mdp.env_ids import TRANSFORM
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Array, Observation
from polygym.mdp.observation.schedule_observer import ObservationBuffer
from polygym.mdp.observation.transform_arrays import hidden_loops, transform_arrays
from polygym.mdp.problems import arguments
from polygym.mdp.records.record_checks import (
    MOST_ACTIONS_KEY,
    MOST_STEPS_KEY,
    START_KEY,
    STORAGE_LIMIT_KEY,
)
from polygym.mdp.task_options import MOST_ACTIONS, MOST_STEPS, Phase
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.text_interface.replies import explain_step
from polygym.transformations.parsing import parse_step


@with_shared_sections
@with_steps
class TransformEnv(PolygymEnv):
    """Transform a loop program step by step: interchange, fuse, skew, tile and so on.

    ## Description

    The state is the program's loops as a tree, with names that last (`L1`, `L2`, …), a mapping and
    the storage of its arrays. It begins with the order of the source, or with the schedule of
    `start`. Every action is a transformation, and the mask contains exactly the legal ones, proved
    for all sizes. `env.unwrapped.explain(action)` explains why another one is not legal, with the
    dependence that it breaks and two instances as an example. What no step decides is as in
    `mapping`, whose default lets the model decide. Every state is a legal schedule, so an agent may
    stop at any time. After *stop* the program is compiled, run and timed.

    ## Action Space

    `Discrete(max_actions)`. Action k is step k of the list that the state offers, whose meaning is
    row k of the table `choices`; `env.unwrapped.steps()` returns the texts. 0 is always *stop* and
    1 *undo*. The other steps, in their order:

    STEP_TABLE

    An episode has `max_steps` steps; then *stop* alone is allowed. The list has a fixed order: loops
    from the outermost inwards in the order in which they run. Tile sizes are 8 … 256 for one loop and 16, 32,
    64 for several; shifts are 1 and -1; of a fusion 0, 1, 2 and the least that the dependences permit; factors of
    skewing are 1 and -1. Storage is offered as long as at most one
    statement is split; `TransformState.after` takes it after more splits too.

    ## More Observations

    Beside the arrays below there are these, float32 unless said otherwise; sizes, lengths and
    numbers of things are log2(1 + x):

    `choices` (max_actions by STEP_CHOICE_COUNT), a row for every action:

    | column | meaning |
    |---|---|
    STEP_CHOICE_ROWS

    `loops` (48 by TREE_LOOP_COUNT), a row for every loop, each before those in it:

    | column | meaning |
    |---|---|
    TREE_LOOP_ROWS

    `loop_of`, int8 (48,): the innermost loop around each statement, from 1; 0 for none.

    `question`, `nests`, `nest_of` and `candidate` are those of Optimize-v0; of `question` only
    `editing` and `edits`, the steps so far, are used. `candidate` is 0 without `features`.

    ## More Arguments

    | argument | default | meaning |
    |---|---|---|
    | `start` | None | the first schedule: None or "original" for the source order, "isl", "auto" |
    | `max_steps` | 64 | steps of an episode |
    | `max_actions` | 384 | size of the action space; of a state that offers more the last steps of the most frequent kinds are left out, and `info["steps_complete"]` is False |
    | `storage_limit` | 536870912 | how many bytes all new arrays may take |
    | `features` | False | whether `candidate` is filled in; a new schedule takes tens of milliseconds then |

    `info` also holds `steps_complete` (bool) and `hidden_loops` (int): loops behind the 48th have no
    row, though steps about them are offered. The last `info` also holds `mapping`, `splitting`,
    `storage` and `steps` (str), the steps that lead to the result.
    """

    ID: ClassVar[str] = TRANSFORM
    PHASES: ClassVar[frozenset[Phase]] = frozenset({Phase.TRANSFORM})
    FIRST_ACTION: ClassVar[int] = 0
    LAST_ACTION: ClassVar[int | None] = None

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        start: str | None = None,
        max_steps: int = MOST_STEPS,
        max_actions: int = MOST_ACTIONS,
        storage_limit: int = DEFAULT_MEMORY_LIMIT,
        features: bool = False,
        **others: Any,
    ) -> None:
        super().__init__(kernel, **others)
        begins = arguments.check_start(start)
        self._shows_features = arguments.check_switch("features", features)
        options = arguments.check_transform_options(
            self._measuring.mapping, begins, max_steps, max_actions, storage_limit
        )
        self._options = replace(self._options, transformations=options)
        self._arguments |= {
            START_KEY: None if begins is None else str(begins),
            MOST_STEPS_KEY: options.max_steps,
            MOST_ACTIONS_KEY: options.max_actions,
            STORAGE_LIMIT_KEY: options.memory_limit,
        }
        self._set_spaces(transform_arrays(options.max_actions))

    def steps(self) -> tuple[str, ...]:
        """Return the text of each step that is offered now, by the numbers of actions."""
        self._expect_running()
        return tuple(map(str, self.episode.offer.steps))

    def explain(self, action: int | str) -> str:
        """Return what an action, or the text of any step, does, or why it is not legal.

        Raises:
            InputError: the state offers no step with this number, or the text is no step.
        """
        self._expect_running()
        offer = self.episode.offer
        if isinstance(action, str):
            return explain_step(offer.state, parse_step(action))
        number = arguments.check_integer("an action", action)
        if not 0 <= number < len(offer.steps):
            raise InputError(
                f"an action: expected 0 to {len(offer.steps) - 1}, the steps of this state, found "
                f"{number}"
            )
        return explain_step(offer.state, offer.steps[number])

    def _expect_running(self) -> None:
        if self.episode.is_over:
            raise InputError("steps: expected an episode that goes on, found one that is over")

    def _observe(self, episode: Episode, allowed: Array) -> Observation:
        observer = self.problem.transform_observer_of(episode)
        return observer.observe_all(episode, allowed, features=self._shows_features)

    def write_observation(self, shown: ObservationBuffer) -> None:
        """Write the observation into arrays."""
        for name, array in self._observe(self.episode, self.action_masks()).items():
            shown.arrays[name][:] = array

    def _observation_and_info(self) -> tuple[Observation, Info]:
        observation, info = super()._observation_and_info()
        info["steps_complete"] = self.episode.is_over or self.episode.offer.is_complete
        state = self.episode.transform_state
        assert state is not None
        info["hidden_loops"] = hidden_loops(state)
        return observation, info

    def _end_episode(self, info: Info) -> float:
        value = super()._end_episode(info)
        state = self.episode.transform_state
        assert state is not None
        info["mapping"] = str(state.mapping)
        info["splitting"], info["storage"] = str(state.splitting), str(state.storage)
        info["steps"] = "; ".join(map(str, state.steps))
        return value
