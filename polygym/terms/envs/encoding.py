"""Terms written out as arrays, put together from those of their parts.

What an agent sees of a term is the rows of its nodes in the order of their text, and which rules
apply where. A step changes the nodes on the way up to the root alone. Rows say how far away the
node above and the binder are, so that they stay as they are wherever the part stands: those of a
node are its own and those of its children, one behind the other, as bytes. Places become numbers of
rows at the end (:meth:`TermEncoder.layout`), and identical parts and names are numbered for the
whole term.

Example: in (mul x (add x y)) the distances to the node above are 0; 1; 2; 1, 2.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from polygym.mdp.observation.arrays import Array
from polygym.rewrite.term import Term, memoized_value
from polygym.terms.language.nodes import TRUE, binds, index_of, kind_of, name_of
from polygym.terms.language.operators import OPERATORS
from polygym.terms.rewriter import Rewriter

KINDS = ("constant", "variable", "bound", "truth", "lam", *OPERATORS)
"""The kinds of nodes; a row has the number of its own, from 1."""

COLUMNS = ("kind", "part_of", "place", "same_as", "bound_by", "name")

_NUMBERS = {kind: number for number, kind in enumerate(KINDS, 1)}
_MOST_BYTES = 1 << 28

# As the columns are: kind, distance to the node above, place there, part, distance to the binder,
# name. Behind these, how many rules apply, and a constant's value.
_ROW = struct.Struct("=iiiiiiif")
_BINDER = struct.Struct("=i")
_BINDER_AT = 16
_COUNT, _VALUE = 6, 7
_OFFER = struct.Struct("=ii")


@dataclass(frozen=True, slots=True, eq=False)
class EncodedTerm:
    """The rows of a term.

    Of its own node what the row needs, without where it stands; ``descendant_rows`` are the other
    rows. ``own_rules`` are the rules that apply at the node itself, a number and how many more
    nodes there are then, ``descendant_rules`` those of all rows below, row by row.
    ``free_variables`` are variables whose binder is outside: row and how many binders away;
    ``binds`` says that some have theirs within.
    """

    kind: int
    name: int
    part: int
    value: float
    size: int
    descendant_rows: bytes
    own_rules: bytes
    descendant_rules: bytes
    free_variables: tuple[tuple[int, int], ...]
    binds: bool = False

    def row(self, distance: int, place: int, links: int) -> bytes:
        """Return its own row, where so many more rules apply between it and the node above."""
        count = len(self.own_rules) // _OFFER.size + links
        return _ROW.pack(self.kind, distance, place, self.part, 0, self.name, count, self.value)


class TermEncoder:
    """Makes the arrays of terms, and remembers the rows of their parts."""

    def __init__(self, rewriter: Rewriter) -> None:
        """Know nothing yet."""
        self._rewriter = rewriter
        self._known: dict[Term, EncodedTerm] = {}
        self._numbers: dict[Term, int] = {}
        self._names: dict[str, int] = {}
        self._bytes = 0

    def encode(self, root: Term) -> EncodedTerm:
        """Return the rows of a term."""
        term = self._known.get(root)
        if term is None:
            if self._bytes > _MOST_BYTES:
                self._known.clear()
                self._numbers.clear()
                self._bytes = 0
            term = memoized_value(root, self._known, self._made)
        return term

    def layout(self, root: Term) -> tuple[Array, Array, Array, Array]:
        """Return a whole term: its rows, the values of constants, and the rules that apply.

        Rows have the columns, with -1 for what is not there. Of a rule that applies there are the
        row, and beside it the rule's number and how many more nodes there are then.
        """
        piece = self.encode(root)
        raw = np.frombuffer(piece.row(0, 0, 0) + piece.descendant_rows, np.int32).reshape(-1, 8)
        here = np.arange(len(raw), dtype=np.int32)
        rows = raw[:, : len(COLUMNS)].copy()
        above, parts, binders, names = rows[:, 1], rows[:, 3], rows[:, 4], rows[:, 5]
        np.subtract(here, above, out=above)
        above[0] = -1
        first: dict[int, int] = {}
        parts[:] = [first.setdefault(part, at) for at, part in enumerate(parts.tolist())]
        binders[:] = np.where(binders > 0, here - binders, -1) if piece.binds else -1
        order: dict[int, int] = {0: 0}
        names[:] = [order.setdefault(name, len(order)) for name in names.tolist()]
        offers = np.frombuffer(piece.own_rules + piece.descendant_rules, np.int32).reshape(-1, 2)
        return rows, raw[:, _VALUE].view(np.float32), np.repeat(here, raw[:, _COUNT]), offers

    def _made(self, node: Term) -> EncodedTerm:
        kind = kind_of(node)
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._numbers)
        if not node.children:
            return self._leaf(node, kind, number)
        own, *links = self._rewriter.applicable_rules(node)
        rows: list[bytes] = []
        others: list[bytes] = []
        open_ones: list[tuple[int, int]] = []
        bound: list[int] = []
        start, is_binder = 1, False
        for at, child in enumerate(node.children):
            piece = self._known[child]
            is_binder = is_binder or piece.binds
            rows += (piece.row(start, at, len(links[at])), piece.descendant_rows)
            others += (_packed(links[at]), piece.own_rules, piece.descendant_rules)
            if piece.free_variables:
                is_bound = binds(node, at)
                for where, index in piece.free_variables:
                    if is_bound and index == 0:
                        bound.append(start + where)
                    else:
                        open_ones.append((start + where, index - is_bound))
            start += piece.size
        below = b"".join(rows)
        if bound:
            below = _tied(below, bound)
        self._bytes += len(below)
        return EncodedTerm(
            _NUMBERS[kind], 0, number, 0.0, start, below, _packed(own), b"".join(others),
            tuple(open_ones), is_binder or bool(bound),
        )  # fmt: skip

    def _leaf(self, node: Term, kind: str, number: int) -> EncodedTerm:
        name, index = 0, index_of(node)
        if kind == "variable":
            name = self._names.setdefault(name_of(node), len(self._names) + 1)
        own = ((0, index),) if index >= 0 else ()
        return EncodedTerm(_NUMBERS[kind], name, number, _value(node, kind), 1, b"", b"", b"", own)


def _packed(offers: Sequence[tuple[int, int]]) -> bytes:
    return b"".join([_OFFER.pack(*offer) for offer in offers]) if offers else b""


def _tied(below: bytes, rows: Sequence[int]) -> bytes:
    """Return the rows below a node that is the binder of some of them."""
    result = bytearray(below)
    for row in rows:
        _BINDER.pack_into(result, (row - 1) * _ROW.size + _BINDER_AT, row)
    return bytes(result)


def _value(node: Term, kind: str) -> float:
    """Return what stands for a constant: its signed logarithm, since its size may be anything."""
    if kind == "truth":
        return float(node is TRUE)
    if not isinstance(node.head, int | float):
        return 0.0
    size = log2(1.0 + abs(float(node.head)))
    return size if node.head >= 0 else -size
