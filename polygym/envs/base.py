"""The common part of the environments.

An environment is a thin shell around an immutable :class:`~polygym.mdp.episode.Episode`:
``step`` replaces it, lets the environment's policy act in the phase that is not the agent's, and
pays at the end. Nothing heavy happens in the constructor: names are resolved, and programs, spaces,
LLVM and the worker process start when a reset or an end needs them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from polygym.envs.episode_end import Info, RemoteEvaluator, RewardTerms
from polygym.envs.snapshots import SnapshotEnv
from polygym.errors import InputError
from polygym.mapping.mapping import require_statements
from polygym.mdp import rewards as reward
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import OBSERVATION_VERSION, Array, ArraySpec, Observation
from polygym.mdp.observation.episode_arrays import observation_arrays
from polygym.mdp.observation.schedule_observer import ObservationBuffer
from polygym.mdp.policies.registry import DETERMINISTIC, play_episode
from polygym.mdp.policies.registry import policy_named as policy_named
from polygym.mdp.problems import arguments, loading
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem
from polygym.mdp.rewards import RewardKind
from polygym.mdp.task_options import Phase
from polygym.runtime.evaluation import Evaluation


class PolygymEnv(SnapshotEnv[Observation, np.int64]):
    """The common part; use one of the environments."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own declaration)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
        "observation_version": OBSERVATION_VERSION,
    }

    SUBJECT: ClassVar[str] = "kernel"
    """The key of ``info`` and of the options of a reset that names the program."""

    # The registered name, the phases in which the agent acts, and the first and the last of its
    # actions in the numbers of an episode (None: up to the last coefficient).
    ID: ClassVar[str]
    PHASES: ClassVar[frozenset[Phase]]
    FIRST_ACTION: ClassVar[int]
    LAST_ACTION: ClassVar[int | None]

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        dataset: str = "medium",
        parameters: Mapping[str, int] | str | None = None,
        function: str | None = None,
        max_coefficient: int = 2,
        max_dimensions: int = 4,
        max_rays: int = 64,
        max_vertices: int = 8,
        reward: str = "speedup",
        threads: int = 1,
        timeout_factor: float = 10.0,
        mapping: str = "default",
        remeasure: str = "never",
        policy: str = "earliest",
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._targets = loading.program_targets(kernel)
        self._reward = RewardKind.named(reward)
        if self._reward.is_predicted:
            from polygym.mdp.predicted_reward import expect_cost_model

            expect_cost_model()
        self._policy = policy_named(arguments.check_text("policy", policy))
        self._seed = arguments.check_seed(seed)
        self._measuring = arguments.check_evaluation_options(
            threads, timeout_factor, mapping, remeasure
        )
        self._options = arguments.check_task_options(
            max_coefficient, max_dimensions, max_rays, max_vertices
        )
        self._sizes = ProgramSource(
            "",
            arguments.check_function(function),
            loading.dataset_named(dataset),
            loading.parse_parameters(parameters),
        )
        self._arguments = self._record_arguments(kernel, function, policy)
        self.render_mode = arguments.check_render_mode(render_mode, self.metadata["render_modes"])
        self._set_spaces({})
        self._subject: ScheduleProblem | None = None
        self._episode: Episode | None = None
        self._evaluation: Evaluation | None = None
        self.remote_evaluator: RemoteEvaluator | None = None
        """Who measures in this environment's place, if somebody does."""

    def _set_spaces(self, more: Mapping[str, ArraySpec]) -> None:
        """Make the spaces for as many actions as the options have, and for more arrays."""
        last = self._options.actions if self.LAST_ACTION is None else self.LAST_ACTION + 1
        self._actions = slice(self.FIRST_ACTION, last)
        count = last - self.FIRST_ACTION
        self.action_space: spaces.Discrete = spaces.Discrete(count)
        arrays = observation_arrays(self._options.max_dimensions, count)
        self.observation_space = observation_space_of({**arrays, **more})

    # What Gymnasium asks for

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; ``options={"kernel": …}`` says on which of the kernels, or on any."""
        if seed is None and self._subject is None:
            seed = self._seed
        super().reset(seed=seed)
        subject = self._choose_problem(options)
        loading.load_problem(subject)
        require_statements(self._measuring.mapping.nests, subject.program.scop)
        episode = self._new_episode(subject)
        # All or nothing: a file that cannot be read leaves the episode before it as it was.
        self._subject, self._episode, self._evaluation = subject, episode, None
        return self._observation_and_info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Take an action; see the class for what it does and what it is worth."""
        value, ending = self.take(action)
        observation, info = self._observation_and_info()
        info.update(ending)
        return observation, value, self.episode.is_over, False, info

    def take(self, action: np.int64 | int) -> tuple[float, Info]:
        """Take an action; return its reward, and what the end says if that is where it leads."""
        if self.episode.is_over:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        return self.take_number(self._number(action))

    def take_number(self, number: int) -> tuple[float, Info]:
        """Take the action that has this number in an episode that has not ended."""
        before = self.episode
        allowed = before.mask()[number]
        self._episode = self._play_policy_phases(before.after(number))
        ending: Info = {}
        value = 0.0 if allowed else reward.ILLEGAL_ACTION_REWARD
        if self._episode.is_over:
            value = self._end_episode(ending)
        return float(value), ending

    def action_masks(self) -> Array:
        """Return which actions are allowed now, as booleans; after the end, all of them.

        An episode's own mask is empty then. But a vector of environments that resets in the step
        behind the end (Gymnasium's) wants one more action for it, which has no effect, from agents
        that choose under the mask.
        """
        if self.episode.is_over:
            return np.ones(self.action_space.n, bool)
        return np.array(self.allowed(self.episode), bool)

    def render(self) -> Any:
        """Return a picture (``rgb_array``) or a text (``ansi``) of the episode."""
        from polygym.envs import render

        match self.render_mode:
            case "ansi":
                return render.episode_text(self.problem, self.episode, self._evaluation)
            case "rgb_array":
                return render.episode_picture(self.problem, self.episode)
            case _:
                gymnasium.logger.warn(
                    "render() needs a render_mode: gymnasium.make(..., render_mode='ansi') or "
                    "'rgb_array'"
                )
                return None

    def close(self) -> None:
        """Let go of the episode; the processes are shared and end with the interpreter."""
        self._subject = None
        self._episode = None
        super().close()

    # What is more than Gymnasium asks for

    def suggested_action(self) -> int:
        """Return what the environment's policy would do in the agent's place.

        With ``policy="learned"`` that is the policy that comes with polygym.
        """
        return self._policy(self.episode, self.np_random) - self.FIRST_ACTION

    @property
    def problem(self) -> ScheduleProblem:
        """The program of the episode."""
        if self._subject is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset()")
        return self._subject

    @property
    def episode(self) -> Episode:
        """The episode as a value: its state, mask and history."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset()")
        return self._episode

    @property
    def observation_boxes(self) -> Mapping[str, spaces.Box]:
        """The parts of the observation's space, by name."""
        result: Any = self.observation_space
        return {name: box for name, box in result.items() if isinstance(box, spaces.Box)}

    @property
    def evaluation(self) -> Evaluation | None:
        """What was measured at the end of the episode; None where nothing was."""
        return self._evaluation

    @property
    def timeout_factor(self) -> float:
        """After how many times the original's time a run is cut off."""
        return self._measuring.timeout_factor

    @property
    def reward_kind(self) -> RewardKind:
        """Which of the rewards is paid."""
        return self._reward

    @property
    def targets(self) -> tuple[str, ...]:
        """The kernels and files that episodes are about."""
        return self._targets

    @property
    def next_seed(self) -> int:
        """The seed of the random choices that the next reset has if none is given to it."""
        if self._subject is None and self._seed is not None:
            return self._seed
        return max(0, self.np_random_seed)  # Gymnasium's -1: these random search came without one

    def problem_of(self, target: str) -> ScheduleProblem:
        """Return a program, as episodes about it have it here."""
        return loading.problem_of(loading.with_target(self._sizes, target), self._options)

    # What a search asks about other episodes of the same program; the environment's own stays

    def following(self, episode: Episode, action: int) -> Episode:
        """Return the episode after one of the agent's actions, when it is the agent's turn again.

        Where the environment's policy draws at random, these are the environment's: ask a fork.
        """
        return self._play_policy_phases(episode.after(action + self.FIRST_ACTION))

    def allowed(self, episode: Episode) -> tuple[bool, ...]:
        """Return which of the agent's actions an episode allows; none after its end."""
        return episode.mask()[self._actions]

    def observation_of(self, episode: Episode) -> Observation:
        """Return what an agent sees of an episode that is not over."""
        return self._observe(episode, np.array(self.allowed(episode), bool))

    def worth(self, episode: Episode) -> float:
        """Return what is paid for the end of an episode, measured where the reward is by a clock.

        Raises:
            InputError: it is not over.
        """
        if not episode.is_over:
            raise InputError(
                f"the worth of an episode: expected one that is over, found {episode.phase.value}"
            )
        return self._reward_terms().result_of(self.problem, episode).reward

    def export(self) -> dict[str, Any]:
        """Return the episode as JSON: what was asked for, the actions, and how it ended.

        ``polygym replay`` reads it, plays it again, and measures its schedule again.
        """
        from polygym.mdp.records import episode_record

        return episode_record.record_of(
            self.ID, self._arguments, self.problem, self.episode, self._evaluation
        )

    # How it is done

    def _record_arguments(self, kernel: str, function: str | None, policy: str) -> dict[str, Any]:
        """Return the arguments by their names, as they were understood: for records."""
        return {
            "kernel": kernel,
            "dataset": self._sizes.dataset.name.lower(),
            "parameters": dict(self._sizes.parameters),
            "function": function,
            "max_coefficient": self._options.max_coefficient,
            "max_dimensions": self._options.max_dimensions,
            "max_rays": self._options.limits.rays,
            "max_vertices": self._options.limits.vertices,
            "reward": self._reward.value,
            "threads": self._measuring.threads,
            "timeout_factor": self._measuring.timeout_factor,
            "mapping": str(self._measuring.mapping),
            "policy": policy,
            "seed": self._seed,
        }

    def _choose_problem(self, options: object) -> ScheduleProblem:
        return self.problem_of(choose_target(options, self._targets, self.np_random))

    def _new_episode(self, subject: ScheduleProblem) -> Episode:
        """Return a new episode in which it is the agent's turn."""

        def play_first() -> Episode:
            return self._play_policy_phases(subject.task.start())

        name = str(self._arguments["policy"])
        if name not in DETERMINISTIC or Phase.CONSTRUCT in self.PHASES:
            return play_first()
        return subject.initial_episodes.get(name, play_first)

    def _number(self, action: np.int64 | int) -> int:
        """Return the action in the numbers of an episode."""
        if not self.action_space.contains(action):
            raise InputError(
                f"an action: expected an integer from 0 to {self.action_space.n - 1}, found "
                f"{action!r}"
            )
        return int(action) + self.FIRST_ACTION

    def _play_policy_phases(self, episode: Episode) -> Episode:
        """Let the policy act in the phases that are not the agent's."""
        return play_episode(
            episode, self._policy, self.np_random, until=lambda played: played.phase in self.PHASES
        )

    def _observation_and_info(self) -> tuple[Observation, Info]:
        """Return what the agent sees, and what is always said beside it."""
        allowed = self.action_masks()
        info = {
            "action_mask": allowed.astype(np.int8),
            "kernel": self.problem.program.name,
            "space_complete": self.episode.is_space_complete,
        }
        return self._observe(self.episode, allowed), info

    def _observe(self, episode: Episode, allowed: Array) -> Observation:
        """Return the observation of an agent that may take these actions of an episode."""
        return self.problem.observer_of(episode).observe(episode, allowed)

    def write_observation(self, buffer: ObservationBuffer) -> None:
        """Write the observation into arrays, in which that of an earlier state stands."""
        episode = self.episode
        allowed = True if episode.is_over else self.allowed(episode)
        self.problem.observer_of(episode).update(episode, allowed, buffer)

    def _end_episode(self, info: Info) -> float:
        """Fill in what the end of the episode says, and return its reward."""
        result = self._reward_terms().result_of(self.problem, self.episode)
        info.update(result.info)
        self._evaluation = result.evaluation
        return result.reward

    def _reward_terms(self) -> RewardTerms:
        return RewardTerms(self._reward, self._measuring, self.remote_evaluator)


def choose_target(options: object, targets: tuple[str, ...], generator: np.random.Generator) -> str:
    """Return a random program of those that the options of a reset select, or of ``targets``.

    Raises:
        InputError: there are other options than ``kernel``.
    """
    options = {} if options is None else options
    if not isinstance(options, Mapping):
        raise InputError(f'reset(options=…): expected {{"kernel": …}}, found {options!r}')
    unknown = sorted(set(options) - {"kernel"}, key=str)
    if unknown:
        raise InputError(
            f'reset(options=…): expected {{"kernel": …}}, found {", ".join(map(repr, unknown))}'
        )
    wanted = options.get("kernel")
    chosen = targets if wanted is None else loading.program_targets(wanted)
    index = int(generator.integers(len(chosen))) if len(chosen) > 1 else 0
    return chosen[index]


def observation_space_of(arrays: Mapping[str, ArraySpec]) -> spaces.Space[Observation]:
    """Return the space of observations that have these arrays."""
    boxes: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(table.low, table.high, (table.size,), table.dtype)
        for name, table in arrays.items()
    }
    return spaces.Dict(boxes)  # type: ignore[return-value]
