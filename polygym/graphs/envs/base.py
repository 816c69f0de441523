"""Base of the environments of tensor graphs.

They are thin shells around a :class:`~polygym.graphs.envs.task.GraphEpisode`, a value: ``step``
replaces it. An action that the mask forbids has the same effect as in the other environments: it
costs 0.1, changes nothing, and the hundredth one ends the episode.
"""

from collections.abc import Mapping
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

from polygym.envs.base import observation_space_of
from polygym.envs.episode_end import INVALID_STATUS
from polygym.envs.snapshots import SnapshotEnv
from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.envs.task import (
    DEFAULT_RULES,
    GraphTask,
    costs_from_argument,
    graphs_from_argument,
    open_graph,
    rules_from_argument,
)
from polygym.graphs.ir.graph import Graph
from polygym.mdp.observation.arrays import Array, ArraySpec, Observation
from polygym.mdp.problems import arguments
from polygym.rewrite.rule import Rule


def integer_argument(name: str, value: object, minimum: int, maximum: int) -> int:
    """Return an integer argument.

    >>> integer_argument("max_nodes", 100, 1, 1000)
    100

    Raises:
        InputError: it is none, or out of bounds.
    """
    result = arguments.check_integer(name, value)
    if not minimum <= result <= maximum:
        raise InputError(
            f"{name}: expected an integer from {minimum} to {maximum:,}, found {value!r}"
        )
    return result


def real_argument(name: str, value: object, maximum: float = inf) -> float:
    """Return a number from 0 on.

    Raises:
        InputError: it is none, negative, or too large.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 <= value <= maximum:  # type: ignore[operator, arg-type]
        raise InputError(f"{name}: expected a number from 0 on, found {value!r}")
    return float(value)  # type: ignore[arg-type]


Class = TypeVar("Class", bound=type)

_SHARED = """

    ## Forbidden Actions

    `action_masks()` (bool), `info["action_mask"]` and the array `action_mask` (int8) say which
    actions are allowed. At least one always is. An action outside of the mask costs 0.1 and changes
    nothing, `info["refused"]` says why, and the hundredth ends the episode with -1 and the start's
    graph (`status` "invalid"). After the end all are allowed: a vector of environments that resets
    itself in the next step takes an action for that step, which has no effect.

    ## Starting State

    A graph is chosen with the environment's generator among those that `graph` names;
    `reset(options={"graph": "bert"})` chooses for one episode.

    ## Information

    Every `info` has the same keys: `action_mask`, `graph` (the name), `status` ("running", or how
    the episode ended), `cost` of the graph that would be the result now, `initial_cost`, `gain`,
    which is (initial_cost - cost) / initial_cost, `refused` (why the last action was not taken, ""
    if it was), and `is_success` (bool: the episode has ended with a graph).

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `graph` | "nasrnn" | models of the library, paths, "all"; a Graph or Model |
    | `size` | "small" | of the library's models: "small" or "paper" |
    | `costs` | "static" | "static", "measured", or an object with `cost` |
    | `rules` | "default" | polygym's, the path of a table, or a sequence of rules |
    | `threads` | 1 | threads of measured costs |
    | `seed` | None | the seed of the first reset that has none |
    | `render_mode` | None | "ansi": a text; "svg": the graph; "rgb_array": a page of text |

    Paths are those of a graph as text, of an ONNX file, or of a folder with an optimised model;
    with several graphs, commas between them, each reset draws one. Static costs are a roofline, the
    same everywhere; measured ones are times on this machine, each taken when it is first needed.

    ## Further

    `graph` is the current graph as a value, `text()` its text, `action_meanings` what every action
    would do. `fork()` and `copy.deepcopy` give an independent environment in the same state.
    `export()` gives the episode as JSON, which `polygym.graphs.envs.replay` plays again. `episode`
    is the state as an immutable value.

    ## Version History

    - v0: initial version
    """


def with_shared_sections(environment: Class) -> Class:
    """Append the shared sections to the docstring of an environment."""
    environment.__doc__ = (environment.__doc__ or "").rstrip() + _SHARED
    return environment


Info = dict[str, Any]

_MAX_THREADS = 1024

VERSION = 1
"""The version of the observations."""


class GraphEnv(SnapshotEnv[Observation, np.int64]):
    """The common part; use one of the environments."""

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own declaration)
        "render_modes": ["ansi", "svg", "rgb_array"],
        "render_fps": 4,
        "observation_version": VERSION,
    }

    ID: ClassVar[str]
    FIRST_ACTION: ClassVar[int] = 0
    SUBJECT: ClassVar[str] = "graph"
    """The key of ``info`` and of the options of a reset that names the graph."""

    def __init__(
        self,
        graph: Any = "nasrnn",
        *,
        size: str = "small",
        costs: Any = "static",
        rules: Any = DEFAULT_RULES,
        threads: int = 1,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._graph, self._targets = graph, graphs_from_argument(graph)
        if size not in library.SIZES:
            raise InputError(f"size: expected one of {', '.join(library.SIZES)}, found {size!r}")
        self._size = size
        self._given_costs = costs
        self._costs = costs_from_argument(
            costs, integer_argument("threads", threads, 1, _MAX_THREADS)
        )
        self._rules = rules
        is_default = isinstance(rules, str) and rules == DEFAULT_RULES
        self._table = None if is_default else rules_from_argument(rules)
        self._seed = arguments.check_seed(seed)
        self.render_mode = arguments.check_render_mode(render_mode, self.metadata["render_modes"])
        self._arguments: dict[str, Any] = {
            "size": size,
            "costs": costs if isinstance(costs, str) else self._costs.name,
            "threads": threads,
            "seed": self._seed,
        }
        self._tasks: dict[str | Graph, GraphTask] = {}
        self._target: str | Graph | None = None
        self._episode: Any = None

    def _define_spaces(self, tables: Mapping[str, ArraySpec]) -> None:
        """Fill in the spaces, of which the last array is the mask."""
        count = tables["action_mask"].size
        self.action_space: spaces.Discrete = spaces.Discrete(count)
        self.observation_space = observation_space_of(tables)

    def _add_arguments(self, options: Any) -> None:
        """Remember more arguments for records."""
        self._arguments |= asdict(options)

    # What the two are

    def _start(self, task: GraphTask) -> Any:
        """Return a new episode."""
        raise NotImplementedError

    def _observe(self, allowed: Array) -> Observation:
        """Return what an agent sees."""
        raise NotImplementedError

    def _more_info(self) -> Info:
        """Return what ``info`` says beside what both say."""
        raise NotImplementedError

    # What Gymnasium asks for

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; ``options={"graph": …}`` says on which of the graphs, or on any."""
        if seed is None and self._episode is None:
            seed = self._seed
        super().reset(seed=seed)
        # All or nothing: a file that cannot be read leaves the episode before it as it was.
        target = self._choose(options)
        self._episode, self._target = self._start(self._task(target)), target
        return self._observation_and_info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Take an action; see the class for what it does and what it is worth."""
        if self.episode.is_over:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        if not self.action_space.contains(action):
            raise InputError(
                f"an action: expected an integer from 0 to {self.action_space.n - 1}, found "
                f"{action!r}"
            )
        self._episode = self.episode.after(int(action))
        observation, info = self._observation_and_info()
        return observation, float(self.episode.reward), bool(self.episode.is_over), False, info

    def action_masks(self) -> Array:
        """Return which actions are allowed now, as booleans; after the end, all of them.

        A vector of environments that resets in the step behind the end wants one more action for
        it, which has no effect, from agents that choose under the mask.
        """
        if self.episode.is_over:
            return np.ones(self.action_space.n, bool)
        return np.array(self.episode.mask(), bool)

    def render(self) -> Any:
        """Return a text (``ansi``), a graph as SVG (``svg``) or pixels (``rgb_array``)."""
        from polygym.graphs.envs import rendering

        match self.render_mode:
            case "ansi":
                return rendering.episode_text(self.episode)
            case "svg":
                return rendering.episode_svg(self.episode)
            case "rgb_array":
                return rendering.episode_pixels(self.episode)
            case _:
                gymnasium.logger.warn(
                    "render() needs a render_mode: gymnasium.make(..., render_mode='ansi') or 'svg'"
                )
                return None

    def close(self) -> None:
        """Let go of the episode."""
        self._episode = None
        super().close()

    # What is more than Gymnasium asks for

    @property
    def episode(self) -> Any:
        """The episode as a value: its state, its mask and its history."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset()")
        return self._episode

    @property
    def graph(self) -> Graph:
        """The graph that is the result, or would be if the episode ended now."""
        result = self.episode.graph
        assert isinstance(result, Graph)
        return result

    @property
    def table(self) -> tuple[Rule, ...]:
        """The rules, in the order of their table."""
        if self._table is None:
            self._table = rules_from_argument(DEFAULT_RULES)
        return self._table

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the graphs that episodes are about."""
        return tuple(graph.name if isinstance(graph, Graph) else graph for graph in self._targets)

    @property
    def next_seed(self) -> int:
        """The seed of the random choices that the next reset has if none is given to it."""
        if self._episode is None and self._seed is not None:
            return self._seed
        return max(0, self.np_random_seed)  # Gymnasium's -1: the generator came without one

    @property
    def action_meanings(self) -> tuple[str, ...]:
        """What every action would do now."""
        result: tuple[str, ...] = self.episode.meanings()
        return result

    def text(self) -> str:
        """Return the graph as a text that :func:`polygym.graphs.ir.text.parse_graph` reads."""
        from polygym.graphs.ir.text import graph_text

        return graph_text(self.graph)

    def adopt(self, episode: Any) -> None:
        """Go on from another state, which an episode of this environment has come to."""
        self._episode = episode

    def __reduce__(self) -> Any:
        """Be pickled as the arguments and the actions, which are taken again."""
        given = {**self._arguments, "graph": self._graph, "rules": self._rules}
        given |= {"costs": self._given_costs, "render_mode": self.render_mode}
        done = None
        if self._episode is not None:
            done = self._target, self._episode.actions, self._episode.illegal
        return _restore, (type(self), given, self.spec, self._np_random, done)

    def export(self) -> dict[str, Any]:
        """Return the episode as JSON: the graph, the actions by their names, what they came to.

        :func:`polygym.graphs.envs.record_replay.replay` plays it again.
        """
        from polygym.graphs.envs import records

        return records.episode_record(self.ID, self._arguments, self._rules, self.episode)

    # How it is done

    def _choose(self, options: object) -> str | Graph:
        options = {} if options is None else options
        if not isinstance(options, Mapping) or set(options) - {"graph"}:
            raise InputError(f'reset(options=…): expected {{"graph": …}}, found {options!r}')
        wanted = options.get("graph")
        chosen = self._targets if wanted is None else graphs_from_argument(wanted)
        index = int(self.np_random.integers(len(chosen))) if len(chosen) > 1 else 0
        return chosen[index]

    def _task(self, target: str | Graph) -> GraphTask:
        """Return what episodes on a graph share; a file is read again, since it may change."""
        if target in self._tasks and not (isinstance(target, str) and Path(target).is_file()):
            return self._tasks[target]
        graph = open_graph(target, self._size)
        known = self._tasks.get(target)
        if known is None or known.graph != graph:
            known = GraphTask(graph.name, graph, self._costs, self.table)
            known.initial_cost  # noqa: B018 (refused now rather than in the middle of an episode)
            self._tasks[target] = known
        return known

    def _observation_and_info(self) -> tuple[Observation, Info]:
        """Return what the agent sees, and what is said beside it; the keys are always the same."""
        allowed, episode = self.action_masks(), self.episode
        first, now = episode.task.initial_cost, float(episode.cost)
        info = {
            "action_mask": allowed.astype(np.int8),
            "graph": str(episode.task.name),
            "status": str(episode.status),
            "cost": now,
            "initial_cost": float(first),
            "gain": float((first - now) / first),
            "refused": str(episode.rejection),
            "is_success": bool(episode.is_over and episode.status != INVALID_STATUS),
            **self._more_info(),
        }
        return self._observe(allowed), info


def _restore(
    kind: type[GraphEnv],
    given: dict[str, Any],
    spec: Any,
    np_random: np.random.Generator | None,
    done: tuple[str | Graph, tuple[int, ...], int] | None,
) -> GraphEnv:
    """Return an environment that was pickled."""
    env = kind(**given)
    env.spec, env._np_random = spec, np_random
    if done is not None:
        target, actions, illegal = done
        episode = env._start(env._task(target))
        for action in actions:
            episode = episode.after(action)
        env._episode = episode.with_illegal(illegal, "") if illegal else episode
        env._target = target
    return env
