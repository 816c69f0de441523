"""Programs and schedules for the tests: quick ones, illegal ones, one whose code takes for ever."""

from __future__ import annotations

from functools import cache

from polybench import Dataset
from polygym.poly.schedule import Schedule, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import Program, load_program
from polygym.runtime.evaluation import EvaluationOptions
from polygym.runtime.evaluation.compiler import Compiler
from polygym.runtime.worker.problem import CompiledProgram
from tests.runtime.worker import objects

# Legal, but its coefficients make isl think for minutes, in calls that nothing interrupts.
_ENDLESS = (
    "[n] -> { S0[i, j, k] -> [10i + 53j + 57k + 35, 2i - j - k + 2n, i]; "
    "S1[i, j] -> [10i + 110j + 30, i - 2j + 2n, i]; S2[i, k] -> [58i + 62k + 14, i, i]; "
    "S3[i] -> [120i, 0, i] }"
)

ONE_SECOND = EvaluationOptions(compile_seconds=1.0)


@cache
def gemm() -> Program:
    """Return a kernel of microseconds."""
    return load_program("gemm", dataset=Dataset.MINI)


@cache
def cholesky() -> Program:
    """Return the kernel that the endless schedule belongs to."""
    return load_program("cholesky", dataset=Dataset.MINI)


def endless() -> Schedule:
    """Return a legal schedule of cholesky for which no code is generated in a minute."""
    return parse_schedule(_ENDLESS, cholesky().scop)


def plain(program: Program | None = None) -> Schedule:
    """Return the original order, of gemm if nothing else is named."""
    return original_schedule((program or gemm()).scop)


def interchanged(shift: int = 0) -> Schedule:
    """Return a legal order of gemm with other loops; a shift changes nothing but the text."""
    return parse_schedule(
        f"[ni, nj, nk] -> {{ S0[i, j] -> [0, i, {shift} + j, 0]; "
        f"S1[i, k, j] -> [1, j, i, {shift} + k] }}",
        gemm().scop,
    )


def illegal() -> Schedule:
    """Return an order of gemm that adds up before it scales."""
    return parse_schedule(
        "[ni, nj, nk] -> { S0[i, j] -> [1, i, j, 0]; S1[i, k, j] -> [0, i, k, j] }", gemm().scop
    )


class Imposter(Compiler):
    """A compiler that returns other code for one schedule: a defect, as the evaluator sees it."""

    def __init__(self, schedule: Schedule, body: str) -> None:
        """Remember the schedule, and compile the kernel that is passed off as its code."""
        super().__init__()
        self._schedule = schedule
        self._code = objects.compile_kernel(body)

    def compile_schedule(self, program, schedule, *arguments, **options):
        """Return the object code given for the one schedule, the real one for all others."""
        compiled_program = super().compile_schedule(program, schedule, *arguments, **options)
        if schedule != self._schedule:
            return compiled_program
        assert isinstance(compiled_program, CompiledProgram)
        return CompiledProgram(self._code, compiled_program.buffers, compiled_program.parameters)
