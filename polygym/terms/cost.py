"""The static cost of a term: what its nodes cost, and how often loops repeat them.

A node costs what its operator does (:data:`OPERATOR_COSTS`) and what its children cost, with these
exceptions. A vector is taken to have 16 elements, so that a body of ``build`` and ``sumbuild``
counts 16 times, and adding vectors costs as much as adding their elements; ``sumbuild`` adds its
values up, 15 additions of all their elements. Of the arms of an ``if`` the dearer one counts, and a
ten-thousandth of the other. Constants, variables and parts of tuples cost nothing, and what is
shared counts as often as it is written: only ``let``, for 0.1, has something computed once.

Example: (x + y) · (x + y) costs 1 + 1 + 2 = 4, and with a ``let`` 1 + 2 + 0.1.

    >>> from polygym.terms.language.parser import parse_program
    >>> cost = StaticCost()
    >>> cost(parse_program("(mul (add x y) (add x y))").body)
    4.0
    >>> cost(parse_program("(let (s (add x y)) (mul s s))").body)
    3.1

The figures are those under which the sums of the arithmetic expressions in *Knossos: Compiling AI
with AI* come out, 161.0 at the start and 125.2 at best for its test set; of what does not occur in
them (``max``, ``neg`` …) the costs are chosen likewise.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol

from polygym.rewrite.term import Term, memoized_value
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.types import FLOAT, count_numbers

ASSUMED_VECTOR_SIZE = 16
LET_COST = 0.1
_OTHER_ARM_WEIGHT = 1e-4
_MOST = 400_000

OPERATOR_COSTS: Mapping[str, float] = MappingProxyType(
    {
        **dict.fromkeys(("add", "sub", "neg", "abs", "max", "min", "and", "or", "not"), 1.0),
        **dict.fromkeys(("mul", "div"), 2.0),
        **dict.fromkeys(("exp", "log", "sqrt", "sin", "cos", "tanh", "pow"), 4.0),
        **dict.fromkeys(("eq", "ne", "gt", "gte", "lt", "lte"), 1.0),
        **dict.fromkeys(("index", "size", "to_float", "if"), 1.0),
        **dict.fromkeys(("select", "tuple", "sumbuild"), 0.0),
        **dict.fromkeys(("apply", "build", "deltaVec", "constVec"), 2.0),
        "sum": ASSUMED_VECTOR_SIZE - 1.0,
        "let": LET_COST,
    }
)
_OF_LOOPS = ("build", "sumbuild")
_BY_PARTS = ("add", "sub", "mul", "neg", "sum")


_OF_TWO: Final = frozenset(
    ("add", "sub", "mul", "div", "let", "index", "max", "min", "pow", "gt", "lt", "eq")
)


class TermCost(Protocol):
    """What a term costs."""

    def __call__(self, root: Term) -> float:
        """Return the cost."""
        ...


def operator_cost(node: Term) -> float:
    """Return what a node costs by itself, without its children and how often they are needed."""
    if not node.children or not isinstance(node.head, str):
        return 0.0
    result = OPERATOR_COSTS.get(node.head, 0.0)
    if node.head in _BY_PARTS and term_facts(node).type is not FLOAT:
        result *= count_numbers(term_facts(node).type, ASSUMED_VECTOR_SIZE)
    elif node.head == "sumbuild":
        result = (ASSUMED_VECTOR_SIZE - 1.0) * count_numbers(
            term_facts(node).type, ASSUMED_VECTOR_SIZE
        )
    return result


class StaticCost:
    """The static cost, remembered for every node."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[Term, float] = {}

    def __call__(self, root: Term) -> float:
        """Return the cost of a term, rounded to the last digits that a sum of tenths leaves."""
        result = self._known.get(root)
        return round(self._found(root) if result is None else result, 9)

    def _found(self, root: Term) -> float:
        if len(self._known) > _MOST:
            self._known.clear()
        return memoized_value(root, self._known, self._of)

    def _of(self, node: Term) -> float:
        known, head, children = self._known, node.head, node.children
        if len(children) == 2 and head in _OF_TWO:
            left, right = children
            below = known[left] + known[right]
            if head in _BY_PARTS and term_facts(node).type is not FLOAT:
                return below + operator_cost(node)
            return below + OPERATOR_COSTS[head]
        parts = [known[child] for child in children]
        own = operator_cost(node)
        if node.head == "if":
            return own + parts[0] + max(parts[1:]) + _OTHER_ARM_WEIGHT * min(parts[1:])
        if node.head in _OF_LOOPS:
            return own + parts[0] + ASSUMED_VECTOR_SIZE * parts[1]
        return own + sum(parts)
