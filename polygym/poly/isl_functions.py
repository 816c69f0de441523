"""Functions as isl has them: the arguments that their results depend on."""

import islpy as isl


def involved_arguments(function: isl.Map) -> tuple[frozenset[int], ...]:
    """Return the places of the arguments that each result of a function may depend on.

    The conditions that choose among several forms of it are taken for conditions of every result.

    >>> [sorted(places) for places in involved_arguments(isl.Map("{ [i, j] -> [j + 1, i, 4] }"))]
    [[1], [0], []]
    >>> involved_arguments(isl.Map("{ [i] -> [m] : (i < 0 and m = 0) or (i >= 0 and m = 1) }"))
    (frozenset({0}),)
    """
    results = isl.PwMultiAff.from_map(function)
    arguments = range(function.dim(isl.dim_type.in_))
    rows = map(results.get_pw_aff, range(results.dim(isl.dim_type.out)))
    return tuple(
        frozenset(place for place in arguments if row.involves_dims(isl.dim_type.in_, place, 1))
        for row in rows
    )
