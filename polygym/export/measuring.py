"""Measuring an export as it is written: compiled by the user's compiler, called from a driver.

The driver gives the kernel the convention of polygym's own code, so it runs in the same worker, on
the same data, in turn with the code that was measured before. Its output is compared with the
source's. It is loaded first, so that all of them share the OpenMP library that it needs.
"""

from dataclasses import dataclass
from pathlib import Path

from polygym.export.c_compiler import UserCompiler
from polygym.export.c_kernel import kernel_c_text
from polygym.export.exporting import Export
from polygym.export.header import element_type, kernel_header
from polygym.files import temporary_folder
from polygym.runtime.evaluation.compilation import compile_problem, compile_schedule
from polygym.runtime.worker.outcome import Ok, Outcome
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.timing import (
    GENEROUS_LIMIT,
    MeasureOptions,
    Repetition,
    describe_host,
)
from polygym.runtime.worker.worker import Worker

SLOWER = 1.1
"""Exported code that takes this many times as long as what was measured is worth a warning."""

SLOWER_THAN_SOURCE = 1.03
"""So many times the source's time is more than times vary."""

_FLAGS = ("-O3", "-march=native", "-w", "-fPIC")


@dataclass(frozen=True, slots=True)
class ExportTimes:
    """The outcomes of the source, of polygym's own code, and of the exported code."""

    source: Outcome
    own: Outcome
    exported: Outcome

    @property
    def ratio(self) -> float | None:
        """How many times as long the exported code takes, None where one of them failed."""
        if isinstance(self.own, Ok) and isinstance(self.exported, Ok):
            return self.exported.best / self.own.best
        return None

    @property
    def slowdown(self) -> float | None:
        """How many times as long as the source the exported code takes, None where one failed."""
        if isinstance(self.source, Ok) and isinstance(self.exported, Ok):
            return self.exported.best / self.source.best
        return None


def timing_line(times: ExportTimes) -> str:
    """Return the line about the times for the exported files."""
    if not isinstance(times.exported, Ok) or not isinstance(times.source, Ok):
        return f"measured as exported: {times.exported.status.value}"
    shown = f"{times.exported.best * 1e3:.4g} ms, source {times.source.best * 1e3:.4g} ms"
    return f"measured as exported: {shown}; {describe_host().processor}"


def measure_export(
    export: Export,
    compiler: UserCompiler,
    *,
    as_c: bool,
    rounds: int = 5,
    with_source: bool = True,
) -> ExportTimes:
    """Measure an export beside polygym's own code, and beside the source unless that takes long.

    Raises:
        InputError: the compiler refuses the code.
        ProblemError: the source does not run.
    """
    problem = compile_problem(export.program)
    own = compile_schedule(export.program, export.schedule, export.mapping)
    with temporary_folder() as folder:
        code = _driver_object(export, compiler, folder, as_c=as_c)
    names = [buffer.name for buffer in problem.buffers]
    exported = CompiledProgram(
        code,
        tuple(names.index(array.name) for array in export.plan.arrays),
        tuple(export.program.value(p.name) for p in export.plan.parameters),
        own.tolerance,
    )
    options = MeasureOptions(time_limit=GENEROUS_LIMIT)
    with Worker() as worker:
        session = worker.open(problem, Repetition(minimum=1))
        if with_source:
            together = session.measure_together((exported, problem.original, own), rounds, options)
            return ExportTimes(together[1], together[2], together[0])
        pair = session.measure_together((exported, own), rounds, options)
        return ExportTimes(session.baseline, pair[1], pair[0])


def _driver_object(export: Export, compiler: UserCompiler, folder: Path, *, as_c: bool) -> bytes:
    """Return the kernel with a driver around it, as one object."""
    threads = ("-fopenmp",) if export.plan.threads > 1 else ()
    kernel = folder / "kernel.o"
    if as_c:
        level = next((level for level, plan in export.plans if plan is export.local_plan), None)
        (folder / "kernel.c").write_text(kernel_c_text(export, level), encoding="utf-8")
        compiler.compile(folder / "kernel.c", kernel, *_FLAGS, *threads)
    else:
        kernel.write_bytes(export.object_code())
    (folder / "driver.c").write_text(_driver_text(export), encoding="utf-8")
    compiler.compile(folder / "driver.c", folder / "driver.o", *_FLAGS)
    compiler.join([folder / "driver.o", kernel], folder / "whole.o")
    return (folder / "whole.o").read_bytes()


def _driver_text(export: Export) -> str:
    """Return C that calls the kernel with what the worker gives."""
    plan = export.plan
    count = len(plan.arrays)
    arguments = [f"({element_type(a)} *)arguments[{k}]" for k, a in enumerate(plan.arrays)]
    arguments += ["(const void *)0"] * len(plan.watched)
    arguments += [f"*(long *)arguments[{count + k}]" for k in range(len(plan.parameters))]
    threads = f"GOMP_parallel(idle, 0, {plan.threads}, 0);" if plan.threads > 1 else ""
    return f"""{kernel_header(plan, [])}
#include <time.h>
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);
static void idle(void *nothing) {{ (void)nothing; }}
static long now(void)
{{
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return moment.tv_sec * 1000000000L + moment.tv_nsec;
}}
int polygym_run(void **arguments, long *nanoseconds)
{{
  {threads}
  long before = now();
  int code = {plan.name}({", ".join(arguments)});
  *nanoseconds = now() - before;
  return code;
}}
"""
