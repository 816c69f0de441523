"""Records of episodes of tensor graphs, played again: what is claimed is done, step by step."""

import json
from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

from polygym.errors import InputError
from polygym.graphs.envs.base import GraphEnv
from polygym.graphs.envs.records import KEYS, STOP_NAME, read_record, rules_digest
from polygym.graphs.envs.saturate_env import SaturateEnv
from polygym.graphs.envs.saturation_episode import ACTIONS, SaturationEpisode
from polygym.graphs.envs.substitute_env import SubstituteEnv
from polygym.graphs.envs.substitution_episode import STOP, SubstitutionEpisode
from polygym.graphs.envs.task import DEFAULT_RULES, check_sound
from polygym.graphs.ir.text import parse_graph
from polygym.mdp.episode import MOST_ILLEGAL_ACTIONS
from polygym.mdp.records.record_checks import JsonEntries
from polygym.rewrite.rule import parse_rules, rules_text

_ENVIRONMENTS: Mapping[str, type[GraphEnv]] = {
    SaturateEnv.ID: SaturateEnv,
    SubstituteEnv.ID: SubstituteEnv,
}
_COST_TOLERANCE = 1e-9


def replay(record: Mapping[str, Any], name: str = "record", costs: Any = None) -> GraphEnv:
    """Return an environment in which the record's actions have been taken again.

    ``name`` is what messages call the record; ``costs`` replace those that it names, where these
    were a value of the caller's own.

    Raises:
        InputError: the record is damaged, an action is not possible where it stands, or it comes to
            something else than the record says.
    """
    said = JsonEntries(name, "", record)
    read_record(json.dumps(dict(record)), name)
    said.check_keys(KEYS)
    said.version("polygym")
    env = _environment_of(said, costs)
    env.reset(seed=None)
    actions = said.objects_at("actions")
    for number, key in enumerate(actions.entries, start=1):
        where = f"{name}: action {number}"
        if env.episode.is_over:
            raise InputError(f"{where}: expected the end of the record, the episode has ended")
        action = _action_number(env, actions.object_at(key), where)
        if why := env.episode.refusal(action):
            raise InputError(f"{where}: {why}")
        env.step(action)
        _compare(f"{where}: the cost", actions.object_at(key).number("cost"), env.episode.cost)
    if illegal := said.integer("illegal", 0, MOST_ILLEGAL_ACTIONS):
        env.adopt(env.episode.with_illegal(illegal, ""))
    _compare_results(said, env)
    return env


def _environment_of(record: JsonEntries, costs: Any) -> GraphEnv:
    """Return the environment of a record, before its first episode."""
    kind = _ENVIRONMENTS[record.one_of("environment", tuple(_ENVIRONMENTS))]
    arguments = dict(record.object_at("arguments").entries)
    if costs is not None:
        arguments["costs"] = costs
    rules = record.object_at("rules")
    table = rules.entry("table")
    if table is not None:
        parsed_rules = parse_rules(rules.text("table"), f"{record.file}: rules")
        for rule in parsed_rules:
            check_sound(rule)
    graph = parse_graph(record.text("graph"), f"{record.file}: graph")
    try:
        env = kind(graph, rules=DEFAULT_RULES if table is None else parsed_rules, **arguments)
    except TypeError as error:
        raise InputError(f"{record.file}: the entry arguments: {error}") from None
    if rules_digest(rules_text(env.table)) != rules.text("sha256"):
        raise InputError(
            f"{record.file}: expected the rules of the record, found that they are others"
        )
    return env


def _action_number(env: GraphEnv, step: JsonEntries, where: str) -> int:
    """Return the number of an action that is named."""
    episode = env.episode
    if isinstance(episode, SaturationEpisode):
        step.check_keys(("action", "cost"))
        return ACTIONS.index(step.one_of("action", ACTIONS))
    assert isinstance(episode, SubstitutionEpisode)
    step.check_keys(("action", "places", "cost"))
    name, places = step.text("action"), tuple(step.objects_at("places").entries.values())
    if name == STOP_NAME and not places:
        return STOP
    for place, candidate in enumerate(episode.candidates):
        if candidate.rule.name == name and episode.places_of(candidate) == places:
            return place + 1
    raise InputError(f"{where}: {name} is not possible at {_text(places)}")


def _text(places: Sequence[object]) -> str:
    return "the nodes " + ", ".join(map(repr, places)) if places else "no node"


def _compare_results(record: JsonEntries, env: GraphEnv) -> None:
    episode = env.episode
    for key, cost in (("initial_cost", episode.task.initial_cost), ("cost", episode.cost)):
        _compare(f"{record.file}: {key}", record.number(key), cost)
    if (status := record.text("status")) != episode.status:
        raise InputError(
            f"{record.file}: expected the actions to lead to {status!r}, found {episode.status!r}"
        )
    if parse_graph(record.text("result"), f"{record.file}: result") != episode.graph:
        raise InputError(f"{record.file}: expected the result of the record, found another graph")


def _compare(quantity: str, expected: float, actual: float) -> None:
    if not isclose(expected, actual, rel_tol=_COST_TOLERANCE):
        raise InputError(f"{quantity}: expected {expected:g}, found {actual:g}")
