"""``polygym graph show``: what a model consists of, as a table, as text, as a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polygym.cli.commands.graph.options import shape_option
from polygym.cli.options.common import json_option
from polygym.cli.options.values import file_option
from polygym.cli.output.console import CommandResult, heading, print_table, write_text
from polygym.files import write_atomically

if TYPE_CHECKING:
    from polygym.graphs.costs import TypedNode
    from polygym.graphs.ir.graph import Graph


@click.command("show")
@click.argument("model", metavar="MODEL")
@shape_option
@click.option(
    "--against",
    metavar="MODEL",
    help="Another model, such as the folder of `polygym graph optimize`: say what differs.",
)
@file_option("--figure", help="Draw the graph as an SVG file; with --against, both.")
@click.option("--text", "as_text", is_flag=True, help="Print the whole graph as text.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    against: str | None,
    figure: Path | None,
    as_text: bool,
    as_json: bool,
) -> CommandResult:
    r"""Say what MODEL consists of: inputs, results, operators; draw it, or print it as text.

    With --against, the picture has both graphs: nodes that are gone, new, altered (other literals)
    or moved (other operands) have a sign and a colour, and equal regions of large graphs are one
    box. `polygym graph optimize --out` writes such a picture, too.

    \b
    Example:
      polygym graph show model.onnx --against fast --figure difference.svg
    """
    if as_text and against is not None:
        raise click.UsageError("--against: a text has one model: leave out --text")
    from polygym.graphs.costs import RooflineCosts
    from polygym.graphs.drawing.svg import comparison_svg, graph_svg
    from polygym.graphs.ir.text import graph_text
    from polygym.graphs.optimization import graph_cost, typed_nodes
    from polygym.graphs.saved_model import open_source

    graph = open_source(model, shapes).graph
    other = None if against is None else open_source(against, shapes).graph
    if figure is not None:
        titles = (model, against or "")
        svg = graph_svg(graph) if other is None else comparison_svg(graph, other, titles)
        write_atomically(figure, svg.encode())
    counts, others = _counts(typed_nodes(graph)), _counts(typed_nodes(other) if other else ())
    elements = sum(weight.tensor.elements for weight in graph.weights)
    cost = graph_cost(graph, RooflineCosts())
    if as_json:
        document: dict[str, Any] = {
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
        if other is not None:
            document["against"] = {
                "operators": others,
                "static_cost": graph_cost(other, RooflineCosts()),
                "changes": _changes(graph, other),
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
    names = sorted({**counts, **others}, key=lambda name: -counts[name])
    if other is None:
        print_table(("OPERATOR", "COUNT"), [(name, str(counts[name])) for name in names], "lr")
        return CommandResult()
    write_text(f"  {against}: {graph_cost(other, RooflineCosts()):.1f} µs")
    changes = _changes(graph, other)
    words = [f"{count} {change}" for change, count in changes.items()]
    write_text(f"  nodes: {', '.join(words) if words else 'all equal'}")
    rows = [(name, str(counts[name]), str(others[name])) for name in names]
    print_table(("OPERATOR", "COUNT", "AGAINST"), rows, "lrr")
    return CommandResult()


def _counts(nodes: Iterable[TypedNode]) -> Counter[str]:
    return Counter(str(head) for head, _, _ in nodes)


def _changes(graph: Graph, other: Graph) -> dict[str, int]:
    """Return how many nodes, weights apart, changed in each way."""
    from polygym.graphs.drawing.difference import NodeChange, graph_difference

    found = graph_difference(graph, other)
    counts = {change.value: 0 for change in NodeChange}
    nodes = [*found.before.items()]
    nodes += [item for item in found.after.items() if item[1] is NodeChange.NEW]
    for node, change in nodes:
        counts[change.value] += node.head != "weight"
    return {name: count for name, count in counts.items() if count}
