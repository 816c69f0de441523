"""Forms of a kernel: the same sums in the same order, mapped to the machine in another way.

What the compiler decides by itself is the usual form. A form may say some words of the mapping, and
may have weights in *blocks* of b filters or columns: (f / b, c, y, x, b) instead of (f, c, y, x),
(n / b, k, b) instead of (k, n). So what vectors across them read lies together, one after the
other, and need not be copied at every call. Which is the fastest depends on the machine more than
on anything that is known ahead, so the clock decides
(:mod:`polygym.graphs.execution.timing.kernel_tuning`); what it said is kept, and looked up when a
model is compiled.

No form changes the order of a sum: results are the same, bit for bit.
"""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from polygym.frontend.tc import parse_definitions
from polygym.graphs.execution.ir.views import ArrayOperation, ArraySource, ArrayView, whole_array
from polygym.graphs.execution.lowering.kernel_groups import KernelGroup
from polygym.graphs.execution.operators.products import BLOCKED
from polygym.lru_cache import LruCache
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.kernel import CompiledKernel
from polygym.tc.measured_times import MeasuredTimes, user_measured_times

_CACHED_KERNELS = 1024


@dataclass(frozen=True, slots=True)
class KernelSource:
    """The text of a comprehension, and how it is mapped to the machine.

    ``mapping_options`` are those of a mapping (``separate=on``) that are not as usual.
    """

    text: str
    threads: int = 1
    reassociate: bool = False
    mapping_options: str = ""

    @property
    def mapping(self) -> Mapping:
        """What is done for the machine's sake."""
        chosen = parse_mapping(self.mapping_options) if self.mapping_options else DEFAULT_MAPPING
        return replace(chosen, threads=self.threads, reassociate=self.reassociate)


_KERNEL_CACHE: LruCache[KernelSource, CompiledKernel] = LruCache(_CACHED_KERNELS)


def kernel_builder(recipe: KernelSource) -> KernelBuilder:
    """Return what compiles a recipe; there are no sizes left to choose."""
    (definition,) = parse_definitions(recipe.text)
    return KernelBuilder(definition, BuildOptions(mapping=recipe.mapping))


def compiled_kernel(recipe: KernelSource) -> CompiledKernel:
    """Return the machine code of a recipe, compiled where it is new."""
    return _KERNEL_CACHE.get(recipe, lambda: kernel_builder(recipe).kernel({}))


_REQUIRED_RATIO = 0.97
"""Which part of the usual form's time another one takes at most, to be preferred."""


@dataclass(frozen=True, slots=True)
class KernelVariant:
    """How a kernel is written: filters in blocks of so many (0: as they come), and a mapping."""

    block_width: int = 0
    mapping_options: str = ""

    def __str__(self) -> str:
        """Return its name.

        >>> str(KernelVariant(32, "pack=off")), str(KernelVariant())
        ('blocks=32 pack=off', 'usual')
        """
        parts = [f"blocks={self.block_width}"] * bool(self.block_width) + [
            self.mapping_options
        ] * bool(self.mapping_options)
        return " ".join(parts) or "usual"


DEFAULT_VARIANT = KernelVariant()

VARIANTS = (
    DEFAULT_VARIANT,
    *(
        KernelVariant(mapping_options=words)
        for words in ("pack=off", "vector_copies=1", "unroll_jam=8")
    ),
    *(KernelVariant(16, words) for words in ("", "pack=off", "parallel=static")),
    *(KernelVariant(32, words) for words in ("", "pack=off")),
)
"""All that are tried, the usual one first."""


@dataclass(frozen=True)
class KernelVariants:
    """The fastest forms of kernels, by what was measured of them."""

    store: MeasuredTimes

    @staticmethod
    def key(form: KernelVariant, text: str) -> str:
        """Return under which name a time is kept; the text is that of the usual form."""
        return f"{form}: {text}"

    def seconds(self, text: str) -> float | None:
        """Return the time of a kernel in its fastest form, None where none is known."""
        return self.store.get(self.key(self.fastest(text), text))

    def fastest(self, text: str) -> KernelVariant:
        """Return the fastest form of a kernel, the usual one where little was gained."""
        usual = self.store.get(self.key(DEFAULT_VARIANT, text))
        if usual is None:
            return DEFAULT_VARIANT
        times = [
            (seconds, place)
            for place, form in enumerate(VARIANTS)
            if (seconds := self.store.get(self.key(form, text))) is not None
        ]
        best, place = min(times)
        return VARIANTS[place] if best < _REQUIRED_RATIO * usual else DEFAULT_VARIANT


def user_variants(threads: int) -> KernelVariants:
    """Return what was measured before, from the user's cache folder."""
    return KernelVariants(user_measured_times("kernels.sqlite", threads))


def has_variants(group: KernelGroup) -> bool:
    """Whether a group's kernel is one that forms are tried of: a product or a convolution."""
    return group.head is not None and group.head.head in ("conv", "matmul")


_COPIED_BYTES = 1 << 20
"""Bytes of a known matrix from which on a copy of it at every call is expected to cost time."""


def expected_variant(
    group: KernelGroup, constants: collections.abc.Mapping[ArraySource, np.ndarray[Any, Any]]
) -> KernelVariant:
    """Return the form of a kernel that is expected to be the fastest, where none was measured.

    Large weights lie in huge pages, so that a copy of them gains nothing: without it products of
    128 rows were 1.09 to 1.12 times as fast, of 32 rows 1.37 times, and of 49 rows 0.98.
    """
    if group.head is None or group.head.head != "matmul":
        return DEFAULT_VARIANT
    known = constants.get(group.head.operands[1].source)
    is_large = known is not None and known.ndim == 2 and known.nbytes >= _COPIED_BYTES
    return KernelVariant(mapping_options="pack=off") if is_large else DEFAULT_VARIANT


_ROW_REDUCTIONS = frozenset(
    {"softmax", "layer-norm", "reduce-sum", "reduce-mean", "reduce-max", "matmul-row"}
)


def runs_along_sums(head: ArrayOperation | None) -> bool:
    """Whether vectors are to run along what is summed up: there is little else along rows."""
    match head:
        case None:
            return False
        case ArrayOperation("matmul-row"):
            return head.operands[1].shape[2] == 1
        case ArrayOperation("poolavg" | "poolmax"):
            return prod(head.result.shape[2:]) == 1
        case _:
            return head.head in _ROW_REDUCTIONS


@dataclass
class WeightBlocking:
    """Puts weights that are known into blocks, each once; ``constants`` are theirs and others."""

    constants: collections.abc.MutableMapping[ArraySource, np.ndarray[Any, Any]]
    _blocked_views: dict[tuple[ArrayView, int], ArrayView] = field(default_factory=dict)

    @staticmethod
    def over(
        constants: collections.abc.Mapping[ArraySource, np.ndarray[Any, Any]],
    ) -> WeightBlocking:
        """Return one that adds to a copy of what is known."""
        return WeightBlocking(dict(constants))

    def blocked(self, group: KernelGroup, block: int) -> KernelGroup | None:
        """Return a group that reads weights in blocks; None where there are none."""
        head = group.head
        if head is None or not has_variants(group):
            return None
        x, w = head.operands
        known = self.constants.get(w.source)
        if known is None or not w.is_whole_array:
            return None
        if (w, block) not in self._blocked_views:
            whole = _blocked_array(head.head, x, w.as_array(known.reshape(-1)), block)
            if whole is None:
                return None
            source = ArraySource(whole.shape, w.dtype)
            self.constants[source] = whole
            self._blocked_views[w, block] = whole_array(source)
        literals = head.literals if head.head == "conv" else (BLOCKED,)
        other = ArrayOperation(head.head, literals, (x, self._blocked_views[w, block]), head.result)
        members = [other if operation is head else operation for operation in group.members]
        root = other if group.root is head else group.root
        return replace(group, root=root, members=members, head=other)


def _blocked_array(
    head: str, x: ArrayView, w: np.ndarray[Any, Any], block: int
) -> np.ndarray[Any, Any] | None:
    """Return filters or columns in blocks of so many; None where they do not come out even."""
    if head == "conv":
        if x.shape[1] != w.shape[1] or w.shape[0] % block:
            return None
        parts = w.reshape(w.shape[0] // block, block, *w.shape[1:])
        return np.ascontiguousarray(parts.transpose(0, 2, 3, 4, 1))
    if w.ndim != 2 or w.shape[1] % block:
        return None
    parts = w.reshape(w.shape[0], w.shape[1] // block, block)
    return np.ascontiguousarray(parts.transpose(1, 0, 2))
