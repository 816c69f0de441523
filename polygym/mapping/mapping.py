"""The mapping of a schedule to the machine, as a value that prints and parses.

A schedule fixes the order of the instances; a mapping decides how the loops that realise it use the
machine. Its text lists what differs from the default, which decides everything by itself::

    default                            the model decides, in one thread
    threads=2                          the same in two threads
    sequential                         the loops as the schedule has them
    tile=32x64 unroll_jam=4 parallel=static   tiles of 32 by 64, and so on

The options are the rows of :data:`polygym.mapping.knobs.KNOBS`; here stand their defaults. Every
mapping keeps the results bit for bit, except ``reassociate=on``: results under it are compared to a
tolerance, and a report of its times has to state that.

Some options may have other values for a *nest*, the loops around a statement that it shares with
others or has alone. The nest is named by one of its statements::

    threads=2 tile=32 S3:tile=16x256 S3:unroll_jam=2

Where statements share a nest the options of each of them count for all. Of two values for one
option that of the statement whose name is last in the alphabet counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from polygym.cached_hash import CachedHash, cache_hash
from polygym.errors import InputError
from polygym.mapping.knob_domains import WorkSharing as WorkSharing
from polygym.mapping.knobs import KNOB_NAMED, KNOBS
from polygym.pickling import pickle_by_name

if TYPE_CHECKING:  # a process that runs code needs mappings, and no programs
    from polygym.ir.scop import Scop

OptionValues: TypeAlias = tuple[tuple[str, Any], ...]
"""Options by name, with their values, in the order of :data:`NEST_OPTIONS`."""

Nests: TypeAlias = tuple[tuple[str, OptionValues], ...]
"""Options by statement, in the order of the names."""

TOLERANCE = 1e-6
TOLERANCE_TEXT = f"{TOLERANCE:g} ({TOLERANCE * 100:g} in single precision)"
"""How far from the original's a result may be, relatively, where sums may be reassociated; elements
in single precision a hundred times as far (:mod:`polygym.runtime.worker.output_comparison`)."""


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


@cache_hash
@pickle_by_name
@dataclass(frozen=True, slots=True)
class Mapping(CachedHash):
    """The options with their defaults. None leaves one to the model."""

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
    scalar_replacement: bool = True
    pack: bool = True
    reassociate: bool = False
    nests: Nests = ()

    def __post_init__(self) -> None:
        """Refuse values that an option does not have."""
        for knob in KNOBS:
            knob.domain.check(knob.name, getattr(self, knob.name))
        if self.nests != ():
            self._check_nests()

    def _check_nests(self) -> None:
        """Refuse nests that have no meaning, or another order than that of their names."""
        _require_sorted(self.nests)
        for statement, own in self.nests:
            values = dict(own)
            if None in values.values():
                raise InputError(f"{statement}: expected values, found None")
            Mapping(**values)

    def for_nest(self, statements: Iterable[str]) -> OptionValues:
        """Return the entries that are others for the nest of these statements.

        >>> parse_mapping("tile=8 S1:tile=4 S0:unroll_jam=2 S0:tile=2").for_nest(["S0", "S1"])
        (('tile', (4,)), ('unroll_jam', 2))
        """
        if not self.nests:
            return ()
        names = frozenset(statements)
        return _sorted_values(
            {knob: value for name, own in self.nests if name in names for knob, value in own}
        )

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
        """Whether loops may run in several threads, those of some nest at least.

        >>> texts = ("parallel=off", "parallel=off S0:parallel=static", "S0:parallel=off")
        >>> [parse_mapping(f"threads=2 {text}").is_parallel for text in texts]
        [False, True, True]
        """
        if self.threads == 1:
            return False
        own = (value for _, entries in self.nests for knob, value in entries if knob == "parallel")
        return any(sharing is not WorkSharing.OFF for sharing in (self.parallel, *own))

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

        Loops for which isl's budget is exceeded are made under a simpler mapping.
        """
        if done in (None, self):
            return ""
        return f"isl's budget exceeded, compiled with mapping: {done}"

    def __str__(self) -> str:
        """Return the text; :func:`parse_mapping` reads it back to an equal value."""
        if self == SEQUENTIAL_MAPPING:
            return "sequential"
        words = [
            f"{entry.name}={KNOB_NAMED[entry.name].domain.text(getattr(self, entry.name))}"
            for entry in fields(self)
            if entry.name != "nests" and getattr(self, entry.name) != entry.default
        ]
        words += [
            f"{statement}:{entry}={KNOB_NAMED[entry].domain.text(value)}"
            for statement, own in self.nests
            for entry, value in own
        ]
        return " ".join(words) or "default"


NEST_OPTIONS = tuple(
    entry.name
    for entry in fields(Mapping)
    if entry.name in KNOB_NAMED and KNOB_NAMED[entry.name].is_per_nest
)
"""The options that may have another value for a nest."""

DEFAULT_MAPPING = Mapping()
SEQUENTIAL_MAPPING = Mapping(
    parallel=WorkSharing.OFF,
    tile=(),
    wavefront=False,
    diamond=False,
    sink=False,
    vector_bits=0,
    unroll_jam=1,
    scalar_replacement=False,
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
    """Return the mapping of a text: options apart by spaces or commas, later ones count.

    Raises:
        InputError: an option is not supported.
    """
    values: dict[str, Any] = {}
    nests: dict[str, dict[str, Any]] = {}
    for option in text.replace(",", " ").split():
        if option in _PRESETS:
            preset = _PRESETS[option]
            values = {entry.name: getattr(preset, entry.name) for entry in fields(Mapping)}
            nests.clear()
            continue
        key, equals, value = option.partition("=")
        if key == "device":
            raise InputError(
                f"mapping: expected one to the CPU here, found {option}: to run on a GPU takes "
                "NVIDIA's driver (libcuda.so.1) and `python -m benchmarks.gpu`; `polygym export` "
                "needs no GPU"
            )
        statement, colon, name = key.rpartition(":")
        known = NEST_OPTIONS if colon else tuple(_DEFAULTS)
        if name not in known or not equals or (colon and not statement.isidentifier()):
            options = ", ".join(f"{'S:' * bool(colon)}{entry}=..." for entry in known)
            presets = "" if colon else f"{', '.join(_PRESETS)} or "
            whose = " for the nest of a statement S" if colon else ""
            raise InputError(
                f"mapping: expected {presets}one of {options}{whose}, found {option!r}"
            )
        domain = KNOB_NAMED[name].domain
        own = nests.setdefault(statement, {}) if statement else values
        try:
            own[name] = domain.parse(value)
        except (ValueError, KeyError):
            raise InputError(
                f"mapping: expected {domain.expected} for {key}, found {value!r}"
            ) from None
    return Mapping(**{**values, "nests": nests_of(nests)})


_PRESETS = {"default": DEFAULT_MAPPING, "sequential": SEQUENTIAL_MAPPING}
_DEFAULTS = {entry.name: entry.default for entry in fields(Mapping) if entry.name != "nests"}


def nests_of(entries: Dictionary[str, Dictionary[str, Any]]) -> Nests:
    """Return options by statement as a mapping has them.

    >>> nests_of({"S1": {"unroll_jam": 2, "tile": ()}, "S0": {}})
    (('S1', (('tile', ()), ('unroll_jam', 2))),)
    """
    return tuple(
        (statement, _sorted_values(own)) for statement, own in sorted(entries.items()) if own
    )


def _sorted_values(entries: Dictionary[str, Any]) -> OptionValues:
    return tuple((name, entries[name]) for name in NEST_OPTIONS if name in entries)


def _require_sorted(nests: Nests) -> None:
    """Refuse statements, or options of one, that are not in order, or none."""
    names = [statement for statement, _ in nests]
    if names != sorted(set(names)):
        raise InputError(f"nests: expected statements in order, found {', '.join(names)}")
    for statement, own in nests:
        options = [option for option, _ in own]
        if not own or options != [option for option in NEST_OPTIONS if option in options]:
            raise InputError(
                f"{statement}: expected some of {', '.join(NEST_OPTIONS)}, in that order, found "
                f"{', '.join(options) or 'nothing'}"
            )


def require_statements(nests: Nests, scop: Scop) -> None:
    """Refuse options for nests of statements that a program does not have.

    Raises:
        InputError: there are some.
    """
    known = [statement.name for statement in scop.statements]
    unknown = [name for name, _ in nests if name not in known]
    if unknown:
        raise InputError(
            f"mapping: expected statements of {scop.name}, {', '.join(known)}, found "
            f"{', '.join(unknown)}"
        )
