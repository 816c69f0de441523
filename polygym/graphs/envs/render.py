"""An episode as a text, and as a picture of its graph."""

from __future__ import annotations

from polygym.graphs.envs.saturation import EXTRACT_GREEDILY, Saturation
from polygym.graphs.envs.substitution import Substitution
from polygym.graphs.text import text_of

__all__ = ["as_svg", "as_text"]

_MOST_LINES = 40


def as_text(episode: Saturation | Substitution) -> str:
    """Return where the episode is, what can be done, and the graph."""
    lines = [f"{episode.task.name}: {_stage(episode)}", _cost(episode)]
    if isinstance(episode, Saturation):
        lines += _groups(episode)
    else:
        lines += _candidates(episode)
    return "\n".join([*lines, text_of(episode.graph).rstrip()])


def as_svg(episode: Saturation | Substitution) -> str:
    """Return a picture of the graph before and after what was done last, with that coloured."""
    raise NotImplementedError


def _stage(episode: Saturation | Substitution) -> str:
    if episode.is_over:
        return f"ended, {episode.status}"
    if isinstance(episode, Saturation):
        graph = episode.egraph
        full = ", full" if episode.is_full else ""
        return f"{graph.node_count} nodes in {graph.class_count} classes{full}"
    count = len(episode.taken)
    last = f", the last one {episode.taken[-1].rule}" if episode.taken else ""
    return f"{count} substitution{'' if count == 1 else 's'}{last}"


def _cost(episode: Saturation | Substitution) -> str:
    first, now = episode.task.initial_cost, episode.cost
    return f"cost {now:.6g} of {first:.6g}: {100 * (first - now) / first:.2f} % less"


def _groups(episode: Saturation) -> list[str]:
    lines = []
    for action, name in enumerate(episode.meanings()):
        why = episode.refusal(action)
        note = f"  ({why})" if why else ""
        done = episode.applied[action]
        if action < EXTRACT_GREEDILY and done.times:
            note = (
                f"  applied {done.times} times, the last one changed {done.matches} places "
                f"and added {done.growth} nodes{note}"
            )
        lines.append(f"{' ' if why else '>'} {action:3} {name}{note}")
    return lines


def _candidates(episode: Substitution) -> list[str]:
    if episode.is_over:
        return []
    meanings = episode.meanings()
    lines = [f">   0 {meanings[0]}"]
    for action, one in enumerate(episode.candidates[:_MOST_LINES], start=1):
        lines.append(f"> {action:3} {meanings[action]}: {one.cost - episode.cost:+.6g}")
    more = len(episode.candidates) - _MOST_LINES + episode.left_out
    return [*lines, *([f"      … {more} more"] if more > 0 else [])]
