"""Mapping: what is done to a schedule for the machine's sake, as a value that prints and parses.

A schedule fixes the order of the instances; a mapping decides how the loops that realise it use the
machine. Its text lists what differs from the default, which decides everything by itself::

    default                            the model decides, in one thread
    threads=2                          the same in two threads
    sequential                         the loops as the schedule has them
    tile=32x64 unroll_jam=4 parallel=static   tiles of 32 by 64, and so on

================= ==================================================================================
``threads``       how many threads parallel loops may use
``parallel``      ``dynamic`` chunks, ``static`` ones, or ``off``
``tile``          sizes of the tiles of each band, outermost member first; the last size counts for
                  further members; 1 leaves a member whole; ``off``; without it, chosen for each
                  band
``outer_tile``    sizes of a second level of tiles around the first, in tiles; ``off``
``wavefront``     ``on``: tiles of a band without a coincident member run in parallel along
                  diagonals
``diamond``       ``on``: where all tiles along a diagonal can start at once, they are shaped so
``sink``          ``on``: loops around a sequence are tiled, and their point loops moved into it
``vector_bits``   bits of a vector: ``128``, ``256``, ``512``; ``off``; without it, the machine's
``vector_copies`` how many vectors of the vector loop run together
``unroll_jam``    how many iterations of a loop around it run together
``order``         which loops of the points run innermost, ``3x2``: loop 2, and loop 3 around it
``separate``      ``on``: full tiles have loops of their own, with bounds that are known
``registers``     ``on``: what an inner loop accumulates lives in registers
``pack``          ``on``: arrays that a nest only reads, down columns by vectors, are copied
                  beforehand
``reassociate``   ``on``: sums and products of floats may be computed in another order
================= ==================================================================================

Every mapping keeps the results bit for bit, but for the last one: what is computed under it is
compared to a tolerance, and whoever reports its times has to say so.

Some entries may be others for a *nest*, the loops around a statement that it shares with others or
has alone. The nest is named by one of its statements, whatever the schedule puts together::

    threads=2 tile=32 S3:tile=16x256 S3:unroll_jam=2

Where statements share a nest what is said of each of them counts for all, and of two values for one
entry that of the statement whose name is last in the alphabet.

Five words had other names once, which files hold that were written then: ``outer``, ``vector``,
``vectors``, ``jam`` and ``hold``. They are read as what they are called now, and never printed; so
texts are compared as the mappings that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, fields
from enum import Enum
from operator import attrgetter
from typing import Any

from polygym.cached_hash import CachedHash, cache_hash
from polygym.errors import InputError
from polygym.mapping.nest_options import (
    NEST_OPTIONS,
    Nests,
    OptionValues,
    merged_options,
    nests_of,
    require_sorted,
)
from polygym.pickling import pickle_by_name

TOLERANCE = 1e-6
TOLERANCE_TEXT = f"{TOLERANCE:g} ({TOLERANCE * 100:g} in single precision)"
"""How far from the original's a result may be, relatively, where sums may be reassociated; elements
in single precision a hundred times as far (:mod:`polygym.runtime.worker.output_comparison`)."""

_MAX_THREADS = 1024
_MAX_TILE = 1 << 20
_MAX_COPIES = 16


class WorkSharing(Enum):
    """How the iterations of a parallel loop are shared out among threads."""

    DYNAMIC = "dynamic"
    STATIC = "static"
    OFF = "off"

    # Each is there once. That of its name, which Python takes, is slower than all other entries'.
    __hash__ = object.__hash__


def _sizes_for(pattern: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the sizes of a pattern for so many members; the last one counts for the rest.

    >>> _sizes_for((32, 64), 4)
    (32, 64, 64, 64)
    >>> _sizes_for((), 2)
    (1, 1)
    """
    if not pattern:
        return (1,) * count
    return (*pattern[:count], *(pattern[-1:] * (count - len(pattern))))


def _require_range(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{name}: expected {least} to {most}, found {value!r}")


@cache_hash
@pickle_by_name
@dataclass(frozen=True, slots=True)
class Mapping(CachedHash):
    """The options; the module's docstring says what each means. None leaves it to the model."""

    threads: int = 1
    parallel: WorkSharing = WorkSharing.DYNAMIC
    tile: tuple[int, ...] | None = None
    outer_tile: tuple[int, ...] = ()
    wavefront: bool = True
    diamond: bool = True
    sink: bool = True
    vector_bits: int | None = None
    vector_copies: int | None = None
    unroll_jam: int | None = None
    order: tuple[int, ...] = ()
    separate: bool = False
    registers: bool = True
    pack: bool = True
    reassociate: bool = False
    nests: Nests = ()

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        _require_range("threads", self.threads, 1, _MAX_THREADS)
        if not isinstance(self.parallel, WorkSharing):
            raise InputError(f"parallel: expected a Sharing, found {self.parallel!r}")
        for name in _FLAGS:
            found = getattr(self, name)
            if not isinstance(found, bool):
                raise InputError(f"{name}: expected True or False, found {found!r}")
        for name, sizes in (
            ("tile", () if self.tile is None else self.tile),
            ("outer_tile", self.outer_tile),
            ("order", self.order),
        ):
            if not isinstance(sizes, tuple):
                raise InputError(f"{name}: expected a tuple of numbers, found {sizes!r}")
            for size in sizes:
                _require_range(name, size, 1, _MAX_TILE)
        if len(set(self.order)) < len(self.order):
            raise InputError(f"order: expected every loop once, found {_option_text(self.order)}")
        bits = self.vector_bits
        if isinstance(bits, bool) or bits not in (None, 0, 128, 256, 512):
            raise InputError(f"vector_bits: expected 128, 256, 512 or 0 for off, found {bits!r}")
        for name, count in (("vector_copies", self.vector_copies), ("unroll_jam", self.unroll_jam)):
            if count is not None:
                _require_range(name, count, 1, _MAX_COPIES)
        if self.nests != ():
            self._check_nests()

    def _check_nests(self) -> None:
        """Refuse nests that have no meaning, or another order than that of their names."""
        require_sorted(self.nests)
        for statement, own in self.nests:
            values = dict(own)
            if None in values.values():
                raise InputError(f"{statement}: expected values, found None")
            Mapping(**values)

    def for_nest(self, statements: Iterable[str]) -> OptionValues:
        """Return the entries that are others for the nest of these statements.

        Where nothing is shared out no nest is, whatever is said of it.

        >>> parse_mapping("tile=8 S1:tile=4 S0:unroll_jam=2 S0:tile=2").of_nest(["S0", "S1"])
        (('tile', (4,)), ('unroll_jam', 2))
        """
        if not self.nests:
            return ()
        values = merged_options(self.nests, statements)
        if self.parallel is WorkSharing.OFF:
            return tuple(value for value in values if value[0] != "parallel")
        return values

    @property
    def keeps_schedule_order(self) -> bool:
        """Whether loops run as the schedule has them: only threads, and LLVM, may change that."""
        return bool(_order_values(self) == _SEQUENTIAL_ORDER)

    @property
    def only_permutes_bands(self) -> bool:
        """Whether loops run as the schedule has them, but for the order in their bands."""
        own = [entry for _, entries in self.nests for entry, _ in entries]
        if not self.order and "order" not in own:
            return False
        others = any(entry != "order" for entry in own)
        return bool(not others and _band_values(self) == _SEQUENTIAL_BANDS)

    @property
    def is_tiled(self) -> bool:
        """Whether there may be tiles."""
        return self.tile != ()

    def tile_for(self, count: int) -> tuple[int, ...] | None:
        """Return the sizes of tiles for so many members; None leaves them to the model."""
        return None if self.tile is None else _sizes_for(self.tile, count)

    def outer_tile_for(self, count: int) -> tuple[int, ...]:
        """Return the sizes of a second level of tiles, in tiles, for so many members."""
        return _sizes_for(self.outer_tile, count)

    @property
    def has_vectors(self) -> bool:
        """Whether loops may run in vectors."""
        return self.vector_bits != 0

    def vector_bits_on(self, machine: int) -> int:
        """Return the width of a vector: what is asked for, else the machine's."""
        return self.vector_bits or machine

    @property
    def forbids_jamming(self) -> bool:
        """Whether no more than one iteration of the loop around a vector may run at a time."""
        return self.unroll_jam == 1

    @property
    def is_parallel(self) -> bool:
        """Whether loops may run in several threads."""
        return self.threads > 1 and self.parallel is not WorkSharing.OFF

    @property
    def tolerance(self) -> float | None:
        """The tolerance to which outputs are compared; None is bit for bit."""
        return TOLERANCE if self.reassociate else None

    @property
    def timing_caveat(self) -> str:
        """What has to be said beside times under this mapping; "" where nothing has."""
        if not self.reassociate:
            return ""
        return (
            "sums may be reassociated: outputs are compared to a relative tolerance of "
            f"{TOLERANCE:g} ({TOLERANCE * 100:g} in single precision, more for long sums)"
        )

    @property
    def mismatch_reason(self) -> str:
        """What a wrong output is under this mapping."""
        return f"{'beyond the tolerance, or ' * self.reassociate}a defect of polygym"

    def simplification_note(self, done: Mapping | None) -> str:
        """Return what there is to say of loops made under another mapping; "" under this one.

        Loops that are out of isl's reach under a mapping are made under a simpler one.
        """
        return "" if done in (None, self) else f"out of isl's reach, made under: {done}"

    def __str__(self) -> str:
        """Return the text; :func:`parse_mapping` reads it back to an equal value."""
        if self == SEQUENTIAL_MAPPING:
            return "sequential"
        words = [
            f"{entry.name}={_option_text(getattr(self, entry.name))}"
            for entry in fields(self)
            if entry.name != "nests" and getattr(self, entry.name) != entry.default
        ]
        words += [
            f"{statement}:{entry}={_option_text(value)}"
            for statement, own in self.nests
            for entry, value in own
        ]
        return " ".join(words) or "default"


_FLAGS = tuple(entry.name for entry in fields(Mapping) if isinstance(entry.default, bool))

DEFAULT_MAPPING = Mapping()
SEQUENTIAL_MAPPING = Mapping(
    parallel=WorkSharing.OFF,
    tile=(),
    wavefront=False,
    diamond=False,
    sink=False,
    vector_bits=0,
    unroll_jam=1,
    registers=False,
    pack=False,
)
"""The loops as the schedule has them; vectorising is left to LLVM."""

_BAND_OPTIONS = tuple(
    entry.name
    for entry in fields(Mapping)
    if entry.name not in ("threads", "parallel", "reassociate", "order", "nests")
)
_band_values, _order_values = (
    attrgetter(*_BAND_OPTIONS),
    attrgetter("order", "nests", *_BAND_OPTIONS),
)
_SEQUENTIAL_BANDS, _SEQUENTIAL_ORDER = (
    _band_values(SEQUENTIAL_MAPPING),
    _order_values(SEQUENTIAL_MAPPING),
)


def parse_mapping(text: str) -> Mapping:
    """Return the mapping of a text: words apart by spaces or commas, later ones count.

    Raises:
        InputError: a word is not understood, or stands there by its former name as well.
    """
    values: dict[str, Any] = {}
    nests: dict[str, dict[str, Any]] = {}
    spelt: dict[tuple[str, str], str] = {}  # words as the text has them, by their names now
    for word in text.replace(",", " ").split():
        if word in _PRESETS:
            values = {entry.name: getattr(_PRESETS[word], entry.name) for entry in fields(Mapping)}
            nests.clear()
            continue
        key, equals, value = word.partition("=")
        statement, _, given = key.rpartition(":")
        name = FORMER_OPTIONS.get(given, given)
        known = NEST_OPTIONS if ":" in key else tuple(_OPTIONS)
        if name not in known or not equals or (":" in key and not statement.isidentifier()):
            own_words = ", ".join(f"{'S:' * (':' in key)}{entry}=..." for entry in known)
            presets = "" if ":" in key else f"{', '.join(_PRESETS)} or "
            whose = " for the nest of a statement S" if ":" in key else ""
            raise InputError(
                f"mapping: expected {presets}one of {own_words}{whose}, found {word!r}"
            )
        if spelt.setdefault((statement, name), given) != given:
            former = given if given != name else spelt[statement, name]
            raise InputError(
                f"mapping: expected {name} once, found it as {former} too, which is its former name"
            )
        read, expected = _OPTIONS[name]
        own = nests.setdefault(statement, {}) if statement else values
        try:
            own[name] = read(value)
        except (ValueError, KeyError):
            raise InputError(f"mapping: expected {expected} for {key}, found {value!r}") from None
    return Mapping(**{**values, "nests": nests_of(nests)})


_PRESETS = {"default": DEFAULT_MAPPING, "sequential": SEQUENTIAL_MAPPING}
FORMER_OPTIONS = {
    "outer": "outer_tile",
    "vector": "vector_bits",
    "vectors": "vector_copies",
    "jam": "unroll_jam",
    "hold": "registers",
}
"""Names that words had before, with those that they have now."""


def _sizes(text: str) -> tuple[int, ...]:
    return () if text == "off" else tuple(_number(part) for part in text.split("x"))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError
    return int(text)


def _bits(text: str) -> int:
    return 0 if text == "off" else _number(text)


def _flag(text: str) -> bool:
    return {"on": True, "off": False}[text]


_OPTIONS: Dictionary[str, tuple[Callable[[str], Any], str]] = {
    "threads": (_number, "a number"),
    "parallel": (WorkSharing, "dynamic, static or off"),
    "tile": (_sizes, "sizes such as 32x64, or off"),
    "outer_tile": (_sizes, "sizes such as 4x4, or off"),
    "wavefront": (_flag, "on or off"),
    "diamond": (_flag, "on or off"),
    "sink": (_flag, "on or off"),
    "vector_bits": (_bits, "128, 256, 512 or off"),
    "vector_copies": (_number, "a number"),
    "unroll_jam": (_number, "a number"),
    "order": (_sizes, "numbers of loops such as 3x2, or off"),
    "separate": (_flag, "on or off"),
    "registers": (_flag, "on or off"),
    "pack": (_flag, "on or off"),
    "reassociate": (_flag, "on or off"),
}


def _option_text(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case tuple():
            return "x".join(map(str, value)) or "off"
        case WorkSharing():
            return value.value
        case _:
            return str(value) if value else "off"
