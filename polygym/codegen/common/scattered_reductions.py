"""Reductions in elements that are computed as the program runs: histograms, scattered sums.

::

    hist[a[i]]++;                  if (w[i] > 0) sums[k[i]][j] += w[i] * x[j];

Such a statement is an :class:`~polygym.ir.expressions.Update`. Its value is ``x ⊕ e``, where x is
the very element that it stores to: the same array, the same subscripts. Its instances may take
their terms in any order, whether or not they mean the same element, for the reasons of
:mod:`polygym.codegen.common.reductions`, if neither e nor the condition nor a subscript reads the
array.

Elements narrower than int are widened, changed and cut off: ``(unsigned char)((int)x + e)``. To cut
off is a homomorphism of sums, products and bits modulo 2^b. So their order does not matter either:
250 + 10 + 20 is 24 in bytes, and so is 250 + 20 + 10.

No registers hold such elements, nor do vectors of them run; threads may have copies of the array
(:mod:`polygym.codegen.tree.transforms.parallel_reductions`).
"""

from dataclasses import dataclass

from polygym.codegen.common.reductions import ReductionOperator, path_operator, reduction_operator
from polygym.ir.expressions import Expression, Gather, Load, Update, loaded_accesses, walk
from polygym.ir.scop import Statement


@dataclass(frozen=True, slots=True)
class Reduction:
    """A statement's operator, and the numbers of the reads that are of its own element."""

    operator: ReductionOperator
    own_reads: frozenset[int]


def reduction_of(statement: Statement) -> Reduction | None:
    """Return the reduction that a statement is, of an element that may be a computed one."""
    match statement.body:
        case Update() as update:
            return _update_reduction(update)
        case body:
            own = statement.accumulator_reads
            operator = reduction_operator(statement) or path_operator(body, 0, own)
            return None if operator is None else Reduction(operator, own)


def _update_reduction(update: Update) -> Reduction | None:
    """Return the reduction of an update; its first read is what it keeps of the array.

    Of ``hist[a[i]] = hist[a[i]] + 1``, which reads hist, a, hist, a, the own reads are 0 and 2.
    """
    reads = len(loaded_accesses(update))
    start = reads - len(loaded_accesses(update.value))
    nodes = [node for node in walk(update.value) if isinstance(node, Load | Gather)]
    own = frozenset(
        start + number for number, node in enumerate(nodes) if _is_own_element(node, update)
    )
    operator = path_operator(update.value, start, own)
    return None if operator is None else Reduction(operator, own | {0})


def _is_own_element(node: Expression, update: Update) -> bool:
    """Whether a read is of the element that an update stores to."""
    match node:
        case Gather(access, subscripts):
            same = (access.array, access.relation, access.gathered)
            kept = update.access
            return same == (kept.array, kept.relation, kept.gathered) and (
                subscripts == update.subscripts
            )
        case Load(access):
            return not update.subscripts and (access.array, access.relation) == (
                update.access.array,
                update.access.relation,
            )
        case _:
            return False
