"""isl text at given parameter values: sizes of arrays, and whether values are admissible."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polygym.ir.scop import Scop


def evaluate(extent: str, parameters: Mapping[str, int]) -> int:
    """Return the value of a function of the parameters.

    >>> evaluate("[n] -> { [(2 + n)] }", {"n": 5})
    7
    """
    point = _fix(isl.Set.from_pw_aff(isl.PwAff(extent)), parameters).sample_point()
    return int(point.get_coordinate_val(isl.dim_type.set, 0).to_python())


def elements_written(scop: Scop, parameters: Mapping[str, int]) -> dict[str, int]:
    """Return how many elements of each array some statement writes."""
    found: dict[str, isl.Set] = {}
    for statement in scop.statements:
        elements = isl.Set(statement.domain).apply(isl.Map(statement.write.relation))
        name = statement.write.array
        found[name] = found[name].union(elements) if name in found else elements
    return {
        name: int(_fix(one, parameters).project_out_all_params().count_val().to_python())
        for name, one in found.items()
    }


def admits(context: str, parameters: Mapping[str, int]) -> bool:
    """Whether a set of parameter values holds these; names that it does not mention are free.

    >>> admits("[n] -> { : n >= 2 }", {"n": 1})
    False
    """
    return not _fix(isl.Set(context), parameters).is_empty()


def _fix(values: isl.Set, parameters: Mapping[str, int]) -> isl.Set:
    for name, value in parameters.items():
        position = values.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            values = values.fix_val(isl.dim_type.param, position, isl.Val(value))
    return values
