"""Packing candidates: reads that a transposed copy of their array may serve.

A vector wants neighbours in memory. In C[i][j] += A[i][k] * A[j][k] the vector runs along j, and
A[j][k] with it down a column. A copy of A with its dimensions turned, B[k][j] = A[j][k], has these
elements side by side. Making it costs one pass over the array, which pays where each element is
read many times, and is possible where nothing writes the array meanwhile. A program has *parts*,
the loop nests that run one after the other; a copy is made before the part that reads it. In ::

    for i, k: A[i][k] /= deviation[k];
    for i, j, k: C[i][j] += A[i][k] * A[j][k];

A is copied between the two parts.

So a read may be packed if its subscripts are all affine, its array has two dimensions or more, is
written in none of the parts that its statement runs in, and is read often:

* at unknown sizes, if the statement has more loops than the array has dimensions;
* at known sizes, if the box around the statement's instances has 16 times as many points as the
  array has elements, and the copy takes no more than 512 MiB. (A triangle of three loops fills a
  sixth of its box, or a half.)

At known sizes a copy may be *crowded*: where rows are a multiple of 512 bytes apart, elements below
each other fall into few sets of a cache (the lines of a level 1 cache of 64 sets repeat every 4096
bytes), and a tile of a few hundred rows does not stay in it, however small it is. So such a copy
gets rows that are one line of the cache longer. And a sum that walks down a crowded array, B[k][j]
along k with vectors along j, reads from a copy with longer rows too, though nothing is turned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from polygym.cached_hash import CachedHash, cache_hash
from polygym.codegen.common.bounding_boxes import bounding_ranges, box_size
from polygym.ir.expressions import Access
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import Sizes, element_count, known_sizes
from polygym.mapping.tuning_parameters import TUNING

CACHE_LINE = 64


@cache_hash
@dataclass(frozen=True, slots=True)
class PackingCandidates(CachedHash):
    """Says which reads of a program may be packed, at unknown or at known sizes.

    ``parts`` are the statements of each of the program's parts. Where it ``is_read_only``, what is
    read is known not to be written meanwhile.
    """

    scop: Scop
    sizes: tuple[tuple[str, int], ...] | None
    parts: tuple[frozenset[str], ...]
    is_read_only: bool = False
    _decisions: dict[tuple[str, str, bool], bool] = field(default_factory=dict, compare=False)

    def __hash__(self) -> int:
        """Return a hash that is quick: it is part of the key of much that is remembered."""
        return hash((self.sizes, self.parts, self.is_read_only))

    def allows(self, statement: Statement, access: Access) -> bool:
        """Whether a read of a statement may go to a copy of its array, and often enough to pay."""
        if access.gathered or (self.is_read_only and access.relation == statement.write.relation):
            return False
        key = (statement.name, access.array, self.is_read_only)
        if key not in self._decisions:
            self._decisions[key] = self._decide(statement, access)
        return self._decisions[key]

    def _decide(self, statement: Statement, access: Access) -> bool:
        array = self.scop.array(access.array)
        if array.rank < 2 or array.initial is not None or statement.depth <= array.rank:
            return False
        if self.is_read_only:
            return True
        beside = frozenset().union(*(part for part in self.parts if statement.name in part))
        if any(self.scop.statement(name).write.array == access.array for name in beside):
            return False
        if self.sizes is None:
            return True
        elements = element_count(array, dict(self.sizes))
        return (
            elements * array.type.size <= TUNING.max_packed_bytes
            and box_size(bounding_ranges(statement.domain, self.sizes))
            >= TUNING.min_reuse * elements
        )


def row_padding(row: int, size: int) -> int:
    """Return how many elements of a size a row of so many needs more, not to be crowded.

    >>> row_padding(1000, 8), row_padding(1024, 8), row_padding(1024, 4)
    (0, 8, 16)
    """
    return CACHE_LINE // size if row * size % TUNING.conflict_stride == 0 else 0


def packing_candidates(
    scop: Scop, sizes: Sizes | None, parts: tuple[frozenset[str], ...], *, pack: bool
) -> PackingCandidates | None:
    """Return what may be packed where a mapping wants it; None where nothing is."""
    if not pack:
        return None
    known = known_sizes(scop, sizes)
    return PackingCandidates(scop, None if known is None else tuple(known.items()), parts)


def dimension_to_transpose(steps: Sequence[int]) -> int | None:
    """Return the dimension that has to become the last one for vectors to be contiguous.

    ``steps`` say by how much each subscript grows from lane to lane.

    >>> dimension_to_transpose((1, 0)), dimension_to_transpose((0, 1)), dimension_to_transpose((1,
    ...     1))
    (0, None, None)
    """
    moving = [place for place, step in enumerate(steps) if step]
    if len(moving) == 1 and steps[moving[0]] == 1 and moving[0] != len(steps) - 1:
        return moving[0]
    return None


def transposed_order(dimension: int, rank: int) -> tuple[int, ...]:
    """Return the order of the dimensions with one moved to the end.

    >>> transposed_order(0, 3), transposed_order(2, 3)
    ((1, 2, 0), (0, 1, 2))
    """
    return (*(place for place in range(rank) if place != dimension), dimension)
