"""A model as PyTorch would run it: the yardstick of results and of times.

Every operator becomes the call of PyTorch that does the same; weights are tensors of the function,
and what is known from weights alone is computed when it is made, as :mod:`polygym.graphs.execution`
does. :func:`as_torch` returns the function; ``torch.compile`` takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polygym.errors import InputError
from polygym.graphs.ir.model import Model
from polygym.graphs.ir.type_checks import pads_of
from polygym.graphs.ir.types import NumberData, TensorType, TextData, parse_numbers
from polygym.rewrite.term import Term

__all__ = ["as_torch"]


def as_torch(model: Model) -> Callable[..., list[Any]]:
    """Return a function of tensors that returns the list of results.

    Raises:
        InputError: PyTorch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise InputError("expected PyTorch, found none: pip install 'polygym[agents]'") from None
    graph = model.graph
    calls = _TorchCalls(torch)
    known: dict[Term, Any] = {}
    steps: list[Term] = []
    for term in graph.terms():
        if not term.children or term.head in ("input", "noop"):
            continue
        if term.head == "weight":
            name = str(term.children[0].head).rpartition("@")[0]
            known[term] = torch.from_numpy(model.weights[name].copy())
        elif all(child in known for child in term.children if child.children):
            known[term] = calls.value(graph, term, known)
        else:
            steps.append(term)
    # Values are kept by number: a term is nothing that a compiler of Python can look through.
    number = {one: place for place, one in enumerate([*known, *graph.inputs, *steps])}
    constants = {number[one]: value for one, value in known.items()}
    inputs = [number[input_] for input_ in graph.inputs]
    made = [(number[step], *calls.prepared(graph, step, number)) for step in steps]
    results = [number[one] for _, one in graph.outputs]

    def run(*arguments: Any) -> list[Any]:
        values = dict(constants)
        values.update(zip(inputs, arguments, strict=True))
        for place, function, sources in made:
            values[place] = function(*[values[source] for source in sources])
        return [values[place] for place in results]

    return run


class _TorchCalls:
    """The calls of PyTorch for operators; each takes tensors alone, literals are bound."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._functional = torch.nn.functional
        self._activations = {
            "none": lambda x: x,
            "relu": torch.relu,
            "tanh": torch.tanh,
            "sigmoid": torch.sigmoid,
            "gelu": self._functional.gelu,
        }

    def value(self, graph: Any, one: Term, known: dict[Term, Any]) -> Any:
        """Return the value of a node whose children are known."""
        function, _ = self.prepared(graph, one, {})
        return function(*[known[child] for child in one.children if child.children])

    def prepared(
        self, graph: Any, one: Term, number: dict[Term, int]
    ) -> tuple[Callable[..., Any], list[int]]:
        """Return the call of a node, and where its tensors are."""
        tensors = [child for child in one.children if child.children]
        data = [graph.data(child) for child in one.children]
        literals = [part.value for part in data if isinstance(part, NumberData | TextData)]
        parts = [part for part in data if isinstance(part, TensorType)]
        function = self._call(str(one.head), literals, parts, graph.data(one))
        return function, [number.get(child, -1) for child in tensors]

    def _call(
        self, head: str, words: Sequence[Any], parts: Sequence[TensorType], data: Any
    ) -> Callable[..., Any]:
        torch, functional = self._torch, self._functional
        simple = {
            "ewadd": torch.add, "ewmul": torch.mul, "add": torch.add, "sub": torch.sub,
            "mul": torch.mul, "div": torch.div, "minimum": torch.minimum, "pow": torch.pow,
            "maximum": torch.maximum, "relu": torch.relu, "tanh": torch.tanh, "exp": torch.exp,
            "sigmoid": torch.sigmoid, "gelu": functional.gelu, "log": torch.log,
            "sqrt": torch.sqrt, "erf": torch.erf, "neg": torch.neg, "abs": torch.abs,
            "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos,
            "split0": lambda pair: pair[0], "split1": lambda pair: pair[1],
        }  # fmt: skip
        compared = {"less": torch.lt, "equal": torch.eq}
        if head in compared:
            return lambda x, y: compared[head](x, y).to(x.dtype)
        if head == "where":
            return lambda c, x, y: torch.where(c != 0, x, y)
        if head in simple:
            result: Callable[..., Any] = simple[head]
            return result
        if head.startswith("concat"):
            return lambda *all_: torch.cat(all_, words[0])
        return self._with_literals(head, words, parts, data)

    def _with_literals(
        self, head: str, words: Sequence[Any], parts: Sequence[TensorType], data: Any
    ) -> Callable[..., Any]:
        torch, functional = self._torch, self._functional
        match head:
            case "matmul":
                activation = self._activations[words[0]]
                return lambda x, y: activation(torch.matmul(x, y))
            case "conv":
                return self._convolution(words, parts)
            case "poolmax" | "poolavg":
                return self._pooling(head, words, parts[0])
            case "gelu-tanh":
                return lambda x: functional.gelu(x, approximate="tanh")
            case "clip":
                return lambda x: torch.clamp(x, words[0], words[1])
            case "leaky-relu":
                return lambda x: functional.leaky_relu(x, words[0])
            case "elu":
                return lambda x: functional.elu(x, words[0])
            case "transpose":
                order = _numbers(words[0])
                return lambda x: x.permute(order)
            case "reshape" | "expand":
                shape = data.shape
                return lambda x: x.reshape(shape) if head == "reshape" else x.expand(shape)
            case "split":
                axis, at = words
                rest = parts[0].shape[axis] - at
                return lambda x: torch.split(x, [at, rest], axis)
            case "softmax":
                return lambda x: torch.softmax(x, words[0])
            case "layer-norm":
                return lambda x, scale, bias: functional.layer_norm(
                    x, scale.shape, scale, bias, words[0]
                )
            case "reduce-sum" | "reduce-mean" | "reduce-max":
                axes, keep = _numbers(words[0]), bool(words[1])
                name = {"sum": "sum", "mean": "mean", "max": "amax"}[head.partition("-")[2]]
                reduce = getattr(torch, name)
                return lambda x: reduce(x, axes, keep)
            case "gather":
                return self._gather(words[0], parts[1].shape)
            case "slice":
                axis, start, stop, step = words
                place = (slice(None),) * axis + (slice(start, stop, step),)
                return lambda x: x[place]
            case "pad":
                return self._pad(words[0], _numbers(words[1]))
            case "cast":
                dtype = getattr(torch, words[0])
                return lambda x: x.to(dtype)
            case _:
                return self._of_kernels(head, words, parts)

    def _of_kernels(
        self, head: str, words: Sequence[Any], parts: Sequence[TensorType]
    ) -> Callable[..., Any]:
        torch, functional = self._torch, self._functional
        if head == "enlarge":
            extra = [
                (large - small) // 2
                for small, large in zip(parts[0].shape[2:], parts[1].shape[2:], strict=True)
            ]
            pads = [extra[1], extra[1], extra[0], extra[0]]
            return lambda w, _: functional.pad(w, pads)
        if head == "merge":
            many, groups = words
            size = parts[0].shape[0] // groups

            def merged(w: Any) -> Any:
                rows = []
                for group in range(groups):
                    part = w[group * size : (group + 1) * size]
                    before, after = group % many, many - 1 - group % many
                    inner = w.shape[1]
                    rows.append(functional.pad(part, [0, 0, 0, 0, before * inner, after * inner]))
                return torch.cat(rows, 0)

            return merged
        raise InputError(f"expected an operator that PyTorch has, found {head}")

    def _convolution(self, words: Sequence[Any], parts: Sequence[TensorType]) -> Callable[..., Any]:
        functional = self._functional
        stride, activation = (words[0], words[1]), self._activations[words[3]]
        image, kernel = parts
        groups = image.shape[1] // kernel.shape[1]
        size, window = image.shape[2:], kernel.shape[2:]
        top, left, bottom, right = pads_of(
            TextData(words[2]), (size[0], size[1]), (window[0], window[1]), stride
        )
        if (top, left) == (bottom, right):
            return lambda x, w: activation(
                functional.conv2d(x, w, stride=stride, padding=(top, left), groups=groups)
            )
        pads = [left, right, top, bottom]
        return lambda x, w: activation(
            functional.conv2d(functional.pad(x, pads), w, stride=stride, groups=groups)
        )

    def _pooling(self, head: str, words: Sequence[Any], image: TensorType) -> Callable[..., Any]:
        torch, functional = self._torch, self._functional
        kernel, stride = (words[0], words[1]), (words[2], words[3])
        activation = self._activations[words[5]]
        top, left, bottom, right = pads_of(
            TextData(words[4]), (image.shape[2], image.shape[3]), kernel, stride
        )
        pads = [left, right, top, bottom]
        if head == "poolmax":
            return lambda x: activation(
                functional.max_pool2d(functional.pad(x, pads, value=-torch.inf), kernel, stride)
            )
        if not any(pads):
            return lambda x: activation(functional.avg_pool2d(x, kernel, stride))
        inside = functional.pad(torch.ones(1, 1, *image.shape[2:]), pads)
        shares = functional.avg_pool2d(inside, kernel, stride)
        return lambda x: activation(
            functional.avg_pool2d(functional.pad(x, pads), kernel, stride) / shares
        )

    def _gather(self, axis: int, shape: tuple[int, ...]) -> Callable[..., Any]:
        torch = self._torch

        def gathered(table: Any, indices: Any) -> Any:
            rows = torch.index_select(table, axis, indices.reshape(-1))
            return rows.reshape(*table.shape[:axis], *shape, *table.shape[axis + 1 :])

        return gathered

    def _pad(self, value: float, pads: tuple[int, ...]) -> Callable[..., Any]:
        rank = len(pads) // 2
        inside_out = [
            pads[place + side * rank] for place in reversed(range(rank)) for side in (0, 1)
        ]
        return lambda x: self._functional.pad(x, inside_out, value=value)


def _numbers(word: Any) -> tuple[int, ...]:
    return (word,) if isinstance(word, int) else parse_numbers(word)
