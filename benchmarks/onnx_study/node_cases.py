"""Cases of ONNX's own tests of operators: run, and compared with the results that they state.

A case passes, is refused with a sentence, or is wrong; anything else is an error of polygym. Inputs
that are shapes or axes are fixed while the model is read, and counted as such.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from polygym.errors import InputError
from polygym.graphs.onnx.importer.backend import prepare

Array = np.ndarray[Any, Any]

_TWO_UNITS = {"bfloat16": 2.0**-6, "float16": 2.0**-9}
"""Two units in the last place, which ONNX allows bfloat16 as well."""

ROUNDING = 2.0**-21
"""What sums in single precision may be away, as a part of the largest element."""


@dataclass(frozen=True)
class NodeCase:
    """A model of one operator, the lists of its inputs and results, and tolerances."""

    name: str
    model: Any
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    relative: float
    absolute: float

    @property
    def opset(self) -> int | None:
        """The version of ONNX's operators; nothing if there are others."""
        versions = {entry.domain: entry.version for entry in self.model.opset_import}
        return versions.get("") if set(versions) == {""} else None

    @property
    def is_floating(self) -> bool:
        """Whether it takes or gives floating-point numbers, and tensors alone."""
        values = [*self.model.graph.input, *self.model.graph.output]
        if any(value.type.WhichOneof("value") != "tensor_type" for value in values):
            return False
        types = {value.type.tensor_type.elem_type for value in values}
        kind = onnx.TensorProto
        narrow = {kind.STRING, kind.INT4, kind.UINT4, *_narrow_types()}
        floats = {kind.FLOAT, kind.DOUBLE, kind.FLOAT16, kind.BFLOAT16}
        return not types & narrow and bool(types & floats)


@cache
def _narrow_types() -> frozenset[int]:
    names = onnx.TensorProto.DataType.items()
    return frozenset(
        number for name, number in names if name.startswith(("FLOAT8", "FLOAT4", "INT2", "UINT2"))
    )


@dataclass(frozen=True)
class Outcome:
    """Result of a case: passed, refused, wrong or error; why; the operators of its file."""

    status: str
    reason: str = ""
    fixed: tuple[str, ...] = ()


@cache
def installed_cases() -> tuple[NodeCase, ...]:
    """Return the cases of the installed package."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        made = collect_testcases(None)
    return tuple(
        NodeCase(case.name, case.model, case.data_sets, case.rtol, case.atol) for case in made
    )


def cases_of_folder(folder: Path) -> Iterator[NodeCase]:
    """Yield the cases in a folder, as packages up to 1.21 have them: ``model.onnx`` and data."""
    for path in sorted(folder.glob("*/model.onnx")):
        model = onnx.load(path)
        data = [
            ([_loaded(file) for file in _numbered(place, "input")],
             [_loaded(file) for file in _numbered(place, "output")])
            for place in sorted(path.parent.glob("test_data_set_*"))
        ]  # fmt: skip
        yield NodeCase(path.parent.name, model, data, 1e-3, 1e-7)


def _numbered(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))


def _loaded(path: Path) -> Any:
    tensor = onnx.TensorProto.FromString(path.read_bytes())
    try:
        return onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError):  # a sequence, or nothing
        return None


def run_case(case: NodeCase) -> Outcome:
    """Return what becomes of a case, compiled and run."""
    fixed: tuple[str, ...] = ()
    for inputs, expected in case.data:
        try:
            prepared = prepare(case.model)
            results = prepared.run(inputs)
            fixed = tuple(prepared.specializations[0].fixed)
        except InputError as error:
            return Outcome("refused", _without_path(str(error)))
        except Exception as error:
            return Outcome("error", f"{type(error).__name__}: {error}")
        if problem := difference(case, results, expected):
            return Outcome("wrong", problem)
    return Outcome("passed", fixed=fixed)


def _without_path(message: str) -> str:
    return message.partition("model.onnx: ")[2] or message


def difference(case: NodeCase, results: Sequence[Array], expected: Sequence[Any]) -> str:
    """Return how results differ from those that a case states, or nothing."""
    if len(results) != len(expected):
        return f"expected {len(expected)} results, found {len(results)}"
    for result, other in zip(results, map(np.asarray, expected), strict=True):
        if result.shape != other.shape or result.dtype != other.dtype:
            return (
                f"expected {other.dtype} of {other.shape}, found {result.dtype} of {result.shape}"
            )
        if other.dtype.kind in "biu":
            if not np.array_equal(result, other):
                return f"expected other integers in {np.sum(result != other)} places"
            continue
        relative = max(case.relative, _TWO_UNITS.get(other.dtype.name, 0.0))
        wide, right = result.astype(np.float64), other.astype(np.float64)
        finite = np.abs(right[np.isfinite(right)])
        absolute = max(case.absolute, ROUNDING * float(finite.max(initial=0.0)))
        if not np.allclose(wide, right, relative, absolute, equal_nan=True):
            return f"found {wide.ravel()[:4]}, expected {right.ravel()[:4]}"
    return ""


def operators_of(case: NodeCase) -> str:
    """Return the operators of a case's model, most frequent first."""
    counts = Counter(node.op_type for node in case.model.graph.node)
    return " ".join(name for name, _ in counts.most_common(3))
