"""A module of PyTorch as a graph: traced on examples, written as ONNX, and read.

Tracing follows the example: branches on values of tensors are taken as they were there. Where it
does not come through, PyTorch's newer exporter is tried, if its package onnxscript is there.
"""

from __future__ import annotations

import importlib.util
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.errors import InputError
from polygym.files import temporary_folder
from polygym.graphs.export.plan import c_name
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.onnx import read
from polygym.graphs.onnx.format import onnx_module
from polygym.graphs.pytorch.structure import (
    Structure,
    bound_arguments,
    call_bound,
    structure_of,
    torch_package,
)

_OPSET = 18


@dataclass(frozen=True, slots=True)
class ExportedModule:
    """A module as a graph: the structures of its arguments and results, and the results themselves.

    ``inputs`` says for each input of the graph which tensor of the arguments it is, ``outputs`` for
    each tensor of the results which output of the graph. ``is_branching`` says that the module made
    decisions by tensors, which the graph makes as for the example.
    """

    model: Model
    arguments: Structure
    results: Structure
    tensors: tuple[Any, ...]
    expected: tuple[Any, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    is_branching: bool


def export_module(
    module: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> ExportedModule:
    """Return the graph of a module.

    Raises:
        InputError: the module trains, does not run on the example, or does not become a graph.
    """
    torch = torch_package()
    onnx_module()
    title = type(module).__name__
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"module: expected a torch.nn.Module, found {title}")
    for name, part in module.named_modules():
        if part.training:
            raise InputError(
                f"{title}: expected a module for inference, found {name or title} in training "
                "mode: call .eval() first"
            )
    bound = bound_arguments(module, arguments, keywords)
    taken, tensors = structure_of(bound, "x")
    with torch.no_grad():
        value = call_bound(module, bound)
    given, expected = structure_of(value, "y")
    if not expected:
        raise InputError(f"{title}: expected tensors as results, found {type(value).__name__}")
    flat = _flat_module(torch, module, taken)
    names = [leaf.name for leaf in taken.tensors]
    titles = [f"{leaf.name}{'.out' * (leaf.name in names)}" for leaf in given.tensors]
    with temporary_folder() as folder:
        path = folder / f"{title}.onnx"
        is_branching = _write(torch, flat, tuple(tensors), names, titles, path)
        try:
            read_model = read(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), title)) from None
    graph = Graph(c_name(title), read_model.graph.inputs, read_model.graph.outputs)
    model = Model(graph, read_model.weights)
    for part in graph.signatures:
        leaf = taken.tensors[names.index(part.name)]
        if str(leaf.dtype).removeprefix("torch.") != part.tensor.dtype:
            raise InputError(
                f"{title}: {leaf.name}: expected {part.tensor.dtype}, found {leaf.dtype}: convert "
                "the module and its inputs"
            )
    return ExportedModule(
        model,
        taken,
        given,
        tuple(tensors),
        tuple(expected),
        tuple(names.index(part.name) for part in model.graph.signatures),
        tuple([name for name, _ in model.graph.outputs].index(title) for title in titles),
        is_branching,
    )


def _flat_module(torch: Any, module: Any, taken: Structure) -> Any:
    """Return a module of tensors in a row around one of structures."""

    class Flat(torch.nn.Module):  # type: ignore[misc]
        """Tensors in, tensors out."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *tensors: Any) -> tuple[Any, ...]:
            result = call_bound(self.inner, taken.together(tensors))
            return tuple(structure_of(result, "y")[1])

    return Flat().eval()


def _write(
    torch: Any,
    flat: Any,
    tensors: tuple[Any, ...],
    names: Sequence[str],
    titles: Sequence[str],
    path: Path,
) -> bool:
    """Write a module as an ONNX file by tracing, or by the newer exporter.

    Returns whether decisions were traced that the values of tensors may change.
    """
    asked: dict[str, Any] = {
        "input_names": list(names),
        "output_names": list(titles),
        "opset_version": _OPSET,
    }
    problems = []
    ways = [False, True] if importlib.util.find_spec("onnxscript") else [False]
    for is_new in ways:
        try:
            with _traceable(torch, not is_new) as noted:
                torch.onnx.export(flat, tensors, str(path), dynamo=is_new, **asked)
            return any(issubclass(note.category, torch.jit.TracerWarning) for note in noted)
        except Exception as error:  # whatever the module, or PyTorch, raises
            problems.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}")
    more = "" if len(ways) > 1 else "; its newer exporter needs the package onnxscript"
    raise InputError(
        f"{type(flat.inner).__name__}: expected a module that PyTorch writes as ONNX, found none: "
        f"{'; '.join(problems)}{more}"
    )


@contextmanager
def _traceable(torch: Any, is_traced: bool) -> Iterator[list[warnings.WarningMessage]]:
    """Have functions be written as ONNX has them, and PyTorch silent; yield its warnings.

    Fused attention of whole layers has no operator.
    """
    layers = torch.backends.mha
    is_fused = layers.get_fastpath_enabled()
    layers.set_fastpath_enabled(False)
    silence = io.StringIO()
    try:
        with (
            warnings.catch_warnings(record=True) as noted,
            torch.no_grad(),
            redirect_stdout(silence),
            _written_out(torch) if is_traced else nullcontext(),
        ):
            warnings.simplefilter("always")
            yield noted
    finally:
        layers.set_fastpath_enabled(is_fused)


def _written_out(torch: Any) -> Any:
    """Return a mode in which functions that tracing does not write are called as others.

    Tracing makes tensors of flags, which attention itself refuses; differences of neighbours have
    no operator.
    """
    attention = torch.nn.functional.scaled_dot_product_attention

    def plain_attention(*arguments: Any, **keywords: Any) -> Any:
        values = list(arguments)
        if len(values) > _CAUSAL:
            values[_CAUSAL] = bool(values[_CAUSAL])
        if "is_causal" in keywords:
            keywords["is_causal"] = bool(keywords["is_causal"])
        return attention(*values, **keywords)

    def differences(
        x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None
    ) -> Any:
        x = torch.cat([part for part in (prepend, x, append) if part is not None], dim)
        for _ in range(n):
            left = x.narrow(dim, 0, x.shape[dim] - 1)
            right = x.narrow(dim, 1, x.shape[dim] - 1)
            x = right ^ left if x.dtype == torch.bool else right - left
        return x

    others = {
        attention: plain_attention,
        torch.diff: differences,
        torch.Tensor.diff: differences,
    }

    class WrittenOut(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        """Calls of these functions are those of others."""

        def __torch_function__(
            self, function: Any, _: Any, arguments: Any = (), keywords: Any = None
        ) -> Any:
            return others.get(function, function)(*arguments, **(keywords or {}))

    return WrittenOut()


_CAUSAL = 5
"""Place of the argument ``is_causal``."""
