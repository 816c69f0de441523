"""The gradient of a program: from the adjoint of its result to those of its arguments.

A term is gone through from its root on. Each part has an adjoint, which the chain rules hand on to
the parts below (:mod:`polygym.terms.gradient.chain_rules`), until variables are reached; what a
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

A place of a program that is written: what was bound there, in its order.

While a program is written its variables have names, fresh ones, that nothing else has; when a block
is done, :meth:`BindingBlock.wrap` makes ``let``s of them. What was bound in a block or in one
around it is not bound again: the variable is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from polygym.errors import InputError, LimitError
from polygym.rewrite.term import Term, term
from polygym.terms.gradient.adjoints import (
    Adjoint,
    add_adjoints,
    complete_adjoint,
    has_floats,
    infer_sizes,
    is_additive,
    leafwise,
    part_of,
    split_adjoint,
)
from polygym.terms.gradient.chain_rules import (
    CHAIN_RULES,
    REQUIRED_OPERANDS,
    add_terms,
    multiply_terms,
    negate_term,
)
from polygym.terms.language.nodes import is_lam, lam, let, name_of, term_facts, variable
from polygym.terms.language.program import TermProgram
from polygym.terms.language.substitution import bind_names, open_binder, shift_indices
from polygym.terms.language.trampoline import Trampolined, run_trampoline
from polygym.terms.language.types import (
    FLOAT,
    INTEGER,
    FunctionType,
    TupleType,
    Type,
    VectorSize,
    VectorType,
)

_RESULT = "d$r"

_Path: TypeAlias = "tuple[int, ...]"
_Adjoints: TypeAlias = "dict[tuple[str, _Path], Term]"
"""What variables get: by name, and by which part of a tuple."""


def gradient(program: TermProgram) -> TermProgram:
    """Return the program that computes a program's derivatives by all parameters with Floats.

    It takes the program's parameters and ``d$r``, the adjoint of its result: 1.0 for the gradient
    of a number. Its result has the types of the parameters, as a tuple if there are several.

    Raises:
        InputError: there is nothing to differentiate by, or something that has no derivative here:
            a choice between functions, truth values in what would be added up.
    """
    wanted = [(name, kind) for name, kind in program.parameters if has_floats(kind)]
    if not wanted:
        raise InputError(f"{program.name}: expected a parameter with Floats, found none")
    if not has_floats(program.result):
        raise InputError(f"{program.name}: expected a result with Floats, found {program.result}")
    for name, kind in (*wanted, ("the result", program.result)):
        if not is_additive(kind):
            raise InputError(f"{program.name}: expected {name} without truth values, found {kind}")
    known = {name for name, _ in program.inputs}
    fresh = _RESULT
    while fresh in known:
        fresh += "_"
    body = _ReversePass(program, FreshNames({*known, fresh})).whole(
        variable(fresh, program.result), wanted
    )
    kinds = tuple(kind for _, kind in wanted)
    return TermProgram(
        f"rev${program.name}",
        (*program.parameters, (fresh, program.result)),
        kinds[0] if len(kinds) == 1 else TupleType(kinds),
        body,
    )


class _ReversePass:
    def __init__(self, program: TermProgram, names: FreshNames) -> None:
        self._program, self._names = program, names
        self._kinds: dict[str, Type] = dict(program.parameters)

    def whole(self, d: Term, wanted: list[tuple[str, Type]]) -> Term:
        """Return the body of the gradient."""
        block = BindingBlock(self._names)
        body = inline_calls(self._program.body, self._program.name)
        adjoints = run_trampoline(self._back(body, d, block))
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
            return _of_leaf(node, d)
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
        if _is_part(value) or term_facts(body).free & 1 == 0:
            return (yield self._back(open_binder(body, value), d, block))
        own = yield self._needed(value, block)
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
        body = inner.function(counter, self._gathered(keys, adjoints))
        return _scattered(keys, block.bind(term("sumbuild", count, body)))

    def _vector(self, node: Term, d: Adjoint, block: BindingBlock) -> Trampolined[Any]:
        """Hand on through what reads vectors or makes them of one value."""
        children = node.children
        if node.head in ("index", "sum"):
            vector = children[-1]
            known = infer_sizes(vector, self._kinds)
            size = known.size if isinstance(known, VectorType) else None
            if size is None:
                vector = yield self._needed(vector, block)
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
                    values[at] = yield self._needed(child, block)
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
            values.append((yield self._needed(child, block)))
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

    def _needed(self, node: Term, block: BindingBlock) -> Trampolined[Any]:
        """Return a value that is computed before; what numbers are made of is bound as well."""
        if _is_part(node):
            return node
        known = block.find_variable(node)
        if known is not None:
            return known
        if node.head == "let":
            value = yield self._needed(node.children[0], block)
            result = yield self._needed(open_binder(node.children[1], value), block)
        elif node.head == "tuple" or (node.head in CHAIN_RULES and term_facts(node).type == FLOAT):
            parts = []
            for child in node.children:
                parts.append((yield self._needed(child, block)))
            result = block.bind(term(node.head, *parts))
        else:
            result = block.bind(node)
        block.record(node, result)
        return result

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
        if size is None:
            known = infer_sizes(vector, self._kinds)
            size = known.size if isinstance(known, VectorType) else None
        if size is None:
            return term("size", vector)
        return term(size) if isinstance(size, int) else variable(size, INTEGER)


def _is_part(node: Term) -> bool:
    """Whether a value is a variable or constant, or a part of one, which costs nothing."""
    while node.head == "select":
        node = node.children[1]
    return not node.children


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


_MOST = 200_000


def inline_calls(root: Term, name: str) -> Term:
    """Return a term without calls and without names for functions; ``name`` is for errors.

    Raises:
        InputError: which function is called is known only when the term is evaluated.
        LimitError: it would be too large.
    """
    made: Term = run_trampoline(_changed(root, name, {}))
    return made


def _changed(node: Term, name: str, known: dict[Term, Term]) -> Trampolined[Any]:
    if not node.children:
        return node
    if node in known:
        return known[node]
    if term_facts(node).nodes > _MOST:
        raise LimitError(f"{name}: expected at most {_MOST} nodes with functions put in")
    is_named = node.head == "let" and isinstance(term_facts(node.children[0]).type, FunctionType)
    if is_named:
        result = yield _changed(open_binder(node.children[1], node.children[0]), name, known)
    elif node.head == "apply":
        result = yield _called(node.children[0], node.children[1], name, known)
    else:
        parts = []
        for child in node.children:
            parts.append((yield _changed(child, name, known)))
        result = term(node.head, *parts)
    known[node] = result
    return result


def _called(function: Term, argument: Term, name: str, known: dict[Term, Term]) -> Trampolined[Any]:
    """Return a call, with the function's body in its place."""
    if is_lam(function):
        return (yield _changed(let(argument, function.children[0]), name, known))
    if function.head == "let":
        value, body = function.children
        inner = let(value, term("apply", body, shift_indices(argument, 1)))
        return (yield _changed(inner, name, known))
    if function.head == "apply":
        reduced = yield _called(function.children[0], function.children[1], name, known)
        if reduced is not function:
            return (yield _called(reduced, argument, name, known))
    raise InputError(
        f"{name}: expected a function that is known where it is called, found {function.head}"
    )


class FreshNames:
    """Names that a program does not have."""

    def __init__(self, taken: Iterable[str]) -> None:
        """Keep those that it has."""
        self._taken = set(taken)
        self._count = 0

    def fresh(self, kind: Type) -> Term:
        """Return a variable that nothing else is."""
        while True:
            self._count += 1
            name = f"g{self._count}"
            if name not in self._taken:
                return variable(name, kind)


class BindingBlock:
    """Bindings, one after the other, within those of the blocks around."""

    def __init__(self, names: FreshNames, outer: BindingBlock | None = None) -> None:
        """Begin with nothing bound."""
        self.names = names
        self._outer = outer
        self._bound: list[tuple[Term, Term]] = []
        self._known: dict[Term, Term] = {}

    def inner(self) -> BindingBlock:
        """Return a block within this one."""
        return BindingBlock(self.names, self)

    def bind(self, value: Term) -> Term:
        """Return a variable that is a value; constants and variables stand for themselves."""
        if not value.children:
            return value
        term = self.find_variable(value)
        if term is None:
            term = self.names.fresh(term_facts(value).type)
            self._bound.append((term, value))
            self._known[value] = term
        return term

    def record(self, value: Term, variable: Term) -> None:
        """Take note that a value has a variable, where it was bound in another form."""
        self._known.setdefault(value, variable)

    def find_variable(self, value: Term) -> Term | None:
        """Return the variable that a value has here, None if it has none yet."""
        block: BindingBlock | None = self
        while block is not None:
            if value in block._known:
                return block._known[value]
            block = block._outer
        return None

    def wrap(self, result: Term) -> Term:
        """Return a term with a ``let`` for everything that is bound here."""
        levels = {name_of(term): level for level, (term, _) in enumerate(self._bound)}
        made = bind_names(result, levels, len(levels))
        for level in range(len(self._bound) - 1, -1, -1):
            made = let(bind_names(self._bound[level][1], levels, level), made)
        return made

    def function(self, argument: Term, result: Term) -> Term:
        """Return the function of a variable whose value is a term within this block."""
        name = name_of(argument)
        return lam(term_facts(argument).type, bind_names(self.wrap(result), {name: 0}, 1))
