"""Diagram of cost models: what they learn from, how they score a candidate, a search that asks.

The features are those of the heaviest statement of gemm under isl's schedule and ``threads=2
tile=32``: logarithms, in which 2.32 are 4 lanes.
"""

from collections.abc import Iterator

from docs.site.diagram_shapes import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_PURPLE,
    ORANGE,
    WHITE,
    Diagram,
    arrow,
    box,
    dot,
    heading,
    line,
    lines,
    rectangle,
    text,
)

_TREES_X, _TREES_WIDTH = 552.0, 152.0


def _learning() -> Iterator[str]:
    yield heading(16, 32, "Learn from measured programs")
    rows = (
        "case 1, candidate a: 1.2 ms",
        "case 1, candidate b: 3.1 ms",
        "case 2, candidate c: 0.7 ms",
    )
    yield box(16, 46, 200, 84, "Corpus", rows, fill=LIGHT_BLUE)
    yield arrow((218, 88), (272, 88))
    yield text(245, 80, "pairs", anchor="middle", room=50)
    rows = ("a is faster than b;", "only candidates of", "one case compare")
    yield box(274, 46, 168, 84, "Order", rows, fill=LIGHT_BLUE)
    yield arrow((444, 88), (550, 88))
    yield text(497, 80, "train", anchor="middle", room=90)
    yield text(497, 106, "on features", anchor="middle", room=90)
    words = "each tree corrects", "those before it"
    yield box(_TREES_X, 46, _TREES_WIDTH, 84, "Boosting", words, fill=LIGHT_ORANGE)
    yield arrow((628, 132), (628, 182))


def _tree(x: float, y: float) -> Iterator[str]:
    root, children = (x, y), ((x - 24, y + 26), (x + 24, y + 26))
    leaves = tuple((cx + side * 12, y + 52) for cx, _ in children for side in (-1, 1))
    for child in children:
        yield line(root, child, weight=1.2)
    for number, leaf in enumerate(leaves):
        yield line(children[number // 2], leaf, weight=1.2)
    for place in (root, *children):
        yield dot(*place, 5, fill=ORANGE)
    for place in leaves:
        yield rectangle(place[0] - 5, place[1] - 4, 10, 8, fill=GREEN, stroke="none", radius=1)


def _prediction() -> Iterator[str]:
    top, height, middle = 184.0, 112.0, 240.0
    yield heading(16, 170, "Predict, without running code")
    rows = ("a program at its sizes", "a legal schedule", "a mapping:", "threads=2 tile=32")
    yield box(16, top, 150, height, "Candidate", rows, fill=GREY)
    yield arrow((168, middle), (192, middle))
    yield rectangle(194, top, 160, height, fill=WHITE)
    yield text(274, top + 22, "Planned loops", anchor="middle", bold=True, room=150)
    rows = ("for ⌊i/32⌋ threads", "  for i jam", "    for j vector", "      for k held")
    yield lines(204, top + 44, rows, mono=True, room=146)
    yield arrow((356, middle), (380, middle))
    yield rectangle(382, top, 144, height, fill=WHITE)
    yield text(454, top + 22, "Features", anchor="middle", bold=True, room=136)
    columns = (("threads", "2.00"), ("lanes", "2.32"), ("unit_strides", "0.75"), ("…", ""))
    for number, (name, value) in enumerate(columns):
        y = top + 44 + 16 * number
        yield text(390, y, name, mono=True, room=100)
        yield text(518, y, value, anchor="end", mono=True, room=40)
    yield arrow((528, middle), (550, middle))
    yield box(_TREES_X, top, _TREES_WIDTH, height, fill=LIGHT_ORANGE)
    yield text(628, top + 22, "Trees", anchor="middle", bold=True, room=140)
    yield from _tree(628, top + 40)


_SCORES = (("a", 2.1), ("b", 0.6), ("c", -1.5))


def _ranking(x: float, top: float) -> Iterator[str]:
    yield rectangle(x, top, 180, 96, fill=WHITE)
    yield text(x + 90, top + 20, "Ranking by score", anchor="middle", bold=True, room=172)
    zero = x + 84
    for number, (name, score) in enumerate(_SCORES):
        y = top + 32 + 20 * number
        left, width = zero + min(score, 0) * 24, abs(score) * 24
        yield rectangle(left, y, width, 13, fill=BLUE, stroke="none", radius=1)
        yield text(x + 12, y + 11, name, mono=True)
        yield text(x + 172, y + 11, f"{score}", anchor="end", room=30)
    yield line((zero, top + 28), (zero, top + 90), colour=INK, weight=1)


def _searching() -> Iterator[str]:
    top, middle = 346.0, 394.0
    yield heading(16, 332, "Search: measure the best, and correct the model")
    yield arrow((628, 298), (628, top - 2))
    rows = ("model of other", "programs", "+ correction")
    yield box(_TREES_X, top, _TREES_WIDTH, 96, "Score", rows, fill=LIGHT_ORANGE)
    yield arrow((550, middle), (520, middle))
    yield from _ranking(338, top)
    yield arrow((336, middle), (312, middle))
    rows = ("sixteen of the", "promising ones", "in a batch")
    yield box(180, top, 130, 96, "Measure", rows, fill=LIGHT_GREEN)
    yield arrow((178, middle), (154, middle))
    rows = ("learns what the", "model gets wrong", "on this program")
    yield box(16, top, 136, 96, "Correction", rows, fill=LIGHT_PURPLE)
    yield arrow((76, 444), (76, 462), (628, 462), (628, 444))
    words = "A difference of 1 between two scores predicts a factor of 2 between their speeds."
    yield text(16, 488, words, fill=FAINT, room=688)


def _shapes() -> Iterator[str]:
    yield from _learning()
    yield from _prediction()
    yield from _searching()


DIAGRAM = Diagram(
    "cost-models",
    "From measurements to a search: corpus, features, trees, ranking, measurement, correction",
    "Boosted trees learn from a corpus which of two candidates of one case is the faster. A "
    "candidate (program, schedule, mapping) becomes planned loops, these become features, and the "
    "trees give a score. A search ranks candidates by score, measures sixteen, and fits a "
    "correction that is added to the score.",
    504,
    tuple(_shapes()),
)
