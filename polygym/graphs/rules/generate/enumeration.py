"""All terms of a world up to a size, and which of them have equal values.

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
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData
from polygym.graphs.rules.generate.vocabularies import Vocabulary, operator_templates
from polygym.graphs.rules.instances import infer_patterns
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Term, is_variable, postorder, substitute, term, variable_names

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
    found: TermEnumeration, maker: _TemplateInstantiator, size: int, *, is_kept: bool
) -> None:
    """Make all terms of a size with one operator at the top."""
    for parts in _arguments(found, maker, size):
        data = maker.data(parts)
        if data is None:
            continue
        arrays = maker.values(parts)
        found.count += 1
        key = fingerprint(arrays)
        other = found.known.get(key)
        whole = maker.term(parts)
        if other is None:
            enumerated_term = EnumeratedTerm(whole, size, data, arrays if is_kept else ())
            found.known[key] = enumerated_term
            if is_kept:
                found.by_size[size].append(enumerated_term)
        else:
            found.candidates.append((whole, other.term))
            if size == 1 and len(parts) == 2 and other.term is maker.term(parts[::-1]):
                maker.commutes = True


def _arguments(
    found: TermEnumeration, maker: _TemplateInstantiator, size: int
) -> Iterator[tuple[EnumeratedTerm, ...]]:
    if maker.arity == 1:
        for enumerated_term in found.by_size[size - 1]:
            yield (enumerated_term,)
        return
    for first in range(size):
        second = size - 1 - first
        for left, enumerated_term in enumerate(list(found.by_size[first])):
            for right, other in enumerate(list(found.by_size[second])):
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
        found = self._admitted[datas]
        made = found[self.template] if found else None
        return made if isinstance(made, TensorType) else None

    def _all_data(self, datas: tuple[TensorType, ...]) -> dict[Term, Data] | None:
        binding: dict[str, Data] = {
            name: enumerated_term.data for name, enumerated_term in self._world.items()
        }
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
