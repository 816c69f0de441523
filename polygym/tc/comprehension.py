"""Comprehensions that :func:`polygym.tc.define` returns: operators that compile themselves."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polygym.errors import InputError
from polygym.frontend.tc import TcDefinition, check_initialized
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping
from polygym.mdp.policies.registry import Policy
from polygym.poly.isl_budget import exclusive_isl
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.strategy import ISL, ScheduleStrategy, is_strategy
from polygym.programs.comprehensions import PREFIX
from polygym.search import SearchPlan, SearchProgress, SearchResult, read_choice, tune
from polygym.tc.arguments import complete_arguments
from polygym.tc.builder import BuildOptions, KernelBuilder
from polygym.tc.definition_choice import (
    AUTO,
    EACH,
    any_size_option,
    library_definition,
    mapping_option,
    strategy_option,
    text_definition,
)
from polygym.tc.derived_operators import (
    DerivedOperators,
    WrittenGradients,
    compare_gradients,
)
from polygym.tc.empty_kernel import EmptyKernel
from polygym.tc.gradients import BatchedOperator, GradientPart, check_gradient, written_part
from polygym.tc.kernel import CompiledKernel
from polygym.tc.kernel_table import KernelTable, Layouts
from polygym.tc.output_memory import is_apart, output_memory
from polygym.tc.torch_calls import call_with_tensors
from polygym.tc.torch_operators import is_traced, registered_entry
from polygym.tc.torch_tensors import as_arrays, is_on_gpu, torch_if_used
from polygym.version import __version__

if TYPE_CHECKING:
    from polygym.tc.gpu_calls import GpuCalls


def define(
    text: str,
    name: str | None = None,
    *,
    threads: int | None = None,
    mapping: Mapping | str = DEFAULT_MAPPING,
    schedule: ScheduleStrategy | str = ISL,
    gradient: str | Sequence[str] | None = AUTO,
    sizes: str = EACH,
) -> Comprehension:
    """Return the operator that a text defines; ``name`` chooses where it defines several.

    Its gradient is derived if PyTorch asks for it. ``gradient`` may name the definition in the text
    that computes it, or those that do together, as :meth:`Comprehension.with_gradient` says; with
    None there is none.

    ``tc:NAME`` in the place of a text is one of the library's operators, ``tc:NAME:double`` the
    same with ``double`` in the place of ``float``. It comes with its gradient, where there is one.

    ``schedule`` says in which order it runs as long as it is not tuned, such as ``isl
    fusion=maximum``, or ``auto`` for the one of a few that a model of cost takes for the best.
    ``mapping`` and ``threads`` say what is done for the machine's sake.

    ``sizes`` says what is compiled: code for ``each`` set of sizes, at its first call, or code that
    runs at ``any``, at the first call of all. For sizes at which that has run for half a second
    code of their own is made in the background, and takes over if it is faster.

    Raises:
        SourceError: the text is no comprehension; says where and why.
        InputError: there are several and no name, or none of that name, or an option is none.
    """
    if not isinstance(text, str):
        raise InputError(f"expected a text, found {type(text).__name__}")
    mapped = mapping_option(mapping)
    mapped = replace(mapped, threads=mapped.threads if threads is None else threads)
    strategy = strategy_option(schedule)
    choose = library_definition if text.startswith(PREFIX) else text_definition
    chosen, parts = choose(text, name, gradient)
    any_size = any_size_option(sizes)
    comprehension = Comprehension(chosen, mapped, strategy, any_size)
    comprehension._derived.written = WrittenGradients(is_automatic=gradient is not None)
    if not parts:
        return comprehension
    return comprehension.with_gradient(*(comprehension._like(part) for part in parts))


class Comprehension:
    """An operator on arrays.

    Calling it compiles it for the sizes of the arguments, once; results are new arrays, unless
    ``out`` gives their memory. Threads may share it.
    """

    def __init__(
        self,
        definition: TcDefinition,
        mapping: Mapping = DEFAULT_MAPPING,
        schedule: ScheduleStrategy = ISL,
        any_size: bool = False,
    ) -> None:
        """Check the definition as far as it can be without sizes.

        ``any_size`` asks for code that runs at any sizes.
        """
        self.definition = definition
        self._strategy = schedule
        self._builder = KernelBuilder(definition, BuildOptions(schedule, mapping))
        self.required_constants = self._builder.required_constants
        self.options_text = f"{mapping} {schedule}{' for any sizes' if any_size else ''}"
        self._table = KernelTable(definition, self._builder, any_size)
        self._derived = DerivedOperators(definition, self._like, self.required_constants)
        with exclusive_isl():
            check_initialized(definition)
        if not self.required_constants:
            self.scop()

    @cached_property
    def _gpu(self) -> GpuCalls:
        """The calls on GPUs; what makes kernels for them is imported at the first one."""
        from polygym.tc.gpu_calls import GpuCalls

        return GpuCalls(self._builder, self.compute)

    @property
    def name(self) -> str:
        """The name of the definition."""
        return self.definition.name

    @property
    def mapping(self) -> Mapping:
        """What is done for the machine's sake where nothing better is known."""
        return self._builder.options.mapping

    @property
    def torch_operator(self) -> Any:
        """The operator in ``torch.ops.polygym``, which a program from ``torch.export`` needs."""
        return registered_entry(self)

    def __repr__(self) -> str:
        """Say what it takes and returns."""
        parameters = ", ".join(parameter.name for parameter in self.definition.parameters)
        outputs = ", ".join(output.name for output in self.definition.outputs)
        return f"<comprehension {self.name}({parameters}) -> ({outputs})>"

    def __copy__(self) -> Comprehension:
        """Return another operator with the same code, which may be told otherwise from now on."""
        comprehension = Comprehension.__new__(Comprehension)
        comprehension.__dict__.update(self.__dict__)
        comprehension._table = self._table.copy()
        comprehension._derived = self._derived.copy(comprehension._like)
        return comprehension

    def __deepcopy__(self, memo: Any) -> Comprehension:
        """Return a copy: what it shares, definition and machine code, does not change."""
        return copy(self)

    def __reduce__(self) -> Any:
        """Be pickled as a definition with options; the code is compiled there, or in the cache.

        The fields of a definition belong to a version of polygym, so the version comes first, and
        the rest as bytes that no other version looks into.
        """
        options = str(self.mapping), str(self._strategy), self._table.any_size
        state = (self.definition, options, self._derived.written)
        return _unpickled, (__version__, pickle.dumps(state))

    def scop(self, **constants: int) -> Scop:
        """Return the program; scalars on which subscripts depend must be given."""
        return self._builder.scop(constants)

    def with_gradient(self, *gradients: Comprehension | str) -> Comprehension:
        """Return the operator with a gradient, for PyTorch's autograd.

        The gradient, a comprehension or the text of one, reads parameters and outputs of this one
        by their names, and derivatives of outputs by names such as ``d_C``; it returns ``d_A`` for
        a parameter A. Where there are several, each returns other derivatives, and is called if
        one of them is asked for.

        Raises:
            InputError: a name is none of those that it may be, or a type or a rank does not fit,
                or two gradients return the same.
            SourceError: a text is no comprehension.
        """
        parts = [
            given if isinstance(given, Comprehension) else define(given, mapping=self.mapping)
            for given in gradients
        ]
        check_gradient(self.definition, [part.definition for part in parts])
        result = copy(self)
        made = tuple(written_part(self.definition, part) for part in parts)
        result._derived.written = WrittenGradients(made, self._derived.written.is_automatic)
        return result

    def check_gradient(self, *arguments: Any, seed: int = 0) -> None:
        """Compare the written gradients with the derived one, for random derivatives of results.

        Raises:
            InputError: they differ by more than rounding.
        """
        compare_gradients(self, self._derived, self._arrays(arguments), seed)

    def gradient_parts(
        self, wanted: tuple[str, ...], arguments: Sequence[Any]
    ) -> tuple[GradientPart, ...]:
        """Return what computes the derivatives of parameters: written gradients, or derived ones.

        Scalars on which subscripts depend have the values of the arguments.

        Raises:
            InputError: there is no derivative.
        """
        return self._derived.gradient_parts(wanted, arguments)

    def tangent_part(self, varying: tuple[str, ...], arguments: Sequence[Any]) -> GradientPart:
        """Return what computes the derivatives of the outputs along those of parameters."""
        return self._derived.tangent_part(varying, arguments)

    def batched(self, parameters: tuple[bool, ...]) -> BatchedOperator:
        """Return the operator on batches of some of its arguments, along a first dimension."""
        return self._derived.batched(parameters)

    def _like(self, definition: TcDefinition) -> Comprehension:
        """Return the operator of another definition, with the same options."""
        return Comprehension(definition, self.mapping, self._strategy, self._table.any_size)

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Compute; one output comes as an array, several as a tuple.

        Arguments may be named as the parameters are. ``out`` is an array for each output; the last
        parameters that are updated may be left out, and are read from there. With PyTorch's tensors
        among the arguments results are tensors.

        Raises:
            InputError: the arguments do not fit the declaration, or each other.
        """
        if not named and (results := self._table.prepared.results(arguments, out)) is not None:
            return results[0] if len(results) == 1 else tuple(results)
        given = arguments
        if named or out is not None:
            arguments = complete_arguments(self.definition, arguments, named, out)
        if (torch := torch_if_used(arguments, out)) is None:
            results = self.compute(arguments, out)
        elif is_on_gpu(torch, arguments):
            results = self._gpu.call(torch, arguments, out)
            return results[0] if len(results) == 1 else tuple(results)
        else:
            results = call_with_tensors(torch, self, arguments, out)
        if not (named or (torch is not None and is_traced(torch))):
            self._table.prepare(given, out)
        return results[0] if len(results) == 1 else tuple(results)

    def compute(
        self, arguments: Sequence[Any], out: np.ndarray | Sequence[np.ndarray] | None
    ) -> list[np.ndarray]:
        """Compute with arrays, as a call does."""
        table = self._table
        if table.has_strided and (found := table.prepared.results(arguments, out)) is not None:
            return found
        arrays = table.arrays(arguments)
        kernel = table.kernel(arrays)
        results = kernel(arrays) if out is None else self._written(kernel, arrays, out)
        if table.has_strided:
            table.prepare(arguments, out)
        return results

    def _written(
        self,
        kernel: CompiledKernel | EmptyKernel,
        arrays: Sequence[np.ndarray],
        out: np.ndarray | Sequence[np.ndarray],
    ) -> list[np.ndarray]:
        """Compute into memory that is given."""
        given = output_memory(self.definition, kernel.outputs, out)
        # The code takes arrays to be contiguous and apart: others are written afterwards.
        apart = [output if is_apart(output, arrays) else None for output in given]
        results = kernel(arrays, apart)
        for output, result in zip(given, results, strict=True):
            if output is not result:
                output[...] = result
        return given

    def compile(
        self,
        *arguments: Any,
        schedule: ScheduleStrategy | Schedule | str | None = None,
        mapping: Mapping | str | None = None,
        tuned: SearchResult | str | os.PathLike[str] | Dictionary[str, Any] | None = None,
        strided: bool = False,
    ) -> CompiledKernel | EmptyKernel:
        """Return the machine code for arguments like these, which are not changed.

        With options of its own (a strategy such as ``isl skew=off``, or a schedule; a mapping; or
        both from what a tuner has found or saved) it is made by these, and the operator uses it
        for such arguments from now on. A schedule that would change the result is refused.

        ``strided=True`` makes code that reads arrays that are not contiguous (slices, transposed
        or broadcast ones) as they lie, for shapes and strides like these. Else they are copied.

        Raises:
            InputError: the arguments do not fit, or an option is none.
            IllegalScheduleError: the schedule breaks a dependence.
        """
        arrays = self._arrays(arguments)
        if strided and (layouts := self._table.layouts(arguments)):
            return self._compile_strided(layouts, arrays, schedule, mapping, tuned)
        if schedule is None and mapping is None and tuned is None:
            return self._table.kernel(arrays)
        sizes = self._table.sizes(arrays)
        options = self._options(self._builder.scop(sizes), schedule, mapping, tuned)
        kernel = self._builder.kernel(sizes, options)
        self._table.replace(arrays, kernel)
        return kernel

    def _compile_strided(
        self, layouts: Layouts, arrays: Sequence[np.ndarray], *choice: Any
    ) -> CompiledKernel | EmptyKernel:
        plain = self._table.kernel(arrays)
        if isinstance(plain, EmptyKernel):
            return plain
        sizes = self._table.sizes(arrays)
        options = replace(self._options(self._builder.scop(sizes), *choice), layouts=layouts)
        kernel = self._builder.kernel(sizes, options)
        self._table.use_strided(arrays, layouts, kernel)
        return kernel

    def tune(
        self,
        *arguments: Any,
        generations: int = 10,
        population: int = 100,
        strategy: str | Policy = "genetic",
        seed: int = 0,
        time_limit: float | None = None,
        on_progress: Callable[[SearchProgress], None] = lambda _: None,
    ) -> SearchResult:
        """Search for faster code for arguments like these, keep it, and use the fastest.

        Candidates run on data of their own, in other processes, and their outputs are compared bit
        for bit. ``strategy`` is ``genetic``, ``random``, ``policy:bias_coeff_0`` (or another of the
        gym's), or a policy; ``time_limit`` limits it, and so does Ctrl-C: the best so far counts.
        ``on_progress`` is called after every candidate.

        Raises:
            InputError: the arguments do not fit, or there is no such search.
        """
        arrays = self._arrays(arguments)
        sizes = self._table.sizes(arrays)
        count, order = generations * population, self._strategy
        plan = SearchPlan(count, population, strategy, seed, time_limit, schedule=order)
        program, similar = self._builder.program(sizes), self._builder.similar_choices(sizes)
        result = tune(program, self.mapping, plan, similar=similar, on_progress=on_progress)
        kernel = self._builder.compile_tuned(sizes, result)
        self._table.replace(arrays, kernel)
        return result

    def _arrays(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        if (torch := torch_if_used(arguments)) is not None:
            arguments = as_arrays(torch, self.definition, arguments)
        return self._table.arrays(arguments)

    def _options(
        self,
        scop: Scop,
        schedule: ScheduleStrategy | Schedule | str | None,
        mapping: Mapping | str | None,
        tuned: SearchResult | str | os.PathLike[str] | Dictionary[str, Any] | None,
    ) -> BuildOptions:
        """Return options of one compilation."""
        usual = self._builder.options
        if tuned is not None:
            if schedule is not None or mapping is not None:
                raise InputError("tuned: expected neither schedule nor mapping beside it")
            if isinstance(tuned, SearchResult):
                best = tuned.best
                return BuildOptions(parse_schedule(str(best.schedule), scop), best.mapping)
            return BuildOptions(*read_choice(tuned, scop))
        order: ScheduleStrategy | Schedule = usual.schedule
        if isinstance(schedule, str):
            order = (
                strategy_option(schedule)
                if is_strategy(schedule)
                else parse_schedule(schedule, scop)
            )
        elif schedule is not None:
            order = schedule
        mapped = usual.mapping if mapping is None else mapping_option(mapping)
        return BuildOptions(order, mapped)


def _unpickled(version: str, state: bytes) -> Comprehension:
    if version != __version__:
        raise InputError(
            f"a pickled comprehension: expected one of polygym {__version__}, found one of "
            f"version {version}: define it again from its text"
        )
    definition, (mapping, strategy, any_size), gradient = pickle.loads(state)
    comprehension = Comprehension(
        definition, mapping_option(mapping), strategy_option(strategy), any_size
    )
    comprehension._derived.written = gradient
    return comprehension
