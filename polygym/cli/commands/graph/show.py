"""``polygym graph show``: what a model consists of, as a table, as text, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from polygym.cli.answer import Answer
from polygym.cli.commands.graph.options import shape_option
from polygym.cli.options import json_option
from polygym.cli.output import heading, say
from polygym.cli.tables import print_table
from polygym.files import write_atomically


@click.command("show")
@click.argument("model")
@shape_option
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Draw it there.")
@click.option("--text", "as_text", is_flag=True, help="Print the whole graph as text.")
@json_option
def command(
    model: str,
    shapes: Mapping[str, Sequence[int]],
    svg: Path | None,
    as_text: bool,
    as_json: bool,
) -> Answer:
    """Say what MODEL consists of: inputs, results, operators; draw it, or print it as text."""
    from polygym.graphs.costs import Roofline
    from polygym.graphs.drawing.picture import picture
    from polygym.graphs.ir.text import text_of
    from polygym.graphs.optimize import cost_of, nodes_of
    from polygym.graphs.sources import open_source

    graph = open_source(model, shapes).graph
    if svg is not None:
        write_atomically(svg, picture(graph).encode())
    counts: dict[str, int] = {}
    for head, _, _ in nodes_of(graph):
        counts[str(head)] = counts.get(str(head), 0) + 1
    elements = sum(one.tensor.elements for one in graph.weights)
    cost = cost_of(graph, Roofline())
    if as_json:
        document = {
            "graph": graph.name,
            "inputs": {one.name: list(one.tensor.shape) for one in graph.signatures},
            "outputs": {name: list(graph.tensor(one).shape) for name, one in graph.outputs},
            "operators": counts,
            "weights": elements,
            "static_cost": cost,
            "text": text_of(graph) if as_text else None,
        }
        return Answer(document=document)
    if as_text:
        click.echo(text_of(graph), nl=False)
        return Answer()
    heading(graph.name)
    for one in graph.signatures:
        say(f"  input {one.name}: {one.tensor}")
    for name, result in graph.outputs:
        say(f"  result {name}: {graph.tensor(result)}")
    say(f"  {elements:,} weights; {cost:.1f} µs under the static roofline")
    rows = [(name, str(counts[name])) for name in sorted(counts, key=lambda name: -counts[name])]
    print_table(("OPERATOR", "COUNT"), rows, "lr")
    return Answer()
