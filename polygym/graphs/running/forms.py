"""Forms of a kernel: the same sums in the same order, mapped to the machine in another way.

What the compiler decides by itself is the usual form. A form may say some words of the mapping, and
may have the weights of a convolution *turned*: (c, y, x, f) instead of (f, c, y, x), so that what
vectors across filters read lies together, and need not be copied at every call. Which is the
fastest depends on the machine more than on anything that is known ahead, so the clock decides
(:mod:`polygym.graphs.running.tuned`); what it said is kept, and looked up when a model is compiled.

No form changes the order of a sum: results are the same, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polygym.graphs.running.groups import Group
from polygym.graphs.running.operations import Operation
from polygym.graphs.running.views import Source, View, permuted, plain
from polygym.tc.times import TimeStore, user_times

__all__ = ["FORMS", "USUAL", "Form", "Forms", "Turner", "has_forms", "user_forms"]

_GAIN = 0.97
"""Which part of the usual form's time another one takes at most, to be preferred."""

_FILTERS = 16
"""Filters from which on they fill a vector."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a kernel is written: weights turned or not, and the words of its mapping."""

    turned: bool = False
    words: str = ""

    def __str__(self) -> str:
        """Return its name.

        >>> str(Form(True, "pack=off")), str(Form())
        ('turned pack=off', 'usual')
        """
        return " ".join(["turned"] * self.turned + [self.words] * bool(self.words)) or "usual"


USUAL = Form()

FORMS = (
    USUAL,
    *(
        Form(words=words)
        for words in (
            "separate=on",
            "pack=off",
            "pack=off separate=on",
            "unroll_jam=8",
            "vector_copies=1",
            "parallel=static",
        )
    ),
    *(
        Form(True, words)
        for words in ("", "pack=off", "pack=off separate=on", "pack=off parallel=static")
    ),
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
class Turner:
    """Turns weights that are known, each once; ``constants`` are theirs and the model's."""

    constants: MutableMapping[Source, np.ndarray[Any, Any]]
    _made: dict[View, View] = field(default_factory=dict)

    @staticmethod
    def over(constants: Mapping[Source, np.ndarray[Any, Any]]) -> Turner:
        """Return one that adds to a copy of what is known."""
        return Turner(dict(constants))

    def turned(self, group: Group) -> Group | None:
        """Return a group whose convolution reads turned weights, if there are any to turn."""
        head = group.head
        if head is None or head.head != "conv":
            return None
        w = self._weights(head.operands[1])
        if w is None:
            return None
        other = Operation(head.head, head.literals, (head.operands[0], w), head.result)
        members = [other if one is head else one for one in group.members]
        return replace(
            group, root=other if group.root is head else group.root, members=members, head=other
        )

    def _weights(self, w: View) -> View | None:
        known = self.constants.get(w.source)
        if known is None or not w.is_plain or w.shape[0] < _FILTERS:
            return None
        if w not in self._made:
            whole = np.ascontiguousarray(w.seen(known.reshape(-1)).transpose(1, 2, 3, 0))
            source = Source(whole.shape, w.dtype)
            self.constants[source] = whole
            self._made[w] = permuted(plain(source), (3, 0, 1, 2))
        return self._made[w]
