"""An optimised model as a folder: its graph as text, its weights, and what was found about it.

``graph.txt`` is what :mod:`polygym.graphs.ir.text` writes, ``weights.npz`` the arrays by name,
``report.json`` the report, with the threads to run under, and ``sums.json`` a check sum of each of
them. :func:`load` gives something that is called as a function. Nothing in the folder is run on
trust: what is not as it was written is refused, text is parsed, arrays are read without pickles,
code is compiled here.

Model sources: the name of a library model, or a file, becomes a graph with weights.

=====================  =============================================================
``bert``               a model of the library at the paper's size
``bert:small``         the same at a small one
``bert:bias``          the same with biases
``random:7``           a random network from a seed
``model.onnx``         an ONNX file
``model.txt``          a graph as text; weights come from a seed
``fast/``              a folder that :func:`polygym.graphs.saved_model.save` has written
=====================  =============================================================

Weights can be large, so they are made or read when they are asked for.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polygym.errors import InputError
from polygym.files import atomic_file, create_folder, write_atomically
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.ir.text import graph_text, parse_graph

if TYPE_CHECKING:
    from polygym.graphs.execution import CompiledModel
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from polygym.graphs import library
from polygym.graphs.ir.graph import random_weights

_GRAPH, _WEIGHTS, _REPORT, _CHECKSUMS = "graph.txt", "weights.npz", "report.json", "sums.json"
_PICTURE = "graphs.svg"


class SavedModel:
    """A model that compiles itself when it is called first.

    Arguments are arrays, NumPy's or PyTorch's, in the order of the graph's inputs; one result comes
    as it is, several as a list.
    """

    def __init__(self, model: Model, report: Mapping[str, Any], threads: int) -> None:
        """Keep the parts."""
        self.model, self.report, self.threads = model, dict(report), threads
        self._compiled: CompiledModel | None = None

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.model.graph

    def __repr__(self) -> str:
        """Say what it takes."""
        inputs = ", ".join(
            f"{signature.name}: {signature.tensor}" for signature in self.graph.signatures
        )
        return f"<model {self.graph.name}({inputs}), {self.threads} threads>"

    def compiled(self) -> CompiledModel:
        """Return the machine code, compiled at the first call."""
        if self._compiled is None:
            from polygym.graphs.execution import compile_model

            self._compiled = compile_model(self.model, threads=self.threads)
        return self._compiled

    def __call__(self, *arrays: Any) -> Any:
        """Compute.

        Raises:
            InputError: the arguments do not fit the inputs.
        """
        return self.compiled()(*arrays)


def save(
    folder: Path | str, model: Model, report: Mapping[str, Any], before: Graph | None = None
) -> None:
    """Write a model into a folder, which is made if there is none.

    With the graph ``before`` it was optimised, a picture shows the difference.

    Every file is whole or not there. The sums are taken away first and come last: so a folder in
    which something was written half way is refused.
    """
    place = Path(folder)
    create_folder(place)
    (place / _CHECKSUMS).unlink(missing_ok=True)
    write_atomically(place / _GRAPH, graph_text(model.graph).encode())
    needed = {signature.name: model.weights[signature.name] for signature in model.graph.weights}
    with atomic_file(place / _WEIGHTS) as beside, beside.open("wb") as file:
        # Names may be anything; places in a zip file are numbers.
        names = np.array(json.dumps(list(needed)))
        arrays: dict[str, Any] = {str(place): array for place, array in enumerate(needed.values())}
        np.savez(file, names=names, **arrays)
    write_atomically(place / _REPORT, (json.dumps(dict(report), indent=1) + "\n").encode())
    sums = {name: _checksum(_bytes(place / name)) for name in (_GRAPH, _WEIGHTS, _REPORT)}
    write_atomically(place / _CHECKSUMS, (json.dumps(sums, indent=1) + "\n").encode())
    if before is not None:
        from polygym.graphs.drawing.svg import comparison_svg

        write_atomically(place / _PICTURE, comparison_svg(before, model.graph).encode())


def load(folder: Path | str, threads: int | None = None) -> SavedModel:
    """Return the model of a folder; ``threads`` instead of those that it was optimised for.

    Raises:
        InputError: the folder, or a file in it, is missing or damaged; says which.
    """
    place = Path(folder)
    report = _report(place)
    usual = report.get("threads", 1)
    if threads is None:
        threads = usual if isinstance(usual, int) and usual > 0 else 1
    return SavedModel(read_model(place), report, threads)


def read_model(place: Path) -> Model:
    """Return the graph and the weights of a folder.

    Raises:
        InputError: a file is missing or damaged.
    """
    text = _verified_bytes(place, _GRAPH)
    try:
        graph = parse_graph(text.decode(), str(place / _GRAPH))
    except UnicodeDecodeError as error:
        raise InputError(f"{place / _GRAPH}: expected a graph as text, found {error}") from None
    path = place / _WEIGHTS
    try:
        with np.load(io.BytesIO(_verified_bytes(place, _WEIGHTS)), allow_pickle=False) as file:
            names = json.loads(str(file["names"]))
            weights = {name: file[str(number)] for number, name in enumerate(names)}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: expected arrays by name, found {error}") from None
    return Model(graph, weights)


def _report(place: Path) -> dict[str, Any]:
    if not place.is_dir():
        raise InputError(f"{place}: expected a folder that `polygym graph optimize` has written")
    path = place / _REPORT
    try:
        result = json.loads(_verified_bytes(place, _REPORT))
    except ValueError as error:
        raise InputError(f"{path}: expected a report as JSON, found {error}") from None
    if not isinstance(result, dict):
        raise InputError(f"{path}: expected a report, found {type(result).__name__}")
    return result


def _verified_bytes(place: Path, name: str) -> bytes:
    """Return what a file holds, which must be what was written."""
    contents = _bytes(place / name)
    try:
        sums = json.loads(_bytes(place / _CHECKSUMS))
    except ValueError as error:
        raise InputError(
            f"{place / _CHECKSUMS}: expected check sums as JSON, found {error}"
        ) from None
    expected = sums.get(name) if isinstance(sums, dict) else None
    if expected is None:
        raise InputError(f"{place / _CHECKSUMS}: expected a check sum of {name}, found none")
    if (actual := _checksum(contents)) != expected:
        raise InputError(
            f"{place / name}: expected the file as it was written, found that it was changed or "
            f"damaged since (its sum is {actual[:12]}, expected {str(expected)[:12]}): write it "
            "again with `polygym graph optimize … --out`"
        )
    return contents


def _checksum(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: expected a file, found {error.strerror}") from None


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
    if library.is_network_text(target):
        graph = library.graph_of_text(target)
        return ModelSource(target, graph, lambda: Model(graph, random_weights(graph, seed)))
    if path.is_dir():
        result = read_model(path)
        return ModelSource(target, result.graph, lambda: result)
    if path.is_file():
        graph = parse_graph(_text(path), target)
        return ModelSource(target, graph, lambda: Model(graph, random_weights(graph, seed)))
    raise InputError(
        f"expected a model of the library ({', '.join(library.NAMES)}; with :small a small one, "
        f"with :bias one with biases; random:SEED), an ONNX file, a graph as text or a folder of "
        f"`polygym graph optimize`, found {target!r}"
    )


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_TEXT:
            raise InputError(f"{path}: expected a graph as text, found a file of more than 64 MiB")
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: expected a graph as text, found {error}") from None
