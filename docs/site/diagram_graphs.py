"""Diagram of equality saturation: two products of one tensor, merged in an e-graph and extracted.

x is 16 by 1024, v and w are weights of 1024 by 16. The static costs are those of
``polygym graph optimize --costs static``: 9.8 µs for each product, 14.2 for the one of both, 1.3
for splitting its columns; ``concat2`` joins weights, which happens ahead.
"""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    FAINT,
    GREY,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_SKY,
    WHITE,
    Diagram,
    Point,
    arrow,
    box,
    heading,
    lines,
    rectangle,
    text,
)

_CHOSEN = "#00785a"


def _node(x: float, y: float, width: float, words: str, cost: str = "", fill: str = WHITE) -> str:
    """Return a node whose middle is at x and whose top is at y."""
    rows = (words, cost) if cost else (words,)
    height = 38 if cost else 26
    return box(x - width / 2, y, width, height, rows=rows, fill=fill)


def _leaf(x: float, y: float, name: str) -> str:
    return _node(x, y, 34, name, fill=GREY)


def _edge(start: Point, end: Point, colour: str = FAINT) -> str:
    weight = 1.3 if colour == FAINT else 2.2
    return arrow(start, end, colour=colour, weight=weight, head=7)


def _before(x: float) -> Iterator[str]:
    yield heading(x, 34, "Model: 19.6 µs", room=180)
    left, middle, right = x + 30, x + 88, x + 146
    for place, name in ((left, "v"), (middle, "x"), (right, "w")):
        yield _leaf(place, 62, name)
    for place in (left + 8, right - 8):
        yield _node(place, 150, 76, "matmul", "9.8 µs", LIGHT_ORANGE)
    for start, end in (
        (left, left),
        (middle - 6, left + 26),
        (middle + 6, right - 26),
        (right, right),
    ):
        yield _edge((start, 88), (end, 149))
    for place, name in ((left + 8, "y"), (right - 8, "z")):
        yield _edge((place, 188), (place, 238))
        yield text(place, 254, name, anchor="middle", bold=True)


def _class(x: float, y: float, name: str, count: int = 1) -> Iterator[str]:
    """Yield the frame of a class of nodes, whose middle is at x and whose top is at y."""
    width, height = 112.0, 48.0 * count
    yield rectangle(x - width / 2, y, width, height, fill="#f7f9fb", dashed=True, radius=10)
    yield text(x - width / 2 - 6, y + 18, name, anchor="end", bold=True)


def _egraph(x: float) -> Iterator[str]:
    yield heading(x, 34, "E-graph: equal nodes share a class", room=290)
    middle = x + 142
    chain = (
        ("c", "concat2(v, w)", "ahead: free"),
        ("m", "matmul(x, c)", "14.2 µs"),
        ("s", "split(m)", "1.3 µs"),
    )
    for number, (name, words, cost) in enumerate(chain):
        top = 50.0 + 66 * number
        yield from _class(middle, top, name)
        yield _node(middle, top + 5, 100, words, cost, LIGHT_GREEN)
        if number:
            yield _edge((middle, top - 18), (middle, top + 4), _CHOSEN)
    for side, name, weights, part in ((-1, "y", "v", "split0"), (1, "z", "w", "split1")):
        centre, top = middle + side * 72, 250.0
        yield from _class(centre, top, name, 2)
        yield _node(centre, top + 5, 100, f"{part}(s)", "free", LIGHT_GREEN)
        yield _node(centre, top + 53, 100, f"matmul(x, {weights})", "9.8 µs", LIGHT_ORANGE)
        yield _edge((middle + side * 24, 230), (middle + side * 46, 254), _CHOSEN)


def _after(x: float) -> Iterator[str]:
    yield heading(x, 34, "Extracted: 15.5 µs", room=180)
    left, middle, right = x + 22, x + 78, x + 140
    yield _leaf(left, 62, "x")
    yield _leaf(middle, 62, "v")
    yield _leaf(right, 62, "w")
    yield _node(middle + 31, 112, 92, "concat2", "ahead: free", LIGHT_GREEN)
    yield _edge((middle, 88), (middle + 14, 111))
    yield _edge((right, 88), (right - 14, 111))
    yield _node(middle + 6, 176, 78, "matmul", "14.2 µs", LIGHT_GREEN)
    yield _edge((left, 88), (middle - 20, 175))
    yield _edge((middle + 31, 150), (middle + 20, 175))
    yield _node(middle + 6, 238, 78, "split", "1.3 µs", LIGHT_GREEN)
    yield _edge((middle + 6, 214), (middle + 6, 237))
    for side, name in ((-1, "y"), (1, "z")):
        yield _edge((middle + 6 + side * 18, 276), (middle + 6 + side * 34, 302))
        yield text(middle + 6 + side * 36, 318, name, anchor="middle", bold=True)


def _pipeline(y: float) -> Iterator[str]:
    stages = (
        ("Saturate", ("rules until nothing", "is new, or a limit")),
        ("Reduce", ("fewer choices,", "same least cost")),
        ("Extract", ("integer program:", "optimal or a bound")),
        ("Compile", ("kernels, fused", "where faster")),
        ("Compare", ("both graphs, end", "to end, in turn")),
    )
    for number, (title, rows) in enumerate(stages):
        x = 16 + 140 * number
        yield box(x, y, 128, 64, title, rows, fill=LIGHT_SKY)
        if number:
            yield arrow((x - 12, y + 32), (x - 1, y + 32), head=6)


def _shapes() -> Iterator[str]:
    yield from _before(16)
    yield arrow((196, 168), (218, 168), weight=2.2)
    yield from _egraph(222)
    yield arrow((506, 168), (532, 168), weight=2.2)
    yield from _after(540)
    words = (
        "Greedy extraction looks at y alone: 9.8 is less than 14.2 + 1.3, so both products stay.",
        "The integer program counts shared nodes once: 14.2 + 1.3 is less than 9.8 + 9.8.",
    )
    yield lines(16, 386, words, room=688)
    yield from _pipeline(420)


DIAGRAM = Diagram(
    "graphs",
    "Two products of one tensor: model, e-graph, extracted graph, and the pipeline",
    "The model multiplies x by the weights v and w for 9.8 µs each. In the e-graph each product is "
    "equal to a part of one split product of x with both weights. Extraction counts the shared "
    "product once and takes 15.5 µs instead of 19.6. Pipeline: saturate, reduce, extract, compile, "
    "compare end to end.",
    500,
    tuple(_shapes()),
)
