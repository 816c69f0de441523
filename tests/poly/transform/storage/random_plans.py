"""Random storage plans of programs that keep values in scalars, rows and arrays that they reuse.

Each is run under a random legal schedule and a random mapping, and compared bit for bit with the
source's order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polygym.codegen.contraction import contract_legal
from polygym.codegen.pipeline import lower
from polygym.errors import InputError, LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import ExpansionLoop, StorageEntry, StoragePlan, plan_of
from tests.c_programs import SMALL_PROGRAMS
from tests.codegen.mapped_programs import MAPPED_PROGRAMS, random_mapping
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.random_schedules import random_legal_schedule

STORED_PROGRAMS = {
    "live_before": """
double s;
void f(int n, double A[n], double B[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    A[i] = A[i] + s;
    for (int j = 0; j < n; j++) {
      s = B[i][j] * 0.5;
      B[i][j] = B[i][j] + s;
    }
  }
#pragma endscop
}
""",
    "live_after": """
double s;
void f(int n, double A[n][n], double x[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    s = x[i];
    for (int j = 0; j < i; j++)
      s = s - A[i][j] * x[j];
    x[i] = s * 0.25;
  }
#pragma endscop
}
""",
    "conditional": """
void f(int n, double A[n][n], double y[n], double last[1]) {
  double w = 1.5;
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      if (j < i)
        w = A[i][j];
      if (i + j > 3)
        last[0] = w;
      A[i][j] = A[i][j] + w;
      y[j] = w + y[j];
    }
#pragma endscop
}
""",
    "loops_that_may_not_run": """
double s;
void f(int n, int m, double A[n], double B[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 4; j < m; j++)
      s = s * 0.5 + A[i];
    B[i] = B[i] + s;
    for (int k = 0; k < i; k++)
      s = A[k] - s;
  }
#pragma endscop
}
""",
    "behind_loops_that_do_not_run": """
void f(int n, int m, double A[n], double y[n]) {
  double s = 0.5;
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = i; j < m; j++)
      s = s * 0.5 + A[i];
    y[i] = s;
    if (i > m)
      s = y[i - 1];
  }
#pragma endscop
}
""",
    "between_nests": """
void f(int n, int m, double A[n][m], double B[m], double r[n]) {
  double t, u;
#pragma scop
  for (int i = 0; i < n; i++) {
    t = A[i][0];
    r[i] = t + 1.0;
  }
  u = t;
  for (int j = 0; j < m; j++)
    B[j] = B[j] + u + t;
  for (int j = 0; j < m; j++) {
    t = B[j] * u;
    u = t - 1.0;
    B[j] = u;
  }
#pragma endscop
}
""",
    "row_used_again": """
void f(int t, int n, double A[t][n], double out[t], double row[n]) {
#pragma scop
  for (int k = 0; k < t; k++) {
    for (int i = 0; i < n; i++)
      row[i] = A[k][i] + (i > 0 ? row[i - 1] : 0.5);
    out[k] = 0.0;
    for (int i = n - 1; i >= 0; i--)
      out[k] += row[i];
  }
#pragma endscop
}
""",
    "two_recurrences": """
void f(int n, int m, float Y[n][m], float X[n][m]) {
  float a, b, c;
#pragma scop
  for (int i = 0; i < n; i++) {
    a = 0.0f;
    b = 0.5f;
    for (int j = 0; j < m; j++) {
      Y[i][j] = X[i][j] + 0.5f * a - 0.25f * b;
      b = a;
      a = Y[i][j];
    }
  }
  for (int j = 0; j < m; j++) {
    a = 0.0f;
    c = a;
    for (int i = n - 1; i >= 0; i--) {
      X[i][j] = Y[i][j] + 0.5f * a + c;
      c = a;
      a = Y[i][j];
    }
  }
#pragma endscop
}
""",
    "strided_and_shared": """
void f(int n, int A[n + 2], int w[3], int s[1]) {
#pragma scop
  for (int i = 0; i < n; i += 2) {
    w[1] = A[i];
    w[2] = w[1] + w[0];
    A[i + 1] = w[2] - w[1];
  }
  for (int i = n; i >= 1; i--) {
    w[0] = w[0] + A[i];
    s[0] += w[0];
  }
#pragma endscop
}
""",
    "stores_that_may_not_happen": """
double v;
void f(int n, double a[n], double b[n], double row[n], double out[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    v = a[i] * 0.5;
    for (int j = 0; j < n; j++)
      row[j] = v + b[j];
    for (int j = 0; j < n; j++)
      if (b[j] > v)
        row[(j + i) % 3 < n ? (j + i) % 3 : 0] = a[j];
    for (int j = 0; j < n; j++)
      out[i] += row[j];
  }
#pragma endscop
}
""",
    "symmetric": """
void f(int m, int n, double alpha, double C[m][n], double A[m][m], double B[m][n]) {
  double t;
#pragma scop
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      t = 0;
      for (int k = 0; k < i; k++) {
        C[k][j] += alpha * B[i][j] * A[i][k];
        t += B[k][j] * A[i][k];
      }
      C[i][j] = C[i][j] + B[i][j] * A[i][i] + alpha * t;
    }
#pragma endscop
}
""",
}

PROGRAMS = {
    **STORED_PROGRAMS,
    **{name: text for name, text in SMALL_PROGRAMS.items() if name != "six_deep"},
    **{name: MAPPED_PROGRAMS[name] for name in ("lu", "jacobi", "recurrence", "transposed")},
}
SCOPS: dict[str, Scop] = {}
SIZES = (1, 2, 3, 4, 5, 7, 8)
NOT_FITTING = "the plan does not fit"
REFUSED = "refused"


def scop_of(name: str) -> Scop:
    """Return a program of these, read once."""
    if name not in SCOPS:
        SCOPS[name] = parse_text(PROGRAMS[name])
    return SCOPS[name]


def random_plan(generator: np.random.Generator, scop: Scop) -> StoragePlan:
    """Return any plan for some of the arrays that a program writes."""
    entries = []
    for array in dict.fromkeys(statement.write.array for statement in scop.statements):
        writers = [statement for statement in scop.statements if statement.write.array == array]
        for statement in ("", *(writer.name for writer in writers)):
            if generator.random() < (0.6 if not statement else 0.15):
                loops = list(dict.fromkeys(name for writer in writers for name in writer.iterators))
                entries.append(StorageEntry(array, _random_loops(generator, loops), statement))
    return plan_of(entries, has_contraction=bool(generator.random() < 0.5))


def _random_loops(
    generator: np.random.Generator, loops: list[str]
) -> tuple[ExpansionLoop, ...] | None:
    if generator.random() < 0.3:
        return None
    chosen = [name for name in loops if generator.random() < 0.6]
    windows = generator.choice([0, 0, 0, 0, 1, 2, 3], size=len(chosen))
    return tuple(
        ExpansionLoop(name, int(window)) for name, window in zip(chosen, windows, strict=True)
    )


def private_plan(plan: StoragePlan, generator: np.random.Generator) -> StoragePlan:
    """Return a plan in which most entries that may be private are."""
    entries = [
        replace(
            entry,
            loops=None
            if entry.loops is None
            else tuple(ExpansionLoop(loop.loop) for loop in entry.loops),
            is_privatized=True,
        )
        if entry.loops != () and generator.random() < 0.8
        else entry
        for entry in plan.entries
    ]
    return plan_of(entries, has_contraction=plan.has_contraction, dead=plan.dead)


def disagreement(
    name: str,
    seed: int,
    *,
    is_watched: bool = False,
    with_dead: bool = False,
    with_private: bool = False,
) -> str | None:
    """Run one plan, schedule and mapping; say what went wrong, if anything did.

    ``with_dead`` some arrays are said to be dead, and not looked at; ``with_private`` most that are
    expanded are private to threads.

    A plan that would change what is computed is :data:`NOT_FITTING`, what is too irregular for isl
    :data:`REFUSED`.
    """
    scop = scop_of(name)
    generator = np.random.default_rng([seed, len(name)])
    plan = random_plan(generator, scop)
    if with_dead:
        written = dict.fromkeys(statement.write.array for statement in scop.statements)
        dead = [array for array in written if generator.random() < 0.5]
        plan = plan_of(plan.entries, has_contraction=plan.has_contraction, dead=dead)
    if with_private:
        plan = private_plan(plan, generator)
    try:
        stored = apply_plan(scop, plan)
    except InputError:
        return NOT_FITTING
    except LimitError:
        return REFUSED
    match generator.integers(4):
        case 0:
            schedule = original_schedule(stored)
        case 1:
            schedule = isl_schedule(stored)
        case _:
            rows = int(generator.integers(1, 4))
            schedule = random_legal_schedule(stored, generator, rows=rows)
    mapping = random_mapping(generator, stored)
    parameters = {p.name: int(generator.choice(SIZES)) for p in scop.parameters}
    arrays = random_arrays(scop, parameters, generator)
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    is_known = bool(generator.random() < 0.5)
    said = f"{name}, seed {seed}: {plan}, {schedule} under {mapping} with {parameters}"
    try:
        legal = LegalSchedule(stored, schedule)
        code = contract_legal(legal) if plan.has_contraction else legal
        loops = lower(code, mapping, parameters if is_known else None)
        run_loops(loops, parameters, arrays, is_watched=is_watched)
    except LimitError:
        return REFUSED
    except Exception as error:
        return f"{said}: {type(error).__name__}: {error}"
    for array in scop.arrays:
        is_looked_at = array.is_observable and array.name not in plan.dead
        if is_looked_at and arrays[array.name].tobytes() != expected[array.name].tobytes():
            return f"{said}: {array.name} differs"
    return None
