"""An episode as a text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from polygym.compiler.poly.integers import Vector
from polygym.compiler.poly.schedule import Schedule
from polygym.compiler.poly.spaces.construct import describe
from polygym.compiler.poly.spaces.explore import combine_so_far
from polygym.envs import questions
from polygym.episodes.episode import Episode
from polygym.episodes.kernels import Subject
from polygym.episodes.tables import Array
from polygym.episodes.task_options import Phase
from polygym.errors import LimitError
from polygym.measure.evaluation import Evaluation, c_text

if TYPE_CHECKING:
    from polygym.pictures.notes import Column, Note


def as_text(subject: Subject, episode: Episode, evaluation: Evaluation | None) -> str:
    """Return the state, the rows, and at the end the schedule, its C and what was measured."""
    parts = [f"{subject.program.name}: {_stage(episode)}", *_dependences(episode)]
    parts += _dimensions(episode)
    if episode.phase is Phase.EXPLORE:
        parts += _current(episode)
    if episode.phase is Phase.INVALID:
        parts.append(f"invalid: {episode.reason}")
    schedule = _schedule(episode)
    if asked := questions.answers(episode):
        parts.append(f"question: {questions.question(episode)}")
        parts += [f"  {number:3} {text}" for number, text, allowed in asked if allowed]
    if episode.mapping is not None:
        parts += ["mapping", f"  {episode.mapping}"]
    if schedule is not None:
        parts += ["schedule", f"  {schedule}"]
        if evaluation is not None:
            parts.append(f"{evaluation.status.value}: speedup {evaluation.speedup:.3g}")
        if episode.is_over:
            parts += ["C", c_text(subject.program_of(episode), schedule)]
    return "\n".join(parts)


def as_picture(subject: Subject, episode: Episode) -> Array:
    """Return a picture of the episode, (height, width, 3) bytes.

    Above is the iteration domain; below is the space, or, where the agent constructs one, edits or
    decides a mapping, what is asked and what has been decided.
    """
    from polygym.pictures.canvas import Scene, render

    title = f"{subject.program.name}: {_stage(episode)}"
    schedule = _schedule(episode)
    number = min(len(episode.exploration.points), len(episode.dimensions) - 1)
    is_early = episode.phase in (Phase.STORE, Phase.CONSTRUCT)
    if is_early or episode.editing is not None or episode.deciding:
        return render(
            Scene(
                episode.task.scop,
                title=title,
                schedule=schedule,
                highlighted=_looked_at(episode),
                columns=_columns(episode, schedule),
            )
        )
    if number < 0:
        return render(Scene(episode.task.scop, schedule=schedule, title=title))
    known = episode.dimensions[number].generators
    coefficients = episode.exploration.coefficients
    point: Sequence[int | Fraction] | None = None
    current: int | None = None
    if episode.phase is Phase.EXPLORE:
        point = combine_so_far(known, coefficients)
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


def _looked_at(episode: Episode) -> tuple[int, ...]:
    """Return the dependence that is looked at, if one is."""
    if episode.phase is not Phase.CONSTRUCT:
        return ()
    place = episode.construction.dependence - 1
    return episode.task.rules.candidates[place : place + 1]


def _columns(episode: Episode, schedule: Schedule | None) -> tuple[Column, ...]:
    """Return what is asked with its answers, and what has been decided, as text for a picture."""
    from polygym.pictures.notes import Column, Note

    if episode.phase is Phase.CONSTRUCT:
        known = (Note(line, line.startswith(">")) for line in _dependences(episode)[1:])
        space = Column("the space so far", _notes(_dimensions(episode)))
        return Column("dependences", tuple(known)), space
    found = []
    if asked := questions.question(episode):
        every = questions.answers(episode)
        texts = (Note(f"{number}: {text}", is_faint=not can) for number, text, can in every)
        found.append(Column(asked, tuple(texts)))
    found.append(
        Column("decided so far" if found else "decided", _notes(questions.decided(episode)))
    )
    if schedule is not None:
        found.append(Column("the schedule", _notes(questions.rows(schedule))))
    return tuple(found)


def _notes(lines: Sequence[str]) -> tuple[Note, ...]:
    from polygym.pictures.notes import Note

    return tuple(Note(line) for line in lines)


def _schedule(episode: Episode) -> Schedule | None:
    """Return the schedule of an episode that has one; None where its numbers are too large."""
    try:
        is_there = episode.phase in (Phase.COMPLETE, Phase.EDIT, Phase.MAP)
        return episode.schedule() if is_there else None
    except LimitError:
        return None


def _stage(episode: Episode) -> str:
    """Return in a few words where the episode is."""
    explored, total = len(episode.exploration.points), len(episode.dimensions)
    match episode.phase:
        case Phase.STORE:
            return f"deciding where values are kept: {questions.question(episode)}"
        case Phase.CONSTRUCT:
            return f"constructing a space, state {episode.construction}"
        case Phase.EXPLORE:
            known = episode.dimensions[explored].generators
            return (
                f"exploring dimension {explored + 1} of {total}, generator "
                f"{len(episode.exploration.coefficients) + 1} of {known.choices}"
            )
        case Phase.EDIT:
            assert episode.editing is not None
            edit = episode.editing.edit
            begun = "" if edit is None else f", in the middle of {edit.value}"
            return f"editing a schedule, {episode.editing.edits} edits so far{begun}"
        case Phase.MAP:
            return f"deciding the mapping: {questions.question(episode)}"
        case Phase.COMPLETE if episode.editing is not None:
            return f"a schedule after {episode.editing.edits} edits"
        case Phase.COMPLETE:
            return f"a schedule from a space of {total} dimensions"
        case Phase.INVALID:
            return "ended in an invalid state"


def _dependences(episode: Episode) -> list[str]:
    """Return a line for every dependence; the one that is looked at is marked."""
    rules, state = episode.task.rules, episode.construction
    carryable = rules.can_be_carried(state) if episode.phase is Phase.CONSTRUCT else frozenset()
    lines = ["dependences"]
    for number, index in enumerate(rules.candidates, start=1):
        one = rules.polyhedra.dependences[index]
        by = state.carried_by[number - 1]
        looked_at = episode.phase is Phase.CONSTRUCT and state.dependence == number
        note = f"carried by dimension {by}" if by else "can be carried" * (index in carryable)
        reasons = ", ".join(one.kind.names())
        lines.append(f"{'>' if looked_at else ' '} {number:3} {describe(one)} ({reasons})  {note}")
    return [line.rstrip() for line in lines]


def _dimensions(episode: Episode) -> list[str]:
    """Return the space's dimensions, with the rows of those that are decided."""
    lines = []
    known = episode.task.polyhedra.dependences
    for number, dimension in enumerate(episode.dimensions):
        carried = ", ".join(describe(known[index]) for index in sorted(dimension.carried))
        found = dimension.generators
        more = "" if found.complete else " (a sample)"
        lines.append(
            f"dimension {number + 1} carries {{{carried}}}: "
            f"{_counted(len(found.vertices), 'vertex', 'vertices')}, "
            f"{_counted(len(found.rays), 'ray', 'rays')}{more}"
        )
        if number < len(episode.exploration.points):
            lines += _rows(episode, episode.exploration.points[number])
    return lines


def _counted(count: int, one: str, several: str) -> str:
    """Return a number with its noun.

    >>> _counted(1, "vertex", "vertices")
    '1 vertex'
    """
    return f"{count} {one if count == 1 else several}"


def _current(episode: Episode) -> list[str]:
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
