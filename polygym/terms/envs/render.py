"""Episodes of rewriting as text and pictures: the term, the place of the last rewrite marked."""

from polygym.mdp.observation.arrays import Array
from polygym.terms.envs.encoding import COLUMNS
from polygym.terms.envs.episode import RewriteEpisode
from polygym.terms.language.nodes import is_lam, name_of
from polygym.terms.language.printer import text_of
from polygym.terms.rewriter import Position

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
