"""Tensor comprehensions: define an operator by its indices, call it on arrays.

    >>> import numpy as np
    >>> import polygym.tc
    >>> mm = polygym.tc.define(
    ...     "def mm(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }"
    ... )
    >>> mm(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)).shape
    (2, 4)

``comprehension`` defines what :func:`define` returns, with options of ``definition_choice``. A
``builder`` compiles a ``kernel`` for the sizes of ``arguments``, which are arrays or
``torch_tensors``; ``output_memory`` may be given, and an ``empty_kernel`` serves arrays without
elements. Those of one operator are in a ``kernel_table``; ``prepared_calls`` are calls like earlier
ones. A ``general_kernel`` runs at all sizes; ``background_kernels`` are made behind it, by a
``kernel_server``. ``torch_calls`` chooses between a call, ``torch_autograd`` and the
``torch_operators`` that tracers see; ``jax_interface`` is for JAX. ``gradients`` are written or
``derived_operators``. ``cache`` stores kernels, ``similar_kernels`` finds candidates in it, and
``measured_times`` stores other times. ``gpu_calls`` are those with tensors on a GPU. ``code_calls``
explains calls that fail, ``size_values`` evaluates sizes. ``einstein`` makes operators of
equations, ``nn`` modules of the library's operators. The language itself is
:mod:`polygym.frontend.tc`.
Names are imported on first use: ``import polygym.tc`` does not wait for LLVM.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.tc.comprehension import Comprehension, define
    from polygym.tc.einstein.sums import EinsteinSum, einsum
    from polygym.tc.jax_interface.functions import jax_function
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = ["Comprehension", "EinsteinSum", "define", "einsum", "jax_function"]
