"""``polygym/Rewrite-v0``: one rule at one place of a term, again and again."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from polygym.envs.base import observation_space_of
from polygym.envs.snapshots import SnapshotEnv
from polygym.errors import InputError
from polygym.mdp.observation.arrays import Array, Observation
from polygym.mdp.problems import arguments
from polygym.terms.cost import StaticCost
from polygym.terms.envs.encoding import COLUMNS, TermEncoder
from polygym.terms.envs.episode import RewriteEpisode, RewriteTask, observe, rewrite_tables
from polygym.terms.generated_programs import generated_programs
from polygym.terms.language.nodes import is_lam, name_of
from polygym.terms.language.parser import parse_programs
from polygym.terms.language.printer import text_of
from polygym.terms.language.program import TermProgram
from polygym.terms.library import FILES, SETS, expressions, programs
from polygym.terms.rewriter import Position, Rewriter
from polygym.terms.rules.rule_table import RULE_SETS as RULE_SETS
from polygym.terms.rules.rule_table import merge_rules, parse_rules, rules_named
from polygym.terms.rules.rule_types import TermRule
from polygym.terms.rules.soundness import check_rules

Info = dict[str, Any]

VERSION = 1
_MOST_NODES = 4096
_REWARDS = ("cost", "relative")


class RewriteEnv(SnapshotEnv[Observation, np.int64]):
    """Make a term cheaper, one rewrite at a time.

    ## Description

    The state is a term of a small functional language and the number of steps that are left. An
    action applies a rule at a place; the term that it makes computes the same. Often a term has to
    become dearer before it becomes cheaper: to compute `(add x y)` once, it is bound where it
    stands, the binding is lifted, and merged with another one.

    ## Action Space

    `Discrete(1 + max_nodes * R)`, R being the number of rules: 0 stops; 1 + row * R + rule applies
    the rule of this number in the table at the node of this row of `nodes`. Of `bind` and `lift`
    the row is that of the part which is bound, or of the `let` that is lifted. Rewrites that make
    terms of more than `max_nodes` nodes are not offered. The mask is `action_masks()`,
    `info["action_mask"]` and the array `action_mask`; what it forbids costs 0.1 and changes
    nothing, and the hundredth time ends the episode. After the end it allows everything.

    ## Observation Space

    A `Dict` of flat boxes whose shapes depend on `max_nodes` and the rules alone. This is version 1
    (`metadata["observation_version"]`).

    `progress`, float32 (5,): `steps_left` and `steps_taken` by `max_steps`; `cost` by the start's;
    `nodes` by `max_nodes`; `illegal_actions` by 100.

    `nodes`, int16, max_nodes by 6, a row for every node of the term written out, in the order of
    the text: `kind` (from 1, `polygym.terms.envs.encoding.KINDS`; 0: no node), `part_of` (the row
    of the node that it is an argument of, -1 for the whole term), `place` (as which argument),
    `same_as` (the first row with an identical part), `bound_by` (the row of a variable's `let` or
    `lam`, -1 for all others), `name` (free variables are numbered in the order of the text, from
    1).

    `constants`, float32 (max_nodes,): of constants the signed logarithm, sign(x) * log2(1 + |x|);
    of truth values 0 or 1.

    `action_mask`, int8: 1 for the actions that are allowed.

    ## Rewards

    c(e) - c(e') for a rewrite of e into e', c being the static cost (`polygym.terms.cost`), so that
    the sum over an episode is what was saved; 0 for stopping. With `reward="relative"` it is
    divided by the start's cost.

    ## Episode End

    Terminated by action 0 (`status` "stopped"), after `max_steps` rewrites ("out of steps"), or by
    the hundredth action that is not allowed ("invalid"); never truncated.

    ## Info

    Always with these keys and types: `action_mask` (int8), `program`, `status`, `refusal` (why the
    last action was not taken) and `term` (the text, at the end, else "") as str; `cost`,
    `initial_cost`, `gain` (the part of the start's cost that was saved) as float; `steps` (int),
    `is_success` (bool).

    ## Arguments

    | argument | default | meaning |
    |---|---|---|
    | `term` | `"train"` | a set or file of the library, `generated:SEED:COUNT`, a file, a term |
    | `rules` | `"simple"` | a set of rules, a file, or several of these |
    | `max_nodes` | 64 | rows of the observation, nodes of a term at most |
    | `max_steps` | 10 | rewrites of an episode at most |
    | `reward` | `"cost"` | what a step pays, `"cost"` or `"relative"` |
    | `seed` | None | seed of the first reset without one |
    | `render_mode` | None | `"ansi"` or `"rgb_array"`: the term, the last rewrite's place
    marked |

    `term` may be a sequence. With several programs each reset draws one;
    `reset(options={"term": …})` chooses.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's own declaration)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
        "observation_version": VERSION,
    }
    ID: ClassVar[str] = "polygym/Rewrite-v0"

    def __init__(
        self,
        term: str | Sequence[str] = "train",
        *,
        rules: str | Sequence[str] = "simple",
        max_nodes: int = 64,
        max_steps: int = 10,
        reward: str = "cost",
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._programs = programs_named(term)
        self._rules = _rules_of(rules)
        self._max_nodes = _between("max_nodes", max_nodes, _MOST_NODES)
        self._max_steps = _between("max_steps", max_steps, 10_000)
        if reward not in _REWARDS:
            raise InputError(f"reward: expected one of {', '.join(_REWARDS)}, found {reward!r}")
        self._reward = reward
        self._seed = arguments.check_seed(seed)
        self.render_mode = arguments.check_render_mode(render_mode, self.metadata["render_modes"])
        self._rewriter, self._cost = Rewriter(self._rules), StaticCost()
        self._pieces = TermEncoder(self._rewriter)
        count = 1 + self._max_nodes * len(self._rules)
        self.action_space: spaces.Discrete = spaces.Discrete(count)
        self.observation_space = observation_space_of(rewrite_tables(self._max_nodes, count))
        self._tasks: dict[TermProgram, RewriteTask] = {}
        self._episode: RewriteEpisode | None = None

    # What Gymnasium asks for

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode; ``options={"term": …}`` says on which of the programs, or on any."""
        if seed is None and self._episode is None:
            seed = self._seed
        super().reset(seed=seed)
        options = {} if options is None else options
        if not isinstance(options, Mapping) or set(options) - {"term"}:
            raise InputError(f'reset(options=…): expected {{"term": …}}, found {options!r}')
        wanted = options.get("term")
        chosen = self._programs if wanted is None else programs_named(wanted)
        index = int(self.np_random.integers(len(chosen))) if len(chosen) > 1 else 0
        self._episode = self._task(chosen[index]).start()
        return self._seen()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, Info]:
        """Take an action; see the class for what it does and what it is worth."""
        if self.episode.is_over:
            raise gymnasium.error.ResetNeeded("the episode has ended: call reset() before step()")
        count = self.action_space.n
        is_usual = action.__class__ in (int, np.int64) and 0 <= action < count
        if not is_usual and not self.action_space.contains(action):
            raise InputError(
                f"an action: expected an integer from 0 to {count - 1}, found {action!r}"
            )
        self._episode = self.episode.step(int(action))
        observation, info = self._seen()
        return observation, float(self._episode.reward), self._episode.is_over, False, info

    def action_masks(self) -> Array:
        """Return which actions are allowed now, as booleans; after the end, all of them."""
        if self.episode.is_over:
            return np.ones(self.action_space.n, bool)
        return self.episode.task.layout(self.episode.term).mask.astype(bool)

    def render(self) -> Any:
        """Return the term as a text or a picture, with its cost and the last rewrite's place."""
        match self.render_mode:
            case "ansi":
                return as_text(self.episode)
            case "rgb_array":
                return as_picture(self.episode)
            case _:
                gymnasium.logger.warn(
                    "render() needs a render_mode: gymnasium.make(..., render_mode='ansi') or "
                    "'rgb_array'"
                )
                return None

    def close(self) -> None:
        """Let go of the episode."""
        self._episode = None
        super().close()

    # What is more than Gymnasium asks for

    @property
    def episode(self) -> RewriteEpisode:
        """The episode as a value: its state, its actions and its history."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset()")
        return self._episode

    def action_of(self, rule: str, row: int) -> int:
        """Return the number of the action that applies a rule at the node of a row."""
        if rule not in self._rewriter.numbers:
            raise InputError(f"a rule: expected one of the table, found {rule!r}")
        return 1 + row * len(self._rules) + self._rewriter.numbers[rule]

    def meaning_of(self, action: int) -> str:
        """Return what an action does now, ``"inline at 0.1"``."""
        return "stop" if action == 0 else str(self.episode.task.step(self.episode.term, action))

    def following(self, episode: RewriteEpisode, action: int) -> RewriteEpisode:
        """Return the episode after an action; the environment's own stays."""
        return episode.step(action)

    def allowed(self, episode: RewriteEpisode) -> tuple[bool, ...]:
        """Return which actions an episode allows; none after its end."""
        array1_d = np.zeros(self.action_space.n, bool)
        array1_d[episode.legal_actions()] = True
        return tuple(array1_d.tolist())

    def export(self) -> dict[str, Any]:
        """Return the episode as JSON: a derivation, and the actions.

        ``polygym rewrite replay`` and :func:`polygym.terms.envs.records.replay_episode` read it.
        """
        from polygym.terms.envs import records

        return records.episode_record(self.episode)

    # How it is done

    def _task(self, program: TermProgram) -> RewriteTask:
        task = self._tasks.get(program)
        if task is None:
            task = self._tasks[program] = RewriteTask(
                program,
                self._rewriter,
                self._cost,
                self._max_steps,
                self._max_nodes,
                self._pieces,
                self._reward == "relative",
            )
        return task

    def _seen(self) -> tuple[Observation, Info]:
        """Return what the agent sees, and what is said beside it; the keys are always the same."""
        episode = self.episode
        if episode.is_over:
            mask: Array = np.ones(self.action_space.n, np.int8)
        else:
            mask = episode.task.layout(episode.term).mask
        first, now = float(episode.initial_cost), float(episode.cost)
        info = {
            "action_mask": mask.copy(),
            "program": episode.task.program.name,
            "status": episode.status,
            "refused": episode.refusal,
            "term": text_of(episode.term) if episode.is_over else "",
            "cost": now,
            "initial_cost": first,
            "gain": (first - now) / first if first else 0.0,
            "steps": len(episode.steps),
            "is_success": episode.status in ("stopped", "out of steps"),
        }
        return observe(episode, mask, now / (first or 1.0)), info


def programs_named(names: str | Sequence[str]) -> tuple[TermProgram, ...]:
    """Return the programs that a name stands for, or several names.

    Raises:
        InputError: there are no such programs.
    """
    if not isinstance(names, str):
        if not isinstance(names, Sequence) or not names:
            raise InputError(f"term: expected a text or several, found {names!r}")
        return tuple(program for name in names for program in programs_named(name))
    if names in SETS:
        return expressions(names)
    if names in FILES:
        return programs(names)
    if match := re.fullmatch(r"generated:(\d{1,9}):(\d{1,5})", names):
        return generated_programs(int(match[1]), int(match[2]))
    if names.lstrip().startswith("("):
        return tuple(parse_programs(names, "<term>"))
    if not Path(names).is_file():
        known = ", ".join((*SETS, *FILES, "generated:SEED:COUNT"))
        raise InputError(f"term: expected one of {known}, a file, or a term, found {names!r}")
    return tuple(parse_programs(Path(names).read_text(encoding="utf-8-sig"), names))


def _rules_of(names: str | Sequence[str]) -> tuple[TermRule, ...]:
    chosen = [names] if isinstance(names, str) else list(names)
    term_rules: list[tuple[TermRule, ...]] = []
    for name in chosen:
        if name in RULE_SETS:
            term_rules.append(rules_named(name))
            continue
        if not isinstance(name, str) or not Path(name).is_file():
            known = ", ".join(RULE_SETS)
            raise InputError(f"rules: expected one of {known}, or a file, found {name!r}")
        rules = tuple(parse_rules(Path(name).read_text(encoding="utf-8-sig"), name))
        check_rules(rules, name)
        term_rules.append(rules)
    if not any(term_rules):
        raise InputError("rules: expected one or more, found none")
    return merge_rules(term_rules)


def _between(name: str, value: object, most: int) -> int:
    result = arguments.check_integer(name, value)
    if not 1 <= result <= most:
        raise InputError(f"{name}: expected an integer from 1 to {most:,}, found {value!r}")
    return result


_PART_OF = COLUMNS.index("part_of")


def as_text(episode: RewriteEpisode) -> str:
    """Return the state, the term, and by what it came about."""
    lines = [_state(episode), text_of(episode.term, _marked(episode))]
    if episode.steps:
        lines.append(f"by {episode.steps[-1]}")
    return "\n".join(lines) + "\n"


def as_picture(episode: RewriteEpisode) -> Array:
    """Return the term as a tree, (height, width, 3) bytes."""
    from polygym.pictures.term_tree import tree_picture

    words: list[str] = []
    stack = [episode.term]
    while stack:
        term = stack.pop()
        words.append("lam" if is_lam(term) else name_of(term) or str(term.head).partition(":")[0])
        stack.extend(reversed(term.children))
    layout = episode.task.layout(episode.term)
    place, marked = _marked(episode), -1
    if place is not None:
        marked = next(row for row in range(len(words)) if layout.place(row) == place)
    return tree_picture(_state(episode), words, layout.rows[:, _PART_OF].tolist(), marked)


def _state(episode: RewriteEpisode) -> str:
    return (
        f"{episode.task.program.name}: cost {episode.cost:g} of {episode.initial_cost:g}, "
        f"{episode.steps_left} steps left, {episode.status}"
    )


def _marked(episode: RewriteEpisode) -> Position | None:
    """Return the place of the last step as far as it is one of the term that the step made."""
    if not episode.steps:
        return None
    term, result = episode.term, list[int]()
    for at in episode.steps[-1].position:
        if at >= len(term.children):
            break
        result.append(at)
        term = term.children[at]
    return tuple(result)
