"""Random mappings of random schedules, run on numpy arrays and compared bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.mapping.mapping import NEST_OPTIONS, Mapping, WorkSharing, nests_of
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from tests.c_programs import SMALL_PROGRAMS
from tests.codegen.loop_programs import MORE_PROGRAMS
from tests.codegen.stencil_programs import STENCIL_PROGRAMS
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_natively
from tests.oracles.random_schedules import random_legal_schedule

MAPPED_PROGRAMS = {
    "product": """
void f(int n, int m, int k, double C[n][m], double A[n][k], double B[k][m], double beta) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < m; j++)
      C[i][j] *= beta;
    for (int l = 0; l < k; l++)
      for (int j = 0; j < m; j++)
        C[i][j] += A[i][l] * B[l][j];
  }
#pragma endscop
}
""",
    "triangular_product": """
void f(int n, int m, float C[n][n], float A[n][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] += A[i][k] * A[j][k];
#pragma endscop
}
""",
    "lu": """
void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[k][j];
      A[i][j] /= A[j][j];
    }
    for (int j = i; j < n; j++)
      for (int k = 0; k < i; k++)
        A[i][j] -= A[i][k] * A[k][j];
  }
#pragma endscop
}
""",
    "jacobi": """
void f(int t, int n, double A[n][n], double B[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.25 * (A[i][j - 1] + A[i][j + 1] + A[i - 1][j] + A[i + 1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = B[i][j];
  }
#pragma endscop
}
""",
    "seidel": """
void f(int t, int n, double A[n][n]) {
#pragma scop
  for (int s = 0; s < t; s++)
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = (A[i - 1][j] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j]) / 5.0;
#pragma endscop
}
""",
    "convolution": """
void f(int n, int w, float O[n], float I[n + w], float K[w]) {
#pragma scop
  for (int x = 0; x < n; x++) {
    O[x] = 0.0f;
    for (int r = 0; r < w; r++)
      O[x] += I[x + r] * K[r];
  }
#pragma endscop
}
""",
    "contraction": """
void f(int n, int m, int k, double R[n][m], double A[k][n][k], double B[k][k][m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
          R[i][j] += A[a][i][b] * B[b][a][j];
#pragma endscop
}
""",
    "mixed_types": """
void f(int n, int I[n], double D[n][n], float F[n], long L[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      D[i][j] = D[i][j] > I[j] ? D[i][j] * F[j] : sqrt(D[i][j]) + (i - j);
      F[j] = F[j] + I[j] * 2;
    }
  for (int i = 0; i < n; i++)
    L[n - 1 - i] = L[n - 1 - i] - I[i] * (long)i;
#pragma endscop
}
""",
    "transposed": """
void f(int n, double A[n][n], double B[n][n], double s[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[j][i] = A[i][j] * 2.0;
  for (int i = 0; i < n; i++)
    for (int j = n - 1; j >= 0; j--)
      s[i] = s[i] + B[i][j] / (A[j][i] + 1.0);
#pragma endscop
}
""",
    "columns": """
void f(int n, int m, double C[n][n], double A[n][m], float B[m][n], float D[m][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++)
      for (int k = 0; k < m; k++)
        C[i][j] += A[i][k] * A[j][k];
  for (int k = 0; k < m; k++)
    for (int j = 0; j < n; j++)
      for (int l = 0; l < m; l++)
        D[k][j] += B[l][j] * A[j][m - 1 - l] + A[j][l];
#pragma endscop
}
""",
    "contraction_by_columns": """
void f(int p, int q, double T[p][q], double X[q][p][4], int Y[4][q][p], double Z[p][4][q]) {
#pragma scop
  for (int i = 0; i < p; i++)
    for (int j = 0; j < q; j++)
      for (int k = 0; k < 4; k++)
        for (int l = 0; l < p; l++)
          T[i][j] += X[j][l][k] * Y[k][j][l] + Z[l][k][j];
#pragma endscop
}
""",
    "colours": """
void f(int h, int w, float src[h][w][3], float tmp[h][w][3], float dst[h][w][3]) {
#pragma scop
  for (int y = 0; y < h; y++)
    for (int x = 1; x < w - 1; x++)
      for (int c = 0; c < 3; c++)
        tmp[y][x][c] = src[y][x - 1][c] + src[y][x][c] + src[y][x + 1][c];
  for (int x = 1; x < w - 1; x++)
    for (int y = 1; y < h - 1; y++)
      for (int c = 0; c < 3; c++) {
        dst[y][x][c] = 0;
        for (int k = -1; k <= 1; k++)
          dst[y][x][c] += tmp[y + k][x][c];
        dst[y][x][c] /= 9;
      }
#pragma endscop
}
""",
    "points": """
void f(int n, int t, double p[n][2], double v[n][2], double m[n]) {
#pragma scop
  for (int s = 0; s < t; s++) {
    for (int i = 1; i < n; i++)
      for (int c = 1; c <= 2; c++)
        v[i][c - 1] = v[i][c - 1] + 0.5 * (p[i - 1][c - 1] - p[i][c - 1]);
    for (int i = 0; i < n; i++)
      for (int c = 0; c < 2; c++)
        p[i][c] += v[i][c] / 8;
    for (int i = 0; i < n; i++)
      m[i] += p[i][0] * p[i][1];
  }
#pragma endscop
}
""",
    "recurrence": """
void f(int n, double p[n][n], double q[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    p[i][0] = 0.5;
    for (int j = 1; j < n; j++) {
      p[i][j] = 1.0 / (p[i][j - 1] + 2.0);
      q[i][j] = (q[i][j] - q[i][j - 1]) * p[i][j];
    }
  }
#pragma endscop
}
""",
}

PROGRAMS = {**SMALL_PROGRAMS, **MAPPED_PROGRAMS, **STENCIL_PROGRAMS, **MORE_PROGRAMS}
SCOPS: dict[str, Scop] = {}
REFUSED = "refused"
SIZES = (1, 2, 3, 5, 7, 8, 9, 16, 17, 25)


def scop_of(name: str) -> Scop:
    """Return a program of these, read once."""
    if name not in SCOPS:
        SCOPS[name] = parse_text(PROGRAMS[name])
    return SCOPS[name]


def random_mapping(generator: np.random.Generator, scop: Scop | None = None) -> Mapping:
    """Return any mapping, of small tiles; of a program, also with entries for single nests."""

    def switch() -> bool:
        return bool(generator.random() < 0.7)

    def sizes() -> tuple[int, ...]:
        return tuple(int(size) for size in generator.integers(1, 10, generator.integers(0, 4)))

    mapping = Mapping(
        threads=int(generator.choice([1, 1, 2, 4])),
        parallel=generator.choice(list(WorkSharing)),
        tile=None if generator.random() < 0.3 else sizes(),
        outer_tile=sizes() if generator.random() < 0.3 else (),
        wavefront=switch(),
        diamond=switch(),
        sink=switch(),
        vector_bits=[None, 0, 128, 256, 512][generator.integers(5)],
        vector_copies=[None, 1, 2, 3][generator.integers(4)],
        unroll_jam=[None, 1, 2, 3, 5][generator.integers(5)],
        separate=not switch(),
        scalar_replacement=switch(),
        pack=switch(),
        # reassociate stays off: then results are to be the same bit for bit
    )
    if scop is None or generator.random() < 0.6:
        return mapping
    others = random_mapping(generator)
    names = [statement.name for statement in scop.statements if generator.random() < 0.5]
    return replace(mapping, nests=nests_of({name: _some(others, generator) for name in names}))


def _some(mapping: Mapping, generator: np.random.Generator) -> dict[str, Any]:
    """Return some entries of a mapping, as they may stand for a nest of any other."""
    entries = [entry for entry in NEST_OPTIONS if generator.random() < 0.4]
    values = {entry: getattr(mapping, entry) for entry in entries if entry != "parallel"}
    if "parallel" in entries:
        values["parallel"] = WorkSharing.OFF
    return {entry: value for entry, value in values.items() if value is not None}


def random_order(generator: np.random.Generator, depth: int) -> tuple[int, ...]:
    """Return some of the loops of so many, in any order."""
    count = int(generator.integers(1, depth + 1))
    return tuple(int(number) + 1 for number in generator.permutation(depth)[:count])


def with_orders(mapping: Mapping, scop: Scop, generator: np.random.Generator) -> Mapping:
    """Return a mapping with an order of points for all nests, and others for some."""
    depth = max(2, scop.depth)
    nests = {name: dict(own) for name, own in mapping.nests}
    for statement in scop.statements:
        if generator.random() < 0.3:
            nests.setdefault(statement.name, {})["order"] = random_order(generator, depth)
    return replace(mapping, order=random_order(generator, depth), nests=nests_of(nests))


def disagreement(
    name: str, seed: int, *, is_watched: bool = False, with_order: bool = False
) -> str | None:
    """Run one schedule under one mapping; say what went wrong, if anything did.

    What is too irregular for isl is :data:`REFUSED`. Code that is watched checks all that it relies
    on. That of every third seed is made as users get it.
    """
    scop = scop_of(name)
    generator = np.random.default_rng([seed, len(name)])
    match generator.integers(4):
        case 0:
            schedule = original_schedule(scop)
        case 1:
            schedule = isl_schedule(scop)
        case _:
            schedule = random_legal_schedule(scop, generator, rows=int(generator.integers(1, 4)))
    mapping = random_mapping(generator, scop)
    if with_order:
        mapping = with_orders(mapping, scop, np.random.default_rng([seed, len(name), 1]))
    parameters = {p.name: int(generator.choice(SIZES)) for p in scop.parameters}
    if name == "six_deep":
        parameters = {p.name: int(generator.integers(1, 4)) for p in scop.parameters}
    arrays = random_arrays(scop, parameters, generator)
    expected = {key: array.copy() for key, array in arrays.items()}
    run_in_order(scop, parameters, expected)
    is_known = bool(generator.random() < 0.5)
    said = f"{name}, seed {seed}: {schedule} under {mapping} with {parameters}, known: {is_known}"
    try:
        run_natively(
            scop,
            schedule,
            parameters,
            arrays,
            mapping,
            is_known=is_known,
            is_watched=is_watched,
            is_for_users=seed % 3 == 0,
        )
    except LimitError:
        return REFUSED
    except Exception as error:
        return f"{said}: {type(error).__name__}: {error}"
    for array in scop.arrays:
        if array.live_out and arrays[array.name].tobytes() != expected[array.name].tobytes():
            return f"{said}: {array.name} differs"
    return None
