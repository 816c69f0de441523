"""A term becomes C: what is written is what runs, nothing is fused or left out.

A ``build`` is a loop that writes a vector, ``sumbuild`` one that adds to what it sums up, ``let``
computes its value where it stands, a function is put in where it is applied. What is no number and
is neither bound nor the result is computed into an array of its own and read from there. So the
time of a program is that of what it says, which is what rewriting is to improve: the compiler
behind it (isl's schedules, mapping, LLVM) makes loops quick, and knows no rules of terms.

    >>> from polygym.terms.language.parser import parse_program
    >>> program = parse_program('''(def scal (Vec n Float) ((a : Float) (v : Vec n Float))
    ...   (build n (lam (i : Integer) (mul a (index i v)))))''')
    >>> print(emit_code(program, {"n": 4}).text)
    void scal(double a, double v[4], double result[4])
    {
    #pragma scop
      for (long i1 = 0; i1 < 4; i1++) {
        result[i1] = a * v[i1];
      }
    #pragma endscop
    }
    <BLANKLINE>

Integers that are arguments, sizes among them, are numbers of the text: code is made for them. With
``is_symbolic`` those that are not given stay arguments of the function, and arrays are allocated.
The text is in the class of programs that the C front end reads as one region: conditions and
subscripts that are no affine forms of counters are looked at when the program runs.

Sums of vectors are added where they stand: ``(sumbuild n (lam i (deltaVec m i a)))`` adds a to one
element a round. A scan, ``(build n (lam i (sumbuild (add i 1) f)))``, adds to each element the next
value of f, in the order in which the sums are added up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from polygym.rewrite.term import Term
from polygym.terms.code import c_values
from polygym.terms.code.function_writer import (
    StatementWriter,
    extents_of,
    load_value,
    parenthesize,
    read_place,
)
from polygym.terms.code.place_writer import PlaceWriter, ResultSlot
from polygym.terms.code.scalars import apply_operator, is_scalar_operator
from polygym.terms.code.shapes import ShapeInference
from polygym.terms.language.nodes import FALSE, TRUE, binds, index_of, is_lam, name_of, term_facts
from polygym.terms.language.program import TermProgram, sizes_in
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import INTEGER, BaseType, FunctionType, sizes_of
from polygym.terms.language.values import Closure, ValueScope, look_up

_DEEPEST, _LARGEST = 24, 400
"""Expressions that are deeper, or have more operators, are several statements."""

_REPEATED = 48
"""So many operators may be written again to spare an array."""


def emit_code(
    program: TermProgram, sizes: Mapping[str, int], *, is_symbolic: bool = False
) -> c_values.TermCode:
    """Return the C function of a program for values of its sizes and other Integers, by name.

    Raises:
        InputError: a size is missing, or something cannot be compiled; says what.
    """
    return _CodeEmitter(program, sizes, is_symbolic).code()


class _CodeEmitter(PlaceWriter):
    def __init__(self, program: TermProgram, sizes: Mapping[str, int], is_symbolic: bool) -> None:
        self._program = program
        self._text = StatementWriter()
        self._parameters: list[tuple[str, str]] = []
        integers = self._integers(sizes, is_symbolic)
        known = {name: value.form for name, value in integers.items() if value.form is not None}
        inputs: dict[str, Any] = dict(integers)
        for name, kind in program.inputs:
            if kind == INTEGER:
                continue
            extents = [c_values.size_value(program, size, known) for size in sizes_of(kind)]
            shape = c_values.value_outline(kind, extents)
            made = self._text.argument(name, c_values.map_leaves(c_values.as_argument, shape))
            inputs[name] = c_values.map_leaves(c_values.unbox_array, made, shape)
        self._inputs = inputs
        self._shapes = ShapeInference(program, inputs, self._text.ranges)

    def _integers(self, sizes: Mapping[str, int], is_symbolic: bool) -> dict[str, c_values.CScalar]:
        """Return the Integers of a program: numbers, and arguments of the function."""
        result = {}
        vector_sizes = {size for _, kind in self._program.parameters for size in sizes_in(kind)}
        for name, kind in self._program.inputs:
            if kind != INTEGER:
                continue
            if is_symbolic and name not in sizes:
                result[name] = self._text.parameter(name, is_size=name in vector_sizes)
                self._parameters.append((name, result[name].text))
            else:
                given = c_values.integer_value(self._program, name, sizes)
                result[name] = c_values.size_scalar(given)
        return result

    def code(self) -> c_values.TermCode:
        """Return the whole function."""
        inputs = tuple(self._text.arguments)
        shape = self._shapes.shape_of(self._program.body, None)
        if any(0 in extents for extents in extents_of(shape)):
            raise self._shapes.error(self._program.body, "a result with elements", "none")
        result = self._text.argument("result", c_values.map_leaves(c_values.box_scalar, shape))
        run_trampoline(
            self._into(
                self._program.body, None, c_values.map_leaves(c_values.unbox_array, result, shape)
            )
        )
        self._text.lines[:0] = self._text.start
        name = self._text.name(self._program.name)
        results = tuple(self._text.arguments[len(inputs) :])
        text = self._text.text(name)
        return c_values.TermCode(name, text, inputs, results, shape, tuple(self._parameters))

    # What gives a value.

    def _value(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None = None
    ) -> Trampolined[Any]:
        """Return a value: an expression, or what is in memory; computed now if it is not."""
        head, children = node.head, node.children
        if not children:
            return self._leaf(node, scope)
        if is_lam(node):
            return Closure(children[0], scope)
        if head == "let":
            bound = yield self._bound(children[0], children[1], scope)
            return (yield self._value(children[1], (bound, scope), slot))
        if head == "apply":
            body, inner = yield self._applied(node, scope)
            return (yield self._value(body, inner, slot))
        if head == "select":
            return load_value((yield self._value(children[1], scope))[int(children[0].head)])
        if head == "tuple":
            parts = []
            for child in children:
                parts.append((yield self._value(child, scope)))
            return tuple(parts)
        if head == "size":
            return c_values.size_scalar(c_values.extent(self._shapes.shape_of(children[0], scope)))
        if head == "index":
            where = yield self._scalar(children[0], scope)
            vector = yield self._value(children[1], scope)
            if where.weight > 3 and not where.is_affine:
                where = self._text.make_simple(where, "place")
            return load_value(c_values.element(vector, where.text))
        kind = term_facts(node).type
        if isinstance(kind, FunctionType):
            raise self._shapes.error(node, "a function that is known", "a choice between some")
        if isinstance(kind, BaseType):
            return (yield self._number(node, scope, slot))
        place = self._text.temporary("vector", self._shapes.shape_of(node, scope))
        yield self._into(node, scope, place)
        return place

    def _scalar(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None = None
    ) -> Trampolined[c_values.CScalar]:
        value = load_value((yield self._value(node, scope, slot)))
        assert isinstance(value, c_values.CScalar)
        is_large = value.depth > _DEEPEST or value.weight > _LARGEST
        return self._text.store(value, "part") if is_large else value

    def _number(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None
    ) -> Trampolined[c_values.CScalar]:
        """Return what an operator on numbers, a choice between numbers, or a sum of them gives."""
        head = str(node.head)
        if head in ("sumbuild", "sum"):
            kind = term_facts(node).type
            assert isinstance(kind, BaseType)
            place = slot.taken() if slot is not None else None
            place = place or self._text.scalar("total", kind)
            yield self._sum_into(node, scope, place)
            return read_place(place)
        if head == "if":
            chosen: c_values.CScalar = yield self._choice(node, scope, slot)
            return chosen
        assert is_scalar_operator(head), head
        parts = []
        for child in node.children:
            parts.append((yield self._scalar(child, scope, slot)))
        if head == "div" and parts[0].kind == INTEGER and not parts[1].known_value:
            return self._quotient(node, parts)
        if head in ("max", "min"):
            parts = [self._text.make_simple(part, "part") for part in parts]
        return apply_operator(head, parts)

    def _choice(
        self, node: Term, scope: ValueScope, slot: ResultSlot | None
    ) -> Trampolined[c_values.CScalar]:
        chosen = self._text.condition((yield self._scalar(node.children[0], scope, slot)))
        if chosen.known_value is not None:
            arm: c_values.CScalar = yield self._scalar(
                node.children[1 if chosen.known_value else 2], scope, slot
            )
            return arm
        arms, texts = [], []
        for child, facts in zip(node.children[1:], chosen.facts, strict=True):
            with self._text.capture() as lines, self._text.ranges.assuming(facts):
                arms.append((yield self._scalar(child, scope)))
            texts.append(lines)
        kind = arms[0].kind
        if not texts[0] and not texts[1]:
            return c_values.CScalar(
                f"({chosen.text} ? {arms[0].text} : {arms[1].text})",
                kind,
                weight=1 + chosen.weight + arms[0].weight + arms[1].weight,
                depth=1 + max(chosen.depth, arms[0].depth, arms[1].depth),
            )
        place = self._text.scalar("chosen", kind)
        self._text.lines.append(f"if {parenthesize(chosen.text)} {{")
        self._text.lines += texts[0]
        self._text.assign(place, arms[0])
        self._text.lines.append("} else {")
        self._text.lines += texts[1]
        self._text.assign(place, arms[1])
        self._text.lines.append("}")
        return read_place(place)

    def _quotient(self, node: Term, parts: Sequence[c_values.CScalar]) -> c_values.CScalar:
        """Return a division of Integers: 0 is found out where the program runs."""
        if parts[1].known_value == 0:
            raise self._shapes.error(node, "a divisor other than 0", "0")
        above, below = (self._text.store(part, "whole") for part in parts)
        none = self._text.zero(1)  # what is read outside of it is 0, and the caller is told
        checked = f"({below.text} == 0 ? 1 + {none.name}[1 + {below.text}] : {below.text})"
        text = f"({below.text} == -1 ? 0 - {above.text} : {above.text} / {checked})"
        return c_values.CScalar(text, INTEGER, weight=6, depth=4)

    def _leaf(self, node: Term, scope: ValueScope) -> Any:
        index = index_of(node)
        if index >= 0:
            return load_value(look_up(scope, index))
        if node is TRUE or node is FALSE:
            return c_values.literal(node is TRUE)
        if not isinstance(node.head, str):
            return c_values.literal(node.head)
        return load_value(self._inputs[name_of(node)])

    # What is bound.

    def _applied(self, node: Term, scope: ValueScope) -> Trampolined[tuple[Term, ValueScope]]:
        function = yield self._value(node.children[0], scope)
        bound = yield self._bound(node.children[1], function.body, scope)
        return function.body, (bound, function.scope)

    def _bound(self, value: Term, body: Term, scope: ValueScope) -> Trampolined[Any]:
        """Return what a binder stands for; nothing is computed that the body does not have."""
        if term_facts(body).free & 1 == 0:
            return None
        cscalar = yield self._value(value, scope)
        if not isinstance(cscalar, c_values.CScalar) or cscalar.is_affine or cscalar.is_simple:
            return cscalar
        uses = _uses(body, _REPEATED // cscalar.weight + 1)
        return cscalar if uses * cscalar.weight <= _REPEATED else self._text.store(cscalar, "t")


def _uses(body: Term, most: int) -> int:
    """Return how often a body mentions its variable, ``most`` where a function may repeat it."""
    result, stack = 0, [(body, 0)]
    while stack and result < most:
        term, depth = stack.pop()
        if term_facts(term).free >> depth & 1 == 0:
            continue
        if not term.children:
            result += 1
        elif is_lam(term):
            return most
        else:
            stack += [(child, depth + binds(term, at)) for at, child in enumerate(term.children)]
    return result
