"""An episode as a text, as a picture of its graph, and as a page of pixels."""

from polygym.errors import InputError
from polygym.graphs.drawing.difference import changed_nodes
from polygym.graphs.drawing.svg import comparison_svg, graph_svg
from polygym.graphs.envs.saturation_episode import EXTRACT_GREEDY, SaturationEpisode
from polygym.graphs.envs.substitution_episode import STOP, SubstitutionEpisode, nodes_in_text_order
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.text import graph_text
from polygym.mdp.observation.arrays import Array
from polygym.pictures.page import TextColumn, TextEntry, text_page

_MAX_LINES = 40


def episode_text(episode: SaturationEpisode | SubstitutionEpisode) -> str:
    """Return where the episode is, what can be done, and the graph."""
    lines = [f"{episode.task.name}: {_stage(episode)}", _cost(episode)]
    if not episode.is_over:
        lines += _choices(episode)
    return "\n".join([*lines, *_marked_lines(episode)])


def episode_svg(episode: SaturationEpisode | SubstitutionEpisode) -> str:
    """Return the graph before and after what was done last as SVG, with the difference coloured.

    An e-graph is no graph: there it is the start and what would be extracted now.
    """
    before = _before(episode)
    title = f"{episode.task.name}: {_stage(episode)}"
    if before is None:
        return graph_svg(episode.graph, title=title)
    return comparison_svg(before, episode.graph, ("before", title))


def episode_pixels(episode: SaturationEpisode | SubstitutionEpisode) -> Array:
    """Return what can be done, and the graph, as a page of text: (height, width, 3) bytes."""
    done = () if episode.is_over else _choices(episode)
    choices = tuple(TextEntry(line[2:], is_faint=not line.startswith(">")) for line in done)
    graph = tuple(
        TextEntry(line, is_highlighted=line.endswith("; new")) for line in _marked_lines(episode)
    )
    return text_page(
        f"{episode.task.name}: {_stage(episode)}",
        (TextColumn(_cost(episode), choices), TextColumn("the graph", graph)),
    )


def matched_nodes_svg(episode: SubstitutionEpisode, action: int) -> str:
    """Return the graph as SVG with the nodes coloured that a substitution would replace.

    Raises:
        InputError: the action is none.
    """
    if action == STOP or (why := episode.refusal(action)):
        raise InputError(
            f"action {action}: expected a substitution" + (f": {why}" if action else "")
        )
    chosen = episode.candidates[action - 1]
    return graph_svg(episode.graph, chosen.places, f"{episode.meanings()[action]}")


def _before(episode: SaturationEpisode | SubstitutionEpisode) -> Graph | None:
    """Return the graph to compare with, None where nothing was done."""
    if isinstance(episode, SaturationEpisode):
        return episode.task.graph if episode.actions else None
    return (
        None
        if episode.previous_root is None
        else episode.task.graph.with_root(episode.previous_root)
    )


def _marked_lines(episode: SaturationEpisode | SubstitutionEpisode) -> list[str]:
    """Return the lines of the graph's text, those marked that the graph before did not have."""
    lines = graph_text(episode.graph).splitlines()
    before = _before(episode)
    if before is None:
        return lines
    _, new = changed_nodes(before, episode.graph)
    nodes = nodes_in_text_order(episode.graph)
    return [
        f"{line}  ; new" if line.startswith("%") and nodes[place - 1] in new else line
        for place, line in enumerate(lines)
    ]


def with_noun(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> with_noun(1, "node"), with_noun(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _stage(episode: SaturationEpisode | SubstitutionEpisode) -> str:
    if episode.is_over:
        return f"ended, {episode.status}"
    if isinstance(episode, SaturationEpisode):
        graph = episode.egraph
        full = ", full" if episode.is_full else ""
        return f"{graph.node_count} nodes in {graph.class_count} classes{full}"
    count = len(episode.applied)
    last = f", the last one {episode.applied[-1].rule}" if episode.applied else ""
    return f"{with_noun(count, 'substitution')}{last}"


def _cost(episode: SaturationEpisode | SubstitutionEpisode) -> str:
    first, now = episode.task.initial_cost, episode.cost
    return f"cost {now:.6g} of {first:.6g}: {100 * (first - now) / first:.2f} % less"


def _choices(episode: SaturationEpisode | SubstitutionEpisode) -> list[str]:
    return _groups(episode) if isinstance(episode, SaturationEpisode) else _candidates(episode)


def _groups(episode: SaturationEpisode) -> list[str]:
    lines = []
    for action, name in enumerate(episode.meanings()):
        why, done = episode.refusal(action), episode.action_statistics[action]
        said = []
        if action < EXTRACT_GREEDY and done.count:
            said.append(
                f"applied {with_noun(done.count, 'time')}, the last changed "
                f"{with_noun(done.matches, 'place')} and added {with_noun(done.growth, 'node')}"
            )
        said += [why] if why else []
        note = f": {'; '.join(said)}" if said else ""
        lines.append(f"{' ' if why else '>'} {action:3} {name}{note}")
    return lines


def _candidates(episode: SubstitutionEpisode) -> list[str]:
    meanings = episode.meanings()
    lines = [f">   0 {meanings[0]}"]
    for action, candidate in enumerate(episode.candidates[:_MAX_LINES], start=1):
        lines.append(f"> {action:3} {meanings[action]}: {candidate.cost - episode.cost:+.6g}")
    more = len(episode.candidates) - _MAX_LINES + episode.omitted
    return [*lines, *([f"      … {more} more"] if more > 0 else [])]
