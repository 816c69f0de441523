"""Pictures of graphs as SVG: boxes in layers, and what rewriting changed in colour.

A box says what a node does (operator and literals, as in the text of the graph), its shape, the
weights that it takes, small and grey, and the name of the result that it is. The edge on its left
says what kind of operator that is. Weights are no boxes of their own: there are as many of them as
of products, and each is named where it is used.

Difference of a graph after rewriting: the nodes that only one of the two graphs has.

A term holds all that it is computed from, so whatever comes after a change is another term, and
comparing terms alone would call nearly everything changed. Here two nodes correspond as well when
they do the same (operator, literals, tensors known ahead, shape) and

- they give a result of the same name, or
- are taken in the same place by nodes that correspond, or
- take nodes that correspond, and are alone in doing the same with them, or
- are alone in their graphs in doing the same with the same weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from polygym.errors import printable
from polygym.graphs.drawing.layout import GraphLayout, Point, layered_layout
from polygym.graphs.ir.graph import Graph, signature_of
from polygym.graphs.operators.types import TensorType
from polygym.pictures import style
from polygym.rewrite.term import Term

_NodeKey: TypeAlias = tuple[Hashable, ...]


def changed_nodes(before: Graph, after: Graph) -> tuple[frozenset[Term], frozenset[Term]]:
    """Return the nodes of one graph that nothing in the other corresponds to, of each.

    >>> from polygym.graphs.ir.build import concat, graph_input, matmul, relu, split, tanh, weight
    >>> x, v, w = graph_input("x", 2, 3), weight("v", 3, 4), weight("w", 3, 5)
    >>> first, second = split(1, 4, matmul(x, concat(1, [v, w])))
    >>> one = Graph.of("g", relu(matmul(x, v)), tanh(matmul(x, w)))
    >>> other = Graph.of("g", relu(first), tanh(second))
    >>> for nodes in changed_nodes(one, other):
    ...     print(*sorted(str(node.head) for node in nodes))
    matmul matmul
    concat2 matmul split split0 split1
    """
    pairs = _Correspondence(before, after)
    for (_, term), (_, other) in zip(before.outputs, after.outputs, strict=False):
        pairs.add(term, other)
    pairs.add_by_weights()
    pairs.add_by_what_is_in_both()
    return (
        frozenset(pairs.left.nodes.keys() - pairs.partners.keys()),
        frozenset(pairs.right.nodes.keys() - set(pairs.partners.values())),
    )


class _GraphIndex:
    """A graph, what its nodes do, and what takes them."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node: _node_key(graph, node) for node in graph.nodes()}
        self.takers: dict[Term, list[Term]] = defaultdict(list)
        for term in self.nodes:
            for child in dict.fromkeys(term.children):
                self.takers[child].append(term)


class _Correspondence:
    """Nodes of two graphs that correspond."""

    def __init__(self, before: Graph, after: Graph) -> None:
        self.left, self.right = _GraphIndex(before), _GraphIndex(after)
        self.partners = {term: term for term in self.left.nodes if term in self.right.nodes}
        self._taken = set(self.partners)

    def add(self, one: Term, other: Term) -> None:
        """Take two nodes for the same if they do the same, and go on from there."""
        waiting = [(one, other)]
        while waiting:
            one, other = waiting.pop()
            if one in self.partners or other in self._taken:
                continue
            if self.left.nodes.get(one) is None or self.left.nodes[one] != self.right.nodes.get(
                other
            ):
                continue
            self.partners[one] = other
            self._taken.add(other)
            waiting.extend(zip(one.children, other.children, strict=True))
            waiting.extend(self._takers_alike(one, other))

    def add_by_weights(self) -> None:
        """Take nodes for the same that do what nothing else does with a weight."""
        left, right = (self._by_weights(side) for side in (self.left, self.right))
        for kind, nodes in left.items():
            others = right.get(kind, [])
            if len(nodes) == len(others) == 1:
                self.add(nodes[0], others[0])

    def add_by_what_is_in_both(self) -> None:
        """Take nodes for the same that are alone in what they do with one and the same node."""
        for term in [one for one, other in self.partners.items() if one is other]:
            for pair in self._takers_alike(term, term):
                self.add(*pair)

    def _takers_alike(self, one: Term, other: Term) -> list[tuple[Term, Term]]:
        kinds: dict[_NodeKey, tuple[list[Term], list[Term]]] = defaultdict(lambda: ([], []))
        for taker in self.left.takers[one]:
            if taker not in self.partners:
                kinds[self.left.nodes[taker]][0].append(taker)
        for taker in self.right.takers[other]:
            if taker not in self._taken:
                kinds[self.right.nodes[taker]][1].append(taker)
        return [
            (some[0], others[0]) for some, others in kinds.values() if len(some) == len(others) == 1
        ]

    def _by_weights(self, side: _GraphIndex) -> dict[_NodeKey, list[Term]]:
        terms: dict[_NodeKey, list[Term]] = defaultdict(list)
        for term, kind in side.nodes.items():
            if any(child.head == "weight" for child in term.children):
                terms[kind].append(term)
        return terms


def _node_key(graph: Graph, node: Term) -> _NodeKey:
    """Return what a node does: all but the tensors that come from inputs."""

    def is_fixed(child: Term) -> bool:
        data = graph.data(child)
        return not child.children or (isinstance(data, TensorType) and data.constant)

    fixed = tuple(child if is_fixed(child) else None for child in node.children)
    return (node.head, fixed, graph.data(node))


MAX_NODES = 400
"""How many nodes are drawn at most; a note says how many there are."""

_LARGE, _NORMAL, _SMALL = 15.0, 11.0, 8.5
# How wide letters are, in parts of their size; those of bold texts are a tenth wider.
_WIDE, _NARROW, _LETTER = frozenset("mwMWOQ@%—"), frozenset("fijlrtI .,:;'|()-"), 0.62
_MAX_LABEL, _MAX_TITLE, _MAX_WEIGHTS = 34, 80, 5
_MARGIN, _STRIPE, _TITLE = 18.0, 4.0, 30.0

_REMOVED, _ADDED = ("#fde3e5", style.HIGHLIGHT), ("#dff3e6", style.STATEMENTS[2])
_UNCHANGED = (style.BACKGROUND, style.GRID)

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
    drawing = _Drawing.of(graph, frozenset(changed), title or graph.name, _ADDED, max_nodes)
    return _document([drawing])


def comparison_svg(
    before: Graph,
    after: Graph,
    titles: tuple[str, str] = ("before", "after"),
    max_nodes: int = MAX_NODES,
) -> str:
    """Return two graphs side by side as SVG, with the nodes in colour that only one of them has.

    Of large graphs what is nearest to these is drawn.
    """
    gone, new = changed_nodes(before, after)
    return _document(
        [
            _Drawing.of(before, gone, titles[0], _REMOVED, max_nodes),
            _Drawing.of(after, new, titles[1], _ADDED, max_nodes),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Box:
    """A node that is drawn: lines of text, each with a size and a colour."""

    node: Term
    lines: tuple[tuple[str, float, str], ...]

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
    boxes: tuple[_Box, ...]
    changed: frozenset[Term]
    colours: tuple[str, str]
    layout: GraphLayout

    @staticmethod
    def of(
        graph: Graph, changed: frozenset[Term], title: str, colours: tuple[str, str], max_nodes: int
    ) -> _Drawing:
        """Lay a graph out, or the part of it that is nearest to what changed."""
        nodes = [term for term in graph.nodes() if term.head != "weight"]
        used = set(nodes)
        nodes = [*(input_ for input_ in graph.inputs if input_ not in used), *nodes]
        shown = _nearest_to_change(nodes, changed, max_nodes)
        boxes = tuple(_box(graph, node) for node in nodes if node in shown)
        place = {box.node: number for number, box in enumerate(boxes)}
        edges = [
            (place[child], place[box.node])
            for box in boxes
            for child in dict.fromkeys(box.node.children)
            if child in place
        ]
        note = f"{len(nodes)} nodes"
        if len(boxes) < len(nodes):
            note = f"{len(boxes)} of {note} are drawn"
        if changed:
            note += f", {len(changed)} in colour"
        layout = layered_layout([(box.width, box.height) for box in boxes], edges)
        return _Drawing(title, note, boxes, changed, colours, layout)

    @property
    def width(self) -> float:
        """How wide the drawing is, its title included."""
        return max(
            self.layout.width,
            _width(_truncate(self.title, _MAX_TITLE), _LARGE),
            _width(self.note, _NORMAL),
        )

    def elements(self, left: float) -> Iterator[str]:
        """Yield the elements of the drawing."""
        title = _truncate(self.title, _MAX_TITLE)
        yield _text(left, _MARGIN + _LARGE, title, _LARGE, style.INK, "bold")
        yield _text(left, _MARGIN + _LARGE + 16, self.note, _NORMAL, style.FAINT_INK)
        top = _MARGIN + _TITLE + 14
        yield f'<g transform="translate({left:.1f} {top:.1f})">'
        for line in self.layout.lines:
            yield f'<path d="{_path(line)}"/>'
        for box, middle in zip(self.boxes, self.layout.middles, strict=True):
            yield from self._box_elements(box, middle)
        yield "</g>"

    def _box_elements(self, box: _Box, middle: Point) -> Iterator[str]:
        x, y = middle[0] - box.width / 2, middle[1] - box.height / 2
        fill, edge = self.colours if box.node in self.changed else _UNCHANGED
        size = f'width="{box.width:.1f}" height="{box.height:.1f}"'
        stripe = next((colour for kind, colour in _KINDS if box.node.head in kind), _OTHER_KIND)
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


def _box(graph: Graph, node: Term) -> _Box:
    words = [str(node.head)]
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
    return _Box(node, tuple(lines))


def _nearest_to_change(
    nodes: Sequence[Term], changed: frozenset[Term], max_nodes: int
) -> set[Term]:
    """Return the nodes with the fewest edges between them and what changed, else the first ones."""
    if len(nodes) <= max_nodes or not changed:
        return set(nodes[:max_nodes])
    known = set(nodes)
    beside: dict[Term, list[Term]] = {node: [] for node in nodes}
    for term in nodes:
        for child in term.children:
            if child in known:
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
