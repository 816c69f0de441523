"""The kernels of one operator: by the shapes of arguments, and the values of known scalars.

An operator for any sizes has code that runs at all of them. It is compiled at the first call, and
bound to the sizes of each. Where it has run at certain sizes for as long as compiling takes, code
of their own is made behind it, which takes over when it is there.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from polygym.frontend.tc import TcDefinition
from polygym.poly.transform.storage.argument_layout import StoredLayout, stored_layout
from polygym.tc.arguments import expected_arguments, prepare_arguments, sizes_of_arguments
from polygym.tc.background_kernels import compile_behind
from polygym.tc.builder import KernelBuilder
from polygym.tc.empty_kernel import EmptyKernel, empty_kernel
from polygym.tc.general_kernel import BoundKernel, GeneralKernel
from polygym.tc.kernel import CompiledKernel
from polygym.tc.prepared_calls import PreparedCalls, element_strides, has_layouts

_MOST_KERNELS = 256
_MOST_GENERAL = 16

Kernel = CompiledKernel | EmptyKernel
Layouts = tuple[tuple[str, StoredLayout], ...]


class KernelTable:
    """Kernels that were made or read; threads may share it."""

    def __init__(self, definition: TcDefinition, builder: KernelBuilder, any_size: bool) -> None:
        """Begin with none."""
        self.prepared = PreparedCalls()
        self.any_size = any_size
        self._definition, self._builder = definition, builder
        self._names = [parameter.name for parameter in definition.parameters]
        self._expected = expected_arguments(definition)
        self._kernels: dict[Any, Kernel] = {}
        self._strided: dict[Any, CompiledKernel] = {}
        self._general: dict[tuple[int, ...], GeneralKernel | None] = {}
        self._lock = threading.Lock()
        _TABLES.add(self)

    def copy(self) -> KernelTable:
        """Return a table that begins with the same kernels."""
        table = KernelTable(self._definition, self._builder, self.any_size)
        # What is bound has its successor put into this table: a copy binds its own.
        table._kernels = {
            key: kernel
            for key, kernel in self._kernels.items()
            if not isinstance(kernel, BoundKernel)
        }
        table._general = dict(self._general)
        table._strided = dict(self._strided)
        return table

    def arrays(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """Return arguments as arrays that the code takes.

        Raises:
            InputError: one does not fit its declaration.
        """
        return prepare_arguments(self._definition.name, self._expected, arguments)

    def sizes(self, arrays: Sequence[np.ndarray]) -> dict[str, int]:
        """Return the sizes of arguments, and the values of the scalars that must be known.

        Raises:
            InputError: they do not fit each other.
        """
        shapes = dict(zip(self._names, (array.shape for array in arrays), strict=True))
        sizes = sizes_of_arguments(self._definition, shapes)
        return sizes | dict(
            zip(self._builder.required_constants, self._values(arrays), strict=True)
        )

    def kernel(self, arrays: Sequence[np.ndarray]) -> Kernel:
        """Return the kernel for arguments, made if need be.

        Raises:
            InputError: the definition makes no sense for them.
        """
        key = self._key(arrays)
        if (known := self._kernels.get(key)) is not None:
            return known
        with self._lock:
            if key not in self._kernels:
                self._put(key, self._made(key, self.sizes(arrays)))
            return self._kernels[key]

    def replace(self, arrays: Sequence[np.ndarray], kernel: CompiledKernel) -> None:
        """Use another kernel for arguments from now on."""
        with self._lock:
            self._put(self._key(arrays), kernel)

    def layouts(self, arguments: Sequence[Any]) -> Layouts:
        """Return the layouts of arrays or tensors that are not contiguous, as far as there are."""
        result = []
        for name, argument in zip(self._names, arguments, strict=True):
            strides = element_strides(argument)
            if strides is not None and (layout := stored_layout(argument.shape, strides)):
                result.append((name, layout))
        return tuple(result)

    def use_strided(
        self, arrays: Sequence[np.ndarray], layouts: Layouts, kernel: CompiledKernel
    ) -> None:
        """Read arguments with these layouts as they lie from now on."""
        with self._lock:
            if len(self._strided) >= _MOST_KERNELS:
                self._strided.clear()
            self._strided[self._key(arrays), layouts] = kernel
            self.prepared.clear()

    @property
    def has_strided(self) -> bool:
        """Whether some arguments are read as they lie."""
        return bool(self._strided)

    def prepare(self, arguments: Sequence[Any], out: Any) -> None:
        """Have the next call like one that was done find its kernel at once."""
        if len(arguments) != len(self._names) or not has_layouts(arguments):
            return
        if not self._lock.acquire(blocking=False):
            return
        try:
            # A layout has the value of a number, not of an array that stands for one.
            constants = [
                arguments[self._names.index(name)] for name in self._builder.required_constants
            ]
            if all(type(constant) is int for constant in constants):
                shapes = tuple([getattr(argument, "shape", ()) for argument in arguments])
                key: Any = (shapes, tuple(constants)) if constants else shapes
                layouts = self.layouts(arguments) if self._strided else ()
                kernel: Kernel | None = self._strided.get((key, layouts))
                if kernel is None:
                    kernel, layouts = self._kernels.get(key), ()
                self.prepared.keep(self._expected, arguments, out, kernel, dict(layouts))
        finally:
            self._lock.release()

    def _key(self, arrays: Sequence[np.ndarray]) -> Any:
        shapes = tuple([array.shape for array in arrays])
        return (shapes, self._values(arrays)) if self._builder.required_constants else shapes

    def _values(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        constants = self._builder.required_constants
        return tuple(int(arrays[self._names.index(name)]) for name in constants)

    def _put(self, key: Any, kernel: Kernel) -> None:
        if key in self._kernels:
            self.prepared.clear()
        while len(self._kernels) >= _MOST_KERNELS:
            del self._kernels[next(iter(self._kernels))]
        self._kernels[key] = kernel

    def _made(self, key: Any, sizes: dict[str, int]) -> Kernel:
        constants = {name: sizes[name] for name in self._builder.required_constants}
        if 0 in (size for name, size in sizes.items() if name not in constants):
            return empty_kernel(self._definition, sizes, constants)
        if self.any_size and (bound := self._bound(key, sizes)) is not None:
            return bound
        return self._builder.kernel(sizes)

    def _bound(self, key: Any, sizes: Mapping[str, int]) -> CompiledKernel | None:
        """Return what runs at sizes without being compiled for them, None if there is nothing."""
        values = tuple(sizes[name] for name in self._builder.required_constants)
        if values not in self._general:
            while len(self._general) >= _MOST_GENERAL:
                del self._general[next(iter(self._general))]
            self._general[values] = self._builder.general_kernel(sizes)
        general = self._general[values]
        if general is None:
            return None
        if (own := self._builder.cached_kernel(sizes)) is not None:
            return own
        bound = general.at(tuple(sizes.values()))
        if bound is not None:
            bound.on_often = partial(self._specialize, key, bound, sizes)
        return bound

    def _specialize(self, key: Any, bound: BoundKernel, sizes: Mapping[str, int]) -> None:
        """Have code for certain sizes made, to take the place of a kernel."""
        table = weakref.ref(self)

        def take_over(kernel: CompiledKernel) -> None:
            if (mine := table()) is not None:
                with mine._lock:
                    if mine._kernels.get(key) is bound:  # nothing was chosen meanwhile
                        mine._put(key, kernel)

        def use(kernel: CompiledKernel) -> None:
            bound.try_other(kernel, partial(take_over, kernel))

        options = self._builder.options
        compile_behind(self._definition, str(options.mapping), str(options.schedule), sizes, use)


_TABLES: weakref.WeakSet[KernelTable] = weakref.WeakSet()


def _release_locks() -> None:
    """Begin with free locks in a copy of the process: threads that held them are not in it."""
    for table in _TABLES:
        table._lock = threading.Lock()


os.register_at_fork(after_in_child=_release_locks)
