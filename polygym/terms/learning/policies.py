"""What searches over terms expect, by name: counted by hand, or learned.

``counted`` is :class:`~polygym.terms.fusion.Expecting`, which thinks of binding and of fusing
loops; ``learned`` is the network that comes with polygym (:mod:`polygym.terms.learning.weights`),
trained on the paper's arithmetic; anything else is the file of another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.search.planning import ValueFunction
from polygym.terms.fusion import Expecting
from polygym.terms.rules.rule import Rule

__all__ = ["POLICIES", "policy_named"]

POLICIES = {
    "counted": "what binding and fusing loops would save",
    "learned": "the network that comes with polygym",
}


def policy_named(name: str, rules: Sequence[Rule] = ()) -> ValueFunction[Term]:
    """Return the value function of a name or a file; ``rules`` are those that will be applied.

    Raises:
        InputError: there is none.
    """
    if name == "counted":
        return Expecting(rules=rules)
    # Only those that need weights read them.
    from polygym.terms.learning.inference import NetworkValue
    from polygym.terms.learning.weights import Weights, shipped_value

    if name == "learned":
        return shipped_value()
    if not Path(name).is_file():
        raise InputError(
            f"a policy: expected {', '.join(POLICIES)}, or a file of weights, found {name!r}"
        )
    return NetworkValue(Weights.load(Path(name)).network)
