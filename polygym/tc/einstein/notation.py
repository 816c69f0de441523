"""Equations of ``einsum``: labels of operands and of the result, and the comprehension they mean.

``bij,jk->bik`` has the labels ``bij`` and ``jk``, and is::

    def einsum(float(S_b, S_i, S_j) A0, float(S_j, S_k) A1) -> (O) {
      O(i_b, i_i, i_k) +=! A0(i_b, i_i, i_j) * A1(i_j, i_k)
    }

Without ``->`` the result has the labels that occur once, in the order of letters. ``...`` stands
for dimensions without names, aligned at the last one. More than two operands are multiplied from
the left, and an index is summed as soon as no other operand has it: ``ij,jk,kl`` is two products
of matrices.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.frontend.tc.syntax.tree import TYPE_NAMES

_DOTS = "..."

Labels = tuple[str, ...]
"""The labels of an operand, dimension by dimension: letters, and ``0``, ``1`` … for the dots."""


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation as it is written; ``result`` is None without ``->``."""

    text: str
    operands: tuple[str, ...]
    result: str | None


def parse_equation(text: str) -> Equation:
    """Return the parts of an equation.

    Raises:
        InputError: it is none.
    """
    if not isinstance(text, str):
        raise InputError(f"einsum: expected an equation such as 'ij,jk->ik', found {text!r}")
    left, arrow, right = text.replace(" ", "").partition("->")
    equation = Equation(text, tuple(left.split(",")), right if arrow else None)
    for part in (*equation.operands, *([right] if arrow else [])):
        letters = part.replace(_DOTS, "", 1)
        if wrong := [letter for letter in letters if not (letter.isascii() and letter.isalpha())]:
            raise _refusal(
                equation, f"expected letters and one ... in {part!r}, found {wrong[0]!r}"
            )
    if arrow:
        _check_result(equation, right)
    return equation


def _check_result(equation: Equation, result: str) -> None:
    known = set("".join(equation.operands)) | set(_DOTS)
    for letter, count in Counter(result.replace(_DOTS, "")).items():
        if count > 1:
            raise _refusal(
                equation, f"expected each index once in the result, found {letter} twice"
            )
        if letter not in known:
            raise _refusal(equation, f"{letter} is an index of the result and of no operand")


def _refusal(equation: Equation, why: str) -> InputError:
    return InputError(f"einsum {equation.text!r}: {why}")


def operand_labels(equation: Equation, ranks: Sequence[int]) -> list[Labels]:
    """Return the labels of operands with so many dimensions each.

    Raises:
        InputError: the number of operands, or of dimensions, is wrong.
    """
    if len(ranks) != len(equation.operands):
        raise _refusal(
            equation, f"expected {len(equation.operands)} operand(s), found {len(ranks)}"
        )
    result = []
    for number, (part, rank) in enumerate(zip(equation.operands, ranks, strict=True)):
        before, dots, after = part.partition(_DOTS)
        rest = rank - len(before) - len(after)
        if rest < 0 or (rest and not dots):
            raise _refusal(
                equation,
                f"operand {number}: expected {len(before) + len(after)} dimension(s)"
                f"{' or more' if dots else ''}, found {rank}",
            )
        result.append((*before, *_dotted(rest), *after))
    return result


def _dotted(count: int) -> Labels:
    """Return the labels of dimensions behind dots: the last one is 0."""
    return tuple(str(place) for place in reversed(range(count)))


def result_labels(equation: Equation, operands: Sequence[Labels]) -> Labels:
    """Return the labels of the result."""
    count = max(sum(label.isdigit() for label in labels) for labels in operands)
    if equation.result is None:
        uses = Counter("".join(equation.operands).replace(".", ""))
        once = sorted(label for label, times in uses.items() if times == 1)
        return (*_dotted(count), *once)
    before, dots, after = equation.result.partition(_DOTS)
    return (*before, *(_dotted(count) if dots else ()), *after)


def equation_text(
    equation: Equation, operands: Sequence[Labels], result: Labels, element_type: str
) -> str:
    """Return the comprehension of an equation.

    Raises:
        InputError: the elements are of a type that comprehensions do not have.
    """
    if element_type not in TYPE_NAMES:
        raise _refusal(
            equation, f"expected numbers of a type such as float32, found {element_type}"
        )
    declared = ", ".join(
        f"{element_type}{_list('S_', labels)} A{number}" for number, labels in enumerate(operands)
    )
    statements = "\n".join(f"  {line}" for line in _statements(operands, result))
    return f"def einsum({declared}) -> (O) {{\n{statements}\n}}"


def _list(prefix: str, labels: Labels) -> str:
    return f"({', '.join(prefix + label for label in labels)})" if labels else ""


def _statements(operands: Sequence[Labels], result: Labels) -> list[str]:
    lines: list[str] = []

    def assign(target: str, kept: Labels, factors: Sequence[tuple[str, Labels]]) -> None:
        summed = {label for _, labels in factors for label in labels} - {*kept}
        value = " * ".join(f"{name}{_list('i_', labels)}" for name, labels in factors)
        lines.append(f"{target}{_list('i_', kept)} {'+=!' if summed else '='} {value}")

    def reduced(name: str, labels: Labels, others: set[str]) -> tuple[str, Labels]:
        """Sum what no other operand and not the result has."""
        kept = tuple(label for label in dict.fromkeys(labels) if label in others)
        if set(kept) == set(labels):
            return name, labels
        assign(f"{name}s", kept, [(name, labels)])
        return f"{name}s", kept

    name, labels = "A0", operands[0]
    if len(operands) == 1:
        assign("O", result, [(name, labels)])
    for number, other in enumerate(operands[1:], 1):
        later = {*result}.union(*operands[number + 1 :])
        first = reduced(name, labels, later | {*other})
        second = reduced(f"A{number}", other, later | {*labels})
        is_last = number == len(operands) - 1
        kept = tuple(dict.fromkeys(label for label in (*labels, *other) if label in later))
        name, labels = ("O", result) if is_last else (f"T{number}", kept)
        assign(name, labels, [first, second])
    return lines
