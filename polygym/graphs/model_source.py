"""Model sources: the name of a library model, or a file, becomes a graph with weights.

=====================  =============================================================
``bert``               a model of the library at the paper's size
``bert:small``         the same at a small one
``model.onnx``         an ONNX file
``model.txt``          a graph as text; weights come from a seed
``fast/``              a folder that :func:`polygym.graphs.saved_model.save` has written
=====================  =============================================================

Weights can be large, so they are made or read when they are asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from polygym.errors import InputError
from polygym.graphs import library
from polygym.graphs.ir.graph import Graph
from polygym.graphs.ir.model import Model, random_weights
from polygym.graphs.ir.text import parse_graph
from polygym.graphs.saved_model import read_model

_LARGEST_TEXT = 64 * 2**20


@dataclass(frozen=True)
class ModelSource:
    """A graph, and how to come by its weights."""

    target: str
    graph: Graph
    make: Callable[[], Model]

    @cached_property
    def model(self) -> Model:
        """The graph with its weights."""
        return self.make()


def open_source(
    target: str, shapes: Mapping[str, Sequence[int]] | None = None, seed: int = 0
) -> ModelSource:
    """Return what a target names; ``shapes`` are for inputs that an ONNX file leaves open.

    Raises:
        InputError: there is no such model or file, or it is damaged; says what is expected.
    """
    path = Path(target)
    if target.endswith(".onnx"):
        from polygym.graphs.onnx import read

        model = read(path, shapes)
        return ModelSource(target, model.graph, lambda: model)
    name, _, size = target.partition(":")
    if name in library.NAMES:
        graph = library.graph(name, size or "paper")
        return ModelSource(target, graph, lambda: Model(graph, random_weights(graph, seed)))
    if path.is_dir():
        result = read_model(path)
        return ModelSource(target, result.graph, lambda: result)
    if path.is_file():
        graph = parse_graph(_text(path), target)
        return ModelSource(target, graph, lambda: Model(graph, random_weights(graph, seed)))
    raise InputError(
        f"expected a model of the library ({', '.join(library.NAMES)}; with :small a small one), "
        f"an ONNX file, a graph as text or a folder of `polygym graph optimize`, found {target!r}"
    )


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_TEXT:
            raise InputError(f"{path}: expected a graph as text, found a file of more than 64 MiB")
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a graph as text, found {error}") from None
