"""Episodes of tensor graphs as JSON, and back.

A record has the graph as text, the arguments, the rules (polygym's by a digest, others as a table),
every action by its name, with the rule and the places of a substitution, and what it came to. So it
is understood without the library of models, and playing it again says whether rules, costs or the
order of candidates have become others since::

    record = env.unwrapped.export()
    again = replay(json.loads(json.dumps(record)))
    again.episode.cost == env.unwrapped.episode.cost

An action that is not possible where it stands is refused, by its number and with a reason; so is a
rule of the table that is not sound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import isclose
from typing import Any

from polygym.episodes.entries import Entries
from polygym.episodes.episode import MOST_ILLEGAL_ACTIONS
from polygym.errors import InputError
from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.envs.saturate import SaturateEnv
from polygym.graphs.envs.saturation import ACTIONS, Saturation
from polygym.graphs.envs.substitute import SubstituteEnv
from polygym.graphs.envs.substitution import STOP, Substitution
from polygym.graphs.envs.task import DEFAULT_RULES, expect_sound
from polygym.graphs.text import parse_graph, text_of
from polygym.rewrite.rule import parse_rules, text_of_rules
from polygym.version import __version__

__all__ = ["FORMAT", "VERSION", "of", "read", "replay"]

FORMAT = "polygym graph episode"
VERSION = 1

_ENVIRONMENTS: Mapping[str, type[GraphEnv]] = {
    SaturateEnv.ID: SaturateEnv,
    SubstituteEnv.ID: SubstituteEnv,
}
_KEYS = (
    "format", "version", "polygym", "environment", "arguments", "graph", "rules", "actions",
    "illegal", "status", "initial_cost", "cost", "result",
)  # fmt: skip
_STOP_NAME = "stop"
_SAME = 1e-9


def of(
    environment: str,
    arguments: Mapping[str, Any],
    rules: object,
    episode: Saturation | Substitution,
) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    table = text_of_rules(episode.task.rules)
    is_default = isinstance(rules, str) and rules == DEFAULT_RULES
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": __version__,
        "environment": environment,
        "arguments": dict(arguments),
        "graph": text_of(episode.task.graph),
        "rules": {"sha256": _digest(table), "table": None if is_default else table},
        "actions": _actions(episode),
        "illegal": episode.illegal,
        "status": episode.status,
        "initial_cost": episode.task.initial_cost,
        "cost": episode.cost,
        "result": text_of(episode.graph),
    }


def read(text: str, name: str) -> dict[str, Any]:
    """Return a record from a file's text.

    Raises:
        InputError: it is none; says what is expected.
    """
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: expected JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(
            f'{name}: expected an episode on a graph, {{"format": "{FORMAT}", ...}}, as export() '
            "writes it"
        )
    if type(record.get("version")) is not int or record["version"] != VERSION:
        raise InputError(
            f"{name}: expected version {VERSION} of the format, found {record.get('version')!r}"
        )
    return record


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
    said.only(_KEYS)
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
    if _digest(text_of_rules(env.table)) != rules.text("sha256"):
        raise InputError(
            f"{said.file}: expected the rules of the record, found that they are others"
        )
    return env


def _actions(episode: Saturation | Substitution) -> list[dict[str, Any]]:
    if isinstance(episode, Saturation):
        return [
            {"action": ACTIONS[action], "cost": cost}
            for action, cost in zip(episode.actions, episode.costs, strict=True)
        ]
    found: list[dict[str, Any]] = [
        {"action": one.rule, "places": list(one.places), "cost": one.cost} for one in episode.taken
    ]
    if len(episode.actions) > len(episode.taken):
        found.append({"action": _STOP_NAME, "places": [], "cost": episode.cost})
    return found


def _number(env: GraphEnv, said: Entries, where: str) -> int:
    """Return the number of an action that is named."""
    episode = env.episode
    if isinstance(episode, Saturation):
        said.only(("action", "cost"))
        return ACTIONS.index(said.one_of("action", ACTIONS))
    assert isinstance(episode, Substitution)
    said.only(("action", "places", "cost"))
    name, places = said.text("action"), tuple(said.items("places").values.values())
    if name == _STOP_NAME and not places:
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


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
