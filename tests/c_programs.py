"""Programs for tests: small C texts that together use what the class of programs allows."""

from functools import cache

import polybench
from polygym.frontend.c import parse_file
from polygym.ir.scop import Scop

Y_AX = """
void yax(int n, double y[n], double A[n][n], double x[n]) {
  int i, j;
#pragma scop
  for (i = 0; i < n; i++)
S:  y[i] = 0;
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++)
T:    y[i] += A[i][j] * x[j];
#pragma endscop
}
"""

SMALL_PROGRAMS = {
    "y_ax": Y_AX,
    "downward": """
void f(int n, double A[n + 1]) {
#pragma scop
  for (int i = n; i >= 1; i--)
    A[i] = A[i - 1] * 0.5 + A[i];
#pragma endscop
}
""",
    "strided": """
void f(int n, int A[n], int B[n]) {
#pragma scop
  for (int i = 1; i < n; i += 3) {
    A[i] = B[i] % 7;
    for (int j = n - 1; j > i; j -= 2)
      B[j] = B[j] + A[i] * j;
  }
#pragma endscop
}
""",
    "triangular_guarded": """
void f(int n, long A[n][n], long s[1]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      if (i % 2 == 0 && j > 0)
        A[i][j] = A[i][j - 1] + i;
      else
        A[i][j] = A[j][i] - j;
      s[0] += A[i][j];
    }
#pragma endscop
}
""",
    "time_tiled": """
#define T 4
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min(a, b) ((a) < (b) ? (a) : (b))
void f(int steps, int n, double A[2][n + 2]) {
#pragma scop
  for (int tt = 0; tt < steps; tt += T)
    for (int ii = tt; ii < n + tt + T; ii += T)
      for (int t = tt; t < min(steps, tt + T); t++)
        for (int i = max(ii, t); i < min(ii + T, n + t); i++)
          A[(t + 1) % 2][i - t + 1] =
              0.25 * (A[t % 2][i - t] + 2.0 * A[t % 2][i - t + 1] + A[t % 2][i - t + 2]);
#pragma endscop
}
""",
    "periodic": """
void f(int steps, int n, double A[n], double B[n]) {
#pragma scop
  for (int t = 0; t < steps; t++) {
    for (int i = 0; i < n; i++)
      B[i] = (A[i == 0 ? n - 1 : i - 1] + A[i] + A[i == n - 1 ? 0 : i + 1]) / 3.0;
    for (int i = 0; i < n; i++)
      A[i] = B[i];
  }
#pragma endscop
}
""",
    "scalars": """
void f(int n, float A[n], float c) {
  float sum = 0.0f;
#pragma scop
  for (int i = 0; i < n; i++) {
    float t = A[i] * c;
    sum += t > 0.5f ? t : -t;
    A[i] = sum;
  }
#pragma endscop
}
""",
    "fixed_sizes": """
#define N 9
void f(int A[N][N], int B[N]) {
#pragma scop
  for (int i = 0; i < N; i++) {
    for (int j = N - 1; j > 0; j -= 2)
      A[i][j] = A[i][j - 1] - B[j];
    B[i] = A[i][0] << 2;
  }
#pragma endscop
}
""",
    "reads_that_never_happen": """
#define LEFT(i) ((i) > 0 ? a[(i) - 1] : 0.0)
void f(int n, double a[n], double b[n]) {
#pragma scop
  b[0] = a[0] + LEFT(0);
  for (int i = 1; i < n; i++)
    b[i] = a[i] + LEFT(i) + (i < 0 ? a[i + n] : 1.0);
  for (int i = 0; i < n; i++)
    a[i] = i == 0 ? b[i] : b[i - 1];
#pragma endscop
}
""",
    "division": """
void f(int n, int A[n], int B[n], double x[n], long L[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    A[i] = (B[i] - 50) / (i - 3 == 0 ? -1 : i - 3);
    B[i] = (B[i] - 50) % (i - 5 == 0 ? -1 : i - 5);
    L[i] = (long)(x[i] * 1e6) >> (A[i] & 7);
  }
#pragma endscop
}
""",
    "six_deep": """
void f(int n, int A[n][n][n], int B[n][n][n]) {
#pragma scop
  for (int a = 0; a < n; a++) {
    A[a][0][0] = a;
    for (int b = 0; b < n; b++)
      for (int c = 0; c < n; c++) {
        B[a][b][c] = b ^ c;
        for (int d = 0; d < 2; d++)
          for (int e = d; e < 2; e++)
            for (int f = 0; f <= e; f++)
              A[a][b][c] += B[a][c][b] * (d + 2 * e - f);
      }
  }
#pragma endscop
}
""",
}


@cache
def kernel_scop(name: str) -> Scop:
    """Return the Scop of a kernel of the suite."""
    kernel = polybench.kernel(name)
    return parse_file(kernel.path, function=kernel.function)


def small_parameters(scop: Scop) -> dict[str, int]:
    """Return different small values, so that swapped sizes are noticed."""
    return {parameter.name: 3 + k % 3 for k, parameter in enumerate(scop.parameters)}
