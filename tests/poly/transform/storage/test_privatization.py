"""Private: for schedules an element for every iteration, in code one copy for each thread."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.contraction import contract_legal
from polygym.codegen.llvm.emit_module import emit_llvm
from polygym.codegen.loopir.ir import LoopProgram
from polygym.codegen.pipeline import lower, lowering_trace
from polygym.errors import InputError, LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.mapping.mapping import SEQUENTIAL_MAPPING, parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.memory_cost import (
    new_array_bytes,
    new_arrays,
    private_copy_bytes,
    require_memory_limit,
)
from polygym.poly.transform.storage.plan import parse_storage
from polygym.poly.transform.storage.variants import storage_choices
from tests.codegen.mapped_programs import random_mapping
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.loops import events
from tests.oracles.threads import every_loop_shared
from tests.poly.transform.storage.random_plans import (
    NOT_FITTING,
    PROGRAMS,
    REFUSED,
    STORED_PROGRAMS,
    disagreement,
    private_plan,
    random_plan,
    scop_of,
)

SCALAR = """
void f(int n, double A[n][n], double x[n], double y[n]) {
  double w;
#pragma scop
  for (int i = 0; i < n; i++) {
    w = x[i];
    for (int k = 0; k < n; k++)
      w = w * 0.5 + A[i][k];
    y[i] = w + x[i];
  }
#pragma endscop
}
"""
ROW = """
void f(int n, double A[n][n], double y[n]) {
  double row[n];
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++)
      row[k] = A[i][k] * 0.5 + (k > 0 ? row[k - 1] : 1.0);
    for (int k = n - 1; k >= 0; k--)
      y[i] += row[k] * A[i][k];
  }
#pragma endscop
}
"""
EACH = """
void f(int n, double A[n][n], double B[n][n], double x[n]) {
  double w;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      w = A[i][j] * 0.5 + x[j];
      B[i][j] = w * w + B[i][j];
    }
#pragma endscop
}
"""
DEVIATIONS = """
void f(int n, float A[n][n], float B[n][n]) {
  float s, t, u;
#pragma scop
  for (int i = 0; i < n; i++) {
    s = 0.0f;
    for (int j = 0; j < n; j++)
      s += A[i][j];
    s = 0.1f * s;
    t = 0.0f;
    for (int j = 0; j < n; j++) {
      u = A[i][j] - s;
      t += u * u;
    }
    for (int j = 0; j < n; j++)
      B[i][j] = (A[i][j] - s) / (1.0f + t);
  }
#pragma endscop
}
"""
SIZES = {"n": 37}
WITH_PRIVATE = ("scalar", "row", "symmetric")
SHARED = "parallel=static"


def loops_of(
    scop: Scop, plan: str, mapping: str, sizes: dict[str, int] | None = SIZES
) -> LoopProgram:
    stored = apply_plan(scop, parse_storage(plan))
    schedule = original_schedule(stored)
    return lower(LegalSchedule(stored, schedule), parse_mapping(mapping), sizes)


def new_array(loops: LoopProgram) -> Array:
    return next(array for array in loops.scop.arrays if array.name.endswith("_1"))


def expect_same(scop: Scop, loops: LoopProgram, parameters: dict[str, int]) -> None:
    arrays = random_arrays(scop, parameters, np.random.default_rng(7))
    expected = {name: array.copy() for name, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    with every_loop_shared():
        run_loops(loops, parameters, arrays, is_watched=True)
    for array in scop.arrays:
        if array.is_observable:
            assert arrays[array.name].tobytes() == expected[array.name].tobytes()


@pytest.mark.parametrize(
    ("mapping", "extents"),
    [
        ("sequential", ()),
        (f"threads=2 {SHARED} tile=off vector_bits=off unroll_jam=1", ()),
        (f"threads=4 {SHARED} tile=8 vector_bits=off unroll_jam=1", ("8",)),
    ],
)
def test_a_scalar_is_one_place(mapping: str, extents: tuple[str, ...]) -> None:
    scop = parse_text(SCALAR)
    for sizes in (SIZES, None):
        loops = loops_of(scop, "w=private:i", mapping, sizes)
        array = new_array(loops)
        assert (array.storage_class, array.c_extents) == (StorageClass.PRIVATE, extents)
        assert loops.privatization_failures == ()
        expect_same(scop, loops, SIZES)


def test_iterations_that_run_together_have_a_place_each() -> None:
    scop = parse_text(SCALAR)
    loops = loops_of(scop, "w=private:i", f"threads=2 {SHARED} tile=8 vector_bits=off unroll_jam=4")
    array = new_array(loops)
    assert array.storage_class is StorageClass.PRIVATE
    assert [int(length) for length in array.c_extents] in ([], [2], [4], [8])
    expect_same(scop, loops, SIZES)


@pytest.mark.parametrize("copies", [1, 2])
def test_lanes_have_a_place_each(copies: int) -> None:
    """Passes call the lane as the counter of the loop around it, in whose terms places are."""
    scop = parse_text(EACH)
    mapping = f"threads=2 {SHARED} tile=off vector_bits=256 vector_copies={copies} unroll_jam=1"
    for sizes in (SIZES, None):
        loops = loops_of(scop, "w=private:i,j", mapping, sizes)
        array = new_array(loops)
        assert (array.storage_class, array.c_extents) == (StorageClass.PRIVATE, (str(4 * copies),))
        assert loops.unproved_accesses == frozenset()
        expect_same(scop, loops, SIZES)


def test_a_row_is_private_at_known_sizes_and_shared_at_others() -> None:
    scop = parse_text(ROW)
    mapping = f"threads=2 {SHARED} tile=off vector_bits=off unroll_jam=1"
    loops = loops_of(scop, "row=private:i", mapping)
    assert (new_array(loops).storage_class, new_array(loops).c_extents) == (
        StorageClass.PRIVATE,
        ("38",),
    )
    expect_same(scop, loops, SIZES)
    loops = loops_of(scop, "row=private:i", mapping, None)
    assert new_array(loops).storage_class is StorageClass.SCRATCH
    assert [name for name, _ in loops.privatization_failures] == ["row_1"]
    assert "no bound" in loops.privatization_failures[0][1]
    expect_same(scop, loops, SIZES)


def test_a_row_that_is_too_long_for_a_thread_is_shared() -> None:
    mapping = f"threads=2 {SHARED} tile=off vector_bits=off unroll_jam=1"
    loops = loops_of(parse_text(ROW), "row=private:i", mapping, {"n": 40_000})
    assert loops.privatization_failures == ()
    loops = loops_of(parse_text(ROW), "row=private:i", mapping, {"n": 9_000_000})
    ((name, reason),) = loops.privatization_failures
    assert name == "row_1"
    assert "need 72,000,008 bytes for it, and 67,108,864 are left" in reason


def test_values_that_leave_their_iteration_stay_shared() -> None:
    scop = parse_text(SCALAR)
    stored = apply_plan(scop, parse_storage("w=private:i"))
    legal = LegalSchedule(
        stored,
        isl_schedule(
            stored,
        ),
    )
    loops = lower(legal, SEQUENTIAL_MAPPING, SIZES)
    expect_same(scop, loops, SIZES)
    live = scop_of("live_after")
    loops = loops_of(live, "s=private:i", f"threads=2 {SHARED}")
    assert [name for name, _ in loops.privatization_failures] == ["s_1"]
    expect_same(live, loops, SIZES)


def test_what_is_not_private_gets_the_windows_of_the_schedule() -> None:
    live = scop_of("live_after")
    loops = loops_of(live, "s=private:i", "sequential")
    assert new_array(loops).storage_class is StorageClass.SCRATCH
    assert new_array(loops).c_extents == ()
    expect_same(live, loops, SIZES)


def test_the_code_of_a_private_scalar() -> None:
    loops = loops_of(parse_text(SCALAR), "w=private:i", "sequential")
    text = print_c(loops)
    assert "static _Thread_local double w_1 " in text
    assert "w_1 = x[c0];" in text


def test_what_is_not_private_is_said_once() -> None:
    """t_1 is tried again when t_2 has its windows, and cannot be private then either."""
    scop = parse_text("""
void f(int n, double A[n], double B[n], double C[n]) {
  double t, u;
#pragma scop
  for (int i = 0; i < n; i++) {
    t = A[i] * 3.0;
    u = t + B[i];
    for (int j = 0; j < n; j++) {
      t = u * C[j];
      B[j] = B[j] + t;
    }
    A[i] = u - t;
  }
#pragma endscop
}
""")
    stored = apply_plan(scop, parse_storage("t=private:i,j"))
    legal = LegalSchedule(stored, isl_schedule(stored))
    loops = lower(legal, parse_mapping("threads=2"), {"n": 3000})
    names = [name for name, _ in loops.privatization_failures]
    private = [
        array.name for array in loops.scop.arrays if array.storage_class is StorageClass.PRIVATE
    ]
    assert sorted([*names, *private]) == ["t_1", "t_2"]
    loops = lower(legal, parse_mapping("threads=2"), {"n": 9})
    expect_same(scop, loops, {"n": 9})


def test_small_arrays_may_be_shared_where_large_ones_may_not() -> None:
    """Of t there is an element for each i, or for each i and j: only that is too much."""
    scop = parse_text("""
void f(int n, double A[n], double B[n], double C[n]) {
  double t;
#pragma scop
  for (int i = 0; i < n; i++) {
    t = A[i] * 3.0;
    A[i] = t + C[i];
    for (int j = 0; j < n; j++) {
      t = A[i] * C[j];
      B[j] = B[j] + t;
    }
  }
#pragma endscop
}
""")
    plan = parse_storage("t=private:i,j")
    for limit, expected in (
        (10_000_000, (StorageClass.PRIVATE, StorageClass.PRIVATE)),
        (9_000, (StorageClass.PRIVATE, StorageClass.ONLY_PRIVATE)),
        (7_000, (StorageClass.ONLY_PRIVATE, StorageClass.ONLY_PRIVATE)),
    ):
        stored = require_memory_limit(scop, plan, apply_plan(scop, plan), {"n": 1000}, limit)
        assert (stored.array("t_1").storage_class, stored.array("t_2").storage_class) == expected


def test_what_may_be_nothing_but_private_is_refused_where_it_is_not() -> None:
    source = scop_of("live_after")
    plan = parse_storage("s=private:i")
    stored = require_memory_limit(source, plan, apply_plan(source, plan), {"n": 1000}, 1000)
    legal = LegalSchedule(stored, original_schedule(stored))
    with pytest.raises(InputError, match=r"s_1 cannot be private under this schedule and mapping"):
        lower(legal, SEQUENTIAL_MAPPING, {"n": 1000})
    with pytest.raises(InputError, match=r"more memory than is allowed: double s_1\[n\]$"):
        lower(legal, SEQUENTIAL_MAPPING, None)
    scop = parse_text(SCALAR)
    plan = parse_storage("w=private:i")
    stored = require_memory_limit(scop, plan, apply_plan(scop, plan), {"n": 1000}, 1000)
    loops = lower(LegalSchedule(stored, original_schedule(stored)), SEQUENTIAL_MAPPING, {"n": 1000})
    assert new_array(loops).storage_class is StorageClass.PRIVATE


def test_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygym.poly.transform.storage.memory_cost.cpu_count", lambda: 3)
    scop = parse_text(ROW)
    plan = parse_storage("row=private:i")
    assert private_copy_bytes(scop, plan, {"n": 100}) == 3 * 100 * 8
    assert new_array_bytes(apply_plan(scop, plan), {"n": 100}) == 0
    with pytest.raises(InputError, match=r"at most 2\.39 kB for new arrays, found 2\.4 kB"):
        require_memory_limit(scop, plan, apply_plan(scop, plan), {"n": 100}, 2390)
    (row,) = [
        web_choices
        for web_choices in storage_choices(scop, {"n": 100})
        if web_choices.array == "row"
    ]
    assert [
        (str(choice.entry), choice.bytes) for choice in row.choices if choice.entry.is_privatized
    ] == [("S0:row=private:i", 2400)]


def test_what_is_seen_after_is_not_offered() -> None:
    (web_choices,) = [
        choices for choices in storage_choices(scop_of("live_after"), SIZES) if choices.array == "s"
    ]
    assert not any(choice.entry.is_privatized for choice in web_choices.choices)


@pytest.mark.parametrize("name", STORED_PROGRAMS)
def test_random_plans_schedules_and_mappings(name: str) -> None:
    with every_loop_shared():
        disagreements = [
            disagreement(name, seed, is_watched=seed % 2 == 1, with_private=True)
            for seed in range(300, 304)
        ]
    assert [said for said in disagreements if said not in (None, NOT_FITTING, REFUSED)] == []
    assert None in disagreements


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_of_them(name: str) -> None:
    with every_loop_shared():
        disagreements = [
            disagreement(name, seed, is_watched=seed % 4 == 3, with_private=True)
            for seed in range(400, 440)
        ]
    assert [said for said in disagreements if said not in (None, NOT_FITTING, REFUSED)] == []


def sources(program: LoopProgram, sizes: dict[str, int], *, apart: bool) -> list[object]:
    """Return what every read of new arrays sees: the number of the event that wrote it.

    Private arrays are in the memory of a thread: the iterations of a parallel loop have all of it
    in common, or ``apart`` none of it.
    """
    private = {
        array.name for array in program.scop.arrays if array.storage_class is StorageClass.PRIVATE
    }
    new = {array.name for array in new_arrays(program.scop)}
    statements = {statement.name: statement for statement in program.scop.statements}
    last: dict[object, int] = {}
    result: list[object] = []
    numbered = enumerate(events(program.body, sizes))
    for _, together in groupby(numbered, key=lambda entry: entry[1].step):
        written: dict[object, int] = {}
        for number, event in together:
            statement = statements[event.statement]
            where = event.shares if apart else ()

            def place(array: str, subscripts: object, where: object = where) -> object:
                return (array, subscripts, where if array in private else ())

            result += [
                last.get(place(access.array, subscripts))
                for access, subscripts in zip(statement.reads, event.reads, strict=True)
                if access.array in new
            ]
            written[place(statement.write.array, event.write)] = number
        last |= written
    return result


def test_rows_are_not_copied_back_to_one_element() -> None:
    """A tile of vectors that is copied to a scalar of a thread is no square that is turned."""
    scop = parse_text(DEVIATIONS)
    plan = parse_storage("S0:s=private:i S2:s=private:i t=private:i u=private:i,j contract")
    stored = apply_plan(scop, plan)
    legal = contract_legal(LegalSchedule(stored, original_schedule(stored)))
    assert emit_llvm(lower(legal, parse_mapping("threads=2 vector_bits=512"), {"n": 209}))


@pytest.mark.parametrize("name", [*STORED_PROGRAMS, "scalar", "row"])
def test_every_read_sees_on_any_thread_what_it_saw(name: str) -> None:
    """By force: the loops before and after the pass, with one thread and with one an iteration."""
    texts = {"scalar": SCALAR, "row": ROW}
    scop = parse_text(texts[name]) if name in texts else scop_of(name)
    generator = np.random.default_rng([5, len(name)])
    compared = 0
    for _ in range(8):
        plan = private_plan(random_plan(generator, scop), generator)
        try:
            stored = apply_plan(scop, plan)
            schedule = (
                original_schedule(stored) if generator.random() < 0.5 else isl_schedule(stored)
            )
            mapping = random_mapping(generator, stored)
            sizes = {
                parameter.name: int(generator.choice([3, 5, 8])) for parameter in scop.parameters
            }
            way = lowering_trace(LegalSchedule(stored, schedule), mapping, sizes)
        except (InputError, LimitError):
            continue
        before, after = way.loops[-2:]
        wanted = sources(before, sizes, apart=False)
        if not any(array.storage_class is StorageClass.PRIVATE for array in after.scop.arrays):
            continue
        for apart in (False, True):
            seen = sources(after, sizes, apart=apart)
            # What sees nothing that was written is not read: a condition of the body says so.
            pairs = [pair for pair in zip(wanted, seen, strict=True) if pair[0] is not None]
            assert all(one == other for one, other in pairs)
            compared += len(pairs)
    assert compared or name not in WITH_PRIVATE
