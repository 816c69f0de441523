"""Strategies: the schedule of a program without a search, as a value with a text.

Either the order of the text, or what isl's scheduler finds, which can be told what to look for. The
text lists what differs from the usual::

    original                       the order of the text
    isl                            isl's schedule, with the settings that Polly gives it
    isl fusion=minimum             every strongly connected part in loops of its own
    isl skew=off negative=off      loops interchanged and shifted, neither skewed nor reversed
    auto                           one of a few of these, which a model of cost takes for the best

==============  ==================================================================================
``fusion``      which loops are fused: ``balanced``, all that may be, unless that costs
                permutable or parallel loops; ``maximum``, all that may be; ``minimum``, none that
                need not be; ``parallel``, as balanced, insisting on a parallel outermost loop
``skew``        ``off``: every row has at most one iterator of a statement, once
``negative``    ``off``: no coefficient is negative
``algorithm``   which of isl's two comes first, ``pluto`` or ``feautrier``
``coefficient`` the largest coefficient of a row, or ``any``
``constant``    the largest constant of a row, or ``any``
==============  ==================================================================================

What ``auto`` stands for depends on sizes, the mapping and the machine as well as on the program;
:mod:`polygym.autoschedule.schedule_choice` settles it, and everything below knows the others alone.

Skewing: ``[t + i]`` has two iterators. ``[i + 1]`` is a shift, ``[2i]`` has its iterator twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeAlias

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

_ANY = -1
_LARGEST_BOUND = 2**20


class Algorithm(Enum):
    """Which of isl's two algorithms schedules first; isl falls back to the other."""

    PLUTO = "pluto"
    FEAUTRIER = "feautrier"


class Fusion(Enum):
    """Which loops of several statements become one."""

    BALANCED = "balanced"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    PARALLEL = "parallel"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class OriginalOrder:
    """The order of the text."""

    def __str__(self) -> str:
        """Return the text; :func:`parse_strategy` reads it back."""
        return "original"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class IslOptions:
    """What isl's scheduler is told; the module's docstring says what each means.

    Bounds of -1 are none.
    """

    fusion: Fusion = Fusion.BALANCED
    skew: bool = True
    negative: bool = True
    algorithm: Algorithm = Algorithm.PLUTO
    coefficient: int = 20
    constant: int = 20

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        for name, kind in (("fusion", Fusion), ("algorithm", Algorithm)):
            if not isinstance(value := getattr(self, name), kind):
                raise InputError(f"{name}: expected a {kind.__name__}, found {value!r}")
        for name in ("skew", "negative"):
            if not isinstance(value := getattr(self, name), bool):
                raise InputError(f"{name}: expected True or False, found {value!r}")
        for name, bound in (("coefficient", self.coefficient), ("constant", self.constant)):
            if type(bound) is not int or not (bound == _ANY or 1 <= bound <= _LARGEST_BOUND):
                raise InputError(f"{name}: expected 1 to {_LARGEST_BOUND}, or -1, found {bound!r}")

    @property
    def is_variant(self) -> bool:
        """Whether some rows that isl may find are not wanted."""
        return not (self.skew and self.negative)

    def __str__(self) -> str:
        """Return the text; :func:`parse_strategy` reads it back to an equal value."""
        words = [
            f"{entry.name}={_printed(getattr(self, entry.name))}"
            for entry in fields(self)
            if getattr(self, entry.name) != entry.default
        ]
        return " ".join(["isl", *words])


@pickle_by_name
@dataclass(frozen=True, slots=True)
class AutomaticStrategy:
    """One of a few others, by a model of cost."""

    def __str__(self) -> str:
        """Return the text; :func:`parse_strategy` reads it back."""
        return "auto"


FixedStrategy: TypeAlias = OriginalOrder | IslOptions
"""What a program alone decides."""

ScheduleStrategy: TypeAlias = FixedStrategy | AutomaticStrategy

ORIGINAL, ISL, AUTO = OriginalOrder(), IslOptions(), AutomaticStrategy()

_NAMED_STRATEGIES = {str(strategy): strategy for strategy in (ORIGINAL, AUTO)}
_FIRST = (*_NAMED_STRATEGIES, str(ISL))


def is_strategy(text: str) -> bool:
    """Whether a text begins as strategies do.

    >>> [is_strategy(text) for text in ("auto", "isl skew=off", "isl.json", "{ S[i] -> [i] }")]
    [True, True, False, False]
    """
    return text.replace(",", " ").split()[:1] in [[first] for first in _FIRST]


def parse_strategy(text: str) -> ScheduleStrategy:
    """Return the strategy of a text: ``original``, ``auto``, or ``isl`` and words.

    Of words that say two things of one option the later one counts.

    Raises:
        InputError: a word is not supported.
    """
    first, *words = text.replace(",", " ").split() or [""]
    if first not in _FIRST:
        raise InputError(
            "a strategy: expected original, auto, or isl with options (fusion=minimum), found "
            f"{text[:100]!r}"
        )
    if first in _NAMED_STRATEGIES:
        if words:
            raise InputError(f"a strategy: expected nothing behind {first}, found {words[0]!r}")
        return _NAMED_STRATEGIES[first]
    values: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in _OPTIONS or not equals:
            raise InputError(
                "a strategy: expected isl with one of "
                f"{', '.join(f'{known}=...' for known in _OPTIONS)}, found {word[:100]!r}"
            )
        read, expected = _OPTIONS[name]
        try:
            values[name] = read(value)
        except (ValueError, KeyError):
            raise InputError(
                f"a strategy: expected {expected} for {name}, found {value[:100]!r}"
            ) from None
    return IslOptions(**values)


def _switch(text: str) -> bool:
    return {"on": True, "off": False}[text]


def _bound(text: str) -> int:
    if text == "any":
        return _ANY
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError
    return int(text)


_OPTIONS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "fusion": (Fusion, "balanced, maximum, minimum or parallel"),
    "skew": (_switch, "on or off"),
    "negative": (_switch, "on or off"),
    "algorithm": (Algorithm, "pluto or feautrier"),
    "coefficient": (_bound, "a number or any"),
    "constant": (_bound, "a number or any"),
}


def _printed(value: Any) -> str:
    match value:
        case bool():
            return "on" if value else "off"
        case Enum():
            return str(value.value)
        case _:
            return "any" if value == _ANY else str(value)
