"""Episodes of rewriting as JSON, and back: derivations with the actions that led to them.

The record of an episode is one of :mod:`polygym.terms.derivation` with what only an episode has:
the environment's id, the actions, how it ended. Another reader of the rules can follow the one
part, and :func:`replay_episode` plays the other.
"""

from collections.abc import Mapping
from typing import Any

from polygym.errors import InputError
from polygym.terms.cost import StaticCost
from polygym.terms.derivation import derive, replay_derivation
from polygym.terms.envs.encoding import TermEncoder
from polygym.terms.envs.episode import RewriteEpisode, RewriteTask
from polygym.terms.rewriter import Rewriter

ENVIRONMENT = "polygym/Rewrite-v0"


def episode_record(episode: RewriteEpisode) -> dict[str, Any]:
    """Return the record of an episode, finished or not."""
    task = episode.task
    derivation = derive(task.program, task.rewriter.rules, episode.steps)
    return {
        **derivation.to_json(),
        "environment": ENVIRONMENT,
        "max_nodes": task.max_nodes,
        "max_steps": task.max_steps,
        "is_relative_reward": task.is_relative_reward,
        "actions": list(episode.actions),
        "illegal_actions": episode.illegal,
        "status": episode.status,
    }


def replay_episode(record: Any, where: str = "an episode") -> RewriteEpisode:
    """Play a record again.

    Raises:
        InputError: it is none, or its actions lead elsewhere now.
    """
    derivation = replay_derivation(record, where)
    if not isinstance(record, Mapping) or record.get("environment") != ENVIRONMENT:
        raise InputError(f"{where}: expected an episode of {ENVIRONMENT}, found none")
    try:
        steps, nodes = int(record["max_steps"]), int(record["max_nodes"])
        actions = [int(action) for action in record["actions"]]
        relative, status = bool(record["is_relative_reward"]), str(record["status"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: expected the members of an episode: {error!r}") from None
    rewriter = Rewriter(derivation.rules)
    pieces = TermEncoder(rewriter)
    task = RewriteTask(derivation.program, rewriter, StaticCost(), steps, nodes, pieces, relative)
    episode = task.start()
    for number, action in enumerate(actions, 1):
        if episode.is_over or action not in episode.legal_actions():
            raise InputError(
                f"{where}: action {number}: expected one that is allowed, found {action}"
            )
        episode = episode.step(action)
    if episode.term is not derivation.terms[-1]:
        raise InputError(f"{where}: expected the actions to lead to the last term, they do not")
    if status != episode.status and status != "invalid":
        raise InputError(f"{where}: expected the end {status!r}, found {episode.status!r}")
    return episode
