"""Records of episodes of tensor graphs, played again: what is claimed is done, step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

from polygym.episodes.entries import Entries
from polygym.episodes.episode import MOST_ILLEGAL_ACTIONS
from polygym.errors import InputError
from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.envs.records import KEYS, STOP_NAME, digest, read
from polygym.graphs.envs.saturate import SaturateEnv
from polygym.graphs.envs.saturation import ACTIONS, Saturation
from polygym.graphs.envs.substitute import SubstituteEnv
from polygym.graphs.envs.substitution import STOP, Substitution
from polygym.graphs.envs.task import DEFAULT_RULES, expect_sound
from polygym.graphs.ir.text import parse_graph
from polygym.rewrite.rule import parse_rules, text_of_rules

__all__ = ["replay"]

_ENVIRONMENTS: Mapping[str, type[GraphEnv]] = {
    SaturateEnv.ID: SaturateEnv,
    SubstituteEnv.ID: SubstituteEnv,
}
_SAME = 1e-9


def replay(record: Mapping[str, Any], name: str = "record", costs: Any = None) -> GraphEnv:
    """Return an environment in which the record's actions have been taken again.

    ``name`` is what messages call the record; ``costs`` replace those that it names, where these
    were a value of the caller's own.

    Raises:
        InputError: the record is damaged, an action is not possible where it stands, or it comes to
            something else than the record says.
    """
    said = Entries(name, "", record)
    read(json.dumps(dict(record)), name)
    said.only(KEYS)
    said.version("polygym")
    env = _made(said, costs)
    env.reset(seed=None)
    actions = said.items("actions")
    for number, key in enumerate(actions.values, start=1):
        where = f"{name}: action {number}"
        if env.episode.is_over:
            raise InputError(f"{where}: expected the end of the record, the episode has ended")
        action = _number(env, actions.part(key), where)
        if why := env.episode.refusal(action):
            raise InputError(f"{where}: {why}")
        env.step(action)
        _compare(f"{where}: the cost", actions.part(key).number("cost"), env.episode.cost)
    if illegal := said.integer("illegal", 0, MOST_ILLEGAL_ACTIONS):
        env.adopt(env.episode.with_illegal(illegal, ""))
    _compare_ends(said, env)
    return env


def _made(said: Entries, costs: Any) -> GraphEnv:
    """Return the environment of a record, before its first episode."""
    kind = _ENVIRONMENTS[said.one_of("environment", tuple(_ENVIRONMENTS))]
    arguments = dict(said.part("arguments").values)
    if costs is not None:
        arguments["costs"] = costs
    rules = said.part("rules")
    table = rules.any("table")
    if table is not None:
        found = parse_rules(rules.text("table"), f"{said.file}: rules")
        for rule in found:
            expect_sound(rule)
    graph = parse_graph(said.text("graph"), f"{said.file}: graph")
    try:
        env = kind(graph, rules=DEFAULT_RULES if table is None else found, **arguments)
    except TypeError as error:
        raise InputError(f"{said.file}: the entry arguments: {error}") from None
    if digest(text_of_rules(env.table)) != rules.text("sha256"):
        raise InputError(
            f"{said.file}: expected the rules of the record, found that they are others"
        )
    return env


def _number(env: GraphEnv, said: Entries, where: str) -> int:
    """Return the number of an action that is named."""
    episode = env.episode
    if isinstance(episode, Saturation):
        said.only(("action", "cost"))
        return ACTIONS.index(said.one_of("action", ACTIONS))
    assert isinstance(episode, Substitution)
    said.only(("action", "places", "cost"))
    name, places = said.text("action"), tuple(said.items("places").values.values())
    if name == STOP_NAME and not places:
        return STOP
    for place, one in enumerate(episode.candidates):
        if one.rule.name == name and episode.places_of(one) == places:
            return place + 1
    raise InputError(f"{where}: {name} is not possible at {_text(places)}")


def _text(places: Sequence[object]) -> str:
    return "the nodes " + ", ".join(map(repr, places)) if places else "no node"


def _compare_ends(said: Entries, env: GraphEnv) -> None:
    episode = env.episode
    for key, found in (("initial_cost", episode.task.initial_cost), ("cost", episode.cost)):
        _compare(f"{said.file}: {key}", said.number(key), found)
    if (status := said.text("status")) != episode.status:
        raise InputError(
            f"{said.file}: expected the actions to lead to {status!r}, found {episode.status!r}"
        )
    if parse_graph(said.text("result"), f"{said.file}: result") != episode.graph:
        raise InputError(f"{said.file}: expected the result of the record, found another graph")


def _compare(what: str, expected: float, found: float) -> None:
    if not isclose(expected, found, rel_tol=_SAME):
        raise InputError(f"{what}: expected {expected:g}, found {found:g}")
