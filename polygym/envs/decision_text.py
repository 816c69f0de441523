"""Questions of an episode, and its decisions so far, in words.

While a schedule is edited or a mapping is decided, a question is at hand and each of the actions
behind the coefficients is an answer to it. With gemm and 21 actions, where a vector is asked for::

    6: use default                            the program: scalar replacement off
    7: use default for everything else        S0, S1: parallel static
    8: off                                    3 answers: use default
    9: 128 bits
"""

from collections.abc import Iterator
from typing import Any, assert_never

from polygym.mapping.knobs import KnobQuestion, LoopDirection
from polygym.mdp.editing import EDITS, EditKind, EditState, Operand
from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import MOST_VALUES, MappingQuestion, MappingState
from polygym.mdp.storage_decisions import StorageState
from polygym.mdp.task_options import Phase
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.alternatives import ALTERNATIVES

_OPERAND_QUESTIONS = {
    Operand.KIND: "which edit",
    Operand.ROW: "which row",
    Operand.PLACE: "which place",
    Operand.STATEMENT: "which statement",
    Operand.ITERATOR: "which iterator",
    Operand.AMOUNT: "by how much",
    Operand.STRATEGY: "whose schedule",
}


def question_text(episode: Episode) -> str:
    """Return the question at hand in a few words; nothing where none is."""
    if episode.phase is Phase.STORE and episode.storage_state is not None:
        return _storage_question(episode.storage_state)
    if episode.phase is Phase.EDIT and episode.edit_state is not None:
        return _edit_question(episode.edit_state)
    if episode.phase is Phase.TRANSFORM:
        return "which step"
    if episode.phase is not Phase.MAP or episode.mapping_state is None:
        return ""
    question = episode.mapping_state.question
    return (
        "nothing is left"
        if question is None
        else _mapping_question(episode.mapping_state, question)
    )


def answer_texts(episode: Episode) -> tuple[tuple[int, str, bool], ...]:
    """Return the number of each answer, what it means, and whether it is allowed now."""
    if episode.phase is Phase.STORE and episode.storage_state is not None:
        texts = ["keep", "keep everything else", *map(str, episode.storage_state.values)]
    elif episode.phase is Phase.EDIT and episode.edit_state is not None:
        texts = _edit_answers(episode.edit_state)
    elif episode.phase is Phase.MAP and episode.mapping_state is not None:
        texts = _mapping_answers(episode.mapping_state)
    elif episode.phase is Phase.TRANSFORM:
        offer = episode.offer
        pairs = zip(offer.steps, offer.mask(), strict=True)
        return tuple((number, str(step), can) for number, (step, can) in enumerate(pairs))
    else:
        return ()
    first, mask = episode.task.options.first_answer, episode.mask()
    return tuple((first + k, text, mask[first + k]) for k, text in enumerate(texts))


def decided_lines(episode: Episode) -> tuple[str, ...]:
    """Return what has been decided so far: of the program and each nest, one line."""
    lines = [] if episode.storage_state is None else list(_storage_lines(episode.storage_state))
    if episode.edit_state is not None:
        lines.append(
            f"{_count_text(episode.edit_state.edit_count, 'edit')}, "
            f"{_count_text(episode.edit_state.step_count, 'step')}"
        )
        if (begun := _edit_text(episode.edit_state)) and episode.phase is Phase.EDIT:
            lines.append(f"begun: {begun}")
    if episode.transform_state is not None:
        return tuple(map(str, episode.transform_state.steps)) or ("nothing",)
    deciding = episode.mapping_state
    if deciding is None:
        return tuple(lines)
    for nest in range(-1, len(deciding.nests)):
        said = [
            _decision_text(subject, value)
            for subject, value in deciding.decisions_of_nest(nest).items()
        ]
        if said:
            lines.append(f"{_nest_text(deciding, nest)}: {', '.join(said)}")
    usual = sum(value is None for _, value in deciding.answers)
    if usual:
        lines.append(f"{_count_text(usual, 'answer')}: use default")
    return tuple(lines) or ("nothing",)


def row_lines(schedule: Schedule) -> tuple[str, ...]:
    """Return a line for every statement: its iterators, and its rows."""
    return tuple(
        f"{part.statement}[{', '.join(part.iterators)}] → "
        f"[{', '.join(row.text(part.iterators, schedule.parameters) for row in part.rows)}]"
        for part in schedule.statements
    )


# Storage


def _storage_question(storing: StorageState) -> str:
    if storing.offer is None:
        return "where to cut"
    return f"{storing.offer.array} of {', '.join(storing.offer.statements)}"


def _storage_lines(storing: StorageState) -> Iterator[str]:
    if storing.splitting.statements:
        yield f"split: {storing.splitting}"
    if not storing.storage.is_source:
        yield f"storage: {storing.storage}"


# Edits


def _edit_question(editing: EditState) -> str:
    which = _OPERAND_QUESTIONS[editing.operand]
    if editing.edit is EditKind.SPLIT and editing.operand is Operand.STATEMENT:
        which = "how many statements"
    if editing.is_choosing_part:
        which = f"{which}, from which part"
    begun = _edit_text(editing)
    return f"{begun}: {which}" if begun else which


def _edit_text(editing: EditState) -> str:
    """Return the edit that has been begun, with its operands so far."""
    if editing.edit is None:
        return ""
    said = [_operand(editing, kind, value) for kind, value in editing.chosen_operands]
    return " ".join([editing.edit.value, ", ".join(said)]).strip()


def _edit_answers(editing: EditState) -> list[str]:
    back = "edit no more" if editing.edit is None else "drop the edit"
    if editing.is_choosing_part:
        menu, size = editing.operand_values, MOST_VALUES
        parts = [menu[part * size : (part + 1) * size] for part in editing.choices_of_step]
        ends = [(_edit_answer(editing, part[0]), _edit_answer(editing, part[-1])) for part in parts]
        return [back, "end, all as it is", *(f"{first} … {last}" for first, last in ends)]
    return [
        back,
        "end, all as it is",
        *(_edit_answer(editing, value) for value in editing.choices_of_step),
    ]


def _edit_answer(editing: EditState, value: int) -> str:
    return _operand(editing, editing.operand, value)


def _operand(editing: EditState, kind: Operand, value: int) -> str:
    """Return an operand in words; rows are counted from 1, as the time's axes are."""
    statements = editing.schedule.statements
    match kind:
        case Operand.KIND:
            return EDITS[value].value
        case Operand.ROW:
            return f"row {value + 1}"
        case Operand.PLACE:
            return f"{'before' if editing.edit is EditKind.SPLIT else 'to'} row {value + 1}"
        case Operand.STATEMENT if editing.edit is EditKind.SPLIT:
            return f"the first {_count_text(value, 'statement')}"
        case Operand.STATEMENT:
            return statements[value].statement
        case Operand.ITERATOR:
            statement = dict(editing.chosen_operands)[Operand.STATEMENT]
            return statements[statement].iterators[value]
        case Operand.AMOUNT:
            return f"{value:+d}"
        case Operand.STRATEGY:
            return str(ALTERNATIVES[value])
        case _:
            assert_never(kind)


# Mappings


def _mapping_question(deciding: MappingState, asked: MappingQuestion) -> str:
    text = _kind_text(asked.kind)
    match asked.kind.direction:
        case LoopDirection.INWARD:
            text += f" of loop {asked.loop + 1}"
        case LoopDirection.OUTWARD:
            text += f", loop {asked.loop + 1} from the inside,"
        case None:
            pass
    return text if asked.nest < 0 else f"{text} in the nest of {_nest_text(deciding, asked.nest)}"


def _nest_text(deciding: MappingState, nest: int) -> str:
    return "the program" if nest < 0 else ", ".join(deciding.nests[nest].statements)


def _mapping_answers(deciding: MappingState) -> list[str]:
    asked = deciding.question
    values = [] if asked is None else [asked.kind.describe(value) for value in deciding.values]
    return ["use default", "use default for everything else", *values]


def _decision_text(kind: KnobQuestion, value: Any) -> str:
    """Return a decision in words, for a line of many.

    >>> from polygym.mapping.knobs import QUESTIONS
    >>> _decision_text(QUESTIONS["tile"], (32, 1)), _decision_text(QUESTIONS["pack"], False)
    ('tile 32 x whole', 'pack off')
    """
    text = kind.describe(value)
    return text if kind.is_complete else f"{_kind_text(kind)} {text}"


def _kind_text(kind: KnobQuestion) -> str:
    return kind.name.replace("_", " ")


def _count_text(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> _count_text(1, "edit")
    '1 edit'
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
