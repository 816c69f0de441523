"""Command ``polygym graph``: whole models as tensor graphs; one file a subcommand.

``optimize``, ``tune``, ``show``, ``run``, ``export``, ``bench``, ``rules`` and ``extract`` are the
subcommands, imported when they are called; they share ``options``.
"""

import click

from polygym.cli.group import LazyGroup

__all__ = ["command"]

_COMMANDS = {
    "optimize": "Find the cheapest graph that is equal to a model's.",
    "tune": "Find the fastest form of every kernel of a model.",
    "show": "Say what a model consists of; draw it.",
    "run": "Run a model, and say where its time goes.",
    "export": "Write a model as a C library or an ONNX file.",
    "bench": "Run models beside PyTorch and onnxruntime.",
    "rules": "List rules, check those of a file, or find them anew.",
    "extract": "Extract the cheapest terms of e-graphs in JSON.",
}

_HELP = """Optimise whole models: graphs of tensor operators, by rules that keep what they compute.

MODEL is one of the library (bert, nasnet-a, nasrnn, resnext50, inception-v3, vgg19, squeezenet;
with :small after it a small one), an ONNX file, a graph as text, or a folder that `polygym graph
optimize` has written.

Equality saturation applies all rules at once, to an e-graph that holds all equal graphs; of these
the cheapest is taken, by an integer program. Costs are times of kernels on this machine, measured
once and kept; --costs static takes a roofline instead, the same everywhere.

\b
Examples:
  polygym graph optimize nasrnn --costs static
  polygym graph optimize model.onnx --out fast
                                     then: polygym.graphs.load("fast")(x)
  polygym graph tune fast --threads 2
                                     faster from then on, same results
  polygym graph show bert:small --figure bert.svg
  polygym graph run model.onnx       results, and times by operator
  polygym graph export fast --out lib
                                     a C library without Python
  polygym graph bench squeezenet --against torch,onnxruntime
  polygym graph rules --check mine.rules
"""


@click.group("graph", cls=LazyGroup, package=__name__, summaries=_COMMANDS, help=_HELP)
def command() -> None:
    """Hold the commands."""
