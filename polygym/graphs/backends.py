"""Models in other libraries, and as exported: the yardstick of results and of times.

In PyTorch every operator becomes the call in its definition. Weights are tensors of the function.
Nodes of weights alone are computed when the function is made, as :mod:`polygym.graphs.execution`
does. ``torch.compile`` takes the function of :func:`as_torch`.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError, MissingLibraryError
from polygym.files import temporary_folder
from polygym.foreign.model_library import ModelContext
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.operators.registry import operator_named
from polygym.graphs.operators.types import NumberData, TextData, numpy_type
from polygym.rewrite.term import Term


def as_torch(model: Model) -> Callable[..., list[Any]]:
    """Return a function of tensors that returns the list of results.

    Raises:
        InputError: PyTorch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise MissingLibraryError("models in PyTorch", "torch", "agents") from None
    graph = model.graph
    known: dict[Term, Any] = {}
    steps: list[Term] = []
    for term in graph.terms():
        if not term.children or term.head in ("input", "noop"):
            continue
        if term.head == "weight":
            name = str(term.children[0].head).rpartition("@")[0]
            known[term] = torch.from_numpy(model.weights[name].copy())
        elif all(child in known for child in term.children if child.children):
            operands = [known[child] for child in term.children if child.children]
            known[term] = _call(torch, graph, term)(*operands)
        else:
            steps.append(term)
    # Values are kept by number: a term is nothing that a compiler of Python can look through.
    number = {node: place for place, node in enumerate([*known, *graph.inputs, *steps])}
    constants = {number[node]: value for node, value in known.items()}
    inputs = [number[input_] for input_ in graph.inputs]
    made = [
        (
            number[step],
            _call(torch, graph, step),
            [number[child] for child in step.children if child.children],
        )
        for step in steps
    ]
    results = [number[node] for _, node in graph.outputs]

    def run(*arguments: Any) -> list[Any]:
        values = dict(constants)
        values.update(zip(inputs, arguments, strict=True))
        for place, function, sources in made:
            values[place] = function(*[values[source] for source in sources])
        return [values[place] for place in results]

    return run


def _call(torch: Any, graph: Graph, node: Term) -> Callable[..., Any]:
    """Return the function of tensors that computes a node."""
    function = operator_named(node.head).torch
    if isinstance(function, str):
        result: Callable[..., Any] = attrgetter(function)(torch)
        return result
    data = [graph.data(child) for child in node.children]
    return function(
        torch, *(part.value if isinstance(part, NumberData | TextData) else part for part in data)
    )


def as_onnxruntime(
    model: Model, threads: int = 1, file: Path | None = None
) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function of a list of arrays that returns the list of results.

    It runs a file that has the model, or the file that would be written.

    Raises:
        InputError: onnxruntime is not installed.
    """
    try:
        import onnxruntime
    except ImportError:
        raise InputError("expected onnxruntime, found none: pip install onnxruntime") from None
    from polygym.graphs.onnx import write

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that wait for the next call would take the processor from who is timed in between.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    with temporary_folder() as folder:
        path = file or folder / "model.onnx"
        if file is None:
            write(model, path)
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    names = [input_.name for input_ in session.get_inputs()]

    def run(arguments: Sequence[Any]) -> list[Any]:
        result: list[Any] = session.run(None, dict(zip(names, arguments, strict=True)))
        return result

    return run


def as_library(graph: Graph, file: Path) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function of a list of arrays that calls an exported library, weights beside it.

    Raises:
        ForeignCallError: the library refuses the weights.
    """
    context = ModelContext(file, file.stem, file.with_suffix(".safetensors"))
    tensors = [graph.tensor(node) for _, node in graph.outputs]

    def run(arguments: Sequence[Any]) -> list[Any]:
        results = [np.empty(tensor.shape, numpy_type(tensor.dtype)) for tensor in tensors]
        context.run(*([array.ctypes.data for array in part] for part in (arguments, results)))
        return results

    return run
