"""Whether functions of elements are computed in the kernel of what comes before them.

Fused, they spare writing a result and reading it again; but within a convolution by windows they
take registers from its sums. Where all three have been timed the clock decides: the kernel of both
against that of the product alone and that of the functions alone, each in its fastest form. Where
they have not (:mod:`polygym.graphs.execution.timing.kernel_tuning` times them), a rule expects what
is faster.

Example: relu(conv(x, w)) takes 310 µs in one kernel; the convolution alone takes 280 µs, and relu
alone 20 µs. So there are two kernels.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

from polygym.graphs.execution.ir.nests import nest_text
from polygym.graphs.execution.ir.views import ArrayOperation
from polygym.graphs.execution.lowering.graph_lowering import LoweredGraph
from polygym.graphs.execution.lowering.kernel_groups import (
    KernelGroup,
    group_nest,
    group_operations,
    operations_key,
)
from polygym.graphs.execution.planning.kernel_variants import KernelVariants
from polygym.graphs.operators.types import ELEMENT_BYTES
from polygym.pickling import pickle_by_name

_SLOWDOWN, _OPERATIONS = 0.035, 1e11
"""By which share such a convolution is slower, and its operations a second."""

_CACHE, _CACHED, _STREAMED = 2_000_000, 4e10, 1e10
"""Bytes that stay in a cache between two kernels, and bytes a second from there and from memory."""


@dataclass(frozen=True, slots=True, eq=False)
class FusionChoice:
    """An operation and functions of elements that follow it: in one kernel, or in two."""

    fused: KernelGroup
    unfused_head: KernelGroup
    unfused_tail: KernelGroup

    @property
    def texts(self) -> tuple[str, str, str]:
        """The texts of the three kernels, by which their times are kept."""
        together, alone, rest = (nest_text(group_nest(group)[0]) for group in self.groups)
        return together, alone, rest

    @property
    def groups(self) -> tuple[KernelGroup, KernelGroup, KernelGroup]:
        """What the one kernel does, and what the two do."""
        return self.fused, self.unfused_head, self.unfused_tail

    @property
    def expected(self) -> bool:
        """Whether one kernel is expected to be faster."""
        assert self.unfused_head.head is not None
        return is_fusion_expected(self.unfused_head.head)


@pickle_by_name
@dataclass(frozen=True, slots=True)
class FusionTimes:
    """Seconds of the one kernel, and of the two that do the same."""

    fused: float
    unfused_head: float
    unfused_tail: float

    @property
    def is_faster_fused(self) -> bool:
        """Whether the one is the faster."""
        return self.fused <= self.unfused_head + self.unfused_tail


def is_fusion_expected(operation: ArrayOperation) -> bool:
    """Whether functions of elements that follow are expected to be faster in the same kernel.

    Within a convolution by windows of several elements they cost a share of it; by themselves, the
    time of reading and writing its result once more, from the caches or from memory.
    """
    if operation.head != "conv" or operation.operands[1].shape[2:] == (1, 1):
        return True
    elements = prod(operation.result.shape)
    inside = _SLOWDOWN * 2 * elements * prod(operation.operands[1].shape[1:]) / _OPERATIONS
    moved = 2 * elements * ELEMENT_BYTES[operation.result.dtype]
    return inside < moved / (_CACHED if moved < _CACHE else _STREAMED)


def fusion_times(choice: FusionChoice, forms: KernelVariants) -> FusionTimes | None:
    """Return what was measured, None where any of the three was not, or does not run."""
    measured: list[float] = []
    for group in reversed(choice.groups):  # the shortest text comes first
        seconds = forms.seconds(nest_text(group_nest(group)[0]))
        if seconds is None:
            return None
        measured.append(seconds)
    rest, alone, together = measured
    return FusionTimes(together, alone, rest)


@dataclass(frozen=True)
class FusionDecisions:
    """What is faster for operations of one model; what is alike is asked once.

    A text says what a kernel computes and not of which arrays, so it is the same for operations and
    functions that are the same and read alike: blocks of a network are.
    """

    forms: KernelVariants
    _known: dict[Any, bool] = field(default_factory=dict)

    def is_faster_fused(self, operation: ArrayOperation, group: KernelGroup) -> bool:
        """Whether an operation is faster in the kernel of what follows.

        By the clock, or as expected where it has not said.
        """
        if not len(self.forms.store):
            return is_fusion_expected(operation)
        key = operations_key([operation, *group.members])
        result = self._known.get(key)
        if result is None:
            times = fusion_times(_make_choice(operation, group), self.forms)
            result = self._known[key] = (
                is_fusion_expected(operation) if times is None else times.is_faster_fused
            )
        return result


def fusion_choices(model: LoweredGraph) -> list[FusionChoice]:
    """Return all choices in a model, whichever way the others are decided.

    Of two products whose results are added, say, the second one may be where the sum is, or the
    first one if the second is not.
    """
    choices: dict[Any, FusionChoice] = {}
    for answer in (True, False):
        for choice in _choices_answering(model, answer):
            choices.setdefault(operations_key(choice.fused.members), choice)
    different: dict[tuple[str, str, str], FusionChoice] = {}
    for choice in choices.values():
        different.setdefault(choice.texts, choice)
    return list(different.values())


def _choices_answering(model: LoweredGraph, answer: bool) -> Iterable[FusionChoice]:
    asked: list[FusionChoice] = []

    def pays(operation: ArrayOperation, group: KernelGroup) -> bool:
        asked.append(_make_choice(operation, group))
        return answer

    group_operations(model.operations, {view.source for view in model.outputs}, pays)
    return asked


def _make_choice(operation: ArrayOperation, group: KernelGroup) -> FusionChoice:
    rest = KernelGroup(group.root, list(group.members))
    return FusionChoice(
        KernelGroup(group.root, [operation, *group.members], operation),
        KernelGroup(operation, [operation], operation),
        rest,
    )
