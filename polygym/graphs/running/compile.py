"""From a model to machine code: operations, groups, memory, kernels, calls."""

from __future__ import annotations

from collections.abc import Callable

from polygym.graphs.ir.model import Model
from polygym.graphs.running.compiled import Compiled
from polygym.graphs.running.forms import Forms, user_forms
from polygym.graphs.running.kernels import kernel_of
from polygym.graphs.running.lowering import traced
from polygym.graphs.running.plan import Launch, laid_out
from polygym.tc.kernel import Kernel

__all__ = ["compile_model"]


def compile_model(
    model: Model,
    threads: int = 1,
    fuse: bool = True,
    progress: Callable[[int, int], None] | None = None,
    forms: Forms | None = None,
) -> Compiled:
    """Compile a model for ``threads`` threads.

    With ``fuse`` functions of elements are computed in the kernels of what comes before them, where
    that is faster; the results are the same. ``progress`` is called with how many steps are
    compiled and how many there are. ``forms`` says which form of a kernel is the fastest, instead
    of what :func:`~polygym.graphs.running.tuned.tune` has kept.

    >>> from polygym.graphs.ir.build import entering, matmul, weight
    >>> from polygym.graphs.ir.graph import Graph
    >>> import numpy as np
    >>> graph = Graph.of("layer", matmul(entering("x", 1, 2), weight("w", 2, 1), "relu"))
    >>> layer = compile_model(Model(graph, {"w": np.array([[5], [-1]], np.float32)}))
    >>> layer(np.array([[2, 3]], np.float32))
    array([[7.]], dtype=float32)
    """
    chosen = user_forms(threads) if forms is None else forms
    layout = laid_out(traced(model.graph, model.weights), threads, fuse, chosen)
    kernels: list[Kernel | None] = []
    for step in layout.steps:
        kernels.append(kernel_of(step.recipe) if isinstance(step, Launch) else None)
        if progress is not None:
            progress(len(kernels), len(layout.steps))
    return Compiled(model.graph, layout, kernels)
