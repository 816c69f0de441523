"""Programs at random, to learn from: linear algebra, convolutions, stencils, elementwise.

Each of the four kinds comes up equally often (:data:`KINDS`):

*elementwise*: a vector of expressions of 2 to 5 operators over the elements of two vectors and a
scalar; two thirds have a sum over all elements of such an expression in them, as norms have.

*linear algebra*: sums over one or two loops of products of 2 or 3 factors: elements of vectors and
matrices by the loops' variables, constants, and inner products; half are in a vector or a matrix
that a ``let`` binds and another loop reads, scaled or added.

*convolution*: sums over a window of weights times elements, zero outside, with an expression of
weights or scalars as a factor; half sum over channels too.

*stencil*: means and differences of neighbours inside of a vector or matrix, the element itself at
the border, with an expression of scalars as a factor; half are followed by an elementwise loop.

Expressions draw operators by weight: add 3, sub 2, mul 4, div 2, exp 2, log 0.5, sqrt 0.5, neg 0.5.
Programs of the library have no place among them: whatever is one of these, with other names, is
drawn again (:func:`shape_of`).
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from polygym.rewrite.term import Term, rebuild, term
from polygym.terms.language.nodes import free_variables, term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.library import FILES, programs
from polygym.terms.saturation import inline_lets

Rng = np.random.Generator
KINDS = ("elementwise", "linear algebra", "convolution", "stencil")
_OPERATORS = ("add", "sub", "mul", "div", "exp", "log", "sqrt", "neg")
_WEIGHTS = np.array([3.0, 2.0, 4.0, 2.0, 2.0, 0.5, 0.5, 0.5])
_UNARY = ("exp", "log", "sqrt", "neg")
_MOST_NODES = 90


def generated_programs(seed: int, count: int) -> tuple[TermProgram, ...]:
    """Return so many programs; those of a seed are always the same, none of them twice."""
    rng = np.random.default_rng(seed)
    made: dict[Term, TermProgram] = {}
    while len(made) < count:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        program = parse_program(_MAKERS[kind](rng))
        shape = shape_of(program)
        is_small = term_facts(program.body).nodes <= _MOST_NODES
        if is_small and shape not in _library_shapes():
            made.setdefault(shape, program)
    return tuple(made.values())


def shape_of(program: TermProgram) -> Term:
    """Return the term without ``let`` and names: what two programs share that differ in names."""
    body = inline_lets(program.body)
    names = {name: f"v{number}" for number, name in enumerate(free_variables(body))}

    def renamed(node: Term, children: tuple[Term, ...]) -> Term:
        if children:
            return term(node.head, *children)
        name, colon, kind = str(node.head).partition(":")
        is_free = isinstance(node.head, str) and colon and name in names
        return term(f"{names[name]}:{kind}") if is_free else node

    return rebuild(body, renamed)


@cache
def _library_shapes() -> frozenset[Term]:
    return frozenset(shape_of(program) for name in FILES for program in programs(name))


def _expression(rng: Rng, leaves: Sequence[str], operators: int) -> str:
    """Return an expression of so many operators over some leaves."""
    if operators <= 0:
        return leaves[int(rng.integers(len(leaves)))]
    name = _OPERATORS[int(rng.choice(len(_OPERATORS), p=_WEIGHTS / _WEIGHTS.sum()))]
    if name in _UNARY:
        return f"({name} {_expression(rng, leaves, operators - 1)})"
    left = int(rng.integers(operators))
    first = _expression(rng, leaves, left)
    return f"({name} {first} {_expression(rng, leaves, operators - 1 - left)})"


def _elementwise(rng: Rng) -> str:
    def leaves(at: str) -> list[str]:
        return [f"(index {at} u)", f"(index {at} w)", "s", "2.0"]

    own = leaves("i")
    if rng.random() < 2 / 3:
        inner = _expression(rng, leaves("j")[:2], int(rng.integers(1, 4)))
        total = f"(sumbuild n (lam j {inner}))"
        own += [total, f"(div {total} (to_float n))", f"(sqrt (add s {total}))"]
    body = _expression(rng, own, int(rng.integers(2, 6)))
    return _definition("(Vec n Float)", "(u : Vec n Float) (w : Vec n Float) (s : Float)",
                       f"(build n (lam i {body}))")  # fmt: skip


def _linear_algebra(rng: Rng) -> str:
    leaves = ["(index i x)", "(index j y)", "(index j (index i a))", "(index i (index j b))", "s"]
    leaves.append("(sumbuild m (lam k (mul (index k (index i a)) (index k y))))")
    count = int(rng.integers(2, 4))
    factors = [leaves[int(at)] for at in rng.choice(len(leaves), count)]
    product = factors[0]
    for factor in factors[1:]:
        product = f"(mul {product} {factor})" if rng.random() < 0.7 else f"(mul {factor} {product})"
    if rng.random() < 0.25:
        product = f"(add {product} {leaves[int(rng.integers(4))]})"
    parameters = (
        "(x : Vec n Float) (y : Vec m Float) (a : Vec n (Vec m Float)) "
        "(b : Vec m (Vec n Float)) (s : Float)"
    )
    row = f"(build n (lam i (sumbuild m (lam j {product}))))"
    fraction = rng.random()
    if fraction < 0.25:
        return _definition(
            "Float", parameters, f"(sumbuild n (lam i (sumbuild m (lam j {product}))))"
        )
    if fraction < 0.5:
        return _definition("(Vec n Float)", parameters, row)
    after = _expression(rng, ["(index i t)", "(index i x)", "s"], int(rng.integers(1, 4)))
    if rng.random() < 0.5:
        return _definition(
            "(Vec n Float)", parameters, f"(let (t {row}) (build n (lam i {after})))"
        )
    matrix = f"(build n (lam i (build m (lam j {product}))))"
    read = "(mul (index j (index i t)) (index j y))"
    body = f"(let (t {matrix}) (build n (lam i (sumbuild m (lam j {read})))))"
    return _definition("(Vec n Float)", parameters, body)


def _convolution(rng: Rng) -> str:
    is_deep = rng.random() < 0.5
    element = "(index (add i j) (index c v))" if is_deep else "(index (add i j) v)"
    weight = "(index j (index c w))" if is_deep else "(index j w)"
    norms = ["s", f"(sumbuild k (lam j (mul {weight} {weight})))", "3.0"]
    factor = _expression(rng, norms, int(rng.integers(0, 4)))
    value = f"(if (lt (add i j) n) {element} 0.0)"
    parts = [factor, weight, value]
    order = [parts[int(at)] for at in rng.permutation(3)]
    body = f"(sumbuild k (lam j (mul (mul {order[0]} {order[1]}) {order[2]})))"
    if is_deep:
        body = f"(sumbuild l (lam c {body}))"
    parameters = (
        "(w : Vec l (Vec k Float)) (v : Vec l (Vec n Float)) (s : Float)"
        if is_deep
        else "(w : Vec k Float) (v : Vec n Float) (s : Float)"
    )
    return _definition("(Vec n Float)", parameters, f"(build n (lam i {body}))")


def _stencil(rng: Rng) -> str:
    around = ["(index (sub i 1) v)", "(index (add i 1) v)", "(index i v)"]
    inside = _expression(rng, around, int(rng.integers(2, 5)))
    factor = _expression(rng, ["s", "r", "2.0"], int(rng.integers(0, 4)))
    own = f"(if (and (gt i 0) (lt i (sub n 1))) (mul {factor} {inside}) (index i v))"
    body = f"(build n (lam i {own}))"
    if rng.random() < 0.5:
        after = _expression(rng, ["(index i t)", "(index i v)", "r"], int(rng.integers(1, 4)))
        body = f"(let (t {body}) (build n (lam i {after})))"
    return _definition("(Vec n Float)", "(v : Vec n Float) (s : Float) (r : Float)", body)


def _definition(result: str, parameters: str, body: str) -> str:
    return f"(def generated {result} ({parameters}) {body})"


_MAKERS: dict[str, Callable[[Rng], str]] = {
    "elementwise": _elementwise,
    "linear algebra": _linear_algebra,
    "convolution": _convolution,
    "stencil": _stencil,
}
