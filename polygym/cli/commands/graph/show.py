"""``polygym graph show``: what a model consists of, as a table, as text, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from polygym.cli.commands.graph.options import shape_option
from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_option
from polygym.cli.output.console import CommandResult, heading, print_table, write_text
from polygym.files import write_atomically


@click.command("show")
@click.argument("model", metavar="MODEL")
@shape_option
@file_option("--figure", help="Draw the graph as an SVG file.")
@click.option("--text", "as_text", is_flag=True, help="Print the whole graph as text.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    figure: Path | None,
    as_text: bool,
    as_json: bool,
) -> CommandResult:
    """Say what MODEL consists of: inputs, results, operators; draw it, or print it as text."""
    from polygym.graphs.costs import RooflineCosts
    from polygym.graphs.drawing.svg import graph_svg
    from polygym.graphs.ir.text import graph_text
    from polygym.graphs.optimization import graph_cost, typed_nodes
    from polygym.graphs.saved_model import open_source

    graph = open_source(model, shapes).graph
    if figure is not None:
        write_atomically(figure, graph_svg(graph).encode())
    counts: dict[str, int] = {}
    for head, _, _ in typed_nodes(graph):
        counts[str(head)] = counts.get(str(head), 0) + 1
    elements = sum(weight.tensor.elements for weight in graph.weights)
    cost = graph_cost(graph, RooflineCosts())
    if as_json:
        document = {
            "graph": graph.name,
            "inputs": {
                signature.name: list(signature.tensor.shape) for signature in graph.signatures
            },
            "outputs": {name: list(graph.tensor(term).shape) for name, term in graph.outputs},
            "operators": counts,
            "weights": elements,
            "static_cost": cost,
            "text": graph_text(graph) if as_text else None,
        }
        return CommandResult(document=document)
    if as_text:
        click.echo(graph_text(graph), nl=False)
        return CommandResult()
    heading(graph.name)
    for signature in graph.signatures:
        write_text(f"  input {signature.name}: {signature.tensor}")
    for name, result in graph.outputs:
        write_text(f"  result {name}: {graph.tensor(result)}")
    write_text(f"  {elements:,} weights; {cost:.1f} µs under the static roofline")
    rows = [(name, str(counts[name])) for name in sorted(counts, key=lambda name: -counts[name])]
    print_table(("OPERATOR", "COUNT"), rows, "lr")
    return CommandResult()
