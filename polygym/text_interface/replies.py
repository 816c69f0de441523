"""Texts of replies: sections of ``show``, changes, refusals and explanations."""

from __future__ import annotations

from collections.abc import Sequence

from polygym.errors import InputError, LimitError
from polygym.programs.isl_text import without_parameters
from polygym.text_interface.dependence_text import dependence_sentences
from polygym.text_interface.judgement import Judgement
from polygym.text_interface.program_text import program_text
from polygym.text_interface.step_lists import (
    nearest_steps,
    repair_text,
    repairs,
)
from polygym.transformations.candidates import legal_steps
from polygym.transformations.sentences import sentence_of
from polygym.transformations.state import IllegalStepError, TransformState
from polygym.transformations.steps import MappingStep, Step, TreeStep

TRY = "Try: "
"""The beginning of a line with a repair."""


def program_section(state: TransformState) -> str:
    """Return the loops, with the storage and the divisions of the program where it has any."""
    lines = [program_text(state)]
    if state.splitting.statements:
        lines.append(f"Split: {state.splitting}")
    if not state.storage.is_source:
        lines.append(f"Storage: {state.storage}")
    return "\n".join(lines)


def dependence_section(state: TransformState) -> str:
    """Return the dependences as sentences."""
    return "\n".join(dependence_sentences(state)) or "none"


def schedule_section(state: TransformState) -> str:
    """Return the schedule, the mapping, and the steps so far."""
    lines = [
        without_parameters(str(state.schedule)),
        f"Mapping: {state.mapping}",
        f"Steps: {steps_text(state)}",
    ]
    return "\n".join(lines)


def steps_text(state: TransformState) -> str:
    """Return the steps that lead to a state."""
    return "; ".join(map(str, state.steps)) or "none"


def change_text(before: TransformState, after: TransformState) -> str:
    """Return what is different in a state: its loops, its mapping, its storage."""
    parts = []
    loops = program_text(after)
    if loops != program_text(before):
        parts.append(loops)
    if after.mapping != before.mapping:
        parts.append(f"Mapping: {after.mapping}")
    if after.splitting != before.splitting:
        parts.append(f"Split: {after.splitting}")
    if after.storage != before.storage:
        parts.append(f"Storage: {after.storage}")
    return "\n".join(parts) or "The loops are the same."


def explain_step(state: TransformState, step: Step) -> str:
    """Return in short what a step does to a state, or why it is not possible.

    Example, a wavefront in the order of the text, ``interchange L1 L2``::

        illegal: interchange L1 L2: the schedule breaks the flow dependence S0 -> S0 on A: it runs
        S0[1, 1] before S0[0, 2] …, but S0[0, 2] must come first; example with n = 3
    """
    try:
        after = state.after(step)
    except IllegalStepError as error:
        return f"illegal: {error}"
    except (InputError, LimitError) as error:
        return f"not possible: {error}"
    return f"legal: {step}\n{change_text(state, after)}"


def illegal_text(state: TransformState, step: Step, reason: str) -> str:
    """Return why a step is illegal, with repairs and the nearest legal steps."""
    lines = [f"illegal: {reason}"]
    found = repairs(state, step)
    lines += [f"{TRY}{repair_text(repair)}" for repair in found]
    near = nearest_steps(step, [legal for legal, _ in legal_steps(state)])
    if near:
        lines.append(f"Legal now: {'; '.join(map(str, near))}")
    return "\n".join(lines)


def unavailable_text(step: Step, reason: str, legal: Sequence[Step]) -> str:
    """Return why a step has no meaning, with the nearest legal steps."""
    near = nearest_steps(step, legal)
    hint = f"\nLegal now: {'; '.join(map(str, near))}" if near else ""
    return f"unavailable: {reason}{hint}"


def explanation_text(state: TransformState, step: Step, after: TransformState) -> str:
    """Return why a step is legal, and what it would change."""
    if isinstance(step, MappingStep):
        why = "every order that it permits keeps all dependences"
    elif after.schedule == state.schedule:
        why = "it leaves the order of the instances as it is"
    else:
        why = "all dependences keep their order after it"
    effect = f": {sentence_of(state, step)}" if isinstance(step, TreeStep) else ""
    lines = [f"legal: {step}{effect}; {why}.", "It would change:", change_text(state, after)]
    touched = _statements_of(state, step)
    sentences = list(dependence_sentences(after, touched)) if touched else []
    if sentences:
        lines += ["Dependences after it:", *sentences]
    return "\n".join(lines)


def involved_dependences(state: TransformState, step: Step) -> list[str]:
    """Return the dependences between the statements of a step as lines with a head."""
    sentences = list(dependence_sentences(state, _statements_of(state, step)))
    return ["Dependences before it:", *sentences] if sentences else []


def _statements_of(state: TransformState, step: Step) -> set[str]:
    """Return the statements of the loops and statements that a step names."""
    nodes = state.tree.nodes
    return {
        name for word in str(step).split()[1:] if word in nodes for name in nodes[word].statements
    }


def best_text(state: TransformState, judgement: Judgement) -> str:
    """Return the best program of a session."""
    return "\n".join([str(judgement), program_section(state), schedule_section(state)])
