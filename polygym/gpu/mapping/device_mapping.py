"""The mapping of a schedule to a GPU, as a value that prints and parses.

Its text lists what differs from the default, for which a model of the device decides::

    device=cuda                                 all by default
    device=cuda block=16x16 tile=64x64          blocks of 16 by 16 threads, each for 4 by 4 points
    device=cuda shared=off                      nothing is copied to shared memory

Sizes are along x, y and z: x is the loop along which elements follow each other in memory. No
mapping changes the operations of an element or their order, except ``reassociate=on``. Functions of
libdevice differ from those of the C library in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

MOST_THREADS = 1024
"""The most threads of a block on every device."""
_MOST_ALONG = (1024, 1024, 64)
_LARGEST_TILE = 1024
DEVICE = "cuda"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class DeviceMapping:
    """The options with their defaults. None leaves one to the model.

    ``block`` are the threads of a block along x, y and z, ``tile`` the points of a block. A size of
    ``tile`` beyond those is that of the loop inside that is staged through shared memory; the
    arrays staged so are ``shared``, () none. With ``registers`` sums stay in registers.
    """

    block: tuple[int, ...] | None = None
    tile: tuple[int, ...] | None = None
    shared: tuple[str, ...] | None = None
    registers: bool = True
    reassociate: bool = False

    def __post_init__(self) -> None:
        """Refuse values that an option does not have."""
        if self.block is not None:
            _check_sizes("block", self.block, 3, _MOST_ALONG)
            threads = 1
            for size in self.block:
                threads *= size
            if threads > MOST_THREADS:
                raise InputError(f"block: expected at most {MOST_THREADS} threads, found {threads}")
        if self.tile is not None:
            _check_sizes("tile", self.tile, 4, (_LARGEST_TILE,) * 4)
        for name in self.shared or ():
            if not name.isidentifier() or name in ("auto", "off"):
                raise InputError(f"shared: expected names of arrays, found {name!r}")

    def __str__(self) -> str:
        """Return the text; :func:`parse_device_mapping` reads it back to an equal value."""
        words = [
            f"{name}={option.text(getattr(self, name))}"
            for name, option in DEVICE_OPTIONS.items()
            if getattr(self, name) != _DEFAULTS[name]
        ]
        return " ".join([f"device={DEVICE}", *words])


def _check_sizes(name: str, sizes: Any, most: int, limits: tuple[int, ...]) -> None:
    if not isinstance(sizes, tuple) or not 1 <= len(sizes) <= most:
        raise InputError(f"{name}: expected 1 to {most} sizes, found {sizes!r}")
    for size, limit in zip(sizes, limits, strict=False):
        if type(size) is not int or not 1 <= size <= limit:
            raise InputError(f"{name}: expected sizes from 1 to {limit}, found {size!r}")


def _parse_sizes(text: str) -> tuple[int, ...] | None:
    return None if text == "default" else tuple(int(size) for size in text.split("x"))


def _print_sizes(sizes: tuple[int, ...] | None) -> str:
    return "default" if sizes is None else "x".join(map(str, sizes))


def _parse_flag(text: str) -> bool:
    return {"on": True, "off": False}[text]


def _print_flag(value: bool) -> str:
    return "on" if value else "off"


def _parse_names(text: str) -> tuple[str, ...] | None:
    if text in ("auto", "off"):
        return None if text == "auto" else ()
    names = tuple(text.split("+"))
    if not all(name.isidentifier() for name in names):
        raise ValueError(text)
    return names


def _print_names(names: tuple[str, ...] | None) -> str:
    return "auto" if names is None else "+".join(names) or "off"


@dataclass(frozen=True, slots=True)
class DeviceOption:
    """An option of the text: its values in words, its meaning, its reader and its printer."""

    expected: str
    meaning: str
    parse: Callable[[str], Any]
    text: Callable[[Any], str]


_SIZES, _FLAG = (_parse_sizes, _print_sizes), (_parse_flag, _print_flag)
DEVICE_OPTIONS: dict[str, DeviceOption] = {
    "block": DeviceOption("sizes such as 32x8", "threads of a block along x, y and z", *_SIZES),
    "tile": DeviceOption(
        "sizes such as 64x64",
        "points of a block; a further size is the step of the loop that is staged",
        *_SIZES,
    ),
    "shared": DeviceOption(
        "auto, off or arrays such as A+B",
        "arrays of which parts are staged in shared memory",
        _parse_names,
        _print_names,
    ),
    "registers": DeviceOption("on or off", "sums stay in registers", *_FLAG),
    "reassociate": DeviceOption(
        "on or off", "sums may be taken by several threads, in another order", *_FLAG
    ),
}
"""The options beside ``device=cuda``, in the order of the text."""
_DEFAULTS = {entry.name: entry.default for entry in fields(DeviceMapping)}
DEFAULT_DEVICE_MAPPING = DeviceMapping()


def is_device_mapping(text: str) -> bool:
    """Whether a text names a device, so that it is none of a mapping to the CPU."""
    return any(word.startswith("device=") for word in text.replace(",", " ").split())


def parse_device_mapping(text: str) -> DeviceMapping:
    """Return the mapping of a text: options apart by spaces or commas, later ones count.

    Raises:
        InputError: an option is not supported.
    """
    values: dict[str, Any] = {}
    for option in text.replace(",", " ").split():
        name, equals, value = option.partition("=")
        if name == "device":
            if value != DEVICE:
                raise InputError(f"mapping: expected device={DEVICE}, found {option!r}")
            continue
        if name not in DEVICE_OPTIONS or not equals:
            options = ", ".join(f"{known}=..." for known in ("device", *DEVICE_OPTIONS))
            raise InputError(f"mapping: expected one of {options}, found {option!r}")
        known_option = DEVICE_OPTIONS[name]
        try:
            values[name] = known_option.parse(value)
        except (ValueError, KeyError):
            raise InputError(
                f"mapping: expected {known_option.expected} for {name}, found {value!r}"
            ) from None
    return DeviceMapping(**values)
