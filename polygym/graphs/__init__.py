"""Tensor graphs: whole models, rewritten as graphs, compiled operator by operator, run and timed.

    >>> import numpy as np
    >>> from polygym.graphs import compile_model, open_source
    >>> model = open_source("vgg19:small").model
    >>> x = np.ones(model.graph.signatures[0].tensor.shape, np.float32)
    >>> compile_model(model)(x).shape
    (1, 10)

Values: ``ir`` has the graphs, ``operators`` the definitions of operators, ``drawing`` pictures.
Sources: the ``library`` of networks, ``onnx`` files, modules of ``pytorch``, and folders of
``saved_model``, which tells them apart. Rewriting: ``rules`` are the tables, ``costs`` the costs of
nodes, ``measured_costs`` those of operators and of what a whole graph runs; ``optimization``
saturates and extracts, or backtracks; the first are ``saturation_stages``, which bring together
``addends``, ``extraction`` under either costs, and ``plan_search``; ``envs`` has both as
environments. Running: ``execution`` compiles and runs, ``benchmark`` times models beside other
``backends``, and ``export`` writes them for other programs.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.graphs.execution import compile_model
    from polygym.graphs.ir.graph import Graph, Model
    from polygym.graphs.pytorch.compiled_module import compile
    from polygym.graphs.saved_model import load, open_source, save
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Graph", "Model", "compile", "compile_model", "load", "open_source", "save"]
