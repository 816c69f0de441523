"""Machine code of a definition for sizes: from the cache, or made and kept there.

Sizes are given by the definition's names, with the values of scalars on which subscripts depend.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from polygym.errors import InputError, PolygymError, SourceError
from polygym.frontend.tc import TcDefinition, lower_definition, required_constants
from polygym.frontend.tc.semantics.name_resolution import size_locations
from polygym.frontend.tc.syntax.tree import Declaration
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.evaluation import context_holds
from polygym.poly.isl_budget import exclusive_isl
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.strategy import ISL, ScheduleStrategy
from polygym.poly.transform.storage.argument_layout import (
    StoredLayout,
    can_be_laid_out,
    with_layout,
)
from polygym.programs import Program, ProgramOutput
from polygym.programs.comprehensions import comprehension_initial_data
from polygym.runtime.loader import LoadError
from polygym.search import Candidate, SearchResult
from polygym.tc.cache import (
    CacheEntry,
    CacheWarning,
    KernelOrigin,
    cache_key,
    request_digest,
    user_cache,
)
from polygym.tc.general_kernel import GeneralKernel, compile_general
from polygym.tc.kernel import CompiledKernel, array_bindings, compile_kernel, default_schedule
from polygym.tc.similar_kernels import canonical_text, similar_candidates

if TYPE_CHECKING:
    from polygym.tc.gpu_calls import GpuKernel

_ANY = "any sizes"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How code is made where nothing better is known: in which order, under which mapping.

    ``layouts`` are those of parameters that are read as they lie in memory, by name.
    """

    schedule: ScheduleStrategy | Schedule = ISL
    mapping: MachineMapping = DEFAULT_MAPPING
    layouts: tuple[tuple[str, StoredLayout], ...] = ()


@dataclass(eq=False)
class KernelBuilder:
    """Builder of the kernels of one definition; ``required_constants`` are known scalars."""

    definition: TcDefinition
    options: BuildOptions = BuildOptions()
    required_constants: tuple[str, ...] = field(init=False)
    _scops: dict[tuple[int, ...], Scop] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Look what has to be known."""
        self.required_constants = required_constants(self.definition)

    @exclusive_isl()
    def scop(self, constants: Mapping[str, int]) -> Scop:
        """Return the program; scalars on which subscripts depend must be given."""
        key = tuple(constants.get(name, 0) for name in self.required_constants)
        if key not in self._scops:
            given = {name: constants[name] for name in self.required_constants if name in constants}
            self._scops[key] = lower_definition(self.definition, given)
        return self._scops[key]

    @exclusive_isl()
    def kernel(
        self, sizes: Mapping[str, int], options: BuildOptions | None = None
    ) -> CompiledKernel:
        """Return the fastest kernel that the cache has, or make one and keep it.

        Raises:
            InputError: the definition makes no sense for the sizes.
            IllegalScheduleError: the schedule is none of this program.
        """
        asked = options or self.options
        if (kept := self.cached_kernel(sizes, asked)) is not None:
            return kept
        scop, own = self._checked(sizes)
        if (again := self._recompiled(sizes, asked, scop, own)) is not None:
            return again
        schedule = _schedule(asked, scop, own)
        kernel = self._compiled(scop, own, schedule, asked.mapping, asked.layouts)
        self._store(sizes, asked, kernel, BuildOptions(schedule, asked.mapping), None)
        return kernel

    @exclusive_isl()
    def gpu_kernel(self, sizes: Mapping[str, int], target: str) -> GpuKernel:
        """Return the kernels for GPUs of an architecture, under the default mapping to them.

        Raises:
            InputError: the definition makes no sense for the sizes, or calls what no GPU has.
        """
        from polygym.gpu.mapping.device_model import model_for
        from polygym.gpu.mapping.pipeline import map_to_device
        from polygym.gpu.ptx.compile_ptx import compile_ptx
        from polygym.tc.gpu_calls import GpuKernel

        scop, own = self._checked(sizes)
        legal = LegalSchedule(scop, _schedule(self.options, scop, own))
        program = map_to_device(legal, sizes=own, model=model_for(target))
        arguments = self._array_names(scop, self.definition.parameters)
        outputs = self._array_names(scop, self.definition.outputs)
        bindings = array_bindings(scop, own, arguments, outputs)
        code = compile_ptx(program, target)
        return GpuKernel(scop, program, code, bindings, tuple(own.items()))

    @exclusive_isl()
    def general_kernel(self, sizes: Mapping[str, int]) -> GeneralKernel | None:
        """Return the code for all sizes with these values of known scalars, from the cache or new.

        None where there is none: isl may take too long, or a limit forbids it.

        Raises:
            InputError: isl has no schedule of the kind that was asked for.
        """
        constants = {name: sizes[name] for name in self.required_constants}
        request = request_digest(
            self._canonical, constants, f"{self.options.schedule} {_ANY}", str(self.options.mapping)
        )
        cache = user_cache()
        entry = None if cache is None else cache.fastest(cache_key(request))
        if entry is not None:
            with suppress(LoadError, ValueError, KeyError, TypeError):
                return GeneralKernel.from_recipe(entry.code, entry.recipe)
        scop, own = self._checked(sizes)
        schedule = _schedule(self.options, scop, own)
        known = {name: own[name] for name in list(own)[len(own) - len(constants) :]}
        try:
            kernel = compile_general(
                scop,
                known,
                self.options.mapping,
                self._array_names(scop, self.definition.parameters),
                self._array_names(scop, self.definition.outputs),
                schedule,
            )
        except PolygymError:
            return None
        origin = KernelOrigin(self._canonical, (), "", request)
        label = ", ".join([_ANY, *_size_texts(constants)])
        self._store_as(origin, label, kernel, BuildOptions(schedule, self.options.mapping), None)
        return kernel

    @exclusive_isl()
    def chosen_loops(
        self, sizes: Mapping[str, int]
    ) -> tuple[LegalSchedule, MachineMapping, dict[str, int]]:
        """Return the schedule, the mapping and the program's sizes of what :meth:`kernel` returns.

        Raises:
            InputError: the definition makes no sense for the sizes.
        """
        scop, own = self._checked(sizes)
        cache = user_cache()
        entry = (
            None if cache is None else cache.fastest(cache_key(self._request(sizes, self.options)))
        )
        if entry is not None:
            schedule = parse_schedule(entry.schedule, scop)
            return LegalSchedule(scop, schedule), parse_mapping(entry.mapping), own
        return LegalSchedule(scop, _schedule(self.options, scop, own)), self.options.mapping, own

    @exclusive_isl()
    def compile_tuned(self, sizes: Mapping[str, int], result: SearchResult) -> CompiledKernel:
        """Compile what a tuner has found, and keep it in the cache with its time.

        What comes back is the fastest there, which an earlier search may have found.
        """
        scop, own = self._checked(sizes)
        best = result.best
        kernel = self._compiled(scop, own, best.schedule, best.mapping)
        made = BuildOptions(best.schedule, best.mapping)
        self._store(sizes, self.options, kernel, made, best.seconds, str(result.source))
        return self.cached_kernel(sizes, self.options) or kernel

    @exclusive_isl()
    def program(self, sizes: Mapping[str, int]) -> Program:
        """Return what a tuner measures: the program with data of its own."""
        scop, own = self._checked(sizes)
        outputs = tuple(ProgramOutput(array.name) for array in scop.arrays if array.live_out)
        name = self.definition.name
        return Program(name, scop, comprehension_initial_data(scop), tuple(own.items()), outputs)

    def sizes_of_program(self, parameters: Mapping[str, int]) -> dict[str, int]:
        """Return sizes by the definition's names, given those of its program."""
        names = [
            name for name in size_locations(self.definition) if name not in self.required_constants
        ]
        scop = self.scop(parameters)
        own = [parameters[parameter.name] for parameter in scop.parameters]
        return dict(zip([*names, *self.required_constants], own, strict=True))

    def similar_choices(self, sizes: Mapping[str, int]) -> list[Candidate]:
        """Return what did best for similar kernels in the cache, the most similar first."""
        cache = user_cache()
        if cache is None:
            return []
        return similar_candidates(cache.tuned_entries(), self._canonical, tuple(sizes.values()))

    def cached_kernel(
        self, sizes: Mapping[str, int], options: BuildOptions | None = None
    ) -> CompiledKernel | None:
        """Return the kernel that is in the cache, None if there is none."""
        asked = options or self.options
        cache = user_cache()
        entry = None if cache is None else cache.fastest(cache_key(self._request(sizes, asked)))
        if entry is None:
            return None
        try:
            return CompiledKernel.from_recipe(entry.code, entry.recipe)
        except (LoadError, ValueError, KeyError, TypeError) as error:
            warnings.warn(f"the cache: {entry.label!r} is not used: {error}", CacheWarning, 4)
            return None

    def _recompiled(
        self, sizes: Mapping[str, int], asked: BuildOptions, scop: Scop, own: dict[str, int]
    ) -> CompiledKernel | None:
        """Compile what was fastest under an earlier polygym, if there is something."""
        cache = user_cache()
        if cache is None:
            return None
        for entry in cache.earlier_measurements(self._request(sizes, asked)):
            try:
                schedule = parse_schedule(entry.schedule, scop)
                mapping = parse_mapping(entry.mapping)
                kernel = self._compiled(scop, own, schedule, mapping, asked.layouts)
            except InputError:
                continue  # of other names, or nothing that this polygym can make
            self._store(sizes, asked, kernel, BuildOptions(schedule, mapping), None)
            return kernel
        return None

    @cached_property
    def _canonical(self) -> str:
        """The definition without names."""
        return canonical_text(self.definition)

    def _request(self, sizes: Mapping[str, int], asked: BuildOptions) -> str:
        """Return the fingerprint of a request."""
        places = [parameter.name for parameter in self.definition.parameters]
        layouts = [(places.index(name), layout) for name, layout in asked.layouts]
        text = f"{self._canonical} {layouts}" if layouts else self._canonical
        return request_digest(text, sizes, str(asked.schedule), str(asked.mapping))

    def _checked(self, sizes: Mapping[str, int]) -> tuple[Scop, dict[str, int]]:
        """Return the program, and the sizes by its own names."""
        scop = self.scop(sizes)
        own = dict(zip((p.name for p in scop.parameters), sizes.values(), strict=True))
        if not context_holds(scop.context, own):
            given = ", ".join(f"{name} = {value}" for name, value in sizes.items())
            needs = " and ".join(scop.conditions) or "sizes from 1 on"
            raise InputError(
                f"{self.definition.name} is not defined for {given}: it needs {needs}"
                f"{self._reason(sizes)}"
            )
        return scop, own

    def _reason(self, sizes: Mapping[str, int]) -> str:
        """Return why there is no program for sizes: at which place which index has no range."""
        constants = {name: sizes[name] for name in self.required_constants}
        fixed = {name: value for name, value in sizes.items() if name not in constants}
        if min(fixed.values(), default=1) < 1:
            return ""
        try:
            lower_definition(self.definition, constants, fixed)
        except SourceError as error:
            return f"\n{error}"
        return ""

    def _compiled(
        self,
        scop: Scop,
        own: dict[str, int],
        schedule: Schedule,
        mapping: MachineMapping,
        layouts: tuple[tuple[str, StoredLayout], ...] = (),
    ) -> CompiledKernel:
        arguments = self._array_names(scop, self.definition.parameters)
        outputs = self._array_names(scop, self.definition.outputs)
        names = [parameter.name for parameter in self.definition.parameters]
        for name, layout in layouts:
            array = arguments[names.index(name)]
            if not can_be_laid_out(scop, array):
                raise InputError(
                    f"{self.definition.name}: {name}: expected contiguous memory where it is "
                    "updated or read by computed subscripts"
                )
            scop = with_layout(scop, array, layout)
        return compile_kernel(scop, own, mapping, arguments, outputs, schedule)

    def _store(
        self,
        sizes: Mapping[str, int],
        asked: BuildOptions,
        kernel: CompiledKernel,
        made: BuildOptions,
        seconds: float | None,
        strategy: str = "",
    ) -> None:
        """Put a kernel into the cache, if there is one."""
        request = self._request(sizes, asked)
        origin = KernelOrigin(self._canonical, tuple(sizes.values()), strategy, request)
        self._store_as(origin, ", ".join(_size_texts(sizes)), kernel, made, seconds)

    def _store_as(
        self,
        origin: KernelOrigin,
        label: str,
        kernel: CompiledKernel | GeneralKernel,
        made: BuildOptions,
        seconds: float | None,
    ) -> None:
        """Put code into the cache, if there is one, as the answer to a request."""
        cache = user_cache()
        if cache is None:
            return
        cache.put(
            CacheEntry(
                key=cache_key(origin.request),
                schedule=str(made.schedule),
                label=f"{self.definition.name}({label})",
                mapping=str(made.mapping),
                seconds=seconds,
                recipe=kernel.recipe,
                code=kernel.object_code,
                origin=origin.text,
            )
        )

    def _array_names(self, scop: Scop, declared: Sequence[Declaration]) -> list[str]:
        """Return the names in the program of parameters or outputs."""
        inputs = [parameter.name for parameter in self.definition.parameters]
        names = [name for name in inputs if name not in self.required_constants]
        names += [output.name for output in self.definition.outputs]
        arrays = scop.signature[len(scop.parameters) :]
        own = dict(zip(dict.fromkeys(names), arrays, strict=True))
        return [own.get(tensor.name, "") for tensor in declared]


def _schedule(options: BuildOptions, scop: Scop, sizes: dict[str, int]) -> Schedule:
    """Return the schedule that options ask for, or the one of their strategy."""
    if isinstance(options.schedule, Schedule):
        return options.schedule
    return default_schedule(scop, options.schedule, sizes, options.mapping)


def _size_texts(sizes: Mapping[str, int]) -> list[str]:
    return [f"{name}={value}" for name, value in sizes.items()]
