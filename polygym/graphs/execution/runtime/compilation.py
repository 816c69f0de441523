"""From a model to machine code: operations, groups, memory, kernels, calls."""

from __future__ import annotations

from collections.abc import Callable

from polygym.graphs.execution.lowering.graph_lowering import lower_graph
from polygym.graphs.execution.planning.execution_plan import KernelLaunch, plan_execution
from polygym.graphs.execution.planning.kernel_source import compiled_kernel
from polygym.graphs.execution.planning.kernel_variants import KernelVariants, user_variants
from polygym.graphs.execution.runtime.compiled_model import CompiledModel
from polygym.graphs.ir.model import Model
from polygym.tc.kernel import CompiledKernel

__all__ = ["compile_model"]


def compile_model(
    model: Model,
    threads: int = 1,
    fuse: bool = True,
    progress: Callable[[int, int], None] | None = None,
    forms: KernelVariants | None = None,
) -> CompiledModel:
    """Compile a model for ``threads`` threads.

    With ``fuse`` functions of elements are computed in the kernels of what comes before them, where
    that is faster; the results are the same. ``progress`` is called with how many steps are
    compiled and how many there are. ``forms`` says which form of a kernel is the fastest, instead
    of what :func:`~polygym.graphs.execution.timing.kernel_tuning.tune_model` has kept.

    >>> from polygym.graphs.ir.build import entering, matmul, weight
    >>> from polygym.graphs.ir.graph import Graph
    >>> import numpy as np
    >>> graph = Graph.of("layer", matmul(entering("x", 1, 2), weight("w", 2, 1), "relu"))
    >>> layer = compile_model(Model(graph, {"w": np.array([[5], [-1]], np.float32)}))
    >>> layer(np.array([[2, 3]], np.float32))
    array([[7.]], dtype=float32)
    """
    chosen = user_variants(threads) if forms is None else forms
    layout = plan_execution(lower_graph(model.graph, model.weights), threads, fuse, chosen)
    kernels: list[CompiledKernel | None] = []
    for step in layout.steps:
        kernels.append(compiled_kernel(step.recipe) if isinstance(step, KernelLaunch) else None)
        if progress is not None:
            progress(len(kernels), len(layout.steps))
    return CompiledModel(model.graph, layout, kernels)
