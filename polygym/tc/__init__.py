"""Tensor comprehensions: define an operator by its indices, call it on arrays.

    >>> import numpy as np
    >>> import polygym.tc
    >>> mm = polygym.tc.define(
    ...     "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
    ... )
    >>> mm(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (2, 4)

``comprehension`` is what :func:`define` returns (``chosen`` says which definition that is,
``gradient`` has those of its gradient), ``kernel`` what a ``builder`` compiles for the sizes of its
arguments, ``arguments`` checks and prepares those (``addresses``, and ``torch_tensors`` where there
are any), ``cache`` keeps what was compiled by which ``compiler``, and ``similar`` finds in it what
may do well here, too. ``times`` keeps the times of whatever else is compiled. The ``language``
package is there for pickles of version 0.1. The language
itself is :mod:`polygym.frontend.tc`. What is asked of this package is imported when it is
asked for: ``import polygym.tc`` does not wait for LLVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.tc.comprehension import Comprehension, define
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Comprehension", "define"]
