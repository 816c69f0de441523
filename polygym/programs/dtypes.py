"""The types that arrays have in NumPy.

bfloat16 is none of NumPy's own: the package ``ml_dtypes`` has it.
"""

from typing import Any

import numpy as np

from polygym.errors import MissingLibraryError
from polygym.ir.types import ScalarType

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
    ScalarType.HALF: np.dtype(np.float16),
    ScalarType.FLOAT: np.dtype(np.float32),
    ScalarType.DOUBLE: np.dtype(np.float64),
}
"""The types that arrays of the program have in NumPy itself."""


def dtype_of(scalar: ScalarType) -> np.dtype[Any]:
    """Return the type that elements have in NumPy.

    Raises:
        InputError: it is bfloat16, and ``ml_dtypes`` is not installed.
    """
    if scalar is not ScalarType.BFLOAT:
        return DTYPES[scalar]
    try:
        import ml_dtypes
    except ImportError:
        raise MissingLibraryError("arrays of bfloat16", "ml_dtypes", "half") from None
    result: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return result
