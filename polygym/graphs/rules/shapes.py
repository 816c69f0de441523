"""Shapes and literals for the variables of a rule, made from the outside in.

A pattern is walked from its root with the shape that is wanted there, if any: a sum asks both parts
for its own shape, a product of matrices for two that fit, a convolution for an image whose windows
are as many as wanted. A variable takes what it is asked for when it is met first. Nothing here need
be complete or even right: whoever asks infers the shapes of what came out, and takes no other.

    >>> from polygym.rewrite.expressions import parse_term
    >>> maker = Maker(random.Random(1), {})
    >>> _ = maker.make(parse_term("(ewadd (matmul none ?x ?y) ?z)"), None)
    >>> shapes = {name: data.shape for name, data in maker.bound.items()}
    >>> shapes["?z"] == (*shapes["?x"][:-1], shapes["?y"][-1])
    True
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

from polygym.graphs.checks import pads_of
from polygym.graphs.domain import TENSORS
from polygym.graphs.operators import OPERATORS, UNARY, operator
from polygym.graphs.types import Data, Number, Pair, Tensor, Text, numbers_in, shape_text
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, is_variable, variables

__all__ = ["LITERALS", "Maker", "literal_data"]

Shape = tuple[int, ...]

LITERALS: dict[str, tuple[Head, ...]] = {
    "stride_h": (1, 2, 3),
    "stride_w": (1, 2, 3),
    "padding": ("same", "valid", "1-1-1-1", "0-1-2-1"),
    "activation": ("none", "relu", "tanh", "sigmoid", "gelu"),
    "kernel_h": (1, 2, 3),
    "kernel_w": (1, 2, 3),
    "axis": (0, 1, 2, 3),
    "at": (1, 2, 3),
    "count": (1, 2, 3),
    "groups": (1, 2, 3, 4),
    "low": (-3.0, -2.0, 0.0, 1.0),
    "high": (-1.0, 0.0, 1.0, 6.0),
    "slope": (0.01, 0.5, 2.0, -1.0),
    "alpha": (0.5, 1.0, 2.0),
    "epsilon": (1e-5, 0.1),
    "axes": (0, 1, 2, 3, "0-1", "1-2", "2-3", "1-0"),
    "keep": (0, 1),
    "start": (0, 1, 2),
    "stop": (1, 2, 3, 4),
    "step": (1, 2, 3),
    "value": (0.0, 1.0, -1.0),
    "dtype": ("float32", "float64", "int32", "int64"),
}
"""The literals that are tried for an argument, by its name in the table of operators."""

_EXTENTS = (1, 2, 3, 4)
_KERNELS = ((1, 1), (2, 2), (3, 3), (5, 5), (1, 3), (3, 1), (2, 3))
_FOUR = {"conv", "poolmax", "poolavg", "merge", "enlarge"}


def literal_data(value: Head) -> Data:
    """Return the data of a literal."""
    return TENSORS.infer(value, ())


@lru_cache(maxsize=4096)
def _variables(one: Term) -> frozenset[str]:
    return frozenset(variables([one]))


class Maker:
    """Binds the variables of patterns, one after the other, to data that fit."""

    def __init__(
        self,
        dice: random.Random,
        pins: dict[str, Data],
        roles: dict[str, str] | None = None,
        extents: Shape = (),
    ) -> None:
        """Begin with some variables bound.

        Roles say for which argument a variable stands; extents are some to try besides small ones.
        """
        self._dice = dice
        # Targets often need equal shapes of what plays one role, and where they need not be equal
        # a rule often goes wrong if they differ along one axis: so shapes are copied, and changed.
        self._roles = roles or {}
        self._copies = dice.choice((0.0, 0.5, 1.0))
        self.bound: dict[str, Data] = dict(pins)
        self._known: dict[Term, Data] = {}
        # Two extents for most axes, so that equal and different ones are both met often.
        self._extents: Shape = dice.choice(((2, 3), (1, 2), (2, 4), (3, 1), _EXTENTS, _EXTENTS))
        self._kernels: tuple[tuple[int, int], ...] = _KERNELS
        if extents and dice.random() < 0.4:
            self._extents = (*extents, *dice.sample(_EXTENTS, 2))
            self._kernels = tuple((one, other) for one in self._extents for other in self._extents)
        self._rank = dice.choice((1, 2, 2, 3, 3, 4, 4, 4, 0, 5))

    def make(self, one: Term, want: Shape | None) -> Data:
        """Return the data of a pattern, all of whose variables are bound then.

        Raises:
            Inadmissible: what was tried makes no sense.
        """
        if is_variable(one):
            name = str(one.head)
            if name not in self.bound:
                copied = self._copy(name) if self._dice.random() < self._copies else None
                shape = self._shape() if want is None else want
                self.bound[name] = copied or Tensor(shape, constant=True)
            return self.bound[name]
        if one in self._known:
            return self._known[one]
        if one.children:
            for name, method in _METHODS.items():
                if one.head == name or (name == "concat" and str(one.head).startswith(name)):
                    method(self, one, want)
                    break
            else:
                self._any(one, want)
        found = TENSORS.infer(one.head, tuple(self.make(child, None) for child in one.children))
        self._known[one] = found
        return found

    def _copy(self, name: str) -> Tensor | None:
        """Return what a variable of the same role is, if there is one."""
        role = self._roles.get(name)
        for other, data in self.bound.items():
            if role and self._roles.get(other) == role and isinstance(data, Tensor):
                shape = list(data.shape)
                if shape and self._dice.random() < 0.3:
                    shape[self._dice.randrange(len(shape))] = self._extent()
                return Tensor(tuple(shape), data.dtype, constant=True)
        return None

    def _extent(self) -> int:
        return self._dice.choice(self._extents)

    def _shape(self, rank: int | None = None) -> Shape:
        return tuple(self._extent() for _ in range(self._rank if rank is None else rank))

    def _is_known(self, one: Term) -> bool:
        return self.bound.keys() >= _variables(one)

    def _literal(self, one: Term, *options: Head) -> Any:
        """Return the value of a literal argument, chosen among some if it is a free variable."""
        if is_variable(one) and str(one.head) not in self.bound:
            self.bound[str(one.head)] = literal_data(self._dice.choice(options))
        found = self.make(one, None)
        if not isinstance(found, Number | Text):
            raise Inadmissible(f"expected a literal, found {found}")
        return found.value

    def _tensor(self, one: Term, want: Shape | None) -> Shape:
        found = self.make(one, want)
        if not isinstance(found, Tensor):
            raise Inadmissible(f"expected a tensor, found {found}")
        return found.shape

    def _any(self, one: Term, want: Shape | None) -> None:
        """Bind what is under an operator about which nothing else is known."""
        takes = operator(one.head).takes
        inner = want if one.head in UNARY or one.head in ("clip", "leaky-relu", "elu") else None
        for (name, kind), child in zip(takes, one.children, strict=True):
            if kind in "NS":
                self._literal(child, *LITERALS.get(name, ("scalar",)))
            else:
                self.make(child, inner)

    def _equal(self, one: Term, want: Shape | None) -> None:
        for child in sorted(one.children, key=self._is_known, reverse=True):
            want = self._tensor(child, want)

    def _broadcast(self, one: Term, want: Shape | None) -> None:
        first, second = sorted(one.children, key=self._is_known, reverse=True)
        shape = self._tensor(first, want)
        narrow = tuple(self._dice.choice((extent, 1)) for extent in shape)
        narrow = narrow[self._dice.randrange(len(narrow) + 1) :] if narrow else narrow
        self.make(second, self._dice.choice((narrow, narrow, shape)))

    def _matmul(self, one: Term, want: Shape | None) -> None:
        activation, x, y = one.children
        self._literal(activation, *LITERALS["activation"])
        if want is None:
            want = self._shape(self._dice.choice((2, 2, 3, 4)))
        if len(want) < 2:
            raise Inadmissible("expected a matrix")
        if not self._is_known(y) or self._is_known(x):
            *batch, _, inner = self._tensor(x, (*want[:-1], self._extent()))
            own = batch if self._dice.random() < 0.5 else []
            self.make(y, (*own, inner, want[-1]))
        else:
            *own, inner, _ = self._tensor(y, None)
            self.make(x, (*(own or want[:-2]), want[-2], inner))

    def _conv(self, one: Term, want: Shape | None) -> None:
        names = ("stride_h", "stride_w", "padding", "activation")
        stride_h, stride_w, padding, _ = (
            self._literal(child, *LITERALS[name])
            for name, child in zip(names, one.children[:4], strict=True)
        )
        x, w = one.children[4:]
        count, filters, *size = want if want and len(want) == 4 else (self._extent(), 0, 0, 0)
        if self._is_known(x) and not self._is_known(w):
            _, channels, *extents = self._tensor(x, None)
            groups = self._dice.choice([g for g in (1, 1, 2, 3, 4) if channels % g == 0])
            kernels = [self._dice.choice(self._kernels) for _ in range(8)]
            if filters:
                kernels = [
                    kernel
                    for kernel in self._kernels
                    if self._windows(extents, kernel, (stride_h, stride_w), padding) == size
                ] or kernels
            filters = filters or groups * self._dice.choice((1, 2, 3))
            self.make(w, (filters, channels // groups, *self._dice.choice(kernels)))
            return
        kernel = self._dice.choice(self._kernels)
        groups = self._dice.choice((1, 1, 2, 3))
        shape = (filters or groups * self._dice.choice((1, 2, 3)), self._extent(), *kernel)
        actual, inner, *extents = self._tensor(w, shape)
        groups = self._dice.choice([g for g in (1, 1, 2, 3, 4) if actual % g == 0])
        self.make(
            x,
            (
                count,
                inner * groups,
                *self._image(size, (extents[0], extents[1]), (stride_h, stride_w), padding),
            ),
        )

    def _pool(self, one: Term, want: Shape | None) -> None:
        x, *literals = one.children
        names = ("kernel_h", "kernel_w", "stride_h", "stride_w", "padding", "activation")
        kernel_h, kernel_w, stride_h, stride_w, padding, _ = (
            self._literal(child, *LITERALS[name])
            for name, child in zip(names, literals, strict=True)
        )
        count, channels, *size = want if want and len(want) == 4 else (*self._shape(2), 0, 0)
        image = self._image(size, (kernel_h, kernel_w), (stride_h, stride_w), padding)
        self.make(x, (count, channels, *image))

    def _windows(
        self, size: list[int], kernel: tuple[int, int], stride: tuple[int, int], padding: Head
    ) -> list[int]:
        word = literal_data(padding)
        pads = pads_of(word, (size[0], size[1]), kernel, stride)
        return [
            (size[i] + pads[i] + pads[i + 2] - kernel[i]) // stride[i] + 1
            if size[i] + pads[i] + pads[i + 2] >= kernel[i]
            else 0
            for i in (0, 1)
        ]

    def _image(
        self, want: list[int], kernel: tuple[int, int], stride: tuple[int, int], padding: Head
    ) -> list[int]:
        """Return a height and a width that make as many windows as wanted, if that is said."""
        found = []
        images = [
            data.shape
            for data in self.bound.values()
            if isinstance(data, Tensor) and len(data.shape) == 4
        ]
        for axis in (0, 1):
            sizes = [self._dice.choice((1, 2, 3, 4, 5, 6)) for _ in range(6)]
            fit = [
                size
                for size in (sizes if not want[axis] else range(1, 9))
                if (many := self._windows([size, size], kernel, stride, padding)[axis])
                and want[axis] in (0, many)
            ]
            again = [shape[axis + 2] for shape in images if shape[axis + 2] in fit]
            found.append(
                self._dice.choice(again)
                if again and self._dice.random() < 0.5
                else self._dice.choice(fit or sizes)
            )
        return found

    def _concat(self, one: Term, want: Shape | None) -> None:
        axis, *parts = one.children
        parts.sort(key=self._is_known, reverse=True)
        base = want
        if self._is_known(parts[0]):
            base = self._tensor(parts[0], None)
        elif base is None:
            base = self._shape(max(self._rank, 1))
        rank = max(len(base), 1)
        along = self._literal(axis, *range(rank))
        if not isinstance(along, int) or along >= len(base):
            raise Inadmissible("expected an axis")
        left = want[along] if want is not None and len(want) == len(base) else 0
        for place, part in enumerate(parts):
            after = len(parts) - 1 - place
            if left and not after:
                extent = left
            elif left:
                extent = self._dice.randint(1, max(left - after, 1))
            else:
                extent = self._extent()
            made = self._tensor(part, (*base[:along], extent, *base[along + 1 :]))
            if place == 0 and len(made) == len(base):
                base = made
            left = max(left - made[along], 1) if left and along < len(made) else 0

    def _half(self, one: Term, want: Shape | None) -> None:
        (inner,) = one.children
        if is_variable(inner):
            if str(inner.head) not in self.bound:
                first = Tensor(want or self._shape(max(self._rank, 1)), constant=True)
                self.bound[str(inner.head)] = Pair(first, first)
            return
        if inner.head == "split" and want:
            self._split_for(inner, want, one.head == "split0")
        self.make(inner, None)

    def _split_for(self, one: Term, want: Shape, is_first: bool) -> None:
        axis, at, x = one.children
        along = self._literal(axis, *range(len(want)))
        if not isinstance(along, int) or along >= len(want):
            raise Inadmissible("expected an axis")
        size = self._literal(at, want[along] if is_first else self._extent())
        extent = (want[along] + self._extent()) if is_first else size + want[along]
        self.make(x, (*want[:along], extent, *want[along + 1 :]))

    def _split(self, one: Term, _: Shape | None) -> None:
        axis, at, x = one.children
        shape = self._tensor(
            x, tuple(extent + self._extent() for extent in self._shape(max(1, self._rank)))
        )
        along = self._literal(axis, *range(len(shape)))
        if not isinstance(along, int) or along >= len(shape) or shape[along] < 2:
            raise Inadmissible("expected an axis that can be split")
        self._literal(at, *range(1, shape[along]))

    def _transpose(self, one: Term, want: Shape | None) -> None:
        x, permutation = one.children
        if self._is_known(permutation):
            word = self._literal(permutation)
            order = numbers_in(word) if isinstance(word, str) else (word,)
            if want is None or len(want) != len(order):
                self.make(x, self._shape(len(order)))
            else:
                self.make(x, tuple(want[order.index(axis)] for axis in range(len(order))))
            return
        rank = len(want) if want else max(1, self._rank)
        if self._is_known(x):
            rank = len(self._tensor(x, None))
        order = tuple(self._dice.sample(range(rank), rank))
        self._literal(permutation, order[0] if rank == 1 else shape_text(order))
        shape = want if want and len(want) == rank else self._shape(rank)
        self.make(x, tuple(shape[order.index(axis)] for axis in range(rank)))

    def _enlarge(self, one: Term, want: Shape | None) -> None:
        w, reference = one.children
        large = want if want and len(want) == 4 else (*self._shape(2), 3, 3)
        small = [self._dice.choice(range(extent, 0, -2)) for extent in large[2:]]
        self.make(w, (*large[:2], *small))
        self.make(reference, (*self._shape(2), *large[2:]))

    def _reshape(self, one: Term, want: Shape | None) -> None:
        x, shape = one.children
        if want is not None and not self._is_known(x):
            self.make(x, self._factors(prod(want)))
        elements = prod(self._tensor(x, None))
        factors = want if want is not None else self._factors(elements)
        self._literal(shape, factors[0] if len(factors) == 1 else shape_text(factors))

    def _factors(self, elements: int) -> Shape:
        found: list[int] = []
        for prime in (2, 3, 5):
            while elements % prime == 0:
                found.append(prime)
                elements //= prime
        found += [elements] if elements > 1 else []
        self._dice.shuffle(found)
        while len(found) > 3 or (len(found) > 1 and self._dice.random() < 0.4):
            found[:2] = [found[0] * found[1]]
        found += [1] if self._dice.random() < 0.3 and len(found) < 4 else []
        return tuple(found)

    def _expand(self, one: Term, want: Shape | None) -> None:
        x, shape = one.children
        wide = want if want is not None else self._shape()
        self._literal(shape, wide[0] if len(wide) == 1 else shape_text(wide))
        narrow = tuple(self._dice.choice((extent, 1)) for extent in wide)
        self.make(x, narrow[self._dice.randrange(len(narrow) + 1) :])

    def _layer_norm(self, one: Term, want: Shape | None) -> None:
        epsilon, x, scale, bias = one.children
        self._literal(epsilon, *LITERALS["epsilon"])
        shape = self._tensor(x, want or self._shape(max(1, self._rank)))
        self.make(scale, shape[-1:])
        self.make(bias, shape[-1:])

    def _gather(self, one: Term, _: Shape | None) -> None:
        axis, table, indices = one.children
        shape = self._tensor(table, self._shape(max(1, min(self._rank, 3))))
        self._literal(axis, *range(max(len(shape), 1)))
        if is_variable(indices) and str(indices.head) not in self.bound:
            chosen = self._shape(self._dice.choice((0, 1, 2)))
            self.bound[str(indices.head)] = Tensor(chosen, "int64", constant=True)

    def _pad(self, one: Term, _: Shape | None) -> None:
        value, pads, x = one.children
        self._literal(value, *LITERALS["value"])
        rank = len(self._tensor(x, None))
        widths = tuple(self._dice.choice((0, 0, 1, 2)) for _ in range(2 * rank))
        self._literal(pads, shape_text(widths))

    def _slice(self, one: Term, _: Shape | None) -> None:
        axis, start, stop, step, x = one.children
        shape = self._tensor(x, None)
        along = self._literal(axis, *range(max(len(shape), 1)))
        extent = shape[along] if isinstance(along, int) and along < len(shape) else 1
        first = self._literal(start, *range(extent))
        self._literal(stop, *range(int(first) + 1, max(extent, int(first) + 1) + 1))
        self._literal(step, *LITERALS["step"])


_METHODS: dict[str, Callable[[Maker, Term, Shape | None], None]] = {
    **dict.fromkeys(("ewadd", "ewmul"), Maker._equal),
    **{
        name: Maker._broadcast
        for name in ("add", "sub", "mul", "div", "minimum", "maximum", "pow")
        if name in OPERATORS
    },
    **dict.fromkeys(("poolmax", "poolavg"), Maker._pool),
    **dict.fromkeys(("split0", "split1"), Maker._half),
    "matmul": Maker._matmul,
    "conv": Maker._conv,
    "concat": Maker._concat,
    "split": Maker._split,
    "transpose": Maker._transpose,
    "enlarge": Maker._enlarge,
    "reshape": Maker._reshape,
    "expand": Maker._expand,
    "layer-norm": Maker._layer_norm,
    "gather": Maker._gather,
    "pad": Maker._pad,
    "slice": Maker._slice,
}
