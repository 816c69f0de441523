"""From a program with a schedule to exported code: the kernel, and the file that calls it.

An :class:`Export` has everything that the kinds of output write: the plan of the kernel for each
CPU level, and, where the program is a C file, how the region stands in it.
"""

from collections.abc import Mapping as Dictionary
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polygym.codegen.contraction import legal_with_storage
from polygym.errors import InputError
from polygym.export.cpp_header import cpp_header
from polygym.export.cpu_levels import NATIVE, CpuLevel, best_first, cpu_level
from polygym.export.header import function_header, kernel_header
from polygym.export.kernel import KernelPlan, KernelRequest, plan_kernel
from polygym.export.object_code import kernel_ir, kernel_object
from polygym.export.translation_unit import (
    expect_distinct,
    rewritten_unit,
    source_unit,
    with_relative_includes,
)
from polygym.frontend.c.driver import read_text
from polygym.frontend.c.embedding import RegionEmbedding, embed_file
from polygym.frontend.c.generated_text import MARK
from polygym.frontend.c.source.cpp.signs import CPP_SUFFIXES
from polygym.ir.scop import StorageClass
from polygym.ir.types import ScalarType
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, Mapping
from polygym.pickling import pickle_by_name
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs.program import Program


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What a user decides: the name of the function, sizes, processors, the check for overlaps.

    ``sizes`` are those for which the kernel is specialised, beside all others.
    """

    name: str | None = None
    sizes: tuple[tuple[tuple[str, int], ...], ...] = ()
    cpus: tuple[str, ...] = (NATIVE,)
    assumes_disjoint: bool = False


@pickle_by_name
@dataclass(frozen=True, slots=True)
class Export:
    """A program with a schedule, ready to be written as code.

    ``embedding`` is None where the program stands in no C file. ``plans`` has a plan for each CPU
    level. ``timing`` is the line about what was measured, for the files.
    """

    program: Program
    schedule: Schedule
    mapping: Mapping
    options: ExportOptions
    function: str
    embedding: RegionEmbedding | None
    plans: tuple[tuple[CpuLevel, KernelPlan], ...]
    timing: str = ""

    @property
    def plan(self) -> KernelPlan:
        """The plan for the first level; all have the same arguments."""
        return self.plans[0][1]

    @property
    def local_plan(self) -> KernelPlan | None:
        """The plan for the best level that this machine has, None where it has none of them."""
        by_level = dict(self.plans)
        ordered = best_first(tuple(by_level))
        return next((by_level[level] for level in ordered if level.runs_here), None)

    @property
    def is_source(self) -> bool:
        """Whether the code is that of the source: nothing was faster."""
        return (
            self.program.source is None
            and self.mapping == SEQUENTIAL_MAPPING
            and self.schedule == original_schedule(self.program.scop)
        )

    @property
    def suffix(self) -> str:
        """The ending of a file with the user's function: C or C++."""
        return ".c" if self.embedding is None or self.embedding.cpp is None else ".cpp"

    @property
    def is_unchanged(self) -> bool:
        """Whether the user's file stays as it is: there is one, and nothing was faster."""
        return self.embedding is not None and self.is_source

    def object_code(self) -> bytes:
        """Return the object file of the kernel."""
        return kernel_object(self.plans)

    def llvm_ir(self) -> str:
        """Return the optimised LLVM IR of the kernel."""
        return kernel_ir(self.plans)

    def comment(self, flags: str = "") -> list[str]:
        """Return three lines for people: the program, schedule and mapping, how it was measured.

        ``flags`` are those to compile it with.
        """
        heading = f"{MARK}: function {self.function} of {self.program.name}"
        how = [f"compile with {flags}"] if flags else []
        if self.is_unchanged:
            return [f"{heading}; {_UNCHANGED}", f"schedule {self.schedule}", "; ".join(how)]
        sizes, overlaps, *building = self._properties()
        return [
            "; ".join([heading, sizes, overlaps]),
            f"schedule {self.schedule}; {self._mapping_text()}",
            "; ".join([*how, *building, self.timing or "not measured"]),
        ]

    def details(self) -> list[str]:
        """Return lines about the code for a terminal."""
        if self.is_unchanged:
            return [_UNCHANGED]
        return [self._mapping_text(), *self._properties(), *([self.timing] if self.timing else [])]

    def _mapping_text(self) -> str:
        cpus = ", ".join(f"{level.name} ({level.processor})" for level, _ in self.plans)
        return f"mapping: {self.mapping}; CPU: {cpus}"

    def _properties(self) -> list[str]:
        """Return what the code takes for granted: sizes, overlaps, and the rest."""
        program, plan = self.program, self.plan
        sized = [variant.sizes for variant in plan.variants if variant.sizes is not None]
        texts = [" ".join(f"{name}={value}" for name, value in sizes) for sizes in sized]
        general = "all other sizes" if plan.variants[-1].sizes is None else "no other sizes"
        if not program.scop.parameters:
            general = "the sizes of the source"
        lines = [
            f"fast for: {'; '.join([*texts, general])}",
            "arrays may overlap: then the loops of the source run"
            if plan.disjoint and not self.options.assumes_disjoint
            else "arrays must not overlap, which is not checked"
            if self.options.assumes_disjoint
            else "no arguments can overlap",
        ]
        if self.mapping.reassociate:
            lines.append("floating-point sums are taken in another order: results may differ")
        if plan.threads > 1:
            lines.append(f"threads: {plan.threads}, or OMP_NUM_THREADS; link with -fopenmp")
            lines.append("on a busy machine set OMP_WAIT_POLICY=passive")
        return [*lines, *plan.notes]

    def kernel_header(self) -> str:
        """Return the header of the kernel."""
        return kernel_header(self.plan, self.comment())

    def function_header(self) -> str:
        """Return the header of the user's function."""
        assert self.embedding is not None
        if self.embedding.cpp is not None:
            return cpp_header(self.embedding.cpp, self.embedding.text, self.comment())
        return function_header(self.embedding, self.function, self.comment())

    def unit(self, top: str, folder: Path, *, is_external: bool = False) -> str:
        """Return the user's file for a folder, with the call of the kernel where it has one."""
        assert self.embedding is not None
        source = Path(self.embedding.scop.file)
        if not self.is_source:
            text = rewritten_unit(self.embedding, self.plan, top, is_external=is_external)
        elif is_external and self.embedding.linkage_spans:
            text = source_unit(self.embedding, top)
        else:
            text = top + read_text(str(source))
        return with_relative_includes(text, source, folder)


_UNCHANGED = "the source as it is: nothing is faster"


def prepare_export(
    program: Program, schedule: Schedule, mapping: Mapping, options: ExportOptions
) -> Export:
    """Generate the loops of an export.

    Raises:
        InputError: the region cannot be called from its file, or a size is not admitted.
        IllegalScheduleError: the schedule is not legal.
    """
    if not options.cpus:
        raise InputError("--cpu: expected at least one, found none")
    levels = [cpu_level(name) for name in dict.fromkeys(options.cpus)]
    embedding = _embedding(program)
    own_name = program.scop.name if embedding is None else embedding.function.decl.name
    function = options.name or own_name
    if embedding is not None and embedding.cpp is not None and options.name:
        raise InputError(f"--name: expected a C file, found C++ in {program.scop.file}")
    if embedding is not None:
        new = [f"{function}_kernel", *([function] if options.name else [])]
        expect_distinct(embedding, new)
    legal = legal_with_storage(program.storage, program.scop, schedule)
    request = KernelRequest(
        f"{function}_kernel",
        legal,
        mapping,
        tuple(dict(sizes) for sizes in options.sizes),
        _objects(program, embedding),
        _watched(embedding),
        options.assumes_disjoint,
    )
    plans = tuple(
        (level, plan_kernel(request, None if level.name == NATIVE else level.vector_bits))
        for level in levels
    )
    return Export(program, schedule, mapping, options, function, embedding, plans)


def _embedding(program: Program) -> RegionEmbedding | None:
    """Return how the region stands in its C file, None for a program that has none."""
    source = Path(program.as_written.file)
    if source.suffix not in {".c"} | CPP_SUFFIXES or not source.is_file():
        return None
    return embed_file(source, program.function)


def _objects(program: Program, embedding: RegionEmbedding | None) -> frozenset[str]:
    """Return the arrays that overlap no other: copies of arguments, and declared objects."""
    values = {a.name for a in program.scop.arrays if a.storage_class is StorageClass.VALUE}
    declared = () if embedding is None else embedding.arrays
    return frozenset(values | {own.array.name for own in declared if own.is_object})


def _watched(embedding: RegionEmbedding | None) -> tuple[tuple[str, int, str | None], ...]:
    """Return parameters that stand in memory which others may reach; see :class:`KernelPlan`."""
    if embedding is None:
        return ()
    types: Dictionary[str, ScalarType] = {p.name: p.type for p in embedding.scop.parameters}
    return tuple(
        (own.name, types[own.name].size, own.structure)
        for own in embedding.parameters
        if own.address is not None
    )


def sizes_of(values: Sequence[tuple[str, int]], program: Program) -> tuple[tuple[str, int], ...]:
    """Return the sizes of a program, those that are given instead of its own."""
    given = dict(values)
    return tuple((name, given.get(name, value)) for name, value in program.parameters)
