"""What :func:`polygym.tc.define` returns: an operator that compiles itself for its arguments."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polygym.codegen.llvm.loader import LoadError
from polygym.codegen.mapping import DEFAULT, Mapping
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.poly.evaluate import admits
from polygym.poly.schedule import Schedule
from polygym.programs import Output, Program
from polygym.programs.comprehensions import initial_data
from polygym.tc.arguments import prepared, sizes_of_arguments
from polygym.tc.cache import CacheWarning, Entry, key_of, user_cache
from polygym.tc.kernel import Kernel, compile_kernel, usual_schedule
from polygym.tc.language import Definition, lower, needed_values, parse
from polygym.tc.language.canonical import canonical
from polygym.tune import Progress, Tuned, tune

_MOST_KERNELS = 256


def define(
    text: str, name: str | None = None, *, threads: int = 1, mapping: Mapping = DEFAULT
) -> Comprehension:
    """Return the operator that a text defines; ``name`` chooses where it defines several.

    Raises:
        SourceError: the text is no comprehension; says where and why.
        InputError: there are several and no name, or none of that name.
    """
    definitions = {one.name: one for one in parse(text)}
    if name is None and len(definitions) > 1:
        raise InputError(f"expected a name, one of {', '.join(definitions)}")
    chosen = next(iter(definitions)) if name is None else name
    if chosen not in definitions:
        raise InputError(f"expected one of {', '.join(definitions)}, found {chosen!r}")
    return Comprehension(definitions[chosen], replace(mapping, threads=threads))


class Comprehension:
    """An operator on arrays.

    Calling it compiles it for the sizes of the arguments, once; results are new arrays, unless
    ``out`` gives their memory. Threads may share it.
    """

    def __init__(self, definition: Definition, mapping: Mapping = DEFAULT) -> None:
        """Check the definition as far as it can be without sizes."""
        self.definition = definition
        self.mapping = mapping
        self._needed = needed_values(definition)
        self._scops: dict[tuple[int, ...], Scop] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._lock = threading.Lock()
        if not self._needed:
            self.scop()

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self.definition.name

    def __repr__(self) -> str:
        """Say what it takes and returns."""
        parameters = ", ".join(one.name for one in self.definition.parameters)
        outputs = ", ".join(one.name for one in self.definition.outputs)
        return f"<comprehension {self.name}({parameters}) -> ({outputs})>"

    def scop(self, **constants: int) -> Scop:
        """Return the program; scalars on which subscripts depend must be given."""
        key = tuple(constants.get(name, 0) for name in self._needed)
        if key not in self._scops:
            self._scops[key] = lower(self.definition, constants)
        return self._scops[key]

    def __call__(
        self, *arguments: Any, out: np.ndarray | Sequence[np.ndarray] | None = None
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Compute; one output comes as an array, several as a tuple.

        Raises:
            InputError: the arguments do not fit the declaration, or each other.
        """
        arrays = prepared(self.definition, arguments)
        kernel = self._kernels.get(self._key(arrays)) or self._compiled(arrays)
        if out is None:
            results = kernel(arrays)
        else:
            given = self._outputs(kernel, out)
            # The code takes arrays to be apart: what overlaps an argument is written afterwards.
            apart = [
                None if any(np.may_share_memory(one, array) for array in arrays) else one
                for one in given
            ]
            results = kernel(arrays, apart)
            for one, result in zip(given, results, strict=True):
                if one is not result:
                    one[...] = result
            results = given
        return results[0] if len(results) == 1 else tuple(results)

    def compile(self, *arguments: Any) -> Kernel:
        """Return the machine code for arguments like these, which are not changed."""
        arrays = prepared(self.definition, arguments)
        return self._kernels.get(self._key(arrays)) or self._compiled(arrays)

    def tune(
        self,
        *arguments: Any,
        generations: int = 10,
        population: int = 100,
        search: str = "genetic",
        seed: int = 0,
        seconds: float | None = None,
        show: Callable[[Progress], None] = lambda _: None,
    ) -> Tuned:
        """Search for faster code for arguments like these, use it from now on, and keep it.

        Candidates run on data of their own, in other processes, and their outputs are compared bit
        for bit. ``search`` is ``genetic`` or ``random``; ``seconds`` limits it, and so does Ctrl-C:
        the best so far counts. ``show`` is called after every candidate.

        Raises:
            InputError: the arguments do not fit, or there is no such search.
        """
        arrays = prepared(self.definition, arguments)
        sizes = self._sizes(arrays)
        scop, own = self._checked_scop(sizes)
        program = Program(
            self.name,
            scop,
            initial_data(scop),
            tuple(own.items()),
            tuple(Output(array.name) for array in scop.arrays if array.live_out),
        )
        found = tune(
            program,
            self.mapping,
            generations=generations,
            population=population,
            search=search,
            seed=seed,
            seconds=seconds,
            show=show,
        )
        kernel = self._compile(scop, own, found.best.schedule, found.best.mapping)
        self._keep(sizes, kernel, found.best.schedule, found.best.mapping, found.best.seconds)
        with self._lock:
            self._kernels[self._key(arrays)] = kernel
        return found

    def _key(self, arrays: Sequence[np.ndarray]) -> Any:
        shapes = tuple(array.shape for array in arrays)
        return (shapes, self._values(arrays)) if self._needed else shapes

    def _values(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        names = [one.name for one in self.definition.parameters]
        return tuple(int(arrays[names.index(name)]) for name in self._needed)

    def _compiled(self, arrays: Sequence[np.ndarray]) -> Kernel:
        """Return the kernel for arguments for which there is none in this process."""
        with self._lock:
            key = self._key(arrays)
            if key in self._kernels:
                return self._kernels[key]
            sizes = self._sizes(arrays)
            kernel = self._kept(sizes) or self._made(sizes)
            while len(self._kernels) >= _MOST_KERNELS:
                del self._kernels[next(iter(self._kernels))]
            self._kernels[key] = kernel
            return kernel

    def _sizes(self, arrays: Sequence[np.ndarray]) -> dict[str, int]:
        """Return the sizes of arguments, and the values of the scalars that must be known."""
        names = [one.name for one in self.definition.parameters]
        shapes = dict(zip(names, (array.shape for array in arrays), strict=True))
        sizes = sizes_of_arguments(self.definition, shapes)
        return sizes | dict(zip(self._needed, self._values(arrays), strict=True))

    def _cache_key(self, sizes: dict[str, int]) -> str:
        return key_of(canonical(self.definition), sizes, str(self.mapping))

    def _kept(self, sizes: dict[str, int]) -> Kernel | None:
        """Return the kernel that is in the cache, None if there is none."""
        cache = user_cache()
        entry = None if cache is None else cache.best(self._cache_key(sizes))
        if entry is None:
            return None
        try:
            return Kernel.from_recipe(entry.code, entry.recipe)
        except (LoadError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"the cache: {entry.label!r} is not used: {error}", CacheWarning, 4)
            return None

    def _made(self, sizes: dict[str, int]) -> Kernel:
        """Compile for sizes, and keep that in the cache."""
        scop, own = self._checked_scop(sizes)
        schedule = usual_schedule(scop)
        kernel = self._compile(scop, own, schedule, self.mapping)
        self._keep(sizes, kernel, schedule, self.mapping, None)
        return kernel

    def _checked_scop(self, sizes: dict[str, int]) -> tuple[Scop, dict[str, int]]:
        """Return the program, and the sizes by its own names."""
        scop = self.scop(**{name: sizes[name] for name in self._needed})
        own = {one.name: sizes[name] for one, name in zip(scop.parameters, sizes, strict=True)}
        if not admits(scop.context, own):
            found = ", ".join(f"{name} = {value}" for name, value in sizes.items())
            needs = " and ".join(scop.conditions) or "sizes from 1 on"
            raise InputError(f"{self.name} is not defined for {found}: it needs {needs}")
        return scop, own

    def _compile(
        self, scop: Scop, own: dict[str, int], schedule: Schedule, mapping: Mapping
    ) -> Kernel:
        arguments = self._array_names(scop, [one.name for one in self.definition.parameters])
        outputs = self._array_names(scop, [one.name for one in self.definition.outputs])
        return compile_kernel(scop, own, mapping, arguments, outputs, schedule)

    def _keep(
        self,
        sizes: dict[str, int],
        kernel: Kernel,
        schedule: Schedule,
        mapping: Mapping,
        seconds: float | None,
    ) -> None:
        """Put a kernel into the cache, if there is one."""
        cache = user_cache()
        if cache is None:
            return
        said = ", ".join(f"{name}={value}" for name, value in sizes.items())
        cache.put(
            Entry(
                key=self._cache_key(sizes),
                schedule=str(schedule),
                label=f"{self.name}({said})",
                mapping=str(mapping),
                seconds=seconds,
                recipe=kernel.recipe,
                code=kernel.object_code,
            )
        )

    def _array_names(self, scop: Scop, names: Sequence[str]) -> list[str]:
        """Return the names in the program of parameters or outputs."""
        own = dict(
            zip(
                dict.fromkeys(
                    [o.name for o in self.definition.parameters if o.name not in self._needed]
                    + [o.name for o in self.definition.outputs]
                ),
                scop.signature[len(scop.parameters) :],
                strict=True,
            )
        )
        return [own.get(name, "") for name in names]

    def _outputs(self, kernel: Kernel, out: np.ndarray | Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the memory for the outputs, checked."""
        given = [out] if isinstance(out, np.ndarray) else list(out)
        places = sorted(
            (one for one in kernel.places if one.output is not None),
            key=lambda one: one.output or 0,
        )
        if len(given) != len(places):
            raise InputError(f"out: expected {len(places)} array(s), found {len(given)}")
        for place, array, output in zip(places, given, self.definition.outputs, strict=True):
            if array.shape != place.shape or array.dtype != place.dtype:
                raise InputError(
                    f"out: {output.name}: expected {place.dtype} of shape {place.shape}, found "
                    f"{array.dtype} of shape {array.shape}"
                )
            if not (array.flags.c_contiguous and array.flags.writeable):
                raise InputError(f"out: {output.name}: expected contiguous memory to write to")
        return given
