"""Print what rewriting gains under static costs on modules with biases, and on long sums.

    PYTHONPATH=. python -m benchmarks.bias_study                # modules and sums
    PYTHONPATH=. python -m benchmarks.bias_study --models       # whole models as well: minutes
    PYTHONPATH=. python -m benchmarks.bias_study --k-multi 1

A module is exported by PyTorch as it is, with biases, and with batch normalisation after its
convolutions, and read back. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from benchmarks.bias_study.modules import MODULES, with_batch_norm
from benchmarks.bias_study.sums import SUMS
from benchmarks.bias_study.transformer import Encoder
from polygym.graphs.costs import RooflineCosts
from polygym.graphs.ir.graph import Graph, Model
from polygym.graphs.onnx import read
from polygym.graphs.optimization import OptimizationOptions, OptimizationResult, optimize_graph
from polygym.rewrite.egraph import SaturationLimits

FORMS = ("without", "with", "batch norm")


def module_in_form(name: str, form: str) -> tuple[nn.Module, tuple[int, ...]] | None:
    """Return a module in one of the forms and the shape of its input, None if it has no such."""
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make(form == "with")
    if form == "batch norm":
        if not any(isinstance(layer, nn.Conv2d) for layer in module.modules()):
            return None
        module = with_batch_norm(module)
    return module.eval(), shape


def exported(module: nn.Module, example: torch.Tensor) -> Model:
    """Return a module as polygym reads what PyTorch exports."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model.onnx"
        torch.onnx.export(module, (example,), path, dynamo=False, opset_version=17)
        return read(path)


def optimized(graph: Graph, k_multi: int) -> OptimizationResult:
    """Return the cheapest graph under static costs."""
    options = OptimizationOptions(SaturationLimits(seconds=60, k_multi=k_multi))
    return optimize_graph(graph, RooflineCosts(), options)


def gain(result: OptimizationResult) -> float:
    """Return the part of the cost that is saved."""
    return 1 - result.cost / result.initial_cost


def _row(name: str, result: OptimizationResult) -> str:
    saved = f"{gain(result):.1%}"
    cells = [
        name,
        f"{result.initial_cost:.1f}",
        f"{result.cost:.1f}",
        saved,
        result.status,
        str(result.saturation.nodes),
        f"{result.cpu_seconds.total:.2f}",
        f"{result.seconds:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


_HEAD = "before | after | gain | proved | nodes | processor, s | wall, s |"
_LINE = "|---" * 8 + "|"


def print_modules(names: Sequence[str], k_multi: int) -> None:
    """Print the table of modules, a row for each form."""
    print(f"| module, biases | {_HEAD}\n{_LINE}")
    for name in names:
        for form in FORMS:
            made = module_in_form(name, form)
            if made is not None:
                module, shape = made
                result = optimized(exported(module, torch.randn(shape)).graph, k_multi)
                print(_row(f"{name}, {form}", result), flush=True)


def print_sums(k_multi: int) -> None:
    """Print the table of sums."""
    print(f"\n| sum | {_HEAD}\n{_LINE}")
    for name, graph in SUMS.items():
        print(_row(name, optimized(graph, k_multi)), flush=True)


def print_models(k_multi: int) -> None:
    """Print the table of encoders as BERT has them, of base size and of more layers."""
    print(f"\n| model | {_HEAD}\n{_LINE}")
    for name, layers, width in (
        ("12 layers, 768 wide", 12, 768),
        ("26 layers, 64 wide", 26, 64),
        ("125 layers, 64 wide", 125, 64),
    ):
        torch.manual_seed(0)
        encoder = Encoder(layers, width).eval()
        graph = exported(encoder, torch.randint(0, 1000, (1, 128))).graph
        print(_row(f"{name}, {len(graph.nodes())} nodes", optimized(graph, k_multi)), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", default=list(MODULES), metavar="MODULE")
    parser.add_argument("--models", action="store_true", help="also encoders of 12 to 125 layers")
    parser.add_argument("--k-multi", type=int, default=2, metavar="N")
    arguments = parser.parse_args()
    print_modules(arguments.modules, arguments.k_multi)
    print_sums(arguments.k_multi)
    if arguments.models:
        print_models(arguments.k_multi)
    return 0


if __name__ == "__main__":
    sys.exit(main())
