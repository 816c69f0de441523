"""The gradient of a program: from the adjoint of its result to those of its arguments.

A term is gone through from its root on. Each part has an adjoint, which the chain rules hand on to
the parts below (:mod:`polygym.terms.language.chain_rules`), until variables are reached; what a
variable gets at all its places is added up. Of what is not made of Floats nothing is asked. With d
the adjoint of a part:

======================  ===========================================================================
``(let (x a) b)``       b gets d; then a gets what x got in b
``(if p a b)``          the arm that is taken gets d
``(tuple a b)``         each gets its part of d
``(index i v)``         v gets ``(deltaVec n i d)``
``(build n f)``         the body at i gets ``(index i d)``; what variables get is added up over i
``(sumbuild n f)``      the body at every i gets d; likewise
``(sum v)``             v gets ``(constVec n d)``
``(constVec n a)``      a gets the sum of d's elements
``(deltaVec n i a)``    a gets ``(index i d)``
======================  ===========================================================================

Loops stay loops: nothing is unrolled, and nothing is kept for the way back but what is bound; what
the body of a loop computes is computed again when the derivatives go through it. Nothing is made
simpler either: that is what rules are for.

    >>> import textwrap
    >>> from polygym.terms.language.printer import text_of
    >>> from polygym.terms.language.parser import parse_program
    >>> dot = parse_program('''(def dot Float ((v : Vec n Float) (w : Vec n Float))
    ...   (sumbuild n (lam (i : Integer) (mul (index i v) (index i w)))))''')
    >>> for line in textwrap.wrap(text_of(gradient(dot).body), 92):
    ...     print(line)
    (let (t1 (sumbuild n (lam (i1 : Integer) (let (t2 (index i1 v)) (let (t3 (index i1 w))
    (tuple (deltaVec n i1 (mul d$r t3)) (deltaVec n i1 (mul d$r t2)))))))) (tuple (select 0 t1)
    (select 1 t1)))
"""

from __future__ import annotations

from typing import Any, TypeAlias

from polygym.errors import InputError
from polygym.rewrite.term import Term, term
from polygym.terms.language.adjoints import (
    Adjoint,
    add_adjoints,
    complete_adjoint,
    has_floats,
    infer_sizes,
    is_additive,
    leafwise,
    part_of,
    size_term,
    split_adjoint,
)
from polygym.terms.language.blocks import (
    BindingBlock,
    FreshNames,
    is_component,
    needed_value,
)
from polygym.terms.language.chain_rules import (
    CHAIN_RULES,
    ONE,
    REQUIRED_OPERANDS,
    add_terms,
    multiply_terms,
    negate_term,
)
from polygym.terms.language.inlining import inline_calls
from polygym.terms.language.nodes import free_variables, name_of, term_facts, variable
from polygym.terms.language.program import TermProgram
from polygym.terms.language.substitution import open_binder
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import (
    FLOAT,
    INTEGER,
    TupleType,
    Type,
    VectorSize,
    VectorType,
    contains_vector,
)

_RESULT = "d$r"

_Path: TypeAlias = "tuple[int, ...]"
_Adjoints: TypeAlias = "dict[tuple[str, _Path], Term]"
"""What variables get: by name, and by which part of a tuple."""


def gradient(program: TermProgram, *, is_seeded: bool = True) -> TermProgram:
    """Return the program that computes a program's derivatives by all parameters with Floats.

    It takes the program's parameters and ``d$r``, the adjoint of its result: 1.0 for the gradient
    of a number. Its result has the types of the parameters, as a tuple if there are several. With
    ``is_seeded`` false, the program of a number takes no adjoint: it is 1.0.

    Raises:
        InputError: there is nothing to differentiate by, or something that has no derivative here:
            a choice between functions, truth values in what would be added up.
    """
    wanted = differentiable_parameters(program)
    for name, kind in (*wanted, ("the result", program.result)):
        if not is_additive(kind):
            raise InputError(f"{program.name}: expected {name} without truth values, found {kind}")
    body = inline_calls(program.body, program.name)
    names = FreshNames({*free_variables(body), *(name for name, _ in program.inputs)})
    parameters, d = program.parameters, ONE
    if is_seeded or program.result != FLOAT:
        fresh = names.reserve(_RESULT)
        parameters = (*parameters, (fresh, program.result))
        d = variable(fresh, program.result)
    kinds = tuple(kind for _, kind in wanted)
    return TermProgram(
        f"rev${program.name}",
        parameters,
        kinds[0] if len(kinds) == 1 else TupleType(kinds),
        _ReversePass(program, body, names).whole(d, wanted),
    )


def differentiable_parameters(program: TermProgram) -> list[tuple[str, Type]]:
    """Return the parameters with Floats of a program whose result has some.

    Raises:
        InputError: there are none.
    """
    wanted = [(name, kind) for name, kind in program.parameters if has_floats(kind)]
    if not wanted:
        raise InputError(f"{program.name}: expected a parameter with Floats, found none")
    if not has_floats(program.result):
        raise InputError(f"{program.name}: expected a result with Floats, found {program.result}")
    return wanted


class _ReversePass:
    def __init__(self, program: TermProgram, body: Term, names: FreshNames) -> None:
        self._body, self._names = body, names
        self._kinds: dict[str, Type] = dict(program.parameters)
        self._sizes = {name for name, _ in program.inputs}
        self._constant = set(free_variables(body)) - set(self._kinds)

    def whole(self, d: Term, wanted: list[tuple[str, Type]]) -> Term:
        """Return the body of the gradient."""
        block = BindingBlock(self._names)
        adjoints = run_trampoline(self._back(self._body, d, block))
        parts = []
        for name, kind in wanted:
            adjoint = _of_variable(adjoints, name, kind)
            parts.append(complete_adjoint(adjoint, kind, variable(name, kind), self._size))
        return block.wrap(parts[0] if len(parts) == 1 else term("tuple", *parts))

    def _back(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        """Return what variables get from a part with an adjoint."""
        kind = term_facts(node).type
        if d is None or not has_floats(kind):
            return {}
        head, children = node.head, node.children
        d = split_adjoint(d, kind, block.bind)
        if not children:
            return {} if name_of(node) in self._constant else _of_leaf(node, d)
        if head == "let":
            return (yield self._binding(children[0], children[1], d, block))
        if head == "if":
            return (yield self._choice(node, d, block))
        if head in ("build", "sumbuild"):
            return (yield self._loop(node, d, block))
        if head in ("index", "sum", "constVec", "deltaVec"):
            return (yield self._vector(node, d, block))
        if head == "select":
            whole = term_facts(children[1]).type
            assert isinstance(whole, TupleType)
            parts: list[Adjoint] = [None] * len(whole.parts)
            parts[int(children[0].head)] = d
            return (yield self._back(children[1], tuple(parts), block))
        if head == "tuple":
            assert isinstance(d, tuple)
            result: _Adjoints = {}
            for child, part in zip(children, d, strict=True):
                _join(result, (yield self._back(child, part, block)))
            return result
        return (yield self._operator(node, d, block))

    def _binding(
        self, value: Term, body: Term, d: Adjoint, block: BindingBlock
    ) -> Trampolined[Any]:
        if is_component(value) or term_facts(body).free & 1 == 0:
            return (yield self._back(open_binder(body, value), d, block))
        own = yield needed_value(value, block)
        kind = infer_sizes(value, self._kinds)
        self._kinds[name_of(own)] = kind
        result: _Adjoints = yield self._back(open_binder(body, own), d, block)
        mine = _of_variable(result, name_of(own), kind)
        result = {key: adjoint for key, adjoint in result.items() if key[0] != name_of(own)}
        _join(result, (yield self._back(value, mine, block)))
        return result

    def _choice(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        condition, *arms = node.children
        d = leafwise(block.bind, d)
        blocks = [block.inner(), block.inner()]
        adjoints_of_arms: list[_Adjoints] = []
        for arm, inner in zip(arms, blocks, strict=True):
            adjoints_of_arms.append((yield self._back(arm, d, inner)))
        keys = sorted({**adjoints_of_arms[0], **adjoints_of_arms[1]})
        if not keys:
            return {}
        made = [
            inner.wrap(self._gathered(keys, adjoints))
            for inner, adjoints in zip(blocks, adjoints_of_arms, strict=True)
        ]
        return _scattered(keys, block.bind(term("if", condition, *made)))

    def _loop(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        count, function = node.children
        d = leafwise(block.bind, d)
        inner = block.inner()
        counter = self._names.fresh(INTEGER)
        if node.head == "build":
            assert isinstance(d, Term)
            d = term("index", counter, d)
        adjoints: _Adjoints = yield self._back(open_binder(function.children[0], counter), d, inner)
        keys = sorted(adjoints)
        if not keys:
            return {}
        whole = self._gathered(keys, adjoints)
        total = term("sumbuild", count, inner.function(counter, whole))
        if contains_vector(term_facts(whole).type) and not self._has_elements(count):
            nothing = self._gathered(keys, {})
            total = term("if", term("gt", count, term(0)), total, nothing)
        return _scattered(keys, block.bind(total))

    def _has_elements(self, count: Term) -> bool:
        """Whether a count is of sizes alone: one of counters may be 0, and then nothing adds up."""
        return set(free_variables(count)) <= self._sizes

    def _vector(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        """Hand on through what reads vectors or makes them of one value."""
        children = node.children
        if node.head in ("index", "sum"):
            vector = children[-1]
            known = infer_sizes(vector, self._kinds)
            size = known.size if isinstance(known, VectorType) else None
            if size is None:
                vector = yield needed_value(vector, block)
            each = complete_adjoint(d, term_facts(node).type, node, self._size)
            count = self._size(vector, size)
            if node.head == "sum":
                return (yield self._back(children[0], term("constVec", count, each), block))
            place = block.bind(children[0])
            return (yield self._back(children[1], term("deltaVec", count, place, each), block))
        assert isinstance(d, Term)
        if node.head == "deltaVec":
            return (yield self._back(children[2], term("index", children[1], d), block))
        counter = self._names.fresh(INTEGER)
        whole = block.bind(d)
        function = BindingBlock(self._names).function(counter, term("index", counter, whole))
        added_up = term("sumbuild", children[0], function)
        return (yield self._back(children[1], added_up, block))

    def _operator(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        head, children = str(node.head), node.children
        if head not in CHAIN_RULES:
            return {}
        d = leafwise(block.bind, d)
        adjoints: tuple[Adjoint, ...]
        if term_facts(node).type == FLOAT:
            assert isinstance(d, Term)
            needs, values = REQUIRED_OPERANDS[head], list(children)
            if needs:
                for at, child in enumerate(children):
                    values[at] = yield needed_value(child, block)
            value = block.bind(term(head, *values)) if "value" in needs else node
            adjoints = CHAIN_RULES[head](d, *values, value)
        elif head == "mul":
            adjoints = yield self._scaled(node, d, block)
        else:
            second = leafwise(negate_term, d) if head in ("sub", "neg") else d
            adjoints = (second,) if head == "neg" else (d, second)
        result: _Adjoints = {}
        for child, adjoint in zip(children, adjoints, strict=True):
            _join(result, (yield self._back(child, adjoint, block)))
        return result

    def _scaled(
        self, node: Term, d: Adjoint, block: BindingBlock
    ) -> Trampolined[tuple[Adjoint, ...]]:
        """Return what a Float and what it scales get."""
        values = []
        for child in node.children:
            values.append((yield needed_value(child, block)))
        is_first = term_facts(values[0]).type == FLOAT
        factor, whole = values if is_first else reversed(values)
        by_factor = self._inner(whole, d, term_facts(whole).type)
        by_whole = leafwise(lambda part: multiply_terms(factor, part), d)
        return (by_factor, by_whole) if is_first else (by_whole, by_factor)

    def _inner(self, value: Term, d: Adjoint, kind: Type) -> Term | None:
        """Return the sum of the products of all numbers in a value with those in its adjoint."""
        match kind:
            case VectorType(inner) if isinstance(d, Term):
                counter = self._names.fresh(INTEGER)
                each = self._inner(term("index", counter, value), term("index", counter, d), inner)
                if each is None:
                    return None
                function = BindingBlock(self._names).function(counter, each)
                return term("sumbuild", self._size(value, None), function)
            case TupleType(parts):
                result: Term | None = None
                for at, part in enumerate(parts):
                    its = d[at] if isinstance(d, tuple) else part_of(d, at) if d else None
                    result = add_terms(result, self._inner(part_of(value, at), its, part))
                return result
            case _:
                return multiply_terms(value, d) if isinstance(d, Term) and kind == FLOAT else None

    def _gathered(self, keys: list[tuple[str, _Path]], adjoints: _Adjoints) -> Term:
        """Return what some variables get as one term, with zeros for those that get nothing."""
        parts = []
        for name, path in keys:
            kind = self._kinds[name]
            value = variable(name, kind)
            for at in path:
                assert isinstance(kind, TupleType)
                kind, value = kind.parts[at], part_of(value, at)
            parts.append(complete_adjoint(adjoints.get((name, path)), kind, value, self._size))
        return parts[0] if len(parts) == 1 else term("tuple", *parts)

    def _size(self, vector: Term, size: VectorSize) -> Term:
        return size_term(vector, size, self._kinds)


def _of_leaf(node: Term, d: Adjoint) -> _Adjoints:
    """Return what a variable gets where it stands."""
    name = name_of(node)
    result: _Adjoints = {}
    stack: list[tuple[_Path, Adjoint]] = [((), d)] if name else []
    while stack:
        path, part = stack.pop()
        if isinstance(part, tuple):
            stack += [((*path, at), inner) for at, inner in enumerate(part)]
        elif part is not None:
            result[name, path] = part
    return result


def _of_variable(adjoints: _Adjoints, name: str, kind: Type, path: _Path = ()) -> Adjoint:
    """Return the adjoint of a variable, from what was found of its parts."""
    if not isinstance(kind, TupleType):
        return adjoints.get((name, path))
    parts = tuple(
        _of_variable(adjoints, name, part, (*path, at)) for at, part in enumerate(kind.parts)
    )
    return parts if any(part is not None for part in parts) else None


def _join(adjoints: _Adjoints, more: _Adjoints) -> None:
    for key, adjoint in more.items():
        both = add_adjoints(adjoints.get(key), adjoint)
        assert isinstance(both, Term)
        adjoints[key] = both


def _scattered(keys: list[tuple[str, _Path]], whole: Term) -> _Adjoints:
    if len(keys) == 1:
        return {keys[0]: whole}
    return {key: term("select", term(at), whole) for at, key in enumerate(keys)}
