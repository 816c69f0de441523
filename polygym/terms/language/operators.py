"""The operators of the language: how many arguments, of which types, and what they give.

Arithmetic is overloaded. ``add`` and ``sub`` take two of anything that is made of numbers, and work
part by part; ``mul`` takes two numbers, or a Float and anything made of Floats, which it scales;
``div`` takes two numbers, and of Integers leaves the part behind the point out, as C does. Every
operator with its sentence stands in :data:`OPERATORS`, which the documentation shows.

A node's head is the operator's name. Besides there are constants (numbers, ``True``, ``False``) and
what :mod:`polygym.terms.language.nodes` makes: variables and ``lam``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polygym.errors import InputError
from polygym.terms.language.types import (
    BOOL,
    FLOAT,
    INTEGER,
    BaseType,
    FunctionType,
    TupleType,
    Type,
    VectorType,
    is_data,
    join_types,
    leaf_types,
    meet_types,
)


class IllTypedError(InputError):
    """Arguments are none that an operator takes; the message says what it does take."""


@dataclass(frozen=True, slots=True)
class TermOperator:
    """How an operator is written, what it does, and what its result is; arity None: any number."""

    name: str
    arity: int | None
    usage: str
    description: str
    result_type: Callable[[tuple[Type, ...]], Type]


def result_of(name: str, types: tuple[Type, ...]) -> Type:
    """Return what an operator gives.

    Raises:
        IllTyped: it takes no such arguments.
    """
    operator = OPERATORS.get(name)
    if operator is None:
        raise IllTypedError(f"expected an operator, found {name!r}")
    if operator.arity is not None and len(types) != operator.arity:
        raise IllTypedError(f"expected {operator.usage}, found {_count(len(types))}")
    try:
        return operator.result_type(types)
    except IllTypedError as error:
        raise IllTypedError(f"{operator.usage}: {error}") from None


def _count(number: int) -> str:
    return "one argument" if number == 1 else f"{number or 'no'} arguments"


def _is_additive(kind: Type) -> bool:
    return leaf_types(kind) <= {FLOAT, INTEGER}


def _is_linear(kind: Type) -> bool:
    return leaf_types(kind) == {FLOAT}


def _require(condition: bool, expected: object, actual: object) -> None:
    if not condition:
        raise IllTypedError(f"expected {expected}, found {actual}")


def _same(one: Type, other: Type) -> Type:
    result = meet_types(one, other)
    if result is None:
        raise IllTypedError(f"expected two of one type, found {one} and {other}")
    return result


def _must(kind: Type, wanted: Type) -> None:
    _require(meet_types(kind, wanted) is not None, wanted, kind)


def _all(wanted: Type, result: Type) -> Callable[[tuple[Type, ...]], Type]:
    def infer(types: tuple[Type, ...]) -> Type:
        for kind in types:
            _must(kind, wanted)
        return result

    return infer


def _sum(types: tuple[Type, ...]) -> Type:
    result = _same(*types)
    _require(_is_additive(result), "numbers, or vectors or tuples of them", result)
    return result


def _product(types: tuple[Type, ...]) -> Type:
    one, other = types
    if one == other and one in (FLOAT, INTEGER):
        return one
    if one == FLOAT and _is_linear(other):
        return other
    if other == FLOAT and _is_linear(one):
        return one
    raise IllTypedError(
        f"expected two Floats, two Integers, or a Float and what is made of Floats; found {one} "
        f"and {other}"
    )


def _quotient(types: tuple[Type, ...]) -> Type:
    result = _same(*types)
    _require(result in (FLOAT, INTEGER), "two numbers", result)
    return result


def _negative(types: tuple[Type, ...]) -> Type:
    _require(_is_additive(types[0]), "a number, or a vector or tuple of them", types[0])
    return types[0]


def _equality(types: tuple[Type, ...]) -> Type:
    kind = _same(*types)
    if not isinstance(kind, BaseType):
        raise IllTypedError(f"expected two numbers or two truth values, found {kind}")
    return BOOL


def _order(types: tuple[Type, ...]) -> Type:
    _quotient(types)
    return BOOL


def _choice(types: tuple[Type, ...]) -> Type:
    _must(types[0], BOOL)
    result = join_types(types[1], types[2])
    if result is None:
        raise IllTypedError(f"expected two of one type, found {types[1]} and {types[2]}")
    return result


def _application(types: tuple[Type, ...]) -> Type:
    function = types[0]
    if not isinstance(function, FunctionType):
        raise IllTypedError(f"expected a function, found {function}")
    _must(types[1], function.argument)
    return function.result


def _element_function(kind: Type) -> Type:
    if not isinstance(kind, FunctionType) or kind.argument != INTEGER:
        raise IllTypedError(f"expected a function of an Integer, found {kind}")
    _require(is_data(kind.result), "a function that returns data", kind)
    return kind.result


def _build(types: tuple[Type, ...]) -> Type:
    _must(types[0], INTEGER)
    return VectorType(_element_function(types[1]))


def _sum_of_build(types: tuple[Type, ...]) -> Type:
    _must(types[0], INTEGER)
    result = _element_function(types[1])
    _require(_is_additive(result), "a function whose values can be added", types[1])
    return result


def _vector(kind: Type) -> VectorType:
    if not isinstance(kind, VectorType):
        raise IllTypedError(f"expected a vector, found {kind}")
    return kind


def _element(types: tuple[Type, ...]) -> Type:
    _must(types[0], INTEGER)
    return _vector(types[1]).element


def _size(types: tuple[Type, ...]) -> Type:
    _vector(types[0])
    return INTEGER


def _total(types: tuple[Type, ...]) -> Type:
    result = _vector(types[0]).element
    _require(_is_additive(result), "a vector of what can be added", types[0])
    return result


def _delta(types: tuple[Type, ...]) -> Type:
    _must(types[0], INTEGER)
    _must(types[1], INTEGER)
    _require(_is_additive(types[2]), "a value made of numbers", types[2])
    return VectorType(types[2])


def _constant_vector(types: tuple[Type, ...]) -> Type:
    _must(types[0], INTEGER)
    _require(is_data(types[1]), "a value that is data", types[1])
    return VectorType(types[1])


def _tuple(types: tuple[Type, ...]) -> Type:
    if len(types) < 2:
        raise IllTypedError(f"expected two parts or more, found {len(types)}")
    for kind in types:
        _require(is_data(kind), "parts that are data", kind)
    return TupleType(types)


def _selection(types: tuple[Type, ...]) -> Type:
    raise IllTypedError("expected the number of a part, which is 0 or more, and a tuple")


_TABLE = (
    ("add", 2, "(add a b)", "a + b; of vectors and tuples, part by part", _sum),
    ("sub", 2, "(sub a b)", "a - b; of vectors and tuples, part by part", _sum),
    ("mul", 2, "(mul a b)", "a · b; a Float scales vectors and tuples", _product),
    ("div", 2, "(div a b)", "a / b; of Integers without what is behind the point", _quotient),
    ("neg", 1, "(neg a)", "-a", _negative),
    ("exp", 1, "(exp a)", "e to the a", _all(FLOAT, FLOAT)),
    ("log", 1, "(log a)", "the natural logarithm", _all(FLOAT, FLOAT)),
    ("sqrt", 1, "(sqrt a)", "the square root", _all(FLOAT, FLOAT)),
    ("sin", 1, "(sin a)", "the sine", _all(FLOAT, FLOAT)),
    ("cos", 1, "(cos a)", "the cosine", _all(FLOAT, FLOAT)),
    ("tanh", 1, "(tanh a)", "the hyperbolic tangent", _all(FLOAT, FLOAT)),
    ("abs", 1, "(abs a)", "the absolute value", _all(FLOAT, FLOAT)),
    ("pow", 2, "(pow a b)", "a to the b", _all(FLOAT, FLOAT)),
    ("max", 2, "(max a b)", "the larger one", _all(FLOAT, FLOAT)),
    ("min", 2, "(min a b)", "the smaller one", _all(FLOAT, FLOAT)),
    ("to_float", 1, "(to_float n)", "an Integer as a Float", _all(INTEGER, FLOAT)),
    ("eq", 2, "(eq a b)", "a = b", _equality),
    ("ne", 2, "(ne a b)", "a ≠ b", _equality),
    ("gt", 2, "(gt a b)", "a > b", _order),
    ("gte", 2, "(gte a b)", "a ≥ b", _order),
    ("lt", 2, "(lt a b)", "a < b", _order),
    ("lte", 2, "(lte a b)", "a ≤ b", _order),
    ("and", 2, "(and p q)", "both, which are both looked at", _all(BOOL, BOOL)),
    ("or", 2, "(or p q)", "one of them or both, which are both looked at", _all(BOOL, BOOL)),
    ("not", 1, "(not p)", "the opposite", _all(BOOL, BOOL)),
    ("if", 3, "(if p a b)", "a if p, else b; the other is not looked at", _choice),
    (
        "let",
        2,
        "(let (x a) b)",
        "b, in which x is a; a is looked at when x is, once",
        lambda types: types[1],
    ),
    ("apply", 2, "(apply f a)", "the function's value at a", _application),
    ("tuple", None, "(tuple a b …)", "two things or more as one", _tuple),
    ("select", 2, "(select 0 t)", "a part of a tuple, counted from 0", _selection),
    (
        "build",
        2,
        "(build n (lam (i : Integer) e))",
        "the vector of e for i from 0 to n - 1",
        _build,
    ),
    ("sumbuild", 2, "(sumbuild n (lam (i : Integer) e))", "the sum of these", _sum_of_build),
    ("index", 2, "(index i v)", "the element i, counted from 0", _element),
    ("size", 1, "(size v)", "how many elements a vector has", _size),
    ("sum", 1, "(sum v)", "the sum of a vector's elements", _total),
    ("deltaVec", 3, "(deltaVec n i a)", "n elements, a at i and 0 elsewhere", _delta),
    ("constVec", 2, "(constVec n a)", "n elements, each a", _constant_vector),
)

OPERATORS: Mapping[str, TermOperator] = MappingProxyType(
    {row[0]: TermOperator(*row) for row in _TABLE}
)

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "+": "add",
        "-": "sub",
        "*": "mul",
        "/": "div",
        "==": "eq",
        "!=": "ne",
        ">": "gt",
        ">=": "gte",
        "<": "lt",
        "<=": "lte",
        "ge": "gte",
        "le": "lte",
    }
)
"""Other words that a text may have for operators."""
