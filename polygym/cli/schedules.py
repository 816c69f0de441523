"""Schedules that commands are given: a strategy's words, a file, or isl text.

What ``auto`` stands for depends on sizes and on the mapping, so whoever asks for a schedule says
both; the answer says what it was chosen among. Where nothing is said of storage and cuts, these are
decided with it (:func:`begun`), so that the schedule is one of another program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polygym.cli.small_files import read_small_file
from polygym.cli.text import shorten
from polygym.compiler.codegen.common.mapping import Mapping, parse_mapping
from polygym.compiler.codegen.common.sizes import Sizes, known_sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.schedule import Schedule, from_json, parse
from polygym.compiler.poly.strategy import Automatic, Settled, is_strategy, parse_strategy
from polygym.compiler.storage.price import USUAL_LIMIT
from polygym.errors import InputError
from polygym.measure.evaluation.patience import schedule_within
from polygym.programs import Program

if TYPE_CHECKING:
    from polygym.episodes.automatic import Choice
    from polygym.episodes.homes import Beginning

T = TypeVar("T")

_INSTEAD = (
    "original, isl, auto, 'isl fusion=minimum', a file, or isl text such as '{ S[i] -> [i] }'"
)


@dataclass(frozen=True, slots=True)
class Given:
    """A schedule, and, where it was chosen among a few, that choice.

    ``beginning`` has the program of which it is, where that was decided as well.
    """

    schedule: Schedule
    choice: Choice | None = None
    beginning: Beginning | None = None

    def to_json(self) -> dict[str, Any] | None:
        """Return what there is to say about the choice."""
        if self.choice is None:
            return None
        home = {} if self.beginning is None else {"home": self.beginning.to_json()}
        return self.choice.to_json() | home


Maker: TypeAlias = Callable[[Scop, Sizes | None, Mapping], Given]
"""Makes the schedule of a program at sizes, None where they are not known, under a mapping."""


def is_automatic(text: str) -> bool:
    """Whether a schedule is the automatic one, with which storage is decided too."""
    return is_strategy(text) and isinstance(parse_strategy(text), Automatic)


def begun(program: Program, mapping: Mapping, limit: int | None) -> Given:
    """Return the automatic schedule of a program, of whose storage and cuts nothing is said.

    New arrays may take ``limit`` bytes, as many as are usual where that is None.

    Raises:
        LimitError: isl would take too long.
    """
    from polygym.episodes.homes import beginning

    found = beginning(program, mapping, USUAL_LIMIT if limit is None else limit)
    assert found.choice is not None
    return Given(found.choice.schedule, found.choice, found)


def schedule_maker(text: str) -> Maker:
    """Return what makes the schedule of a program from a word, a file or isl text.

    A file is read now, so that one that is missing is found before there is any program.
    """
    if is_strategy(text):
        match parse_strategy(text):
            case Automatic():
                return _chosen
            case strategy:
                return _of_strategy(strategy)
    said = text if "{" in text else _read(text)
    return lambda scop, _, __: Given(_parse_either(said, scop))


def mapping_in(schedule_text: str) -> Mapping | None:
    """Return the mapping that a schedule's file names, as `best.json` does; None if none does.

    Its threads are those of the command, unless that leaves them open.
    """
    found = said_in(schedule_text, "mapping")
    try:
        return None if found is None else parse_mapping(found)
    except InputError:
        return None


def said_in(schedule_text: str, name: str) -> str | None:
    """Return what a schedule's file says under a name, of itself, its program or its outcome.

    None where it says nothing, or there is no such file: what is wrong with it is said where its
    schedule is read.
    """
    if is_strategy(schedule_text) or "{" in schedule_text:
        return None
    try:
        data = json.loads(_read(schedule_text))
    except (ValueError, RecursionError, InputError):
        return None
    if not isinstance(data, dict):
        return None
    places = (data, data.get("program"), data.get("outcome"))
    found = (place.get(name) for place in places if isinstance(place, dict))
    return next((text for text in found if isinstance(text, str)), None)


def parsed_in(schedule_text: str, name: str, parse: Callable[[str], T]) -> T | None:
    """Return what a schedule's file says under a name as it is read; None where it says nothing.

    Raises:
        InputError: it cannot be read; the message names the file and the entry.
    """
    found = said_in(schedule_text, name)
    if found is None:
        return None
    try:
        return parse(found)
    except InputError as error:
        raise InputError(f"{shorten(schedule_text, 400)}: the entry {name}: {error}") from None


def _of_strategy(strategy: Settled) -> Maker:
    return lambda scop, _, __: Given(schedule_within(strategy, scop))


def _chosen(scop: Scop, sizes: Sizes | None, mapping: Mapping) -> Given:
    """Return the choice among a few."""
    from polygym.episodes.automatic import choose_within

    own = known_sizes(scop, sizes)
    if own is None:
        names = ", ".join(one.name for one in scop.parameters)
        raise InputError(
            f"auto: expected sizes, on which it depends which schedule that is (-p), found none "
            f"for {shorten(names, 60)}"
        )
    choice = choose_within(scop, own, mapping)
    return Given(choice.schedule, choice)


def _read(name: str) -> str:
    """Return the text of a schedule's file."""
    return read_small_file(name, "a schedule", _INSTEAD)


def _parse_either(text: str, scop: Scop) -> Schedule:
    """Read isl text or JSON (the schedule itself, or an object with the key ``schedule``)."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return parse(text, scop)
    if isinstance(data, dict) and "schedule" in data:
        data = data["schedule"]
    return parse(data, scop) if isinstance(data, str) else from_json(data, scop)
