"""Small languages to try rewriting with: matrices with shapes, and rules of both kinds."""

from __future__ import annotations

from polygym.rewrite.domain import Data, Inadmissible
from polygym.rewrite.rule import Rule, parse_rules
from polygym.rewrite.term import Head, Term, term

Shape = tuple[int, int]


class Matrices:
    """Matrices: data are shapes, with the places where concatenations can be split again.

    A literal's data is the literal itself. ``(matrix NAME rows columns)`` is an input.
    """

    def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
        if not children:
            return ("literal", head)
        if head == "matrix":
            return ("matrix", children[1][1], children[2][1], (), ())
        if head == "tuple":
            return ("tuple", len(children))
        kinds = [child[0] for child in children]
        axis = None
        if head in ("concat", "split0", "split1"):
            if kinds[0] != "literal" or children[0][1] not in (0, 1):
                raise Inadmissible(f"{head}: expected an axis, found {children[0]}")
            axis, children, kinds = children[0][1], children[1:], kinds[1:]
        if any(kind != "matrix" for kind in kinds):
            raise Inadmissible(f"{head}: expected matrices, found {children}")
        shapes = [child[1:3] for child in children]
        first = children[0]
        if head == "matmul":
            if len(children) != 2 or shapes[0][1] != shapes[1][0]:
                raise Inadmissible(f"matmul: expected inner extents that are equal, found {shapes}")
            return ("matrix", shapes[0][0], shapes[1][1], first[3], children[1][4])
        if head in ("add", "mul"):
            if shapes[0] != shapes[1]:
                raise Inadmissible(f"{head}: expected equal shapes, found {shapes}")
            return first
        if head in ("relu", "tanh"):
            return first
        if head == "transpose":
            return ("matrix", shapes[0][1], shapes[0][0], first[4], first[3])
        if head == "concat":
            other = 1 - axis
            if shapes[0][other] != shapes[1][other]:
                raise Inadmissible(f"concat: expected equal extents, found {shapes}")
            extents = list(shapes[0])
            extents[axis] += shapes[1][axis]
            splits = [first[3], first[4]]
            splits[axis] = (shapes[0][axis],)
            return ("matrix", *extents, *splits)
        if head in ("split0", "split1"):
            splits = [first[3], first[4]]
            if not splits[axis]:
                raise Inadmissible(f"{head}: expected what was concatenated")
            extents = list(shapes[0])
            at = splits[axis][0]
            extents[axis] = at if head == "split0" else extents[axis] - at
            splits[axis] = ()
            return ("matrix", *extents, *splits)
        raise Inadmissible(f"expected an operator of matrices, found {head}")

    def join(self, one: Data, other: Data) -> Data:
        if one == other:
            return one
        if one[:3] != other[:3] or one[0] != "matrix":
            raise Inadmissible(f"expected equal shapes, found {one} and {other}")
        return (*one[:3], one[3] or other[3], one[4] or other[4])

    def compute(self, function: str, arguments: tuple[Data, ...]) -> Head:
        if function == "other" and arguments[0][0] == "literal":
            return 1 - int(arguments[0][1])
        raise Inadmissible(f"={function}: expected an axis")

    def is_free(self, data: Data) -> bool:
        return False

    def holds(self, condition: str, arguments: tuple[Data, ...]) -> bool:
        assert condition == "square"
        return bool(arguments[0][1] == arguments[0][2])

    def functions(self) -> dict[str, str]:
        return {"other": "the other axis"}

    def conditions(self) -> dict[str, str]:
        return {"square": "as many rows as columns"}


SINGLE = """
add-commutes: (add ?x ?y) => (add ?y ?x)
add-associates: (add ?x (add ?y ?z)) <=> (add (add ?x ?y) ?z)
mul-commutes: (mul ?x ?y) => (mul ?y ?x)
mul-associates: (mul ?x (mul ?y ?z)) <=> (mul (mul ?x ?y) ?z)
distributes: (mul (add ?x ?y) ?z) <=> (add (mul ?x ?z) (mul ?y ?z))
matmul-associates: (matmul ?x (matmul ?y ?z)) <=> (matmul (matmul ?x ?y) ?z)
matmul-left: (matmul ?x (add ?y ?z)) <=> (add (matmul ?x ?y) (matmul ?x ?z))
matmul-right: (matmul (add ?x ?y) ?z) <=> (add (matmul ?x ?z) (matmul ?y ?z))
transposed-twice: (transpose (transpose ?x)) => ?x
transposed-product: (transpose (matmul ?x ?y)) <=> (matmul (transpose ?y) (transpose ?x))
transposed-sum: (transpose (add ?x ?y)) <=> (add (transpose ?x) (transpose ?y))
transposed-relu: (transpose (relu ?x)) <=> (relu (transpose ?x))
concat-transposed: (transpose (concat ?a ?x ?y))
    => (concat (=other ?a) (transpose ?x) (transpose ?y))
concat-relu: (relu (concat ?a ?x ?y)) <=> (concat ?a (relu ?x) (relu ?y))
concat-add: (add (concat ?a ?x ?y) (concat ?a ?z ?w)) <=> (concat ?a (add ?x ?z) (add ?y ?w))
concat-product: (matmul (concat 1 ?x ?y) (concat 0 ?z ?w)) <=> (add (matmul ?x ?z) (matmul ?y ?w))
concat-right: (matmul ?x (concat 1 ?y ?z)) <=> (concat 1 (matmul ?x ?y) (matmul ?x ?z))
concat-left: (matmul (concat 0 ?x ?y) ?z) <=> (concat 0 (matmul ?x ?z) (matmul ?y ?z))
split-first: (split0 ?a (concat ?a ?x ?y)) => ?x
split-second: (split1 ?a (concat ?a ?x ?y)) => ?y
"""

MULTIPLE = """
two-products: (matmul ?x ?v) & (matmul ?x ?w) => (split0 1 =m) & (split1 1 =m)
    let m = (matmul ?x (concat 1 ?v ?w))
two-products-left: (matmul ?v ?x) & (matmul ?w ?x) => (split0 0 =m) & (split1 0 =m)
    let m = (matmul (concat 0 ?v ?w) ?x)
"""


def rules(text: str = SINGLE + MULTIPLE) -> list[Rule]:
    return parse_rules(text)


def matrix(name: str, rows: int, columns: int) -> Term:
    return term("matrix", term(name), term(rows), term(columns))


def attention(layers: int, rows: int = 4, width: int = 8) -> Term:
    """Return products that share an input, layer upon layer."""
    x = matrix("x", rows, width)
    for layer in range(layers):
        q, k, v, out = (
            term("matmul", x, matrix(f"{name}{layer}", width, width)) for name in "qkvo"
        )
        scores = term("relu", term("matmul", q, term("transpose", k)))
        x = term("add", term("relu", term("matmul", scores, v)), out)
    return x


def price(head: Head, children: tuple[Data, ...], data: Data) -> float:
    """Return a cost with a start-up part, so that one larger product is cheaper than two."""
    if head == "matmul":
        return 10.0 + children[0][1] * children[0][2] * children[1][2] / 64
    if head in ("add", "mul", "relu", "tanh"):
        return 1.0 + data[1] * data[2] / 64
    if head in ("concat", "split0", "split1", "transpose"):
        return 0.5
    return 0.0
