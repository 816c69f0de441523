"""Forms of a kernel: the same sums in the same order, mapped to the machine in another way.

What the compiler decides by itself is the usual form. A form may say some words of the mapping, and
may have weights in *blocks* of b filters or columns: (f / b, c, y, x, b) instead of (f, c, y, x),
(n / b, k, b) instead of (k, n). So what vectors across them read lies together, one after the
other, and need not be copied at every call. Which is the fastest depends on the machine more than
on anything that is known ahead, so the clock decides (:mod:`polygym.graphs.running.tuned`); what it
said is kept, and looked up when a model is compiled.

No form changes the order of a sum: results are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polygym.graphs.running.groups import Group
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.products import IN_BLOCKS
from polygym.graphs.running.views import Source, View, plain
from polygym.tc.times import TimeStore, user_times

__all__ = ["FORMS", "USUAL", "Blocker", "Form", "Forms", "has_forms", "user_forms"]

_GAIN = 0.97
"""Which part of the usual form's time another one takes at most, to be preferred."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a kernel is written: filters in blocks of so many (0: as they come), and a mapping."""

    block: int = 0
    words: str = ""

    def __str__(self) -> str:
        """Return its name.

        >>> str(Form(32, "pack=off")), str(Form())
        ('blocks=32 pack=off', 'usual')
        """
        parts = [f"blocks={self.block}"] * bool(self.block) + [self.words] * bool(self.words)
        return " ".join(parts) or "usual"


USUAL = Form()

FORMS = (
    USUAL,
    *(Form(words=words) for words in ("pack=off", "vector_copies=1", "unroll_jam=8")),
    *(Form(16, words) for words in ("", "pack=off", "parallel=static")),
    *(Form(32, words) for words in ("", "pack=off")),
)
"""All that are tried, the usual one first."""


@dataclass(frozen=True)
class Forms:
    """The fastest forms of kernels, by what was measured of them."""

    store: TimeStore

    @staticmethod
    def key(form: Form, text: str) -> str:
        """Return under which name a time is kept; the text is that of the usual form."""
        return f"{form}: {text}"

    def seconds(self, text: str) -> float | None:
        """Return the time of a kernel in its fastest form, None where none is known."""
        return self.store.get(self.key(self.of(text), text))

    def of(self, text: str) -> Form:
        """Return the fastest form of a kernel, the usual one where little was gained."""
        usual = self.store.get(self.key(USUAL, text))
        if usual is None:
            return USUAL
        times = [
            (seconds, place)
            for place, form in enumerate(FORMS)
            if (seconds := self.store.get(self.key(form, text))) is not None
        ]
        best, place = min(times)
        return FORMS[place] if best < _GAIN * usual else USUAL


def user_forms(threads: int) -> Forms:
    """Return what was measured before, from the user's cache folder."""
    return Forms(user_times("kernels.sqlite", threads))


def has_forms(group: Group) -> bool:
    """Whether a group's kernel is one that forms are tried of: a product or a convolution."""
    return group.head is not None and group.head.head in ("conv", "matmul")


@dataclass
class Blocker:
    """Puts weights that are known into blocks, each once; ``constants`` are theirs and others."""

    constants: MutableMapping[Source, np.ndarray[Any, Any]]
    _made: dict[tuple[View, int], View] = field(default_factory=dict)

    @staticmethod
    def over(constants: Mapping[Source, np.ndarray[Any, Any]]) -> Blocker:
        """Return one that adds to a copy of what is known."""
        return Blocker(dict(constants))

    def blocked(self, group: Group, block: int) -> Group | None:
        """Return a group that reads weights in blocks; None where there are none."""
        head = group.head
        if head is None or not has_forms(group):
            return None
        x, w = head.operands
        known = self.constants.get(w.source)
        if known is None or not w.is_plain:
            return None
        if (w, block) not in self._made:
            whole = _in_blocks(head.head, x, w.seen(known.reshape(-1)), block)
            if whole is None:
                return None
            source = Source(whole.shape, w.dtype)
            self.constants[source] = whole
            self._made[w, block] = plain(source)
        literals = head.literals if head.head == "conv" else (IN_BLOCKS,)
        other = Operation(head.head, literals, (x, self._made[w, block]), head.result)
        members = [other if one is head else one for one in group.members]
        root = other if group.root is head else group.root
        return replace(group, root=root, members=members, head=other)


def _in_blocks(
    head: str, x: View, w: np.ndarray[Any, Any], block: int
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
