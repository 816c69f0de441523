"""What searches over terms expect, by name: counted by hand, or learned.

``counted`` is :class:`~polygym.terms.fusion_value.ReuseValue`, which thinks of binding and of
fusing loops; ``learned`` is the network that comes with polygym
(:mod:`polygym.terms.learning.weights`), trained on the paper's arithmetic; ``both`` is
:class:`MaximumValue` of these two; anything else is the file of another network.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import ValueFunction
from polygym.search.planning.protocol import Values
from polygym.terms.fusion_value import ReuseValue
from polygym.terms.rules.rule_types import TermRule

VALUE_FUNCTIONS = {
    "counted": "what binding and fusing loops would save",
    "learned": "the network that comes with polygym",
    "both": "of these two the one that expects more",
}


class MaximumValue:
    """Expects of each state what that one of several value functions does that expects most.

    Each sees something that is to be gained and may miss what another one sees: what is counted by
    hand knows of binding for certain, and of arithmetic nothing; a network knows of both roughly.
    """

    def __init__(self, *values: ValueFunction[Term]) -> None:
        """Take the value functions, at least one."""
        self._values = values

    def __call__(self, states: Sequence[Term], horizon: int) -> Values:
        """Return what is expected, a row a state, a column for each number of steps."""
        result: Values = np.max([value(states, horizon) for value in self._values], axis=0)
        return result


def value_function_named(name: str, rules: Sequence[TermRule] = ()) -> ValueFunction[Term]:
    """Return the value function of a name or a file; ``rules`` are those that will be applied.

    Raises:
        InputError: there is none.
    """
    if name == "counted":
        return ReuseValue(rules=rules)
    # Only those that need weights read them.
    from polygym.terms.learning.numpy_network import VALUE_SCALE, NetworkValue
    from polygym.terms.learning.weights import ValueWeights, shipped_value

    if name == "learned":
        return shipped_value()
    if name == "both":
        return MaximumValue(shipped_value(), ReuseValue(rules=rules))
    if not Path(name).is_file():
        raise InputError(
            f"a policy: expected {', '.join(VALUE_FUNCTIONS)}, or a file of weights, found {name!r}"
        )
    return NetworkValue(ValueWeights.load(Path(name)).network, scale=VALUE_SCALE)
