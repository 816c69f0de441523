"""Vocabularies, and all terms of one up to a size, with those of equal values.

A vocabulary has a few typed variables and operators. Shapes are as square as can be, so that as
much as possible makes sense: verification says whether a result holds for other shapes. A template
is a pattern with the holes ``?0`` and ``?1``; ``?k1`` stands for what consists of weights alone,
``?i0`` for what does not. It counts as one operator, a half of a split too.

Terms are made from the smallest on, of one representative for each value that has been met: what
equals a representative is a candidate for a rule and is not built upon, since whatever contains it
is, by that rule, equal to what contains the representative. Values are arrays of small integers on
which everything is exact, hashed whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygym.graphs.ir.reference import evaluate_node
from polygym.graphs.operators.definition import Array
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData, parse_numbers
from polygym.graphs.rules.instances import infer_patterns
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.s_expressions import parse_term
from polygym.rewrite.term import Term, is_variable, postorder, substitute, term, variable_names


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


_TEMPLATES = {
    "add": "(ewadd ?0 ?1)",
    "mul": "(ewmul ?0 ?1)",
    "scale": "(mul ?0 ?1)",
    "relu": "(relu ?0)",
    "tanh": "(tanh ?0)",
    "sigmoid": "(sigmoid ?0)",
    "product": "(matmul none ?0 ?1)",
    "activated": "\n".join(
        f"(matmul {name} ?0 ?1)\n({name} ?0)" for name in ("relu", "tanh", "sigmoid", "gelu")
    ),
    "concats": "(concat2 0 ?0 ?1)\n(concat2 1 ?0 ?1)",
    "halves": "\n".join(f"(split{part} (split {axis} 2 ?0))" for axis in (0, 1) for part in (0, 1)),
    "rejoined": "(concat2 0 (split0 (split 0 2 ?0)) (split1 (split 0 2 ?0)))",
    "transpose": "(transpose ?0 1-0)",
    "transposes": "\n".join(f"(transpose ?0 {p})" for p in ("0-1-2", "0-2-1", "1-0-2", "1-2-0")),
    "conv": "(conv 1 1 same none ?i0 ?k1)",
    "conv-relu": "(conv 1 1 same relu ?i0 ?k1)",
    "pools": "(poolmax ?0 3 3 1 1 same none)\n(poolavg ?0 3 3 1 1 same none)",
    "pools-relu": "(poolmax ?0 3 3 1 1 same relu)\n(poolavg ?0 3 3 1 1 same relu)",
    "enlarge": "(enlarge ?k0 ?w)",
    "merges": "(merge ?k0 2 4)\n(merge ?k0 2 2)\n(merge ?k0 4 4)",
}


def _vocabulary(name: str, variables: str, operators: str, *others: Any) -> Vocabulary:
    """Return a vocabulary of variables such as ``xy:2-2`` and of named templates."""
    shapes = (part.split(":") for part in variables.split())
    return Vocabulary(
        name,
        tuple(
            (f"?{letter}", parse_numbers(shape)) for letters, shape in shapes for letter in letters
        ),
        "\n".join(_TEMPLATES[word] for word in operators.split()),
        *others,
    )


VOCABULARIES = (
    _vocabulary("sums", "xyz:2-2", "add mul relu", 3),
    _vocabulary("products", "xyzw:2-2", "product add", 3),
    _vocabulary("activations", "xy:2-2", "product activated", 2, 1 / 16),
    _vocabulary("parts", "xyzw:2-2", "add mul relu concats", 3),
    _vocabulary("products of parts", "xyzw:2-2", "product add concats", 3),
    _vocabulary("transposed", "xy:2-2", "add mul product concats relu transpose", 3),
    _vocabulary("turned", "xy:2-2-2", "transposes add relu concats", 2),
    _vocabulary("halves", "xy:2-2", "add mul relu tanh sigmoid concats halves", 3),
    _vocabulary("halved", "xy:4-4", "relu tanh sigmoid add mul rejoined halves", 3),
    _vocabulary("scaled", "xy:2-2 c:1", "add mul product relu concats scale transpose", 3),
    _vocabulary("convolutions", "xy:1-2-4-4 wv:2-2-3-3", "conv add concats", 3),
    _vocabulary("activated convolutions", "x:1-2-4-4 wv:2-2-3-3", "conv conv-relu relu concats", 3),
    _vocabulary("pools", "xy:1-2-4-4", "pools relu add concats pools-relu", 3, 36 * 36),
    _vocabulary("kernels", "x:1-2-4-4 w:2-2-3-3 vu:2-2-1-1", "conv add enlarge concats", 3),
    _vocabulary("groups", "x:1-4-4-4 w:4-1-3-3", "conv conv-relu merges relu", 4),
    _vocabulary("shared products", "x:3-5 w:5-2 v:5-4 y:2-5", "product concats", 2, 1, True),
    _vocabulary(
        "shared convolutions",
        "x:1-2-3-3 y:2-2-3-3 w:3-2-3-3 v:2-2-1-1 u:4-2-3-3",
        "conv enlarge concats",
        3,
        1,
        True,
    ),
)
"""What is enumerated, in this order: what is known of one world need not be found in the next."""


_SAMPLES = 3
"""How many values each variable has: one alone may be all positive, so that relu shows nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class EnumeratedTerm:
    """A term, the only one of its values so far."""

    term: Term
    size: int
    data: TensorType
    arrays: tuple[Array, ...]


@dataclass(slots=True)
class TermEnumeration:
    """What a world consists of."""

    known: dict[Any, EnumeratedTerm] = field(default_factory=dict)
    by_size: dict[int, list[EnumeratedTerm]] = field(default_factory=lambda: defaultdict(list))
    candidates: list[tuple[Term, Term]] = field(default_factory=list)
    """Pairs of equal values, the one that was met first as the second."""
    count: int = 0


def fingerprint(arrays: tuple[Array, ...]) -> Any:
    """Return what equal arrays share and different ones do not."""
    # -0.0 becomes 0.0
    return arrays[0].shape, hash(b"".join([(array + 0.0).tobytes() for array in arrays]))


def enumerate_terms(world: Vocabulary, seed: int) -> TermEnumeration:
    """Return the terms of a world."""
    rng = np.random.default_rng([seed, *world.name.encode()])
    enumeration = TermEnumeration()
    for name, data in world.data().items():
        arrays = tuple(
            rng.integers(-9, 10, data.shape) * float(world.min_share) for _ in range(_SAMPLES)
        )
        enumerated_term = EnumeratedTerm(term(name), 0, data, arrays)
        enumeration.known[fingerprint(arrays)] = enumerated_term
        enumeration.by_size[0].append(enumerated_term)
    makers = [
        _TemplateInstantiator(template, list(enumeration.by_size[0]))
        for template in operator_templates(world)
    ]
    for size in range(1, world.max_operators + 1):
        for maker in makers:
            # Halves are taken of the largest terms too.
            _enumerate_size(
                enumeration,
                maker,
                size,
                is_kept=size < world.max_operators or world.requires_shared_input,
            )
    return enumeration


def _enumerate_size(
    enumeration: TermEnumeration, maker: _TemplateInstantiator, size: int, *, is_kept: bool
) -> None:
    """Make all terms of a size with one operator at the top."""
    for parts in _arguments(enumeration, maker, size):
        data = maker.data(parts)
        if data is None:
            continue
        arrays = maker.values(parts)
        enumeration.count += 1
        key = fingerprint(arrays)
        other = enumeration.known.get(key)
        whole = maker.term(parts)
        if other is None:
            enumerated_term = EnumeratedTerm(whole, size, data, arrays if is_kept else ())
            enumeration.known[key] = enumerated_term
            if is_kept:
                enumeration.by_size[size].append(enumerated_term)
        else:
            enumeration.candidates.append((whole, other.term))
            if size == 1 and len(parts) == 2 and other.term is maker.term(parts[::-1]):
                maker.commutes = True


def _arguments(
    enumeration: TermEnumeration, maker: _TemplateInstantiator, size: int
) -> Iterator[tuple[EnumeratedTerm, ...]]:
    if maker.arity == 1:
        for enumerated_term in enumeration.by_size[size - 1]:
            yield (enumerated_term,)
        return
    for first in range(size):
        second = size - 1 - first
        for left, enumerated_term in enumerate(list(enumeration.by_size[first])):
            for right, other in enumerate(list(enumeration.by_size[second])):
                # Once it is known that the order is of no account, one order is enough.
                if maker.commutes and size > 1 and (second, right) < (first, left):
                    continue
                yield enumerated_term, other


class _TemplateInstantiator:
    """A template: its data and values for those of its holes, and its term."""

    def __init__(self, template: Term, world: list[EnumeratedTerm]) -> None:
        self.template = template
        self.holes = sorted(name for name in variable_names([template]) if name[-1].isdigit())
        self.arity = len(self.holes)
        self.commutes = False
        self._world = {str(enumerated_term.term.head): enumerated_term for enumerated_term in world}
        self._admitted: dict[tuple[TensorType, ...], dict[Term, Data] | None] = {}
        self._nodes = list(postorder([template]))

    def data(self, parts: tuple[EnumeratedTerm, ...]) -> TensorType | None:
        """Return what the node is, None if there is none of such parts."""
        datas = tuple(enumerated_term.data for enumerated_term in parts)
        if datas not in self._admitted:
            self._admitted[datas] = self._all_data(datas)
        admitted = self._admitted[datas]
        made = admitted[self.template] if admitted else None
        return made if isinstance(made, TensorType) else None

    def _all_data(self, datas: tuple[TensorType, ...]) -> dict[Term, Data] | None:
        binding: dict[str, Data] = {name: entry.data for name, entry in self._world.items()}
        for name, data in zip(self.holes, datas, strict=True):
            if "k" in name and not data.constant:
                return None  # a kernel is made of weights
            if "i" in name and data.constant:
                return None  # and an image is not
            binding[name] = data
        try:
            return infer_patterns((self.template,), binding)
        except Inadmissible:
            return None

    def values(self, parts: tuple[EnumeratedTerm, ...]) -> tuple[Array, ...]:
        """Return the arrays for those of parts with which there is such a node."""
        data = self._admitted[tuple(enumerated_term.data for enumerated_term in parts)]
        assert data is not None
        return tuple(self._value(parts, data, sample) for sample in range(_SAMPLES))

    def _value(
        self, parts: tuple[EnumeratedTerm, ...], data: dict[Term, Data], sample: int
    ) -> Array:
        made: dict[Term, Any] = {}
        for node in self._nodes:
            literal = data[node]
            if is_variable(node):
                name = str(node.head)
                part = parts[int(name[-1])] if name[-1].isdigit() else self._world[name]
                made[node] = part.arrays[sample]
            elif isinstance(literal, NumberData | TextData):
                made[node] = literal.value
            else:
                made[node] = evaluate_node(node.head, tuple(made[child] for child in node.children))
        array: Array = made[self.template]
        return array

    def term(self, parts: tuple[EnumeratedTerm, ...]) -> Term:
        """Return the template with terms in its holes."""
        names = {**{name: enumerated_term.term for name, enumerated_term in self._world.items()}}
        names.update(zip(self.holes, (part.term for part in parts), strict=True))
        return substitute(self.template, names)
