"""Pictures of graphs as SVG: boxes in layers, and what rewriting changed in colour.

A box says what a node does (operator and literals, as in the text of the graph), its shape, the
weights that it takes, small and grey, and the name of the result that it is. The edge on its left
says what kind of operator that is. Weights are no boxes of their own: there are as many of them as
of products, and each is named where it is used.

Of two graphs a sign and a colour say what changed: - gone, + new, ≠ altered, ⇄ moved. In large ones
a region that is the same in both is one box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from html import escape

from polygym.errors import printable
from polygym.graphs.drawing.difference import NodeChange, graph_difference
from polygym.graphs.drawing.layout import GraphLayout, Point, layered_layout
from polygym.graphs.drawing.regions import equal_regions, region_lines, with_neighbours
from polygym.graphs.ir.graph import Graph, signature_of
from polygym.pictures import style
from polygym.rewrite.term import Term

MAX_NODES = 400
"""How many nodes are drawn at most; a note says how many there are."""

_LARGE, _NORMAL, _SMALL = 15.0, 11.0, 8.5
# How wide letters are, in parts of their size; those of bold texts are a tenth wider.
_WIDE, _NARROW, _LETTER = frozenset("mwMWOQ@%—+≠⇄"), frozenset("fijlrtI .,:;'|()-"), 0.62
_MAX_LABEL, _MAX_TITLE, _MAX_WEIGHTS = 34, 80, 5
_MARGIN, _STRIPE, _TITLE = 18.0, 4.0, 30.0

_REGIONS_FROM = 60
"""Nodes of both graphs together from which on equal regions are one box."""

_BARE_FROM = 150
"""Nodes of a graph from which on the neighbours of what changed are in regions, too."""

_UNCHANGED, _REGION = (style.BACKGROUND, style.GRID), (style.BAND, style.GRID)
_COLOURS = {
    NodeChange.GONE: ("#fde3e5", style.HIGHLIGHT),
    NodeChange.NEW: ("#dff3e6", style.STATEMENTS[2]),
    NodeChange.ALTERED: ("#fff1d6", style.CURRENT),
    NodeChange.MOVED: ("#e3effa", style.STATEMENTS[0]),
}
_SIGNS = {
    NodeChange.GONE: "-",
    NodeChange.NEW: "+",
    NodeChange.ALTERED: "≠",
    NodeChange.MOVED: "⇄",
}

_KINDS = (
    (frozenset({"matmul", "conv"}), style.STATEMENTS[0]),
    (frozenset({"poolmax", "poolavg"}), style.STATEMENTS[3]),
    (frozenset({"input"}), style.VERTEX),
    (
        frozenset("transpose reshape split split0 split1 enlarge merge slice pad expand".split()),
        style.RAY,
    ),
)
_OTHER_KIND = style.CURRENT


def graph_svg(
    graph: Graph, changed: Collection[Term] = (), title: str = "", max_nodes: int = MAX_NODES
) -> str:
    """Return a graph as SVG, some nodes of it in colour."""
    changes = dict.fromkeys(changed, NodeChange.NEW)
    drawing = _Drawing.of(graph, changes, title or graph.name, max_nodes, has_regions=False)
    return _document([drawing])


def comparison_svg(
    before: Graph,
    after: Graph,
    titles: tuple[str, str] = ("before", "after"),
    max_nodes: int = MAX_NODES,
) -> str:
    """Return two graphs side by side as SVG, with what changed in colour.

    Of large graphs what is nearest to that is drawn.
    """
    difference = graph_difference(before, after)
    sides = ((before, difference.before), (after, difference.after))
    is_large = sum(len(_drawn_nodes(graph)) for graph, _ in sides) >= _REGIONS_FROM
    return _document(
        [
            _Drawing.of(graph, changes, title, max_nodes, has_regions=is_large)
            for (graph, changes), title in zip(sides, titles, strict=True)
        ]
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """A node, or a region by its first node: lines of text, each with a size and a colour."""

    node: Term
    lines: tuple[tuple[str, float, str], ...]
    colours: tuple[str, str] = _UNCHANGED

    @property
    def width(self) -> float:
        """Width of the longest line, with margins."""
        return max(_width(text, size) for text, size, _ in self.lines) + _STRIPE + 14

    @property
    def height(self) -> float:
        """How high all lines are."""
        return sum(size * 1.3 for _, size, _ in self.lines) + 7


@dataclass(frozen=True, slots=True)
class _Drawing:
    """One graph, laid out."""

    title: str
    note: str
    counts: tuple[tuple[NodeChange, int], ...]
    boxes: tuple[_Box, ...]
    layout: GraphLayout

    @staticmethod
    def of(
        graph: Graph,
        changes: Mapping[Term, NodeChange],
        title: str,
        max_nodes: int,
        *,
        has_regions: bool,
    ) -> _Drawing:
        """Lay a graph out, or the part of it that is nearest to what changed."""
        nodes = _drawn_nodes(graph)
        changed = frozenset(node for node in nodes if node in changes)
        regions: list[tuple[Term, ...]] = []
        if has_regions:
            ends = {node for node in nodes if node.head == "input"}
            ends |= {node for _, node in graph.outputs}
            near = with_neighbours(nodes, changed) if len(nodes) < _BARE_FROM else set(changed)
            regions = equal_regions(nodes, near | ends)
        first = {node: region[0] for region in regions for node in region}
        boxes_of = {region[0]: _region_box(region) for region in regions}
        links = _links(nodes, first)
        heads = list(TopologicalSorter(links).static_order()) if regions else nodes
        shown = _nearest_to_change(heads, changed, max_nodes, links)
        boxes = tuple(
            boxes_of.get(node) or _box(graph, node, changes.get(node))
            for node in heads
            if node in shown
        )
        place = {box.node: number for number, box in enumerate(boxes)}
        edges = [
            (place[source], place[box.node])
            for box in boxes
            for source in links[box.node]
            if source in place
        ]
        note = f"{len(nodes)} nodes"
        if len(boxes) < len(heads):
            note = f"{len(boxes)} of {note} are drawn"
        found = Counter(changes[node] for node in changed)
        counts = tuple((change, found[change]) for change in NodeChange if found[change])
        layout = layered_layout([(box.width, box.height) for box in boxes], edges)
        return _Drawing(title, note, counts, boxes, layout)

    @property
    def width(self) -> float:
        """How wide the drawing is, its title included."""
        texts = [self.note, *(_legend(*entry) for entry in self.counts)]
        return max(
            self.layout.width,
            _width(_truncate(self.title, _MAX_TITLE), _LARGE),
            sum(_width(text, _NORMAL) + _LEGEND_GAP for text in texts),
        )

    def elements(self, left: float) -> Iterator[str]:
        """Yield the elements of the drawing."""
        title = _truncate(self.title, _MAX_TITLE)
        yield _text(left, _MARGIN + _LARGE, title, _LARGE, style.INK, "bold")
        y = _MARGIN + _LARGE + 16
        yield _text(left, y, self.note, _NORMAL, style.FAINT_INK)
        x = left + _width(self.note, _NORMAL) + _LEGEND_GAP
        for change, count in self.counts:
            text, (fill, edge) = _legend(change, count), _COLOURS[change]
            width = _width(text, _NORMAL)
            size = f'width="{width + 8:.1f}" height="{_NORMAL + 6:.1f}"'
            place = f'x="{x - 4:.1f}" y="{y - _NORMAL - 1:.1f}"'
            yield f'<rect {place} {size} rx="2" fill="{fill}" style="stroke: {edge}"/>'
            yield _text(x, y, text, _NORMAL, style.INK)
            x += width + _LEGEND_GAP
        top = _MARGIN + _TITLE + 14
        yield f'<g transform="translate({left:.1f} {top:.1f})">'
        for line in self.layout.lines:
            yield f'<path d="{_path(line)}"/>'
        for box, middle in zip(self.boxes, self.layout.middles, strict=True):
            yield from _box_elements(box, middle)
        yield "</g>"


_LEGEND_GAP = 16.0


def _legend(change: NodeChange, count: int) -> str:
    return f"{_SIGNS[change]} {count} {change.value}"


def _box_elements(box: _Box, middle: Point) -> Iterator[str]:
    x, y = middle[0] - box.width / 2, middle[1] - box.height / 2
    fill, edge = box.colours
    size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
    stripe = next((colour for kind, colour in _KINDS if box.node.head in kind), _OTHER_KIND)
    if box.colours == _REGION:
        stripe = style.GRID
    yield f'<rect x="{x:.1f}" y="{y:.1f}" {size} rx="2" fill="{fill}" stroke="{edge}"/>'
    yield (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_STRIPE}" height="{box.height:.1f}" '
        f'fill="{stripe}"/>'
    )
    y += 3
    for text, letters, colour in box.lines:
        y += letters * 1.3
        weight = "bold" if text == box.lines[0][0] and letters == _NORMAL else ""
        yield _text(x + _STRIPE + 6, y - letters * 0.3, text, letters, colour, weight)


def _drawn_nodes(graph: Graph) -> list[Term]:
    """Return the nodes that get boxes: all but weights, and inputs that nothing takes."""
    nodes = [term for term in graph.nodes() if term.head != "weight"]
    used = set(nodes)
    return [*(input_ for input_ in graph.inputs if input_ not in used), *nodes]


def _region_box(region: tuple[Term, ...]) -> _Box:
    title, operators = region_lines(region)
    lines = ((title, _NORMAL, style.FAINT_INK), (operators, _SMALL, style.FAINT_INK))
    return _Box(region[0], lines, _REGION)


def _box(graph: Graph, node: Term, change: NodeChange | None) -> _Box:
    words = [str(node.head)] if change is None else [_SIGNS[change], str(node.head)]
    weights: list[str] = []
    if node.head == "input":
        signature = signature_of(node)
        words.append(signature.name)
    else:
        for child in node.children:
            if child.head == "weight" and child.children:
                signature = signature_of(child)
                weights.append(f"{_truncate(signature.name)} {signature.tensor}")
            elif not child.children:
                words.append(str(child.head))
    hidden = len(weights) - _MAX_WEIGHTS
    if hidden > 0:
        weights[_MAX_WEIGHTS:] = [f"and {hidden} more"]
    lines = [(_truncate(" ".join(words)), _NORMAL, style.INK)]
    lines.append((str(graph.data(node)), _NORMAL - 1.5, style.FAINT_INK))
    lines += [(text, _SMALL, style.FAINT_INK) for text in weights]
    lines += [
        (_truncate(f"→ {name}"), _NORMAL - 1.5, style.POINT)
        for name, result in graph.outputs
        if result is node
    ]
    return _Box(node, tuple(lines), _UNCHANGED if change is None else _COLOURS[change])


def _links(nodes: Sequence[Term], first: Mapping[Term, Term]) -> dict[Term, list[Term]]:
    """Return what every box takes operands from; ``first`` has the node that a region goes by."""
    known = set(nodes)
    links: dict[Term, dict[Term, None]] = {first.get(node, node): {} for node in nodes}
    for node in nodes:
        target = first.get(node, node)
        for child in node.children:
            source = first.get(child, child)
            if child in known and source is not target:
                links[target][source] = None
    return {target: list(sources) for target, sources in links.items()}


def _nearest_to_change(
    nodes: Sequence[Term],
    changed: frozenset[Term],
    max_nodes: int,
    links: Mapping[Term, Sequence[Term]],
) -> set[Term]:
    """Return the nodes with the fewest edges between them and what changed, else the first ones."""
    if len(nodes) <= max_nodes or not changed:
        return set(nodes[:max_nodes])
    beside: dict[Term, list[Term]] = {node: [] for node in nodes}
    for term in nodes:
        for child in links[term]:
            beside[term].append(child)
            beside[child].append(term)
    result = dict.fromkeys([node for node in nodes if node in changed][:max_nodes])
    waiting = list(result)
    for term in waiting:
        for other in beside[term]:
            if other not in result and len(result) < max_nodes:
                result[other] = None
                waiting.append(other)
    return set(result)


def _document(drawings: Sequence[_Drawing]) -> str:
    lefts = [_MARGIN]
    for drawing in drawings:
        lefts.append(lefts[-1] + drawing.width + 3 * _MARGIN)
    width = lefts[-1] - 2 * _MARGIN
    height = max(drawing.layout.height for drawing in drawings) + _TITLE + 14 + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="DejaVu Sans, Verdana, sans-serif">',
        f"<style>path {{ fill: none; stroke: {style.ARROW}; stroke-width: 1; "
        "stroke-opacity: 0.7 }</style>",
        f'<rect width="100%" height="100%" fill="{style.BACKGROUND}"/>',
    ]
    for drawing, left in zip(drawings, lefts, strict=False):
        lines.extend(drawing.elements(left))
    return "\n".join([*lines, "</svg>", ""])


def _text(x: float, y: float, text: str, size: float, colour: str, weight: str = "") -> str:
    shown = escape(text)
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{bold}>{shown}</text>'
    )


def _width(text: str, size: float) -> float:
    """Return about how wide a text is, rather too much than too little."""
    wide, narrow = (sum(letter in letters for letter in text) for letters in (_WIDE, _NARROW))
    letters = _LETTER * len(text) + 0.36 * wide - 0.18 * narrow
    return letters * size * (1.1 if size >= _NORMAL else 1.0)


def _truncate(text: str, limit: int = _MAX_LABEL) -> str:
    """Return a text as one line of printable letters, not too long."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _path(line: Sequence[Point]) -> str:
    """Return a line whose corners come in pairs: straight between those, curved to the next."""
    (x, y), *rest = line
    parts = [f"M{x:.1f} {y:.1f}"]
    for place, (to_x, to_y) in enumerate(rest):
        if place % 2 == 1 and to_x != x:
            middle = (y + to_y) / 2
            parts.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        else:
            parts.append(f"L{to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return "".join(parts)
