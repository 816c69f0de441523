"""Shapes of the values of a term, before anything is computed.

A term is followed as the interpreter follows it, with layouts in the place of values: of vectors
their sizes, of Integers what they are if that depends on nothing but the arguments' sizes and
counters, of loops one round. So ``(build (add n 1) …)`` has n + 1 elements, and ``(build (index 0
v) …)``, whose size stands in memory, is refused: no code can be made before it is known. Sums may
have as many elements as a counter says, the rows of a vector of vectors may not.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from polygym.errors import InputError
from polygym.rewrite.term import Term
from polygym.terms.code.c_values import (
    CArray,
    CScalar,
    extent,
    leaves,
    literal,
    map_leaves,
    size_scalar,
)
from polygym.terms.code.scalars import abstract_operator
from polygym.terms.code.sizes import Extent, Ranges, linear_form, size_text, terms_of
from polygym.terms.language.nodes import FALSE, TRUE, index_of, is_lam, name_of, term_facts
from polygym.terms.language.printer import text_of
from polygym.terms.language.program import TermProgram
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import FLOAT, INTEGER
from polygym.terms.language.values import Closure, ValueScope, look_up

_LONGEST = 120


def _place_of(root: Term, part: Term) -> tuple[int, ...] | None:
    """Return the first place at which a part stands."""
    stack: list[tuple[Term, tuple[int, ...]]] = [(root, ())]
    seen: set[Term] = set()
    while stack:
        term, place = stack.pop()
        if term is part:
            return place
        for at, child in reversed(list(enumerate(term.children))):
            if child not in seen:
                seen.add(child)
                stack.append((child, (*place, at)))
    return None


class ShapeInference:
    """The layouts of a program's parts, for inputs whose layouts are known."""

    def __init__(self, program: TermProgram, inputs: Mapping[str, Any], ranges: Ranges) -> None:
        """Know the inputs, and the ranges of counters while a part is looked at."""
        self._program, self._inputs, self._ranges = program, inputs, ranges
        self._counters = 0
        self._known: dict[tuple[Term, int], tuple[Any, ValueScope]] = {}

    def error(self, node: Term, expected: str, actual: object) -> InputError:
        """Return the error about a part that cannot be compiled: where it stands, what it is."""
        text = text_of(node) if term_facts(node).nodes < 1000 else str(node.head)
        if len(text) > _LONGEST:
            text = f"{text[:_LONGEST]}…"
        place = _place_of(self._program.body, node)
        where = "" if place is None else f" at {'.'.join(map(str, place)) or 'root'}"
        return InputError(
            f"{self._program.name}{where}: cannot be compiled: expected {expected}, "
            f"found {actual}: {text}"
        )

    def shape_of(self, node: Term, scope: ValueScope) -> Any:
        """Return the layout of a part; ``scope`` has layouts or values of what is bound."""
        return run_trampoline(self._of(node, scope))

    def known(self, node: Term, scope: ValueScope, around: Term) -> Extent:
        """Return an Integer that is the size of something.

        Raises:
            InputError: it depends on data, is no linear form, or may be negative.
        """
        return self._count(self.shape_of(node, scope), around)

    def _count(self, size: Any, around: Term) -> Extent:
        if not isinstance(size, CScalar) or size.form is None:
            raise self.error(
                around,
                "a size that follows from the sizes of arguments and from counters",
                "one that depends on data, or is no linear form of them",
            )
        if not self._ranges.at_least(size.form, 0):
            actual = size_text(size.form)
            raise self.error(
                around,
                "a size of 0 or more",
                actual if isinstance(size.form, int) else f"{actual}, which may be negative",
            )
        return size.form

    @contextmanager
    def _round(self, count: Extent) -> Iterator[CScalar]:
        """Look at one round of a loop; gives its counter."""
        self._counters += 1
        name = f"counter{self._counters}"
        with self._ranges.counter(name, count):
            yield CScalar("", INTEGER, form=linear_form(name))

    def _of(self, node: Term, scope: ValueScope) -> Trampolined[Any]:
        key = (node, id(scope) if term_facts(node).free else 0)
        if key not in self._known:
            self._known[key] = ((yield self._found(node, scope)), scope)  # which keeps its number
        return self._known[key][0]

    def _found(self, node: Term, scope: ValueScope) -> Trampolined[Any]:
        head, children = node.head, node.children
        if not children:
            return self._leaf(node, scope)
        if is_lam(node):
            return Closure(children[0], scope)
        if head == "let":
            value = yield self._of(children[0], scope)
            return (yield self._of(children[1], (value, scope)))
        if head == "apply":
            function = yield self._of(children[0], scope)
            value = yield self._of(children[1], scope)
            return (yield self._of(function.body, (value, function.scope)))
        if head == "if":
            return (yield self._choice(node, scope))
        parts = []
        for child in children:
            parts.append((yield self._of(child, scope)))
        if head == "build":
            count = self._count(parts[0], node)
            with self._round(count) as counter:
                inner = yield self._of(parts[1].body, (counter, parts[1].scope))
            self._expect_rows(node, inner, counter)
            return _repeated(inner, count)
        if head == "sumbuild":
            with self._round(self._count(parts[0], node)) as counter:
                inner = yield self._of(parts[1].body, (counter, parts[1].scope))
            self._expect_rows(node, inner, counter)
            return _unknown(inner)
        return self._operator(node, parts)

    def _choice(self, node: Term, scope: ValueScope) -> Trampolined[Any]:
        condition = yield self._of(node.children[0], scope)
        value = condition.known_value
        if value is None and condition.is_decided_by_facts:
            value = self._ranges.decided(condition.facts)
        if value is not None:
            return (yield self._of(node.children[1 if value else 2], scope))
        with self._ranges.assuming(condition.facts[0]):
            first = yield self._of(node.children[1], scope)
        with self._ranges.assuming(condition.facts[1]):
            second = yield self._of(node.children[2], scope)
        if isinstance(first, Closure):
            raise self.error(node, "a function that is known", "a choice between functions")
        self._expect_same(node, first, second)
        return _unknown(first)

    def _operator(self, node: Term, parts: list[Any]) -> Any:
        head = str(node.head)
        if head == "tuple":
            return tuple(parts)
        if head == "select":
            return parts[1][int(node.children[0].head)]
        if head == "index":
            return map_leaves(_element_of, parts[1])
        if head == "size":
            return size_scalar(extent(parts[0]))
        if head == "sum":
            return map_leaves(_element_of, parts[0])
        if head in ("deltaVec", "constVec"):
            return _repeated(parts[-1], self._count(parts[0], node))
        if all(isinstance(part, CScalar) for part in parts):
            return abstract_operator(head, parts)
        vectors = [part for part in parts if not isinstance(part, CScalar)]
        for other in vectors[1:]:
            self._expect_same(node, vectors[0], other)
        return _unknown(vectors[0])

    def _expect_rows(self, node: Term, inner: Any, counter: CScalar) -> None:
        """Refuse vectors whose size depends on the counter of what they are elements of."""
        assert counter.form is not None
        (name,) = terms_of(counter.form)
        for leaf in leaves(inner):
            extents = leaf.extents if isinstance(leaf, CArray) else ()
            if any(name in terms_of(size) for size in extents):
                raise self.error(
                    node, "elements of one size", "vectors whose size depends on the counter"
                )

    def _expect_same(self, node: Term, first: Any, second: Any) -> None:
        mine, its = (
            [part.extents if isinstance(part, CArray) else () for part in leaves(value)]
            for value in (first, second)
        )
        if mine != its:
            said = " and ".join(
                ", ".join(" by ".join(map(size_text, size)) for size in sizes if size) or "a number"
                for sizes in (mine, its)
            )
            raise self.error(node, "vectors of one size", said)

    def _leaf(self, node: Term, scope: ValueScope) -> Any:
        index = index_of(node)
        if index >= 0:
            return map_leaves(_shape_of, look_up(scope, index))
        if node is TRUE or node is FALSE:
            return literal(node is TRUE)
        if isinstance(node.head, int):
            return literal(node.head)
        if not isinstance(node.head, str):
            return CScalar("", FLOAT)
        return map_leaves(_shape_of, self._inputs[name_of(node)])


def _shape_of(leaf: Any) -> Any:
    """Return the layout of a value's leaf."""
    if isinstance(leaf, CArray):
        return CArray("", (), leaf.extents, leaf.kind) if leaf.extents else CScalar("", leaf.kind)
    return leaf


def _unknown(shape: Any) -> Any:
    """Return a layout in which no number is known."""
    return map_leaves(
        lambda cscalar: CScalar("", cscalar.kind) if isinstance(cscalar, CScalar) else cscalar,
        shape,
    )


def _repeated(shape: Any, count: Extent) -> Any:
    """Return the layout of so many."""
    return map_leaves(
        lambda carray: CArray(
            "", (), (count, *(carray.extents if isinstance(carray, CArray) else ())), carray.kind
        ),
        shape,
    )


def _element_of(array: CArray) -> CArray | CScalar:
    extents = array.extents[1:]
    return CArray("", (), extents, array.kind) if extents else CScalar("", array.kind)
