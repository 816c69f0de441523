"""A module of PyTorch that was optimised and compiled: called with the module's own arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.graphs.benchmark import TOLERANCE, time_interleaved
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.execution import CompiledModel, compile_model
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.measured_costs import PlanCosts
from polygym.graphs.optimization import (
    AnyCosts,
    OptimizationOptions,
    OptimizationResult,
    optimize_graph,
    result_summary,
)
from polygym.graphs.pytorch.exporter import ExportedModule, export_module
from polygym.graphs.pytorch.structure import bound_arguments, expect_arguments, run_module
from polygym.graphs.saved_model import save
from polygym.rewrite.egraph import SaturationLimits

_HALF_TOLERANCE = 1e-2
_K_MULTI = {"static": 2, "measured": 1}


class CompiledModule:
    """A compiled module: it takes what the module takes, of the shapes of the example.

    ``graph`` is the optimised graph, ``result`` what the optimisation found, ``report`` the same as
    values of JSON. Gradients do not flow through it.
    """

    def __init__(
        self,
        module: Any,
        exported: ExportedModule,
        result: OptimizationResult,
        report: Mapping[str, Any],
        compiled: CompiledModel,
    ) -> None:
        """Keep the parts."""
        self.result, self.report = result, dict(report)
        self.model = Model(result.after, exported.model.weights)
        self._title = type(module).__name__
        self._module, self._exported, self._compiled = module, exported, compiled

    @property
    def graph(self) -> Graph:
        """The optimised graph."""
        return self.model.graph

    def __repr__(self) -> str:
        """Say what it takes."""
        taken = ", ".join(
            f"{leaf.name}: {list(leaf.shape or ())}" for leaf in self._exported.arguments.tensors
        )
        return f"<compiled {self._title}({taken}) of {len(self._compiled.steps)} steps>"

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Compute; the result has the structure of the module's.

        Raises:
            InputError: the arguments are not as in the example.
        """
        bound = bound_arguments(self._module, arguments, keywords)
        tensors = expect_arguments(self._title, bound, self._exported.arguments)
        made = self._run(tensors)
        return self._exported.results.together(made)

    def _run(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the tensors of the results."""
        given = [tensors[number] for number in self._exported.inputs]
        made = self._compiled(*given)
        results = made if isinstance(made, list) else [made]
        return [_as_tensor(results[number]) for number in self._exported.outputs]

    def save(self, folder: Path | str) -> None:
        """Write graph, weights, report and the picture of both graphs into a folder.

        ``polygym.graphs.load`` reads it, and commands of ``polygym graph`` take it. What it loads
        takes tensors in the order of ``graph.signatures``.
        """
        save(folder, self.model, self.report, self.result.before)

    def expect_equal(self) -> float:
        """Compare results for the example with the module's; return the largest difference.

        Where the module makes decisions by tensors, it is run on other numbers, too.

        Raises:
            InputError: they differ; says which, and by how much.
        """
        exported = self._exported
        worst = self._expect_results(exported.tensors, exported.expected)
        if not exported.is_branching:
            return worst
        others = [_other_numbers(tensor) for tensor in exported.tensors]
        try:
            expected = run_module(self._module, exported.arguments, others)
        except Exception:  # numbers that the module itself refuses
            return worst
        try:
            return max(worst, self._expect_results(others, expected))
        except InputError as error:
            raise InputError(
                f"{error}. The module decides by values of tensors, and the graph as for the "
                "example: torch.where takes both ways"
            ) from None

    def _expect_results(self, tensors: Sequence[Any], expected: Sequence[Any]) -> float:
        made = self._run(tensors)
        leaves = self._exported.results.tensors
        return max(
            _difference(f"{self._title}: {leaf.name}", one, other)
            for leaf, one, other in zip(leaves, expected, made, strict=True)
        )


def compile(
    module: Any,
    example_inputs: Any,
    example_keywords: Mapping[str, Any] | None = None,
    *,
    costs: str | AnyCosts = "measured",
    threads: int = 1,
    time_limit: float = 60.0,
    compare: bool = True,
) -> CompiledModule:
    """Optimise a module of PyTorch and compile it; return what is called in its place.

    ``example_inputs`` is a tensor or a tuple of arguments, ``example_keywords`` has those by name.
    Their shapes, and values that are no tensors, are those of every later call. Arguments and
    results may be nested in tuples, lists and dictionaries.

    ``costs`` are ``"measured"``, times of kernels on this machine, which are kept between calls,
    or ``"static"``, a roofline. With measured ones both graphs run end to end, and the faster one
    stays. The search of equal graphs takes ``time_limit`` seconds at most. ``compare`` runs the
    result once and compares it with the module: up to 1e-4 of the largest number, 1e-2 in half
    precision, and exactly for integers.

    >>> import torch
    >>> layers = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
    >>> x = torch.ones(2, 8)
    >>> fast = compile(layers, x, costs="static")
    >>> torch.allclose(fast(x), layers(x), atol=1e-5)
    True

    Raises:
        InputError: the module is in training mode, does not become a graph, or its graph computes
            something else.
    """
    arguments = example_inputs if isinstance(example_inputs, tuple | list) else (example_inputs,)
    chosen = _costs(costs, threads)
    exported = export_module(module, arguments, example_keywords or {})
    graph = exported.model.graph
    kind = "measured" if isinstance(chosen, PlanCosts) else "static"
    limits = SaturationLimits(seconds=time_limit, k_multi=_K_MULTI[kind])
    result = optimize_graph(graph, chosen, OptimizationOptions(limits))
    compiled = compile_model(Model(result.after, exported.model.weights), threads)
    report: dict[str, Any] = {"model": type(module).__name__, "threads": threads}
    if result.is_changed and kind == "measured":
        result, compiled, report["end_to_end"] = _faster(exported, result, compiled, threads)
    report |= result_summary(result, chosen)
    made = CompiledModule(module, exported, result, report, compiled)
    if compare:
        made.report["error"] = made.expect_equal()
    return made


def _costs(costs: str | AnyCosts, threads: int) -> AnyCosts:
    if not isinstance(costs, str):
        return costs
    if costs not in _K_MULTI:
        raise InputError(f"costs: expected {' or '.join(_K_MULTI)}, found {costs!r}")
    return RooflineCosts() if costs == "static" else PlanCosts.of_user(threads)


def _faster(
    exported: ExportedModule, result: OptimizationResult, compiled: CompiledModel, threads: int
) -> tuple[OptimizationResult, CompiledModel, dict[str, Any]]:
    """Run both graphs in turn, and return the faster one."""
    before = compile_model(exported.model, threads)
    given = [exported.tensors[number] for number in exported.inputs]
    times = time_interleaved({"before": lambda: before(*given), "after": lambda: compiled(*given)})
    pairs = zip(times["before"].samples, times["after"].samples, strict=True)
    ratios = sorted(old / new for old, new in pairs)
    summary = {
        "before_seconds": times["before"].median,
        "after_seconds": times["after"].median,
        "speedup": float(np.median(ratios)),
        "kept": float(np.median(ratios)) >= 1.0,
    }
    if summary["kept"]:
        return result, compiled, summary
    return replace(result, after=result.before), before, summary


def _other_numbers(tensor: Any) -> Any:
    """Return a tensor of the same numbers in another order, with the other sign; integers stay."""
    return -tensor.flip(*range(tensor.dim())) if tensor.dtype.is_floating_point else tensor


def _as_tensor(value: Any) -> Any:
    import torch

    return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.asarray(value))


def _difference(place: str, expected: Any, found: Any) -> float:
    """Return the largest difference, as a part of the largest number."""
    import torch

    pair = (expected, found)
    if found.dtype != expected.dtype or found.shape != expected.shape:
        texts = [f"{tensor.dtype} of shape {tuple(tensor.shape)}" for tensor in pair]
        raise InputError(f"{place}: expected {texts[0]} as the module gives, found {texts[1]}")
    if not expected.numel():
        return 0.0
    if not expected.dtype.is_floating_point:
        wrong = int((expected != found).sum())
        if wrong:
            raise InputError(
                f"{place}: expected the numbers of the module, found {wrong} others among "
                f"{expected.numel()}"
            )
        return 0.0
    one, other = (tensor.detach().to(torch.float64) for tensor in pair)
    finite = one.isfinite()
    if not torch.equal(one[~finite].nan_to_num(0.5), other[~finite].nan_to_num(0.5)):
        raise InputError(f"{place}: expected NaN and infinities where the module has them")
    if not bool(other[finite].isfinite().all()):
        raise InputError(f"{place}: expected finite numbers where the module has them")
    scale = float(one[finite].abs().max()) if finite.any() else 0.0
    gap = float((one[finite] - other[finite]).abs().max()) if finite.any() else 0.0
    error = gap / (scale or 1.0)
    limit = _HALF_TOLERANCE if expected.element_size() == 2 else TOLERANCE
    if error > limit:
        raise InputError(
            f"{place}: expected the module's numbers up to {limit:g} of the largest, found a "
            f"difference of {error:.2g}: compare=False leaves the comparison out"
        )
    return error
