"""Tensor graphs: whole models, rewritten as graphs, compiled operator by operator, run and timed.

    >>> import numpy as np
    >>> from polygym.graphs import compile_model, open_source
    >>> model = open_source("vgg19:small").model
    >>> x = np.ones(model.graph.signatures[0].tensor.shape, np.float32)
    >>> compile_model(model)(x).shape
    (1, 10)

``ir`` has the value, a graph, and what is known of its operators; ``drawing`` draws it. Where it
comes from: the ``library`` of networks, ``onnx`` files, and folders that were ``saved``;
``sources`` tells them apart. What is done with it: ``rules`` are the tables, ``costs`` says what a
node costs, ``optimize`` saturates and extracts, ``backtracked`` is the search that this is compared
with, ``substitutions`` has graphs searched as terms are, and ``envs`` has both as environments.
``running`` compiles and runs it; ``race`` has it run beside others (``peers``), timed in turn
(``interleaved``). ``study`` makes the paper's tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.graphs.execution import compile_model
    from polygym.graphs.ir.graph import Graph
    from polygym.graphs.ir.model import Model
    from polygym.graphs.model_source import open_source
    from polygym.graphs.saved_model import load, save
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Graph", "Model", "compile_model", "load", "open_source", "save"]
