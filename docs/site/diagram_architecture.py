"""Diagram of the layers of polygym, from the modules that all use up to the command line."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from docs.site.diagram_shapes import (
    FAINT,
    GREY,
    LARGE,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LINE,
    WIDTH,
    Diagram,
    line,
    rectangle,
    text,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Packages or modules that stand together, and what they are for."""

    names: tuple[str, ...]
    purpose: str


@dataclass(frozen=True, slots=True)
class Group:
    """Layers of one kind, from the top down: what they do together, and their colour."""

    label: tuple[str, ...]
    fill: str
    layers: tuple[tuple[Place, ...], ...]


def _layer(*places: tuple[str, str]) -> tuple[Place, ...]:
    return tuple(Place(tuple(names.split()), purpose) for names, purpose in places)


GROUPS = (
    Group(
        ("use:", "decide,", "search,", "learn"),
        LIGHT_GREEN,
        (
            _layer(("__main__", "python -m polygym")),
            _layer(("cli", "the command polygym: one module a subcommand, options, output")),
            _layer(("discovery", "registers the environments with Gymnasium")),
            _layer(("agents", "policies, networks, trainers, experiments, evaluation")),
            _layer(("graphs", "tensor graphs"), ("terms", "a language")),
            _layer(("export", "fast loops as code to link: objects, libraries, C")),
            _layer(("tc", "tensor comprehensions: define, call, differentiate, tune")),
            _layer(
                ("envs", "Gymnasium"),
                ("search", "strategies"),
                ("profiling", "hot loops"),
            ),
            _layer(("text_interface", "programs by lines of text, for language models")),
            _layer(("mdp", "episodes as values"), ("scan", "loops of projects")),
            _layer(("autoschedule", "default decisions without a search")),
        ),
    ),
    Group(
        ("run,", "measure,", "predict"),
        LIGHT_ORANGE,
        (
            _layer(("cost", "features, cost models, the limit of a program")),
            _layer(("runtime", "worker processes, clock, comparison of outputs")),
            _layer(("pictures programs rewrite transformations", "")),
        ),
    ),
    Group(
        ("compile,", "run nothing"),
        LIGHT_BLUE,
        (
            _layer(("gpu", "kernels of blocks and threads, PTX")),
            _layer(("codegen", "schedule tree, loop IR, LLVM IR, object code")),
            _layer(("mapping", "tiles, threads, vectors, registers as a value")),
            _layer(("frontend", "C regions and comprehensions become a Scop")),
            _layer(("poly", "dependences, legality, schedules, spaces, storage")),
            _layer(("ir", "Scop: domains, accesses, statement bodies, types")),
        ),
    ),
    Group(
        ("serve all",),
        GREY,
        (
            _layer(("foreign pickling ratios source_fingerprint sqlite_files", "")),
            _layer(
                (
                    "cached_hash closeable durations errors files lazy_imports lru_cache version",
                    "",
                )
            ),
        ),
    ),
)

LAYERS = tuple(
    frozenset(name for place in layer for name in place.names)
    for group in reversed(GROUPS)
    for layer in reversed(group.layers)
)
"""The names of all layers, from the bottom to the top."""

_LEFT, _RIGHT, _TOP = 118.0, WIDTH - 16.0, 58.0
_HEIGHT, _GAP, _GROUP_GAP = 28.0, 5.0, 8.0
_WIDE_NAME, _NARROW_NAME = 130.0, 94.0  # where purposes begin, in wide and in narrow places


def _place(x: float, y: float, width: float, place: Place, fill: str) -> Iterator[str]:
    names = ", ".join(place.names)
    yield rectangle(x, y, width, _HEIGHT, fill=fill, radius=5)
    if not place.purpose:
        yield text(x + 10, y + 18.5, names, bold=True, room=width - 14)
        return
    start = _WIDE_NAME if width > _RIGHT - _LEFT - 1 else _NARROW_NAME
    yield text(x + 10, y + 18.5, names, size=LARGE, bold=True, room=start - 12)
    yield text(x + start, y + 18.5, place.purpose, room=width - start - 4)


def _layer_shapes(y: float, layer: tuple[Place, ...], fill: str) -> Iterator[str]:
    width = (_RIGHT - _LEFT + _GAP) / len(layer) - _GAP
    for number, place in enumerate(layer):
        yield from _place(_LEFT + number * (width + _GAP), y, width, place, fill)


def _bracket(top: float, bottom: float, label: tuple[str, ...]) -> Iterator[str]:
    x = _LEFT - 8
    yield line((x, top), (x - 7, top), (x - 7, bottom), (x, bottom))
    base = (top + bottom) / 2 - (len(label) - 1) * LINE / 2 + 4
    for number, words in enumerate(label):
        yield text(x - 14, base + number * LINE, words, anchor="end", room=x - 22)


def _shapes() -> Iterator[str]:
    yield text(16, 30, "Layers of polygym", size=16, bold=True)
    note = "Each package imports itself and the layers below it, never a neighbour."
    yield text(16, 48, note, fill=FAINT)
    y = _TOP
    for group in GROUPS:
        top = y
        for layer in group.layers:
            yield from _layer_shapes(y, layer, group.fill)
            y += _HEIGHT + _GAP
        yield from _bracket(top, y - _GAP, group.label)
        y += _GROUP_GAP
    note = "polybench, the thirty kernels, is a package beside polygym and imports nothing of it."
    yield text(16, y + 14, note, fill=FAINT)


_COUNT = sum(len(group.layers) for group in GROUPS)

DIAGRAM = Diagram(
    "architecture",
    "The layers of polygym",
    "Packages of polygym as layers, from cached_hash at the bottom to __main__ at the top. "
    + "; ".join(
        f"{', '.join(sorted(upper))} above {', '.join(sorted(lower))}"
        for lower, upper in pairwise(LAYERS)
    )
    + ".",
    round(_TOP + _COUNT * (_HEIGHT + _GAP) + len(GROUPS) * _GROUP_GAP + 26),
    tuple(_shapes()),
)
