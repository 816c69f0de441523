"""``TextView``: a program is transformed by lines of text; observations are texts."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any, Self

import gymnasium
from gymnasium import spaces

from polygym.envs.base import choose_target
from polygym.envs.episode_end import (
    NOT_MEASURED_STATUS,
    Info,
    measured_info,
    unmeasured_info,
)
from polygym.envs.snapshots import SnapshotEnv
from polygym.errors import InputError
from polygym.mdp.problems import arguments, loading
from polygym.mdp.problems.loading import ProgramSource, ScheduleProblem
from polygym.mdp.rewards import ILLEGAL_ACTION_REWARD, RewardKind
from polygym.mdp.task_options import TaskOptions
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.text_interface.judgement import Judgement
from polygym.text_interface.session import (
    LONGEST_REPLY,
    Budget,
    Reply,
    ReplyStatus,
    SessionOptions,
    TextSession,
)
from polygym.text_interface.transcripts import transcript_of

_LONGEST_LINE = 1000
_LONGEST_OBSERVATION = 3 * LONGEST_REPLY
_CHARACTERS = frozenset(string.printable)
_FIRST_REPLY = "Send a line. `help` lists the commands, `steps` the legal steps."


class TextView(SnapshotEnv[str, str]):
    """Transform a loop program by lines of text, as a language model does.

    ## Description

    The state is that of a text session (:mod:`polygym.text_interface.session`). A line is a step
    such as `tile L1 L2 32 32`, or a question such as `steps` or `explain STEP`. A step is taken
    only if it is proved legal. `measure` compiles and runs the program, which costs one evaluation
    of the budget. After `stop`, or when the budget is used up, the program as it is by then is
    measured.

    ## Observation Space

    A `Text`: the program as C with named loops, dependences as sentences, schedule and mapping, the
    last outcome with its time, what is left of the budget, and the reply to the last line.

    ## Action Space

    A `Text`: one line. `suggested_lines()` returns the legal steps and `measure`.

    ## Rewards

    0 before the end; a line that is refused costs 0.1. At the end as in the other environments, by
    the argument `reward`: `speedup`, `log_speedup`, `static`, `model` or `log_model`. With the last
    three nothing is run, and `measure` returns a score.

    ## Starting State

    The order of the source. `reset(options={"kernel": "lu"})` chooses a program for one episode.

    ## Episode End

    Terminated by `stop` and by the end of the budget; never truncated. `info` always has the same
    keys: `kernel`, `line_status`, `steps`, `mapping`, `splitting`, `storage`, `evaluations_left`,
    and those of an end: `status` ("" before it), `speedup`, `seconds`, `baseline_seconds`,
    `samples`, `schedule`, `error_type`, `error_details`, `is_success`.

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `kernel` | "gemm" | kernels, categories, globs, paths of C files |
    | `dataset`, `parameters`, `function` | "medium", None, None | sizes and region |
    | `reward` | "speedup" | the reward |
    | `threads`, `timeout_factor` | 1, 10 | threads, and the limit of a run |
    | `mapping`, `remeasure` | "default", "never" | the mapping at the start, repeated measurement |
    | `evaluations`, `lines` | 20, 200 | the budget |
    | `seconds` | None | seconds of work; with a number, observations depend on the clock |
    | `storage_limit` | 536870912 | bytes of new arrays |
    | `seed` | None | the seed of the first reset that has none |
    | `render_mode` | None | "ansi": the last observation |
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        kernel: str = "gemm",
        *,
        dataset: str = "medium",
        parameters: Mapping[str, int] | str | None = None,
        function: str | None = None,
        reward: str = "speedup",
        threads: int = 1,
        timeout_factor: float = 10.0,
        mapping: str = "default",
        remeasure: str = "never",
        evaluations: int = 20,
        seconds: float | None = None,
        lines: int = 200,
        storage_limit: int = DEFAULT_MEMORY_LIMIT,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._targets = loading.program_targets(kernel)
        kind = RewardKind.named(reward)
        if kind.is_predicted:
            from polygym.mdp.predicted_reward import expect_cost_model

            expect_cost_model()
        budget = Budget(
            _at_least_one("evaluations", evaluations),
            _seconds(seconds),
            _at_least_one("lines", lines),
        )
        self._options = SessionOptions(
            kind,
            arguments.check_evaluation_options(threads, timeout_factor, mapping, remeasure),
            arguments.check_storage_limit(storage_limit),
            budget,
        )
        self._sizes = ProgramSource(
            "",
            arguments.check_function(function),
            loading.dataset_named(dataset),
            loading.parse_parameters(parameters),
        )
        self._seed = arguments.check_seed(seed)
        self.render_mode = arguments.check_render_mode(render_mode, self.metadata["render_modes"])
        self.action_space: spaces.Text = spaces.Text(_LONGEST_LINE, charset=_CHARACTERS)
        self.observation_space: spaces.Text = spaces.Text(_LONGEST_OBSERVATION, charset=_CHARACTERS)
        self._session: TextSession | None = None
        self._observation = ""
        self._is_over = False

    # What Gymnasium asks for

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, Info]:
        """Start an episode; ``options={"kernel": …}`` names its program."""
        if seed is None and self._session is None:
            seed = self._seed
        super().reset(seed=seed)
        problem = self._choose_problem(options)
        loading.load_problem(problem)
        self._session = TextSession(problem, self._options)
        self._is_over = False
        first = Reply(ReplyStatus.OK, _FIRST_REPLY)
        return self._observe(first), self._info(first)

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Send a line; see the class for what comes of it."""
        session = self.session
        if self._is_over:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        if not isinstance(action, str):
            raise InputError(f"an action: expected a line of text, found {action!r}")
        reply = session.reply(action)
        value = ILLEGAL_ACTION_REWARD if reply.status.is_refusal else 0.0
        judgement = None
        self._is_over = session.is_over
        if self._is_over:
            judgement = session.judge_now()
            kind, factor = self._options.reward, self._options.evaluation.timeout_factor
            value = judgement.reward(kind, factor)
        info = self._info(reply)
        if judgement is not None:
            info.update(self._ending(judgement))
        return self._observe(reply), float(value), self._is_over, False, info

    def render(self) -> Any:
        """Return the last observation (``ansi``)."""
        if self.render_mode == "ansi":
            return self._observation
        gymnasium.logger.warn("render() needs a render_mode: TextView(..., render_mode='ansi')")
        return None

    def close(self) -> None:
        """Let go of the episode; the processes are shared and end with the interpreter."""
        self._session = None
        super().close()

    # What is more than Gymnasium asks for

    @property
    def session(self) -> TextSession:
        """The text session of the episode."""
        if self._session is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset()")
        return self._session

    def suggested_lines(self) -> tuple[str, ...]:
        """Return lines that are not refused now: the legal steps, and ``measure``."""
        if self._is_over:
            return ()
        return (*map(str, self.session.legal_steps()), "measure")

    def export(self) -> dict[str, Any]:
        """Return the transcript of the episode, which ``polygym replay`` reads."""
        return transcript_of(self.session)

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Copy the episode with its session."""
        other = super().__deepcopy__(memo)
        other._session = None if self._session is None else self._session.fork()
        return other

    # How it is done

    def _choose_problem(self, options: object) -> ScheduleProblem:
        target = choose_target(options, self._targets, self.np_random)
        return loading.problem_of(loading.with_target(self._sizes, target), TaskOptions())

    def _observe(self, reply: Reply) -> str:
        text = f"{self.session.show()}\n\nReply ({reply.status.value}):\n{reply.text}"
        self._observation = text[:_LONGEST_OBSERVATION]
        return self._observation

    def _info(self, reply: Reply) -> Info:
        session = self.session
        state = session.state
        return {
            "kernel": session.problem.program.name,
            "line_status": reply.status.value,
            "steps": tuple(map(str, state.steps)),
            "mapping": str(state.mapping),
            "splitting": str(state.splitting),
            "storage": str(state.storage),
            "evaluations_left": max(0, self._options.budget.evaluations - session.evaluations),
            **unmeasured_info("", schedule=state.schedule),
        }

    def _ending(self, judgement: Judgement) -> Info:
        if judgement.evaluation is not None:
            return measured_info(judgement.evaluation)
        return unmeasured_info(
            NOT_MEASURED_STATUS if judgement.is_ok else judgement.status,
            schedule=self.session.state.schedule,
            error=("" if judgement.is_ok else judgement.status, judgement.details),
            is_success=judgement.is_ok,
        )


def _at_least_one(name: str, value: object) -> int:
    number = arguments.check_integer(name, value)
    if number < 1:
        raise InputError(f"{name}: expected at least 1, found {number}")
    return number


def _seconds(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise InputError(f"seconds: expected None or a number above 0, found {value!r}")
    return float(value)
