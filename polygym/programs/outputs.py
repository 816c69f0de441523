"""The types that arrays have in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygym.compiler.ir.types import ScalarType

DTYPES: dict[ScalarType, np.dtype[Any]] = {
    ScalarType.BOOL: np.dtype(np.bool_),
    ScalarType.BYTE: np.dtype(np.int8),
    ScalarType.UNSIGNED_BYTE: np.dtype(np.uint8),
    ScalarType.SHORT: np.dtype(np.int16),
    ScalarType.UNSIGNED_SHORT: np.dtype(np.uint16),
    ScalarType.INT: np.dtype(np.int32),
    ScalarType.UNSIGNED: np.dtype(np.uint32),
    ScalarType.LONG: np.dtype(np.int64),
    ScalarType.UNSIGNED_LONG: np.dtype(np.uint64),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
}
"""The types that arrays of the program have in NumPy."""
