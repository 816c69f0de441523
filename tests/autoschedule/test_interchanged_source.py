"""The source with two loops interchanged: which orders there are, and what they compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.autoschedule.code_choice import confirmed_start
from polygym.autoschedule.interchanged_source import interchanged_orders, interchanged_sources
from polygym.autoschedule.threaded_source import private_source
from polygym.frontend.c import parse_text
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.legality import find_violation
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT
from polygym.programs import load_program
from tests.oracles.compiled_runs import run_natively
from tests.oracles.interpreter import interpret

COLUMNS = "for (int j = 1; j < n - 1; j++) for (int i = 1; i < n - 1; i++) "
ROWS = "for (int i = 1; i < n - 1; i++) for (int j = 1; j < n - 1; j++) "
SUM = "a[i][j] = a[i][j + 1] + a[i][j - 1] + a[i + 1][j] + a[i - 1][j];"


def text_of(body: str) -> str:
    return (
        "void f(int n, int m, float a[n][n], float b[n][n]) {\n"
        f"#pragma scop\n{body}\n#pragma endscop\n}}"
    )


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (COLUMNS + SUM, 1),
        (ROWS + SUM, 0),
        (f"for (int t = 0; t < m; t++) {COLUMNS} {SUM}", 1),
        (COLUMNS + "a[i][j] = a[i - 1][j + 1];", 0),  # illegal
        (COLUMNS + "a[i][j] = a[j][i];", 0),  # nothing is gained
        ("for (int i = 0; i < n; i++) a[i][i] = 0;", 0),
        ("for (int j = 0; j < n; j++) for (int i = j; i < n; i++) b[i][j] = a[i][j];", 1),
        (f"{COLUMNS} {SUM} {COLUMNS} b[i][j] = a[i][j];", 0),  # no loop is around both
    ],
)
def test_orders(body: str, count: int) -> None:
    scop = parse_text(text_of(body))
    orders = list(interchanged_orders(scop))
    assert len(orders) == count
    source = original_schedule(scop)
    for order in orders:
        assert order != source
        assert find_violation(scop, order) is None
        n = 9
        generator = np.random.default_rng(1)
        given = {
            array.name: generator.random((n, n), np.float32)
            for array in scop.arrays
            if array.rank == 2
        }
        expected = {name: values.copy() for name, values in given.items()}
        sizes = {name.name: {"n": n, "m": 2}[name.name] for name in scop.parameters}
        interpret(scop, sizes, expected)
        run_natively(scop, order, sizes, given)
        for name, values in expected.items():
            np.testing.assert_array_equal(given[name], values, name)


@pytest.mark.parametrize(
    ("name", "sizes", "is_parallel"),
    [
        ("bilateral", {"h": 800, "w": 800}, True),
        ("implicit2d", {"n": 1000, "m": 1000, "sweeps": 6}, False),
    ],
)
def test_programs_that_walk_along_columns_get_rows(
    name: str, sizes: dict[str, int], is_parallel: bool
) -> None:
    file = Path(__file__).parents[2] / f"benchmarks/unseen_programs/{name}.c"
    program = load_program(str(file), parameters=sizes)
    threads = replace(DEFAULT_MAPPING, threads=2)
    stored = private_source(program, DEFAULT_MEMORY_LIMIT)
    assert stored is not None
    ((order, to),) = interchanged_sources(stored, threads)
    assert not stored.storage.is_source
    assert to.threads == 1 + is_parallel
    chosen = confirmed_start(program, threads, DEFAULT_MEMORY_LIMIT)
    assert chosen.mapping == to
    assert chosen.start.choice is not None
    assert chosen.start.choice.schedule == order
