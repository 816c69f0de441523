"""Canonical key of loops: equal for loops that differ in counter offsets and names only.

Schedules that differ by constants alone, [j + 2n, i] and [j - 1, i], become loops whose counters
run from other numbers on; what they do, and when, is the same. So every counter is counted from the
constant of its lower bound on. ::

    for c1 = -4000 .. -2001:  x[c1 + 4000] = …        →    for 0 = 0 .. 1999:  x[0] = …
    for c2 = 7 .. 2006:  x[c2 - 7] = …                →    (the counter number 0)

Two programs of one key do the same in the same order, in the same vectors and threads. Loops whose
instances are shifted against each other have different keys, and may have where they have not.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import assert_never

from polygym.codegen.loopir import ir
from polygym.codegen.loopir.index_arithmetic import add_constant, substitute
from polygym.codegen.loopir.linear_sums import to_linear_sum


def canonical_key(program: ir.LoopProgram) -> str:
    """Return a text that two programs share only if they do the same in the same order."""
    ahead = sorted(
        (prefetch.statement, prefetch.read, prefetch.distance) for prefetch in program.prefetches
    )
    whole = (
        _KeyWriter().node(program.body, {}),
        program.scop,
        program.sizes,
        program.extents,
        program.mapping,
        program.guarded_reads,
        program.unproved_accesses,
        program.nontemporal_stores,
        tuple(ahead),
    )
    return hashlib.sha256(_value_text(whole).encode()).hexdigest()[:32]


class _KeyWriter:
    """Goes through a program and numbers its counters."""

    def __init__(self) -> None:
        self.counters = 0

    def node(self, node: ir.Node, values: Mapping[str, ir.Index]) -> str:
        """Return the text of a node; ``values`` are the counters around it, by number."""
        match node:
            case ir.Block(children):
                return f"{{{' '.join(self.node(child, values) for child in children)}}}"
            case ir.Loop(variable, lower, upper, step, body, annotation):
                terms, begins = _terms_and_constant(substitute(lower, values))
                ends = _canonical_text(add_constant(substitute(upper, values), -begins))
                head = f"for {_sum_text(terms, 0)} {ends} {step} {_value_text(annotation)}"
                return f"{head} {self.node(body, self._with_counter(variable, begins, values))}"
            case ir.Guard(condition, then, otherwise):
                last = "" if otherwise is None else self.node(otherwise, values)
                test = _canonical_text(substitute(condition, values))
                return f"if {test} {self.node(then, values)} {last};"
            case ir.Instance():
                return self._instance(node, values)
            case _:
                assert_never(node)

    def _instance(self, instance: ir.Instance, values: Mapping[str, ir.Index]) -> str:
        lanes = ""
        match instance.lanes:
            case ir.Lanes(variable, base, width, active):
                terms, begins = _terms_and_constant(substitute(base, values))
                count = "" if active is None else _canonical_text(substitute(active, values))
                lanes = f"{_sum_text(terms, 0)} {width} {count}"
                values = self._with_counter(variable, begins, values)
        subscripts = (instance.iterators, instance.write, *instance.reads)
        own = (
            ",".join(_canonical_text(substitute(index, values)) for index in every)
            for every in subscripts
        )
        return f"{instance.statement} {lanes} [{'] ['.join(own)}];"

    def _with_counter(
        self, variable: str, begins: int, values: Mapping[str, ir.Index]
    ) -> dict[str, ir.Index]:
        """Return the counters with one more, which is counted from a number on."""
        counter = ir.IndexVariable(str(self.counters))
        self.counters += 1
        return {**values, variable: add_constant(counter, begins)}


def _canonical_text(index: ir.Index) -> str:
    """Return the text of an index, however its sums are written.

    >>> i = ir.IndexVariable("i")
    >>> _canonical_text(ir.IndexOperation(ir.IndexOperator.SUBTRACT, (add_constant(i, 3),
    ...     ir.IndexConstant(3))))
    '1*i+0'
    >>> _canonical_text(ir.IndexOperation(ir.IndexOperator.DIVIDE_FLOOR, (add_constant(i, 9),
    ...     ir.IndexConstant(4))))
    '1*DIVIDE_FLOOR(1*i+1 4)+2'
    >>> _canonical_text(ir.IndexOperation(ir.IndexOperator.MAXIMUM, (add_constant(i, 9),
    ...     ir.IndexConstant(4))))
    '1*MAXIMUM(0 1*i+5)+4'
    """
    return _sum_text(*_terms_and_constant(index))


def _sum_text(terms: Mapping[str, int], constant: int) -> str:
    result = sorted(f"{factor}*{term}" for term, factor in terms.items())
    return "+".join((*result, str(constant)))


def _terms_and_constant(index: ir.Index) -> tuple[dict[str, int], int]:
    """Return texts with their factors, and a number."""
    terms, constant = to_linear_sum(index)
    result: dict[str, int] = {}
    for term, factor in terms.items():
        text, more = _term_and_constant(term)
        result[text] = result.get(text, 0) + factor
        constant += factor * more
    return {text: factor for text, factor in result.items() if factor}, constant


def _term_and_constant(term: ir.Index) -> tuple[str, int]:
    """Return what is no sum as a text and a number beside it, as that of max(i + 9, 4) is 4."""
    match term:
        case ir.IndexVariable(name):
            return name, 0
        case ir.IndexConstant(value):
            return "1", value
        case ir.IndexOperation(
            ir.IndexOperator.MINIMUM | ir.IndexOperator.MAXIMUM as operator, operands
        ):
            sums = [_terms_and_constant(index) for index in operands]
            least = min(constant for _, constant in sums)
            texts = sorted(_sum_text(terms, constant - least) for terms, constant in sums)
            return f"{operator.name}({' '.join(texts)})", least
        case ir.IndexOperation(operator, (dividend, ir.IndexConstant(divisor))) if (
            operator in ir.QUOTIENTS
        ):
            terms, constant = _terms_and_constant(dividend)
            whole, rest = divmod(constant, divisor)
            return f"{operator.name}({_sum_text(terms, rest)} {divisor})", whole
        case ir.IndexOperation(operator, (dividend, ir.IndexConstant(divisor))) if (
            operator in ir.REMAINDERS
        ):
            terms, constant = _terms_and_constant(dividend)
            return f"{operator.name}({_sum_text(terms, constant % divisor)} {divisor})", 0
        case ir.IndexOperation(operator, (left, right)) if operator in ir.COMPARISONS:
            between = ir.IndexOperator.SUBTRACT(left, right)
            return f"{operator.name}({_canonical_text(between)})", 0
        case ir.IndexOperation(operator, operands):
            return f"{operator.name}({' '.join(map(_canonical_text, operands))})", 0
        case _:
            assert_never(term)


def _value_text(value: object) -> str:
    """Return the text of a value of this package's, the same in every process."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, frozenset):
        return f"<{' '.join(sorted(map(_value_text, value)))}>"
    if isinstance(value, tuple):
        return f"({' '.join(map(_value_text, value))})"
    if is_dataclass(value):
        own = (_value_text(getattr(value, field.name)) for field in fields(value))
        return f"{type(value).__name__}({' '.join(own)})"
    return repr(value)
