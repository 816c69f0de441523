"""An episode as a text, as a picture of its graph, and as a page of pixels."""

from __future__ import annotations

from polygym.episodes.tables import Array
from polygym.errors import InputError
from polygym.graphs.drawing.difference import differing
from polygym.graphs.drawing.picture import compare, picture
from polygym.graphs.envs.saturation import EXTRACT_GREEDILY, Saturation
from polygym.graphs.envs.substitution import STOP, Substitution, in_text_order
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import text_of
from polygym.pictures.notes import Column, Note
from polygym.pictures.page import page

__all__ = ["as_picture", "as_svg", "as_text", "places_as_svg"]

_MOST_LINES = 40


def as_text(episode: Saturation | Substitution) -> str:
    """Return where the episode is, what can be done, and the graph."""
    lines = [f"{episode.task.name}: {_stage(episode)}", _cost(episode)]
    if not episode.is_over:
        lines += _choices(episode)
    return "\n".join([*lines, *_marked(episode)])


def as_svg(episode: Saturation | Substitution) -> str:
    """Return the graph before and after what was done last as SVG, with the difference coloured.

    An e-graph is no graph: there it is the start and what would be extracted now.
    """
    before = _before(episode)
    title = f"{episode.task.name}: {_stage(episode)}"
    if before is None:
        return picture(episode.graph, title=title)
    return compare(before, episode.graph, ("before", title))


def as_picture(episode: Saturation | Substitution) -> Array:
    """Return what can be done, and the graph, as a page of text: (height, width, 3) bytes."""
    done = () if episode.is_over else _choices(episode)
    choices = tuple(Note(line[2:], is_faint=not line.startswith(">")) for line in done)
    graph = tuple(Note(line, stands_out=line.endswith("; new")) for line in _marked(episode))
    return page(
        f"{episode.task.name}: {_stage(episode)}",
        (Column(_cost(episode), choices), Column("the graph", graph)),
    )


def places_as_svg(episode: Substitution, action: int) -> str:
    """Return the graph as SVG with the nodes coloured that a substitution would replace.

    Raises:
        InputError: the action is none.
    """
    if action == STOP or (why := episode.refusal(action)):
        raise InputError(
            f"action {action}: expected a substitution" + (f": {why}" if action else "")
        )
    chosen = episode.candidates[action - 1]
    return picture(episode.graph, chosen.places, f"{episode.meanings()[action]}")


def _before(episode: Saturation | Substitution) -> Graph | None:
    """Return the graph to compare with, None where nothing was done."""
    if isinstance(episode, Saturation):
        return episode.task.graph if episode.actions else None
    return None if episode.before is None else episode.task.graph.with_root(episode.before)


def _marked(episode: Saturation | Substitution) -> list[str]:
    """Return the lines of the graph's text, those marked that the graph before did not have."""
    lines = text_of(episode.graph).splitlines()
    before = _before(episode)
    if before is None:
        return lines
    _, new = differing(before, episode.graph)
    nodes = in_text_order(episode.graph)
    return [
        f"{line}  ; new" if line.startswith("%") and nodes[place - 1] in new else line
        for place, line in enumerate(lines)
    ]


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "node"), counted(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _stage(episode: Saturation | Substitution) -> str:
    if episode.is_over:
        return f"ended, {episode.status}"
    if isinstance(episode, Saturation):
        graph = episode.egraph
        full = ", full" if episode.is_full else ""
        return f"{graph.node_count} nodes in {graph.class_count} classes{full}"
    count = len(episode.taken)
    last = f", the last one {episode.taken[-1].rule}" if episode.taken else ""
    return f"{counted(count, 'substitution')}{last}"


def _cost(episode: Saturation | Substitution) -> str:
    first, now = episode.task.initial_cost, episode.cost
    return f"cost {now:.6g} of {first:.6g}: {100 * (first - now) / first:.2f} % less"


def _choices(episode: Saturation | Substitution) -> list[str]:
    return _groups(episode) if isinstance(episode, Saturation) else _candidates(episode)


def _groups(episode: Saturation) -> list[str]:
    lines = []
    for action, name in enumerate(episode.meanings()):
        why, done = episode.refusal(action), episode.applied[action]
        said = []
        if action < EXTRACT_GREEDILY and done.times:
            said.append(
                f"applied {counted(done.times, 'time')}, the last changed "
                f"{counted(done.matches, 'place')} and added {counted(done.growth, 'node')}"
            )
        said += [why] if why else []
        note = f": {'; '.join(said)}" if said else ""
        lines.append(f"{' ' if why else '>'} {action:3} {name}{note}")
    return lines


def _candidates(episode: Substitution) -> list[str]:
    meanings = episode.meanings()
    lines = [f">   0 {meanings[0]}"]
    for action, one in enumerate(episode.candidates[:_MOST_LINES], start=1):
        lines.append(f"> {action:3} {meanings[action]}: {one.cost - episode.cost:+.6g}")
    more = len(episode.candidates) - _MOST_LINES + episode.left_out
    return [*lines, *([f"      … {more} more"] if more > 0 else [])]
