"""Options of an operator: which definition, with which gradient, schedule and mapping."""

from collections.abc import Sequence

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition, library
from polygym.frontend.tc import parse_definitions as parse_text
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.scheduling.strategy import ScheduleStrategy, parse_strategy
from polygym.programs.comprehensions import PREFIX

AUTO = "auto"
"""The gradient that is derived."""

EACH, ANY = "each", "any"
"""Sizes for which code is made."""


def library_definition(
    text: str, name: str | None, gradient: str | Sequence[str] | None
) -> tuple[TcDefinition, Sequence[TcDefinition]]:
    """Return one of the library's definitions, and those of its gradient."""
    if name is not None:
        raise InputError(f"{text} is one definition already: expected no name, found {name!r}")
    if gradient not in (AUTO, None):
        raise InputError(
            f"{text} has the library's gradient; with_gradient() gives it another one: expected "
            f"none here, found {gradient!r}"
        )
    name = text.removeprefix(PREFIX)
    return library.definition(name), library.gradients(name) if gradient == AUTO else ()


def text_definition(
    text: str, name: str | None, gradient: str | Sequence[str] | None
) -> tuple[TcDefinition, Sequence[TcDefinition]]:
    """Return the definition that is chosen of a text, and those of its gradient."""
    try:
        definitions = {definition.name: definition for definition in parse_text(text)}
    except RecursionError:
        raise InputError("the text nests too deeply, or a sum in it is too long") from None
    parts = tuple(gradient) if isinstance(gradient, list | tuple) else (gradient,)
    parts = () if gradient in (AUTO, None) else parts
    forward = [definition for definition in definitions if definition not in parts]
    if name is None and len(forward) > 1:
        raise InputError(f"expected a name, one of {', '.join(forward)}")
    chosen = next(iter(forward), "") if name is None else name
    for wanted in (chosen, *parts):
        if wanted not in definitions:
            raise InputError(f"expected one of {', '.join(definitions)}, found {wanted!r}")
    return definitions[chosen], [definitions[part] for part in parts]


def strategy_option(given: ScheduleStrategy | str) -> ScheduleStrategy:
    """Return the strategy that an option names."""
    if isinstance(given, str):
        return parse_strategy(given)
    if not isinstance(given, ScheduleStrategy):
        raise InputError(f"schedule: expected a strategy such as 'isl skew=off', found {given!r}")
    return given


def mapping_option(given: Mapping | str) -> Mapping:
    """Return the mapping that an option names."""
    if isinstance(given, str):
        return parse_mapping(given)
    if not isinstance(given, Mapping):
        raise InputError(
            f"mapping: expected one such as 'tile=32x32 unroll_jam=4', found {given!r}"
        )
    return given


def any_size_option(given: str) -> bool:
    """Return whether an option asks for code that runs at any sizes."""
    if given not in (EACH, ANY):
        raise InputError(f"sizes: expected {EACH!r} or {ANY!r}, found {given!r}")
    return given == ANY
