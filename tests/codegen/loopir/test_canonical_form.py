"""Loops have one key if they are the same but for where counters begin, and only then."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from polygym.codegen.loopir.canonical_form import canonical_key
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import lower
from polygym.ir.scop import Scop
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import Schedule, parse_schedule
from tests.c_programs import kernel_scop, small_parameters
from tests.oracles.loops import Event, events
from tests.oracles.random_schedules import random_legal_schedule

GEMM = kernel_scop("gemm")
SIZES = {"ni": 20, "nj": 25, "nk": 30}


def of_gemm(text: str, mapping: str = "default", sizes: dict[str, int] | None = None) -> str:
    return canonical_key(lowered(GEMM, parse_schedule(text, GEMM), mapping, sizes or SIZES))


def lowered(
    scop: Scop, schedule: Schedule, mapping: str, sizes: dict[str, int] | None
) -> LoopProgram:
    return lower(LegalSchedule(scop, schedule), parse_mapping(mapping), sizes)


BASE = "[ni, nj, nk] -> { S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, i, k, j] }"
SAME = (
    "[ni, nj, nk] -> { S0[i, j] -> [0, i + 7, j - nk, 0]; S1[i, k, j] -> [5, i, k - 3, j + 2ni] }",
    "[ni, nj, nk] -> { S0[i, j] -> [nj, i, j, 9]; S1[i, k, j] -> [2nj, i, k, j] }",
)
OTHERS = (
    "[ni, nj, nk] -> { S0[i, j] -> [0, i, j, 0]; S1[i, k, j] -> [1, k, i, j] }",
    "[ni, nj, nk] -> { S0[i, j] -> [0, i, -j, 0]; S1[i, k, j] -> [1, i, k, j] }",
    "[ni, nj, nk] -> { S0[i, j] -> [i, 0, j, 0]; S1[i, k, j] -> [i, 1, k, j] }",
    "[ni, nj, nk] -> { S0[i, j] -> [i, 0, j, 0]; S1[i, k, j] -> [i + 1, 1, k, j] }",
)


@pytest.mark.parametrize("mapping", ["sequential", "sequential threads=2"])
def test_constants_alone_make_no_other_loops(mapping: str) -> None:
    assert {of_gemm(text, mapping) for text in (BASE, *SAME)} == {of_gemm(BASE, mapping)}


def test_tiles_begin_elsewhere_where_constants_move_them() -> None:
    """They are cut at multiples of their size, whatever runs there."""
    keys = [of_gemm(BASE.replace("k, j] }", f"k + {by}, j] }}")) for by in (0, 7, 240)]
    assert keys[0] == keys[1] != keys[2]


def test_what_runs_otherwise_has_another_key() -> None:
    keys = [of_gemm(text, "sequential") for text in (BASE, *OTHERS)]
    keys += [of_gemm(BASE, mapping) for mapping in ("default", "sequential threads=2", "tile=4")]
    keys += [of_gemm(BASE, "sequential", {**SIZES, "nk": 31})]
    assert len(set(keys)) == len(keys)


def test_the_key_is_the_same_in_every_process() -> None:
    """Where Python hashes texts in another way, too."""
    line = (
        "from tests.codegen.loopir.test_canonical_form import BASE, of_gemm; "
        "print(of_gemm(BASE, 'default threads=2'))"
    )
    for seed in ("1", "2"):
        process = subprocess.run(
            [sys.executable, "-c", line],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        )
        assert process.stdout.strip() == of_gemm(BASE, "default threads=2")


@pytest.mark.parametrize("kernel", ["mvt", "atax", "jacobi-1d", "trisolv"])
def test_loops_of_one_key_run_the_same(kernel: str) -> None:
    """What their instances are, in order, which elements they touch, which lanes run at once."""
    scop, rng = kernel_scop(kernel), np.random.default_rng(5)
    sizes = small_parameters(scop)
    mappings = ("sequential", "tile=2x4 vector_bits=128")
    ran: dict[str, list[Event]] = {}
    same = 0
    for _ in range(6):
        schedule = random_legal_schedule(scop, rng)
        moved = shifted(schedule, rng)
        for mapping in mappings:
            loop_program, other = (
                lowered(scop, variant, mapping, sizes) for variant in (schedule, moved)
            )
            same += canonical_key(loop_program) == canonical_key(other)
            for program in (loop_program, other):
                trace = [replace(event, shares=()) for event in events(program.body, sizes)]
                assert ran.setdefault(canonical_key(program), trace) == trace
    assert len(ran) > len(mappings)
    assert same >= 4, "isl cuts some loops in another way, tiles begin elsewhere, but not always"


def shifted(schedule: Schedule, rng: np.random.Generator) -> Schedule:
    """Return a schedule with other constants, the same for all statements."""
    by = rng.integers(-9, 9, size=schedule.dimensions)
    return replace(
        schedule,
        statements=tuple(
            replace(
                part,
                rows=tuple(
                    replace(row, constant=row.constant + int(more))
                    for row, more in zip(part.rows, by, strict=True)
                ),
            )
            for part in schedule.statements
        ),
    )
