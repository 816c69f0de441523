"""Explanations of steps: the effect of a legal one, the broken dependence of an illegal one.

Example, a wavefront in the order of the text, ``interchange L1 L2``::

    interchange L1 L2: the schedule breaks the flow dependence S0 -> S0 on A: it runs S0[1, 1]
    before S0[0, 2] …, but S0[0, 2] must come first; example with n = 3
"""

from polygym.errors import InputError, LimitError
from polygym.transformations.loop_tree import LoopTree
from polygym.transformations.state import IllegalStepError, TransformState
from polygym.transformations.steps import Step


def explain_step(state: TransformState, step: Step) -> str:
    """Return what a step does to a state, or why it is not possible."""
    try:
        after = state.after(step)
    except IllegalStepError as error:
        return f"illegal: {error}"
    except (InputError, LimitError) as error:
        return f"not possible: {error}"
    return f"legal: {step}\n{effect_of(state, after)}"


def effect_of(before: TransformState, after: TransformState) -> str:
    """Return what has changed between two states: loops, mapping, storage."""
    lines = []
    if after.is_over:
        lines.append("no more changes are made")
    if before.tree.shape != after.tree.shape:
        lines += ["loops before:", _indented(before.tree), "loops after:", _indented(after.tree)]
    for name, one, other in (
        ("mapping", before.mapping, after.mapping),
        ("splitting", before.splitting, after.splitting),
        ("storage", before.storage, after.storage),
    ):
        if one != other:
            lines.append(f"{name}: {one} → {other}")
    return "\n".join(lines) or "nothing changes"


def _indented(tree: LoopTree) -> str:
    return "\n".join(f"  {line}" for line in tree.text().splitlines())
