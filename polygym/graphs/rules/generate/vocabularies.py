"""Worlds: a few typed variables and operators, of which all terms are enumerated up to a size.

Shapes are as square as can be, so that as much as possible makes sense: whether what is found there
holds for other shapes is for verification to say. A template is a pattern with the holes ``?0`` and
``?1``; ``?k1`` stands for what consists of weights alone, ``?i0`` for what does not. It counts as
one operator, a half of a split too.
"""

from dataclasses import dataclass

from polygym.graphs.operators.types import TensorType
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Term


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What is combined with what, and how often.

    ``min_share`` is the size below which values differ: 1 for integers, 1/16 where functions such
    as tanh would be all but constant on integers, 36 where windows of 4, 6 and 9 are averaged.
    ``requires_shared_input`` says that pairs of terms that share a variable are looked for as well.
    """

    name: str
    variables: tuple[tuple[str, tuple[int, ...]], ...]
    operators: str
    max_operators: int
    min_share: float = 1
    requires_shared_input: bool = False

    def data(self) -> dict[str, TensorType]:
        """Return what the variables are: kernels and second factors are weights."""
        return {
            name: TensorType(shape, constant=name in "?w?v?u?c") for name, shape in self.variables
        }


def operator_templates(world: Vocabulary) -> list[Term]:
    """Return the operators of a world as terms with holes."""
    return [parse_term(line) for line in world.operators.split("\n") if line.strip()]


def _variables_of_shape(
    shape: tuple[int, ...], names: str
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((f"?{name}", shape) for name in names)


_SUMS = """
(ewadd ?0 ?1)
(ewmul ?0 ?1)
"""
_PRODUCT = """
(matmul none ?0 ?1)
"""
_CONCATS = """
(concat2 0 ?0 ?1)
(concat2 1 ?0 ?1)
"""
_HALVES = """
(split0 (split 0 2 ?0))
(split1 (split 0 2 ?0))
(split0 (split 1 2 ?0))
(split1 (split 1 2 ?0))
"""
_CONV = """
(conv 1 1 same none ?i0 ?k1)
"""
_RELU = """
(relu ?0)
"""
_ACTIVE_CONV = """
(conv 1 1 same relu ?i0 ?k1)
"""
_POOLS = """
(poolmax ?0 3 3 1 1 same none)
(poolavg ?0 3 3 1 1 same none)
"""
_IMAGE, _KERNEL, _POINT = (1, 2, 4, 4), (2, 2, 3, 3), (2, 2, 1, 1)

VOCABULARIES = (
    Vocabulary("sums", _variables_of_shape((2, 2), "xyz"), _SUMS + _RELU, 3),
    Vocabulary("products", _variables_of_shape((2, 2), "xyzw"), _PRODUCT + "(ewadd ?0 ?1)\n", 3),
    Vocabulary(
        "activations",
        _variables_of_shape((2, 2), "xy"),
        _PRODUCT
        + "".join(
            f"(matmul {name} ?0 ?1)\n({name} ?0)\n" for name in ("relu", "tanh", "sigmoid", "gelu")
        ),
        2,
        1 / 16,
    ),
    Vocabulary("parts", _variables_of_shape((2, 2), "xyzw"), _SUMS + _RELU + _CONCATS, 3),
    Vocabulary(
        "products of parts",
        _variables_of_shape((2, 2), "xyzw"),
        _PRODUCT + "(ewadd ?0 ?1)\n" + _CONCATS,
        3,
    ),
    Vocabulary(
        "transposed",
        _variables_of_shape((2, 2), "xy"),
        _SUMS + _PRODUCT + _CONCATS + _RELU + "(transpose ?0 1-0)\n",
        3,
    ),
    Vocabulary(
        "turned",
        _variables_of_shape((2, 2, 2), "xy"),
        "(transpose ?0 0-1-2)\n(transpose ?0 0-2-1)\n(transpose ?0 1-0-2)\n(transpose ?0 1-2-0)\n"
        "(ewadd ?0 ?1)\n" + _RELU + _CONCATS,
        2,
    ),
    Vocabulary(
        "halves",
        _variables_of_shape((2, 2), "xy"),
        _SUMS + _RELU + "(tanh ?0)\n(sigmoid ?0)\n" + _CONCATS + _HALVES,
        3,
    ),
    Vocabulary(
        "halved",
        _variables_of_shape((4, 4), "xy"),
        "(relu ?0)\n(tanh ?0)\n(sigmoid ?0)\n(ewadd ?0 ?1)\n(ewmul ?0 ?1)\n"
        "(concat2 0 (split0 (split 0 2 ?0)) (split1 (split 0 2 ?0)))\n" + _HALVES,
        3,
    ),
    Vocabulary(
        "scaled",
        (*_variables_of_shape((2, 2), "xy"), ("?c", (1,))),
        _SUMS + _PRODUCT + _RELU + _CONCATS + "(mul ?0 ?1)\n(transpose ?0 1-0)\n",
        3,
    ),
    Vocabulary(
        "convolutions",
        _variables_of_shape(_IMAGE, "xy") + _variables_of_shape(_KERNEL, "wv"),
        _CONV + "(ewadd ?0 ?1)\n" + _CONCATS,
        3,
    ),
    Vocabulary(
        "activated convolutions",
        _variables_of_shape(_IMAGE, "x") + _variables_of_shape(_KERNEL, "wv"),
        _CONV + _ACTIVE_CONV + _RELU + _CONCATS,
        3,
    ),
    Vocabulary(
        "pools",
        _variables_of_shape((1, 2, 4, 4), "xy"),
        _POOLS
        + _RELU
        + "(ewadd ?0 ?1)\n"
        + _CONCATS
        + "(poolmax ?0 3 3 1 1 same relu)\n(poolavg ?0 3 3 1 1 same relu)\n",
        3,
        36 * 36,
    ),
    Vocabulary(
        "kernels",
        _variables_of_shape(_IMAGE, "x")
        + _variables_of_shape(_KERNEL, "w")
        + _variables_of_shape(_POINT, "vu"),
        _CONV + "(ewadd ?0 ?1)\n(enlarge ?k0 ?w)\n(concat2 0 ?0 ?1)\n(concat2 1 ?0 ?1)\n",
        3,
    ),
    Vocabulary(
        "groups",
        _variables_of_shape((1, 4, 4, 4), "x") + _variables_of_shape((4, 1, 3, 3), "w"),
        _CONV + _ACTIVE_CONV + "(merge ?k0 2 4)\n(merge ?k0 2 2)\n(merge ?k0 4 4)\n" + _RELU,
        4,
    ),
    Vocabulary(
        "shared products",
        (("?x", (3, 5)), ("?w", (5, 2)), ("?v", (5, 4)), ("?y", (2, 5))),
        _PRODUCT + _CONCATS,
        2,
        requires_shared_input=True,
    ),
    Vocabulary(
        "shared convolutions",
        (
            ("?x", (1, 2, 3, 3)),
            ("?y", (2, 2, 3, 3)),
            ("?w", (3, 2, 3, 3)),
            ("?v", (2, 2, 1, 1)),
            ("?u", (4, 2, 3, 3)),
        ),
        _CONV + "(enlarge ?k0 ?w)\n" + _CONCATS,
        3,
        requires_shared_input=True,
    ),
)
"""What is enumerated, in this order: what is known of one world need not be found in the next."""
