"""What an episode asks its agent, and what has been decided so far, in words.

While a schedule is edited or a mapping is decided, a question is at hand and each of the actions
behind the coefficients is an answer to it. With gemm and 21 actions, where a vector is asked for::

    6: as the model says                      the program: registers off
    7: everything else as the model says      S0, S1: parallel static
    8: off                                    3 answers as the model says
    9: 128 bits
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from polygym.compiler.codegen.common.mapping import Sharing
from polygym.compiler.poly.alternatives import ALTERNATIVES
from polygym.compiler.poly.schedule import Schedule
from polygym.episodes.decisions import CHOICES, Deciding, Question, Subject
from polygym.episodes.editing import EDITS, Edit, Editing, Operand
from polygym.episodes.episode import Episode
from polygym.episodes.storing import Storing
from polygym.episodes.task_options import Phase

_WHICH = {
    Operand.KIND: "which edit",
    Operand.ROW: "which row",
    Operand.PLACE: "which place",
    Operand.STATEMENT: "which statement",
    Operand.ITERATOR: "which iterator",
    Operand.AMOUNT: "by how much",
    Operand.STRATEGY: "whose schedule",
}


def question(episode: Episode) -> str:
    """Return the question at hand in a few words; nothing where none is."""
    if episode.phase is Phase.STORE and episode.storing is not None:
        return _of_home(episode.storing)
    if episode.phase is Phase.EDIT and episode.editing is not None:
        return _of_edit(episode.editing)
    if episode.phase is not Phase.MAP or episode.deciding is None:
        return ""
    found = episode.deciding.question
    return "nothing is left" if found is None else _named(episode.deciding, found)


def answers(episode: Episode) -> tuple[tuple[int, str, bool], ...]:
    """Return the number of each answer, what it means, and whether it is allowed now."""
    if episode.phase is Phase.STORE and episode.storing is not None:
        texts = ["keep", "keep everything else", *map(str, episode.storing.values)]
    elif episode.phase is Phase.EDIT and episode.editing is not None:
        texts = _to_edit(episode.editing)
    elif episode.phase is Phase.MAP and episode.deciding is not None:
        texts = _to_question(episode.deciding)
    else:
        return ()
    first, mask = episode.task.options.first_answer, episode.mask()
    return tuple((first + k, text, mask[first + k]) for k, text in enumerate(texts))


def decided(episode: Episode) -> tuple[str, ...]:
    """Return what has been decided so far: of the program and each nest, one line."""
    lines = [] if episode.storing is None else list(_homes(episode.storing))
    if episode.editing is not None:
        lines.append(
            f"{_counted(episode.editing.edits, 'edit')}, {_counted(episode.editing.steps, 'step')}"
        )
        if (begun := _begun(episode.editing)) and episode.phase is Phase.EDIT:
            lines.append(f"begun: {begun}")
    deciding = episode.deciding
    if deciding is None:
        return tuple(lines)
    for nest in range(-1, len(deciding.nests)):
        said = [_said(subject, value) for subject, value in deciding.of_nest(nest).items()]
        if said:
            lines.append(f"{_whose(deciding, nest)}: {', '.join(said)}")
    usual = sum(value is None for _, value in deciding.answered)
    if usual:
        lines.append(f"{_counted(usual, 'answer')} as the model says")
    return tuple(lines) or ("nothing",)


def rows(schedule: Schedule) -> tuple[str, ...]:
    """Return a line for every statement: its iterators, and its rows."""
    return tuple(
        f"{part.statement}[{', '.join(part.iterators)}] → "
        f"[{', '.join(row.text(part.iterators, schedule.parameters) for row in part.rows)}]"
        for part in schedule.statements
    )


# Storage


def _of_home(storing: Storing) -> str:
    if storing.offer is None:
        return "where to cut"
    return f"{storing.offer.array} of {', '.join(storing.offer.statements)}"


def _homes(storing: Storing) -> Iterator[str]:
    if storing.cuts.statements:
        yield f"split: {storing.cuts}"
    if not storing.plan.keeps:
        yield f"storage: {storing.plan}"


# Edits


def _of_edit(editing: Editing) -> str:
    which = _WHICH[editing.operand]
    if editing.edit is Edit.SPLIT and editing.operand is Operand.STATEMENT:
        which = "how many statements"
    if editing.chooses_part:
        which = f"{which}, from which part"
    begun = _begun(editing)
    return f"{begun}: {which}" if begun else which


def _begun(editing: Editing) -> str:
    """Return the edit that has been begun, with its operands so far."""
    if editing.edit is None:
        return ""
    said = [_operand(editing, kind, value) for kind, value in editing.chosen]
    return " ".join([editing.edit.value, ", ".join(said)]).strip()


def _to_edit(editing: Editing) -> list[str]:
    back = "edit no more" if editing.edit is None else "drop the edit"
    if editing.chooses_part:
        menu, size = editing.menu, CHOICES
        parts = [menu[part * size : (part + 1) * size] for part in editing.values]
        ends = [(_next(editing, one[0]), _next(editing, one[-1])) for one in parts]
        return [back, "end, all as it is", *(f"{first} … {last}" for first, last in ends)]
    return [back, "end, all as it is", *(_next(editing, value) for value in editing.values)]


def _next(editing: Editing, value: int) -> str:
    return _operand(editing, editing.operand, value)


def _operand(editing: Editing, kind: Operand, value: int) -> str:
    """Return an operand in words; rows are counted from 1, as the time's axes are."""
    statements = editing.schedule.statements
    match kind:
        case Operand.KIND:
            return EDITS[value].value
        case Operand.ROW:
            return f"row {value + 1}"
        case Operand.PLACE:
            return f"{'before' if editing.edit is Edit.SPLIT else 'to'} row {value + 1}"
        case Operand.STATEMENT if editing.edit is Edit.SPLIT:
            return f"the first {_counted(value, 'statement')}"
        case Operand.STATEMENT:
            return statements[value].statement
        case Operand.ITERATOR:
            statement = dict(editing.chosen)[Operand.STATEMENT]
            return statements[statement].iterators[value]
        case Operand.AMOUNT:
            return f"{value:+d}"
        case Operand.STRATEGY:
            return str(ALTERNATIVES[value])
        case _:
            assert_never(kind)


# Mappings


def _named(deciding: Deciding, asked: Question) -> str:
    words = asked.subject.value.replace("_", " ")
    if asked.subject is Subject.TILE:
        words += f" of loop {asked.loop + 1}"
    if asked.subject is Subject.ORDER:
        words += f", loop {asked.loop + 1} from the inside,"
    return words if asked.nest < 0 else f"{words} in the nest of {_whose(deciding, asked.nest)}"


def _whose(deciding: Deciding, nest: int) -> str:
    return "the program" if nest < 0 else ", ".join(deciding.nests[nest].statements)


def _to_question(deciding: Deciding) -> list[str]:
    asked = deciding.question
    values = [] if asked is None else [_value(asked.subject, one) for one in deciding.values]
    return ["as the model says", "everything else as the model says", *values]


def _said(subject: Subject, value: Any) -> str:
    """Return a decision in words, for a line of many.

    >>> _said(Subject.TILE, (32, 1)), _said(Subject.VECTOR, 256), _said(Subject.PACK, False)
    ('tile 32 x whole', 'vector 256 bits', 'pack off')
    """
    words = _value(subject, value)
    return words if subject in (Subject.COPIES, Subject.JAM) else f"{_short(subject)} {words}"


def _short(subject: Subject) -> str:
    return subject.value.replace("_", " ")


def _value(subject: Subject, value: Any) -> str:
    """Return what a choice means.

    >>> _value(Subject.WAVEFRONT, (True, False)), _value(Subject.TILE, (1,))
    ('without diamonds', 'whole')
    >>> _value(Subject.ORDER, (2,))
    'loop 2'
    """
    match subject:
        case Subject.REGISTERS | Subject.PACK | Subject.SEPARATE | Subject.SINK:
            return "on" if value else "off"
        case Subject.PARALLEL:
            assert isinstance(value, Sharing)
            return value.value
        case Subject.WAVEFRONT:
            with_diamonds = "with diamonds" if value[1] else "without diamonds"
            return with_diamonds if value[0] else "off"
        case Subject.VECTOR:
            return f"{value} bits" if value else "off"
        case Subject.COPIES:
            return f"{_counted(value, 'vector')}{' together' if value > 1 else ''}"
        case Subject.JAM:
            return f"{_counted(value, 'iteration')}{' together' if value > 1 else ''}"
        case Subject.ORDER:
            return f"loop {', '.join(map(str, value))}" if value else "off"
        case Subject.TILE | Subject.OUTER_TILE:
            return " x ".join("whole" if size == 1 else str(size) for size in value) or "off"
        case _:
            assert_never(subject)


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> _counted(1, "edit")
    '1 edit'
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
