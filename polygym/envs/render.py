"""An episode as a text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from polygym.envs import decision_text
from polygym.errors import LimitError
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.mdp.episode import Episode
from polygym.mdp.observation.arrays import Array
from polygym.mdp.problems.loading import ScheduleProblem
from polygym.mdp.task_options import Phase
from polygym.poly.integer_vectors import Vector
from polygym.poly.schedule import Schedule
from polygym.poly.spaces.construction import dependence_name
from polygym.poly.spaces.exploration import combine_partial
from polygym.runtime.evaluation import Evaluation, c_text

if TYPE_CHECKING:
    from polygym.pictures.page import TextColumn, TextEntry


def episode_text(subject: ScheduleProblem, episode: Episode, evaluation: Evaluation | None) -> str:
    """Return the state, the rows, and at the end the schedule, its C and what was measured."""
    parts = [f"{subject.program.name}: {_phase_text(episode)}", *_dependences(episode)]
    parts += _dimensions(episode)
    if episode.phase is Phase.EXPLORE:
        parts += _current_generator(episode)
    if episode.phase is Phase.INVALID:
        parts.append(f"invalid: {episode.reason}")
    schedule = _schedule(episode)
    if asked := decision_text.answer_texts(episode):
        parts.append(f"question: {decision_text.question_text(episode)}")
        parts += [f"  {number:3} {text}" for number, text, allowed in asked if allowed]
    if episode.transform_state is not None:
        parts += [
            "loops",
            *(f"  {line}" for line in episode.transform_state.tree.text().split("\n")),
        ]
    if episode.mapping is not None:
        parts += ["mapping", f"  {episode.mapping}"]
    if schedule is not None:
        parts += ["schedule", f"  {schedule}"]
        if evaluation is not None:
            parts.append(f"{evaluation.status.value}: speedup {evaluation.speedup:.3g}")
        if episode.is_over:
            mapping = episode.mapping or SEQUENTIAL_MAPPING
            parts += ["C", c_text(subject.program_of(episode), schedule, mapping)]
    return "\n".join(parts)


def episode_picture(subject: ScheduleProblem, episode: Episode) -> Array:
    """Return a picture of the episode, (height, width, 3) bytes.

    Above is the iteration domain; below is the space, or, where the agent constructs one, edits or
    decides a mapping, what is asked and what has been decided.
    """
    from polygym.pictures.scenes.canvas import Scene, render

    title = f"{subject.program.name}: {_phase_text(episode)}"
    schedule = _schedule(episode)
    number = min(len(episode.exploration.points), len(episode.dimensions) - 1)
    is_early = episode.phase in (Phase.STORE, Phase.CONSTRUCT)
    decides = episode.edit_state or episode.mapping_state or episode.transform_state
    if is_early or decides:
        return render(
            Scene(
                episode.task.scop,
                title=title,
                schedule=schedule,
                highlighted=_current_dependence(episode),
                text_columns=_columns(episode, schedule),
            )
        )
    if number < 0:
        return render(Scene(episode.task.scop, schedule=schedule, title=title))
    known = episode.dimensions[number].generators
    coefficients = episode.exploration.coefficients
    point: Sequence[int | Fraction] | None = None
    current: int | None = None
    if episode.phase is Phase.EXPLORE:
        point = combine_partial(known, coefficients)
        current = len(coefficients)
    elif episode.exploration.points:
        point = episode.exploration.points[-1]
    return render(
        Scene(
            episode.task.scop,
            vertices=known.vertices,
            rays=known.rays,
            current=current,
            point=point,
            schedule=schedule,
            title=title,
        )
    )


def _current_dependence(episode: Episode) -> tuple[int, ...]:
    """Return the dependence that is looked at, if one is."""
    if episode.phase is not Phase.CONSTRUCT:
        return ()
    place = episode.construction.dependence - 1
    return episode.task.rules.candidates[place : place + 1]


def _columns(episode: Episode, schedule: Schedule | None) -> tuple[TextColumn, ...]:
    """Return what is asked with its answers, and what has been decided, as text for a picture."""
    from polygym.pictures.page import TextColumn, TextEntry

    if episode.phase is Phase.CONSTRUCT:
        known = (TextEntry(line, line.startswith(">")) for line in _dependences(episode)[1:])
        space = TextColumn("the space so far", _notes(_dimensions(episode)))
        return TextColumn("dependences", tuple(known)), space
    result = []
    if asked := decision_text.question_text(episode):
        every = decision_text.answer_texts(episode)
        texts = (TextEntry(f"{number}: {text}", is_faint=not can) for number, text, can in every)
        result.append(TextColumn(asked, tuple(texts)))
    result.append(
        TextColumn(
            "decided so far" if result else "decided", _notes(decision_text.decided_lines(episode))
        )
    )
    if schedule is not None:
        result.append(TextColumn("the schedule", _notes(decision_text.row_lines(schedule))))
    return tuple(result)


def _notes(lines: Sequence[str]) -> tuple[TextEntry, ...]:
    from polygym.pictures.page import TextEntry

    return tuple(TextEntry(line) for line in lines)


def _schedule(episode: Episode) -> Schedule | None:
    """Return the schedule of an episode that has one; None where its numbers are too large."""
    try:
        is_there = episode.phase in (Phase.COMPLETE, Phase.EDIT, Phase.MAP, Phase.TRANSFORM)
        return episode.schedule() if is_there else None
    except LimitError:
        return None


def _phase_text(episode: Episode) -> str:
    """Return in a few words where the episode is."""
    explored, total = len(episode.exploration.points), len(episode.dimensions)
    match episode.phase:
        case Phase.STORE:
            return f"deciding where values are kept: {decision_text.question_text(episode)}"
        case Phase.CONSTRUCT:
            return f"constructing a space, state {episode.construction}"
        case Phase.EXPLORE:
            known = episode.dimensions[explored].generators
            return (
                f"exploring dimension {explored + 1} of {total}, generator "
                f"{len(episode.exploration.coefficients) + 1} of {known.coefficient_count}"
            )
        case Phase.EDIT:
            assert episode.edit_state is not None
            edit = episode.edit_state.edit
            begun = "" if edit is None else f", in the middle of {edit.value}"
            return f"editing a schedule, {episode.edit_state.edit_count} edits so far{begun}"
        case Phase.MAP:
            return f"deciding the mapping: {decision_text.question_text(episode)}"
        case Phase.TRANSFORM:
            assert episode.transform_state is not None
            count = _count_text(len(episode.transform_state.steps), "step", "steps")
            return f"transforming, {count} so far"
        case Phase.COMPLETE if episode.transform_state is not None:
            count = _count_text(len(episode.transform_state.steps), "step", "steps")
            return f"a schedule after {count}"
        case Phase.COMPLETE if episode.edit_state is not None:
            return f"a schedule after {episode.edit_state.edit_count} edits"
        case Phase.COMPLETE:
            return f"a schedule from a space of {total} dimensions"
        case Phase.INVALID:
            return "ended in an invalid state"


def _dependences(episode: Episode) -> list[str]:
    """Return a line for every dependence; the one that is looked at is marked."""
    rules, state = episode.task.rules, episode.construction
    carryable = rules.carryable(state) if episode.phase is Phase.CONSTRUCT else frozenset()
    lines = ["dependences"]
    for number, index in enumerate(rules.candidates, start=1):
        dependence = rules.polyhedra.dependences[index]
        by = state.carrying_dimension[number - 1]
        looked_at = episode.phase is Phase.CONSTRUCT and state.dependence == number
        note = f"carried by dimension {by}" if by else "can be carried" * (index in carryable)
        reasons = ", ".join(dependence.kind.names())
        lines.append(
            f"{'>' if looked_at else ' '} {number:3} {dependence_name(dependence)} ({reasons})  "
            f"{note}"
        )
    return [line.rstrip() for line in lines]


def _dimensions(episode: Episode) -> list[str]:
    """Return the space's dimensions, with the rows of those that are decided."""
    lines = []
    known = episode.task.polyhedra.dependences
    for number, dimension in enumerate(episode.dimensions):
        carried = ", ".join(dependence_name(known[index]) for index in sorted(dimension.carried))
        generators = dimension.generators
        more = "" if generators.is_complete else " (a sample)"
        lines.append(
            f"dimension {number + 1} carries {{{carried}}}: "
            f"{_count_text(len(generators.vertices), 'vertex', 'vertices')}, "
            f"{_count_text(len(generators.rays), 'ray', 'rays')}{more}"
        )
        if number < len(episode.exploration.points):
            lines += _rows(episode, episode.exploration.points[number])
    return lines


def _count_text(count: int, singular: str, several: str) -> str:
    """Return a number with its noun.

    >>> _count_text(1, "vertex", "vertices")
    '1 vertex'
    """
    return f"{count} {singular if count == 1 else several}"


def _current_generator(episode: Episode) -> list[str]:
    """Return the generator that gets a coefficient next."""
    known = episode.dimensions[len(episode.exploration.points)].generators
    decided = len(episode.exploration.coefficients)
    vertices = known.vertices if len(known.vertices) > 1 else ()
    if decided < len(vertices):
        vertex = vertices[decided]
        over = "" if vertex.is_integer else f" (over {vertex.denominator})"
        return [f"next: vertex{over}", *_rows(episode, vertex.numerators)]
    return ["next: ray", *_rows(episode, known.rays[decided - len(vertices)])]


def _rows(episode: Episode, point: Vector) -> list[str]:
    """Return the statements that a point moves, with their rows."""
    layout = episode.task.polyhedra.layout
    shown = []
    for statement in episode.task.scop.statements:
        row = layout.row(point, statement.name)
        if not row.is_constant or row.constant:
            text = row.text(statement.iterators, layout.parameters)
            shown.append(f"    {statement.name}: {text}")
    return shown or ["    0 for every statement"]
