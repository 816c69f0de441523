"""C's integer expressions as polynomials: ``(i * m + j) * k + 2`` is i·m·k + j·k + 2.

The unknowns are names and whatever is no sum or product, ``n / 2`` or ``idx[i]``, by their texts;
integers beyond the range of their type are no C, so that the order of sums does not matter. They
are divided by v p + c, with an unknown p that c does not have, or by a number::

    i·m + 2·i + j  =  i·(m + 2) + j            by m + 2
    i·m·k + j·k + l  =  (i·m + j)·k + l        by k
    4·i·m + 4·j + 3 - c  =  4·(i·m + j) + 3 - c

Whether what remains is less than the divisor is not asked here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import islpy as isl
from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.literals import parse_literal
from polygym.ir.expressions import IntegerLiteral

Monomial = tuple[str, ...]

_MAX_TERMS = 64
_MAX_DEGREE = 8
_MAX_NODES = 2000
_LONG_TYPES = ({"long"}, {"long", "int"}, {"size_t"}, {"ptrdiff_t"}, {"int64_t"}, {"uint64_t"})


@dataclass(frozen=True, slots=True, eq=False)
class Polynomial:
    """A sum of products of unknowns, each with its factor; ``nodes`` has the unknowns in C."""

    terms: Mapping[Monomial, int]
    nodes: Mapping[str, Any]

    @property
    def unknowns(self) -> frozenset[str]:
        """The unknowns that occur."""
        return frozenset(unknown for term in self.terms for unknown in term)

    @property
    def names(self) -> frozenset[str]:
        """The names that the unknowns have in them."""
        return frozenset(syntax.names_in([self.nodes[text] for text in self.unknowns]))

    @property
    def constant(self) -> int | None:
        """The value of a constant, None for anything else."""
        if any(self.terms):
            return None
        return self.terms.get((), 0)

    @property
    def is_positive(self) -> bool:
        """Whether nothing is subtracted."""
        return all(value > 0 for value in self.terms.values())

    @property
    def degree(self) -> int:
        """How many unknowns are multiplied."""
        return max(map(len, self.terms), default=0)

    @property
    def is_linear(self) -> bool:
        """Whether no product of unknowns is left."""
        return self.degree < 2

    def plus(self, other: Polynomial, factor: int = 1) -> Polynomial:
        """Return the sum with a multiple of another one."""
        terms = Counter(self.terms)
        for term, value in other.terms.items():
            terms[term] += factor * value
        return self._made(terms, other)

    def times(self, other: Polynomial) -> Polynomial:
        """Return the product."""
        terms: Counter[Monomial] = Counter()
        for monomial, value in self.terms.items():
            for two, factor in other.terms.items():
                terms[tuple(sorted((*monomial, *two)))] += value * factor
        return self._made(terms, other)

    def _made(self, terms: Mapping[Monomial, int], other: Polynomial) -> Polynomial:
        kept = {term: value for term, value in terms.items() if value}
        return Polynomial(kept, {**self.nodes, **other.nodes})

    def divided(self, divisor: Polynomial) -> tuple[Polynomial, Polynomial] | None:
        """Return quotient and rest by v p + c; None where that is not plain.

        As numbers are divided, from the highest power of p down: with e p^k, (e / v) p^(k - 1)
        joins the quotient, and c e / v is taken from what stands at p^(k - 1). The rest may have a
        multiple of p that is less than v: 2 r² + 2 r by 2 r + 1 is r, and the rest is r.
        """
        whole = Polynomial({}, {**self.nodes, **divisor.nodes})
        if (number := divisor.constant) is not None:
            return self._divided_by(number) if number > 1 else None
        pivot = divisor.lone_unknown()
        if pivot is None:
            return None
        value = divisor.terms[(pivot,)]
        offset = divisor._with({term: v for term, v in divisor.terms.items() if pivot not in term})
        powers: dict[int, dict[Monomial, int]] = {}
        for term, factor in self.terms.items():
            others = tuple(unknown for unknown in term if unknown != pivot)
            powers.setdefault(len(term) - len(others), {})[others] = factor
        quotient, carried, odd = whole, whole, whole
        for power in range(max(powers, default=0), 0, -1):
            carried = carried.plus(self._with(powers.get(power, {})))
            if power == 1 and (left := carried.terms.get((), 0) % abs(value)):
                odd = self._with({(pivot,): left})
                carried = carried.plus(constant_polynomial(-left))
            if any(factor % value for factor in carried.terms.values()):
                return None
            step = self._with({term: factor // value for term, factor in carried.terms.items()})
            quotient = quotient.plus(step.times(self._with({(pivot,) * (power - 1): 1})))
            carried = whole.plus(step.times(offset), -1)
        return quotient, carried.plus(self._with(powers.get(0, {}))).plus(odd)

    def _divided_by(self, number: int) -> tuple[Polynomial, Polynomial]:
        """Return quotient and rest by a number: of 4 i + 9 - c by 4, they are i + 2 and 1 - c."""
        quotient, rest = {}, {}
        for term, value in self.terms.items():
            if not term or value % number == 0:
                quotient[term], rest[term] = divmod(value, number)
            else:
                rest[term] = value
        empty = self._with({})
        return empty.plus(self._with(quotient)), empty.plus(self._with(rest))

    def lone_unknown(self) -> str | None:
        """Return an unknown that stands alone in one term and in no other; 1 and -1 go first."""
        alone = [
            (abs(value), term[0])
            for term, value in self.terms.items()
            if len(term) == 1 and sum(term[0] in other for other in self.terms) == 1
        ]
        return min(alone)[1] if alone else None

    def _with(self, terms: Mapping[Monomial, int]) -> Polynomial:
        return Polynomial(terms, self.nodes)

    def to_node(self, like: Any) -> Any:
        """Return the expression in C, at the place of a node."""
        whole: Any = None
        ordered = sorted(self.terms.items(), key=lambda item: (not item[0], item[1] < 0))
        for term, value in ordered:
            part = None if abs(value) == 1 and term else syntax.integer_node(abs(value), like)
            for unknown in term:
                factor = syntax.copy_tree(self.nodes[unknown])
                part = factor if part is None else c_ast.BinaryOp("*", part, factor, like.coord)
            if whole is None:
                whole = part if value > 0 else c_ast.UnaryOp("-", part, like.coord)
            else:
                whole = c_ast.BinaryOp("+" if value > 0 else "-", whole, part, like.coord)
        return syntax.integer_node(0, like) if whole is None else whole

    def equals(self, other: Polynomial) -> bool:
        """Whether two are equal."""
        return dict(self.terms) == dict(other.terms)


def constant_polynomial(value: int) -> Polynomial:
    """Return a constant."""
    return Polynomial({(): value} if value else {}, {})


def unknown_polynomial(name: str, coord: Any = None) -> Polynomial:
    """Return a variable of a name as an unknown."""
    return Polynomial({(name,): 1}, {name: c_ast.ID(name, coord)})


def read_polynomial(
    node: Any,
    is_exact: Callable[[str], bool],
    stands_for: Callable[[Any], Any] = lambda node: None,
    factors: list[Polynomial] | None = None,
    is_int: Callable[[str], bool] = lambda name: False,
) -> Polynomial | None:
    """Return an expression of integers as a polynomial, None where it is no such thing.

    ``is_exact`` says of a name that C computes with it as with an integer, without wrap-around;
    ``stands_for`` returns an expression that an unknown stands for, None for others; ``factors``
    gets what is multiplied; of a name that ``is_int`` a cast to int changes nothing.
    """
    left_to_read = iter(range(_MAX_NODES))

    def read(part: Any) -> Polynomial | None:
        if next(left_to_read, None) is None:
            return None
        result = stands_for(part)
        return _read(part) if result is None else read(result)

    def _read(part: Any) -> Polynomial | None:
        match part:
            case c_ast.Constant():
                value = _signed_constant(part)
                return None if value is None else constant_polynomial(value)
            case c_ast.UnaryOp(op="-" | "+"):
                inner = read(part.expr)
                sign = 1 if part.op == "+" else -1
                return None if inner is None else constant_polynomial(0).plus(inner, sign)
            case c_ast.Cast() if _is_long_type(part.to_type):
                return read(part.expr)
            case c_ast.Cast() if _is_int_cast(part) and all(map(is_int, syntax.names_in(part))):
                return read(part.expr)
            case c_ast.BinaryOp(op="+" | "-" | "*"):
                left, right = read(part.left), read(part.right)
                if left is None or right is None:
                    return None
                if part.op == "*":
                    whole = left.times(right)
                    if factors is not None:
                        factors.extend((left, right))
                else:
                    whole = left.plus(right, 1 if part.op == "+" else -1)
                is_large = len(whole.terms) > _MAX_TERMS or whole.degree > _MAX_DEGREE
                return None if is_large else whole
            case c_ast.BinaryOp(op="/" | "%") if (quotient := _constant_quotient(part)) is not None:
                return constant_polynomial(quotient)
            case _:
                return _unknown(part, is_exact)

    return read(node)


def _constant_quotient(node: Any) -> int | None:
    """Return the quotient or the remainder of two constants, None for other nodes."""
    left, right = _signed_constant(node.left), _signed_constant(node.right)
    if left is None or not right:
        return None
    return left // right if node.op == "/" else left % right


def _signed_constant(node: Any) -> int | None:
    """Return the value of an integer constant with a sign, None for other nodes."""
    literal = parse_literal(node.value) if isinstance(node, c_ast.Constant) else None
    is_signed = isinstance(literal, IntegerLiteral) and literal.type.is_signed
    return literal.value if isinstance(literal, IntegerLiteral) and is_signed else None


def _unknown(node: Any, is_exact: Callable[[str], bool]) -> Polynomial | None:
    """Return what is no sum or product as an unknown."""
    if syntax.acts(node) or syntax.contains(node, c_ast.StructRef, c_ast.Cast):
        return None
    is_plain = all(constant.value.isdigit() for constant in syntax.walk(node, c_ast.Constant))
    if not is_plain or not all(map(is_exact, syntax.names_in(node))):
        return None
    text = str(CGenerator().visit(node))
    return Polynomial({(text,): 1}, {text: node})


def _is_long_type(kind: Any) -> bool:
    """Whether a type is one of 64 bits, which holds what indices of arrays have."""
    words = getattr(getattr(getattr(kind, "type", None), "type", None), "names", None)
    return words is not None and set(words) in _LONG_TYPES


def _is_int_cast(node: Any) -> bool:
    """Whether a node casts to int what is computed with numbers of the type int."""
    words = getattr(getattr(getattr(node.to_type, "type", None), "type", None), "names", None)
    numbers = all(constant.value.isdigit() for constant in syntax.walk(node, c_ast.Constant))
    inner = (cast for cast in syntax.walk(node.expr, c_ast.Cast))
    return words == ["int"] and numbers and all(map(_is_int_cast, inner))


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialHeader:
    """A loop's counter, the first value, the distance to the end, and the step, each positive.

    ``is_increasing`` is the direction in which it counts; ``names_read`` are the names that it
    reads.
    """

    counter: str
    first: Polynomial
    distance: Polynomial
    step: Polynomial
    is_increasing: bool
    names_read: frozenset[str]

    @property
    def is_affine(self) -> bool:
        """Whether the loop can stay as it is."""
        is_linear = self.first.is_linear and self.distance.is_linear
        return is_linear and self.step.constant is not None

    @property
    def counter_offset(self) -> Polynomial:
        """How far the counter is from its first value."""
        counter = unknown_polynomial(self.counter)
        return counter.plus(self.first, -1) if self.is_increasing else self.first.plus(counter, -1)


def read_header(
    loop: Any, once: SingleAssignments, read: Callable[[Any], Polynomial | None]
) -> PolynomialHeader | None:
    """Return the header of a loop, None for one that does not count so."""
    counter, start = syntax.counter_of(loop), syntax.start_of(loop)
    if counter is None or start is None or not once.is_exact(counter):
        return None
    step, upwards = _step(loop.next, counter)
    end, operator = _end(loop.cond, counter)
    if step is None or end is None or operator not in (("<", "<=") if upwards else (">", ">=")):
        return None
    first, by, last = (read(node) for node in (start, step, end))
    if first is None or by is None or last is None:
        return None
    names = first.names | by.names | last.names | syntax.names_in([start, step, end])
    if once.is_int(counter) and not all(map(once.is_int, names)):
        return None
    distance = last.plus(first, -1) if upwards else first.plus(last, -1)
    distance = distance.plus(constant_polynomial(len(operator) - 1))
    is_signed = all(map(once.is_signed, {counter} | names))
    if not is_signed and not all(value.is_positive for value in (first, by, last, distance)):
        return None
    return PolynomialHeader(counter, first, distance, by, upwards, frozenset(names))


def is_nonnegative(number: Polynomial, loops: Sequence[PolynomialHeader]) -> bool:
    """Whether a number is surely not negative inside some loops, the outermost first."""
    if number.constant is not None or not number.is_linear:
        return number.constant is not None and number.constant >= 0
    context = isl.Context()
    domain = isl.Set.universe(isl.Space.params_alloc(context, 0))
    for header in loops:
        if header.first.is_linear and header.distance.is_linear:
            left = header.distance.plus(header.counter_offset, -1).plus(constant_polynomial(-1))
            for side in (header.counter_offset, left):
                domain = domain.intersect(_nonnegative_values(side, context))
    return bool(domain.subtract(_nonnegative_values(number, context)).is_empty())


def _nonnegative_values(value: Polynomial, context: Any) -> Any:
    """Return for which values of its unknowns a linear polynomial is not negative."""
    names = sorted(value.unknowns)
    space = isl.Space.params_alloc(context, len(names))
    for place, name in enumerate(names):
        space = space.set_dim_name(isl.dim_type.param, place, f"v{name}")  # no number
    constraint = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(space))
    for term, factor in value.terms.items():
        if term:
            place = names.index(term[0])
            constraint = constraint.set_coefficient_val(isl.dim_type.param, place, factor)
    constraint = constraint.set_constant_val(value.terms.get((), 0))
    return isl.Set.universe(space).add_constraint(constraint)


def _step(node: Any, counter: str) -> tuple[Any, bool]:
    """Return what a loop adds to its counter, or takes from it, and whether it adds."""
    match node:
        case c_ast.UnaryOp(op="++" | "p++" | "--" | "p--", expr=c_ast.ID(name=name)) if (
            name == counter
        ):
            return syntax.integer_node(1, node), node.op.endswith("++")
        case c_ast.Assignment(op="+=" | "-=", lvalue=c_ast.ID(name=name)) if name == counter:
            return node.rvalue, node.op == "+="
        case c_ast.Assignment(
            op="=",
            lvalue=c_ast.ID(name=name),
            rvalue=c_ast.BinaryOp(op="+" | "-", left=c_ast.ID(name=again)),
        ) if name == counter == again:
            return node.rvalue.right, node.rvalue.op == "+"
        case _:
            return None, True


def _end(condition: Any, counter: str) -> tuple[Any, str]:
    """Return what a loop's counter is compared with, and how."""
    if not isinstance(condition, c_ast.BinaryOp) or condition.op not in syntax.MIRRORED:
        return None, ""
    if isinstance(condition.left, c_ast.ID) and condition.left.name == counter:
        return condition.right, condition.op
    if isinstance(condition.right, c_ast.ID) and condition.right.name == counter:
        return condition.left, syntax.MIRRORED[condition.op]
    return None, ""
