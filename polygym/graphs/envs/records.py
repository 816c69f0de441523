"""Episodes of tensor graphs as JSON.

A record has the graph as text, the arguments, the rules (polygym's by a digest, others as a table),
every action by its name, with the rule and the places of a substitution, and what it came to. So it
is understood without the library of models, and playing it again says whether rules, costs or the
order of candidates have become others since::

    record = env.unwrapped.export()
    again = replay(json.loads(json.dumps(record)))
    again.episode.cost == env.unwrapped.episode.cost

An action that is not possible where it stands is refused, by its number and with a reason; so is a
rule of the table that is not sound (:mod:`polygym.graphs.envs.record_replay`).
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from polygym.graphs.envs.saturation_episode import ACTIONS, SaturationEpisode
from polygym.graphs.envs.substitution_episode import SubstitutionEpisode
from polygym.graphs.envs.task import DEFAULT_RULES
from polygym.graphs.ir.text import graph_text
from polygym.mdp.records.episode_record import read_record_as
from polygym.rewrite.rule import rules_text
from polygym.version import __version__

FORMAT = "polygym graph episode"
VERSION = 1

KEYS = (
    "format", "version", "polygym", "environment", "arguments", "graph", "rules", "actions",
    "illegal", "status", "initial_cost", "cost", "result",
)  # fmt: skip
STOP_NAME = "stop"


def episode_record(
    environment: str,
    arguments: Mapping[str, Any],
    rules: object,
    episode: SaturationEpisode | SubstitutionEpisode,
) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    table = rules_text(episode.task.rules)
    is_default = isinstance(rules, str) and rules == DEFAULT_RULES
    return {
        "format": FORMAT,
        "version": VERSION,
        "polygym": __version__,
        "environment": environment,
        "arguments": dict(arguments),
        "graph": graph_text(episode.task.graph),
        "rules": {"sha256": rules_digest(table), "table": None if is_default else table},
        "actions": _actions(episode),
        "illegal": episode.illegal,
        "status": episode.status,
        "initial_cost": episode.task.initial_cost,
        "cost": episode.cost,
        "result": graph_text(episode.graph),
    }


def read_record(text: str, name: str) -> dict[str, Any]:
    """Return a record from a file's text.

    Raises:
        InputError: it is none; says what is expected.
    """
    expected = f'an episode on a graph, {{"format": "{FORMAT}", ...}}, as export() writes it'
    return read_record_as(text, name, FORMAT, VERSION, expected)


def _actions(episode: SaturationEpisode | SubstitutionEpisode) -> list[dict[str, Any]]:
    if isinstance(episode, SaturationEpisode):
        return [
            {"action": ACTIONS[action], "cost": cost}
            for action, cost in zip(episode.actions, episode.costs, strict=True)
        ]
    result: list[dict[str, Any]] = [
        {
            "action": substitution.rule,
            "places": list(substitution.places),
            "cost": substitution.cost,
        }
        for substitution in episode.applied
    ]
    if len(episode.actions) > len(episode.applied):
        result.append({"action": STOP_NAME, "places": [], "cost": episode.cost})
    return result


def rules_digest(text: str) -> str:
    """Return the fingerprint of a table of rules."""
    return sha256(text.encode()).hexdigest()
