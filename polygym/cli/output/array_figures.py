"""Figures of output arrays that ``--json`` documents, with a note where one is NaN."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from polygym.programs import Program
from polygym.runtime.worker.worker import Session


def array_figures(program: Program, session: Session, kept: bool = False) -> list[dict[str, Any]]:
    """Describe every output array, as the original leaves it or as the last measurement kept it.

    Nobody looks at those that the program's plan says are dead.
    """
    names = [buffer.name for buffer in session.problem.buffers]
    result = []
    for output in program.outputs:
        if output.array in program.storage.dead:
            continue
        shape = program.shape(program.as_written.array(output.array))
        index = names.index(output.array)
        figures = session.array_statistics(index, shape, output.part.value, from_measurement=kept)
        result.append({"array": output.array, **figures})
    return result


def non_finite_arrays(figures: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the arrays that hold a NaN or an infinity, by their figures.

    >>> non_finite_arrays([{"array": "A", "sum": 1.0}, {"array": "B", "sum": float("nan")}])
    ['B']
    """
    return [row["array"] for row in figures if not isfinite(row["sum"])]


def non_finite_remark(arrays: Iterable[str]) -> str:
    """Return what there is to say of arrays that are not finite.

    >>> non_finite_remark(["A", "B"])[:40]
    'A, B: not all values are finite (NaN or '
    """
    return (
        f"{', '.join(arrays)}: not all values are finite (NaN or infinity); for initial data of "
        "your own write a function init_NAME with a region"
    )
