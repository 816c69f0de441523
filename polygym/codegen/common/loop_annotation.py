"""Annotations of a loop: how it runs beyond one iteration after the other.

The tree of a schedule gives annotations to its loops (:mod:`polygym.codegen.tree`); the
loops that isl makes of it keep them, since an annotation belongs to a member of a band and not to a
place in the text; passes over the loops (:mod:`polygym.codegen.loopir`) and the emitters
carry them out. The union is closed: match exhaustively.
"""

from dataclasses import dataclass
from typing import TypeAlias, assert_never

from polygym.codegen.common.reductions import ReductionOperator


@dataclass(frozen=True, slots=True)
class SequentialLoop:
    """One iteration after the other."""


@dataclass(frozen=True, slots=True)
class UnrollAndJam:
    """``copies`` of the iterations run together, inside the loops below.

    They are independent, or may be permuted with those loops, around a single statement.
    """

    copies: int


@dataclass(frozen=True, slots=True)
class VectorLoop:
    """Iterations are independent and run in lanes: ``count`` vectors of ``bits`` at a time."""

    bits: int
    count: int


@dataclass(frozen=True, slots=True)
class LaneRows:
    """Iterations are independent, and each is a recurrence along rows of arrays.

    They run in lanes as those of a vector loop do, ``count`` vectors of ``bits`` at a time, through
    tiles in which rows are columns; where that cannot be, ``copies`` of them run together.
    """

    bits: int
    count: int
    copies: int


@dataclass(frozen=True, slots=True)
class DiagonalLoop:
    """Iterations are independent and go along a diagonal of arrays.

    They run in vectors of ``bits``, through copies in which a diagonal is a row; where that cannot
    be, or does not pay, ``copies`` of them run together.
    """

    bits: int
    copies: int


@dataclass(frozen=True, slots=True)
class SplitAccumulators:
    """The iterations of a sum in ``count`` independent chains of ``width`` lanes each.

    Each lane takes together every so many terms; at the end all lanes are taken together.
    """

    width: int
    count: int


@dataclass(frozen=True, slots=True)
class ScalarReplacement:
    """Some statements write the same element in every iteration, which nothing else touches.

    The elements that these ``statements`` write live in registers while the loop runs. With
    ``accumulators`` all that happens in it are sums and the like, whose terms may be taken in any
    order (:mod:`polygym.codegen.common.reductions`), and are taken so.
    """

    statements: frozenset[str]
    accumulators: SplitAccumulators | None = None


@dataclass(frozen=True, slots=True)
class ParallelLoop:
    """Iterations are independent and shared out among threads.

    With ``is_dynamic`` there are many more chunks than threads, and who is free takes the next one;
    otherwise every thread gets one chunk. All that iterations do with the arrays of ``reductions``
    is to take terms together in them, with an operator: every chunk has copies of its own, which
    are taken together at the end. The iterations of a chunk are ``scalar_replacement`` as a loop's
    are.
    """

    is_dynamic: bool
    reductions: tuple[tuple[str, ReductionOperator], ...] = ()
    scalar_replacement: ScalarReplacement | None = None


LoopAnnotation: TypeAlias = (
    SequentialLoop
    | ParallelLoop
    | UnrollAndJam
    | VectorLoop
    | LaneRows
    | DiagonalLoop
    | ScalarReplacement
)

SEQUENTIAL_LOOP = SequentialLoop()


def annotation_text(annotation: LoopAnnotation) -> str:
    """Return an annotation for people; one iteration after the other is nothing to say.

    >>> (annotation_text(VectorLoop(256, 1)), annotation_text(UnrollAndJam(4)),
    ...     annotation_text(SEQUENTIAL_LOOP))
    ('1 vector of 256 bits', 'jam 4', '')
    """
    match annotation:
        case SequentialLoop():
            return ""
        case ParallelLoop(dynamic, sums, held):
            apart = f", sums apart: {', '.join(name for name, _ in sums)}" if sums else ""
            inside = "" if held is None else f", {annotation_text(held)}"
            return f"parallel, {'dynamic' if dynamic else 'static'}{apart}{inside}"
        case UnrollAndJam(copies):
            return f"jam {copies}"
        case VectorLoop(bits, count):
            return f"{count} vector{'s' * (count > 1)} of {bits} bits"
        case LaneRows(bits, count, _):
            return f"rows, turned: {count} vector{'s' * (count > 1)} of {bits} bits"
        case DiagonalLoop(bits, _):
            return f"diagonal, skewed: vectors of {bits} bits"
        case ScalarReplacement(statements, chains):
            names = f"holds {', '.join(sorted(statements))}"
            return names if chains is None else f"{names} in {_accumulators_text(chains)}"
        case _:
            assert_never(annotation)


def _accumulators_text(chains: SplitAccumulators) -> str:
    lanes = f" of {chains.width} lanes" * (chains.width > 1)
    return f"{chains.count} chain{'s' * (chains.count > 1)}{lanes}"
