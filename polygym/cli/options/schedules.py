"""Schedules that commands are given: a strategy's words, a file, or isl text.

What ``auto`` stands for depends on sizes and on the mapping, so a caller that asks for a schedule
says both; the answer says what it was chosen among. Where nothing is said of storage and cuts,
these are decided with it (:func:`automatic_schedule`), so that the schedule is one of another
program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from polygym.cli.options.values import read_small_file
from polygym.cli.output.console import shorten, write_text
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mapping.sizes import Sizes, known_sizes
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.strategy import (
    AutomaticStrategy,
    FixedStrategy,
    is_strategy,
    parse_strategy,
)
from polygym.programs import Program
from polygym.runtime.evaluation.time_limits import schedule_within

if TYPE_CHECKING:
    from polygym.autoschedule.code_choice import ConfirmedStart
    from polygym.autoschedule.schedule_choice import AutomaticSchedule
    from polygym.autoschedule.storage_choice import StartingProgram

T = TypeVar("T")

_EXPECTED = (
    "original, isl, auto, 'isl fusion=minimum', a file, or isl text such as '{ S[i] -> [i] }'"
)


@dataclass(frozen=True, slots=True)
class ResolvedSchedule:
    """A schedule, and, where it was chosen among a few, that choice.

    ``variant`` has the program of which it is, where that was decided as well, ``confirmed`` the
    mapping that goes with it, and what was estimated.
    """

    schedule: Schedule
    choice: AutomaticSchedule | None = None
    variant: StartingProgram | None = None
    confirmed: ConfirmedStart | None = None

    def to_json(self) -> dict[str, Any] | None:
        """Return what there is to say about the choice."""
        if self.choice is None:
            return None
        variant = {} if self.variant is None else {"variant": self.variant.to_json()}
        code = {} if self.confirmed is None else {"code": self.confirmed.to_json()}
        return self.choice.to_json() | variant | code


ScheduleMaker: TypeAlias = Callable[[Scop, Sizes | None, Mapping], ResolvedSchedule]
"""Makes the schedule of a program at sizes, None where they are not known, under a mapping."""


def is_automatic(text: str) -> bool:
    """Whether a schedule is the automatic one, with which storage is decided too."""
    return is_strategy(text) and isinstance(parse_strategy(text), AutomaticStrategy)


def automatic_schedule(
    program: Program, mapping: Mapping, memory_limit: int, *, keeps_mapping: bool = False
) -> ResolvedSchedule:
    """Return the automatic schedule of a program, of whose storage and cuts nothing is said.

    New arrays may take ``memory_limit`` bytes. The answer has a mapping as well, that of the source
    where nothing seems to be faster; with ``keeps_mapping`` the given one was asked for. A sentence
    says where isl was given up on.

    Raises:
        LimitError: isl would take too long.
    """
    from polygym.autoschedule.code_choice import confirmed_start

    confirmed = confirmed_start(program, mapping, memory_limit, keeps_mapping=keeps_mapping)
    choice = confirmed.choice
    if choice.note:
        write_text(f"{program.name}: {choice.note}", err=True)
    return ResolvedSchedule(choice.schedule, choice, confirmed.start, confirmed)


def schedule_maker(text: str) -> ScheduleMaker:
    """Return what makes the schedule of a program from a word, a file or isl text.

    A file is read now, so that one that is missing is found before there is any program.
    """
    if is_strategy(text):
        match parse_strategy(text):
            case AutomaticStrategy():
                return _automatic
            case strategy:
                return _strategy_maker(strategy)
    said = text if "{" in text else _read(text)
    return lambda scop, _, __: ResolvedSchedule(_parse_either(said, scop))


def mapping_in_file(schedule_text: str) -> Mapping | None:
    """Return the mapping that a schedule's file names, as `best.json` does; None if none does.

    Its threads are those of the command, unless that leaves them open.
    """
    result = text_in_file(schedule_text, "mapping")
    try:
        return None if result is None else parse_mapping(result)
    except InputError:
        return None


def text_in_file(schedule_text: str, name: str) -> str | None:
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
    result = (place.get(name) for place in places if isinstance(place, dict))
    return next((text for text in result if isinstance(text, str)), None)


def value_in_file(schedule_text: str, name: str, parse: Callable[[str], T]) -> T | None:
    """Return what a schedule's file says under a name as it is read; None where it says nothing.

    Raises:
        InputError: it cannot be read; the message names the file and the entry.
    """
    result = text_in_file(schedule_text, name)
    if result is None:
        return None
    try:
        return parse(result)
    except InputError as error:
        raise InputError(f"{shorten(schedule_text, 400)}: the entry {name}: {error}") from None


def _strategy_maker(strategy: FixedStrategy) -> ScheduleMaker:
    return lambda scop, _, __: ResolvedSchedule(schedule_within(strategy, scop))


def _automatic(scop: Scop, sizes: Sizes | None, mapping: Mapping) -> ResolvedSchedule:
    """Return the choice among a few."""
    from polygym.autoschedule.schedule_choice import choose_schedule_within

    own = known_sizes(scop, sizes)
    if own is None:
        names = ", ".join(parameter.name for parameter in scop.parameters)
        raise InputError(
            f"auto: expected sizes (-p), which the choice of the schedule needs, found none "
            f"for {shorten(names, 60)}"
        )
    choice = choose_schedule_within(scop, own, mapping)
    if choice.note:
        write_text(f"{scop.name}: {choice.note}", err=True)
    return ResolvedSchedule(choice.schedule, choice)


def _read(name: str) -> str:
    """Return the text of a schedule's file."""
    return read_small_file(name, "a schedule", _EXPECTED)


def _parse_either(text: str, scop: Scop) -> Schedule:
    """Read isl text, as it is or in JSON: a string, or an object with the key ``schedule``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return parse_schedule(text, scop)
    if isinstance(data, dict) and "schedule" in data:
        data = data["schedule"]
    if not isinstance(data, str):
        raise InputError("a schedule in JSON: expected isl text, found something else")
    return parse_schedule(data, scop)
