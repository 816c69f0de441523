"""Mapping: what is done to a schedule for the machine's sake, as a value that prints and parses.

A schedule fixes the order of the instances; a mapping decides how the loops that realise it use the
machine. Its text lists what differs from the default, which decides everything by itself::

    default                            the model decides, in one thread
    threads=2                          the same in two threads
    sequential                         the loops as the schedule has them
    tile=32x64 jam=4 parallel=static   tiles of 32 by 64, and so on

=============  ==================================================================================
``threads``    how many threads parallel loops may use
``parallel``   ``dynamic`` chunks, ``static`` ones, or ``off``
``tile``       sizes of the tiles of each band, outermost member first; the last size counts for
               further members; 1 leaves a member whole; ``off``; without it, chosen for each band
``outer``      sizes of a second level of tiles around the first, in tiles; ``off``
``wavefront``  ``on``: tiles of a band without a coincident member run in parallel along diagonals
``diamond``    ``on``: where all tiles along a diagonal can start at once, they are shaped so
``sink``       ``on``: loops around a sequence are tiled, and their point loops moved into it
``vector``     bits of a vector: ``128``, ``256``, ``512``; ``off``; without it, the machine's
``vectors``    how many vectors of the vector loop run together
``jam``        how many iterations of a loop around it run together
``separate``   ``on``: full tiles have loops of their own, with bounds that are known
``hold``       ``on``: what an inner loop accumulates lives in registers
``pack``       ``on``: arrays that a nest only reads, down columns by vectors, are copied beforehand
``reassociate`` ``on``: sums and products of floats may be computed in another order
=============  ==================================================================================

Every mapping keeps the results bit for bit, but for the last one: what is computed under it is
compared to a tolerance, and whoever reports its times has to say so.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from polygym.errors import InputError

TOLERANCE = 1e-6
TOLERANCES = f"{TOLERANCE:g} ({TOLERANCE * 100:g} in single precision)"
"""How far from the original's a result may be, relatively, where sums may be reassociated; elements
in single precision a hundred times as far (:mod:`polygym.measure.worker.compare`)."""

_MOST_THREADS = 1024
_LARGEST_TILE = 1 << 20
_MOST_COPIES = 16


class Sharing(Enum):
    """How the iterations of a parallel loop are shared out among threads."""

    DYNAMIC = "dynamic"
    STATIC = "static"
    OFF = "off"


def _within(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{name}: expected {least} to {most}, found {value!r}")


@dataclass(frozen=True, slots=True)
class Mapping:
    """The options; the module's docstring says what each means. None leaves it to the model."""

    threads: int = 1
    parallel: Sharing = Sharing.DYNAMIC
    tile: tuple[int, ...] | None = None
    outer: tuple[int, ...] = ()
    wavefront: bool = True
    diamond: bool = True
    sink: bool = True
    vector: int | None = None
    vectors: int | None = None
    jam: int | None = None
    separate: bool = False
    hold: bool = True
    pack: bool = True
    reassociate: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        _within("threads", self.threads, 1, _MOST_THREADS)
        if not isinstance(self.parallel, Sharing):
            raise InputError(f"parallel: expected a Sharing, found {self.parallel!r}")
        for name in ("wavefront", "diamond", "sink", "separate", "hold", "pack", "reassociate"):
            if not isinstance(found := getattr(self, name), bool):
                raise InputError(f"{name}: expected True or False, found {found!r}")
        for name, sizes in (
            ("tile", () if self.tile is None else self.tile),
            ("outer", self.outer),
        ):
            if not isinstance(sizes, tuple):
                raise InputError(f"{name}: expected a tuple of sizes, found {sizes!r}")
            for size in sizes:
                _within(name, size, 1, _LARGEST_TILE)
        if isinstance(self.vector, bool) or self.vector not in (None, 0, 128, 256, 512):
            raise InputError(f"vector: expected 128, 256, 512 or 0 for off, found {self.vector!r}")
        for name, count in (("vectors", self.vectors), ("jam", self.jam)):
            if count is not None:
                _within(name, count, 1, _MOST_COPIES)

    @property
    def leaves_order(self) -> bool:
        """Whether loops run as the schedule has them: only threads, and LLVM, may change that."""
        alone = replace(self, threads=1, parallel=Sharing.OFF, reassociate=False)
        return alone == SEQUENTIAL

    @property
    def shares(self) -> bool:
        """Whether loops may run in several threads."""
        return self.threads > 1 and self.parallel is not Sharing.OFF

    @property
    def tolerance(self) -> float | None:
        """The tolerance to which outputs are compared; None is bit for bit."""
        return TOLERANCE if self.reassociate else None

    @property
    def caveat(self) -> str:
        """What has to be said beside times under this mapping; "" where nothing has."""
        if not self.reassociate:
            return ""
        return (
            "sums may be reassociated: outputs are compared to a relative tolerance of "
            f"{TOLERANCE:g} ({TOLERANCE * 100:g} in single precision, more for long sums)"
        )

    @property
    def blame(self) -> str:
        """What a wrong output is under this mapping."""
        return f"{'beyond the tolerance, or ' * self.reassociate}a defect of polygym"

    def simplified(self, done: Mapping | None) -> str:
        """Return what there is to say of loops made under another mapping; "" under this one.

        Loops that are out of isl's reach under a mapping are made under a simpler one.
        """
        return "" if done in (None, self) else f"out of isl's reach, made under: {done}"

    def __str__(self) -> str:
        """Return the text; :func:`parse_mapping` reads it back to an equal value."""
        if self == SEQUENTIAL:
            return "sequential"
        words = [
            f"{entry.name}={_printed(getattr(self, entry.name))}"
            for entry in fields(self)
            if getattr(self, entry.name) != entry.default
        ]
        return " ".join(words) or "default"


DEFAULT = Mapping()
SEQUENTIAL = Mapping(
    parallel=Sharing.OFF,
    tile=(),
    wavefront=False,
    diamond=False,
    sink=False,
    vector=0,
    jam=1,
    hold=False,
    pack=False,
)
"""The loops as the schedule has them; vectorising is left to LLVM."""


def parse_mapping(text: str) -> Mapping:
    """Return the mapping of a text: words apart by spaces or commas, later ones count.

    Raises:
        InputError: a word is not understood.
    """
    values: dict[str, Any] = {}
    for word in text.replace(",", " ").split():
        if word in _PRESETS:
            values = {entry.name: getattr(_PRESETS[word], entry.name) for entry in fields(Mapping)}
            continue
        name, equals, value = word.partition("=")
        if name not in _READERS or not equals:
            raise InputError(
                f"mapping: expected {', '.join(_PRESETS)} or one of "
                f"{', '.join(f'{known}=...' for known in _READERS)}, found {word!r}"
            )
        try:
            values[name] = _READERS[name](value)
        except (ValueError, KeyError):
            raise InputError(
                f"mapping: expected {_EXPECTED[name]} for {name}, found {value!r}"
            ) from None
    return Mapping(**values)


_PRESETS = {"default": DEFAULT, "sequential": SEQUENTIAL}


def _sizes(text: str) -> tuple[int, ...]:
    return () if text == "off" else tuple(_number(part) for part in text.split("x"))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _bits(text: str) -> int:
    return 0 if text == "off" else _number(text)


def _switch(text: str) -> bool:
    return {"on": True, "off": False}[text]


_READERS: Dictionary[str, Callable[[str], Any]] = {
    "threads": _number,
    "parallel": Sharing,
    "tile": _sizes,
    "outer": _sizes,
    "wavefront": _switch,
    "diamond": _switch,
    "sink": _switch,
    "vector": _bits,
    "vectors": _number,
    "jam": _number,
    "separate": _switch,
    "hold": _switch,
    "pack": _switch,
    "reassociate": _switch,
}
_EXPECTED = {
    "threads": "a number",
    "parallel": "dynamic, static or off",
    "tile": "sizes such as 32x64, or off",
    "outer": "sizes such as 4x4, or off",
    "wavefront": "on or off",
    "diamond": "on or off",
    "sink": "on or off",
    "vector": "128, 256, 512 or off",
    "vectors": "a number",
    "jam": "a number",
    "separate": "on or off",
    "hold": "on or off",
    "pack": "on or off",
    "reassociate": "on or off",
}


def _printed(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case tuple():
            return "x".join(map(str, value)) or "off"
        case Sharing():
            return value.value
        case _:
            return str(value) if value else "off"
