"""Loads and stores of lanes that are apart in memory: with a stride, or with offsets of their own.

Each has three forms: for all lanes (``how`` is None), for the ``first`` ones, for those in a
``mask``.
"""

from __future__ import annotations

from polygym.codegen.c.kernel.helpers.definitions import definition
from polygym.codegen.c.kernel.helpers.type_names import SCALARS, mask_type, split_type

_TESTS = {"first": "k < count", "mask": "mask[k]"}


def lane_parameter(how: str, type_name: str) -> str:
    """Return the parameter that says which lanes there are."""
    return "long count" if how == "first" else f"{mask_type(type_name)} mask"


def each_lane(how: str, lanes: int, statement: str) -> list[str]:
    """Return a loop over those lanes k that there are."""
    return [f"for (int k = 0; k < {lanes}; k++)", f"  if ({_TESTS[how]})", f"    {statement}"]


def load_strided(name: str, how: str | None, type_name: str) -> str:
    """Return the load of lanes with a stride."""
    base, _, lanes = split_type(type_name)
    head = f"{type_name} {name}(const {_any(base)} *from, long step{_last(how, type_name)})"
    places = ["from[0]", *(f"from[{k} * step]" for k in range(1, lanes))]
    return _load(head, how, type_name, places, f"({SCALARS[base][0]})from[k * step]")


def gather(name: str, how: str | None, type_name: str) -> str:
    """Return the load of lanes with offsets of their own."""
    base, _, lanes = split_type(type_name)
    last = _last(how, type_name)
    head = f"{type_name} {name}(const {_any(base)} *from, long_x{lanes} offsets{last})"
    places = [f"from[offsets[{k}]]" for k in range(lanes)]
    return _load(head, how, type_name, places, "from[offsets[k]]")


def _load(head: str, how: str | None, type_name: str, places: list[str], place: str) -> str:
    """Return a load of all lanes from their places, or of some, each from the place of lane k."""
    if how is None:
        return definition(head, f"return ({type_name}){{{', '.join(places)}}};")
    _, _, lanes = split_type(type_name)
    loop = each_lane(how, lanes, f"result[k] = {place};")
    return definition(head, f"{type_name} result = {{0}};", *loop, "return result;")


def store_strided(name: str, how: str | None, type_name: str) -> str:
    """Return the store of lanes with a stride."""
    base, _, lanes = split_type(type_name)
    last = _last(how, type_name)
    head = f"void {name}({_any(base)} *to, long step, {type_name} value{last})"
    if how is None:
        return definition(head, *(f"to[{k} * step] = value[{k}];" for k in range(lanes)))
    return definition(head, *each_lane(how, lanes, "to[k * step] = value[k];"))


def scatter(name: str, how: str | None, type_name: str) -> str:
    """Return the store of lanes with offsets of their own."""
    base, _, lanes = split_type(type_name)
    last = _last(how, type_name)
    head = f"void {name}({_any(base)} *to, long_x{lanes} offsets, {type_name} value{last})"
    test = "" if how is None else f"if ({_TESTS[how]}) "
    return definition(
        head,
        f"for (int k = 0; k < {lanes}; k++)",
        f"  {test}to[offsets[k]] = value[k];",
    )


def _last(how: str | None, type_name: str) -> str:
    """Return the end of the parameters: what says which lanes there are."""
    return "" if how is None else f", {lane_parameter(how, type_name)}"


def _any(base: str) -> str:
    """Return a type of numbers that may be those of an array of another type."""
    return f"polygym_any_{base}"
