"""Programs that are both read by the front end and run as C, with a trace of their statements.

In a program's text ``@T(i, j) y[i] += x[j];`` is statement T with its iterators: for the front end
``T: y[i] += x[j];``, for the C compiler the same behind a printf of the name and the values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_STATEMENT = re.compile(r"@(\w+)\(([^)]*)\)\s*([^;]*;)")

MACROS = """
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
#define ceild(n, d) (((n) < 0) ? -((-(n)) / (d)) : ((n) + (d) - 1) / (d))
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A function ``f``: its arguments, its body, and parameter values to run it with."""

    arguments: str
    body: str
    values: tuple[dict[str, int], ...]
    outside: str = ""

    def text(self, name: str = "f") -> str:
        """Return the text that the front end reads."""
        body = _STATEMENT.sub(lambda match: f"{match[1]}: {match[3]}", self.body)
        return self._function(name, body)

    def traced(self, name: str) -> str:
        """Return the text with a printf in front of every statement."""

        def replace(match: re.Match[str]) -> str:
            """Return one statement with its printf."""
            iterators = [part.strip() for part in match[2].split(",") if part.strip()]
            values = "".join(f", (long)({iterator})" for iterator in iterators)
            formats = " %ld" * len(iterators)
            return f'{{ printf("{match[1]}{formats}\\n"{values}); {match[3]} }}'

        return self._function(name, _STATEMENT.sub(replace, self.body))

    def _function(self, name: str, body: str) -> str:
        return (
            f"{self.outside}\nvoid {name}({self.arguments}) {{\n"
            f"#pragma scop\n{body}\n#pragma endscop\n}}\n"
        )


PROGRAMS = {
    "constant_tables": Program(
        "int n, double A[n], int I[n]",
        """
        for (int i = 0; i < n; i++) {
          const int third = 3;
          @S(i) A[i] += TABLE[i % 2][i % third] * WEIGHTS[i % 4] / SCALE;
          @T(i) I[i] += NUMBERS[i % 4];
        }
        """,
        ({"n": 1}, {"n": 9}),
        outside="static const float TABLE[2][3] = {{0.1f, 2}, 3, -4.5};\n"
        "static const double WEIGHTS[4] = {1 / 2, 1 / 2.0, 3 << 2}, SCALE = -3;\n"
        "static const int NUMBERS[4] = {-7 / 2, -7 % 3, 5.9};\n",
    ),
    "matrix_vector": Program(
        "int n, int m, double A[n][m], double x[m], double y[n]",
        """
        for (int i = 0; i < n; i++) {
          @S(i) y[i] = 0;
          for (int j = 0; j < m; j++)
            @T(i, j) y[i] += A[i][j] * x[j];
        }""",
        ({"n": 3, "m": 4}, {"n": 1, "m": 1}),
    ),
    "downward_strided": Program(
        "int n, double x[n + 2], double y[n + 2]",
        """
        for (int i = n; i >= 0; i -= 3) {
          @A1(i) x[i] = x[i + 1] * 0.5 + i;
          for (int j = i; j <= n; j = 2 + j)
            @A2(i, j) y[j] -= x[i] / 3;
          for (int j = i - 1; 0 < j; --j)
            @A3(i, j) y[j] = y[j - 1] + j % 4;
        }""",
        ({"n": 1}, {"n": 7}, {"n": 10}),
    ),
    "periodic": Program(
        "int t, int n, double a[n], double b[n]",
        """
        for (int s = 0; s < t; s++) {
          for (int i = 0; i < n; i++)
            @P(s, i) b[i] = 0.25 * (a[(i - 1 + n) % n] + a[(i + 1) % n]) + 0.5 * a[i];
          for (int i = 0; i < n; i++)
            @Q(s, i) a[i] = b[(i + n + 1) % n];
        }""",
        ({"t": 2, "n": 5}, {"t": 1, "n": 1}, {"t": 0, "n": 3}),
    ),
    "time_tiled": Program(
        "int t, int n, double a[n]",
        """
        for (int tt = 0; tt <= floord(t - 1, 4); tt++)
          for (int ii = 0; ii <= floord(t + n - 3, 4); ii++)
            for (int s = MAX(4 * tt, MAX(0, 4 * ii - n + 2)); s < MIN(t, 4 * tt + 4); s++)
              for (int i = MAX(4 * ii, s + 1); i <= MIN(4 * ii + 3, s + n - 2); i++)
                @B(tt, ii, s, i) a[i - s] = (a[i - s - 1] + a[i - s] + a[i - s + 1]) / 3.0;""",
        ({"t": 6, "n": 9}, {"t": 3, "n": 4}),
    ),
    "guards": Program(
        "int n, int k, int a[n][n], int s[1]",
        """
        for (int i = 0; i < n; i++)
          for (int j = 0; j <= i; j++) {
            if ((i + j) % 2 == 0 && !(j > 2) || i == k) {
              @G(i, j) a[i][j] += (i ^ j) + (a[j][i] >> 1);
              if (j > 0) @H(i, j) a[i][j - 1] %= 7;
            } else if (2 * j >= i)
              @K(i, j) s[0] += a[i][j] / 2 - (i - 2 * j) / 3;
            else {
              @L(i, j) s[0] -= ~a[i][j] & 15;
              @M(i, j) a[j][i] = i < n - 1 ? a[j][i + 1] : -a[j][i];
            }
          }""",
        ({"n": 6, "k": 3}, {"n": 2, "k": -1}),
    ),
    "negative_division": Program(
        "int n, int lo, double x[n]",
        """
        for (int i = lo; i < n / 2; i++)
          if (i / 3 >= -1 && i % 3 != 1)
            if (i + 3 >= 0 && i + 3 < n)
              @D(i) x[i + 3] = i / 3 + i % 3 * 10 + (i >> 1) * 100;""",
        ({"n": 12, "lo": -9}, {"n": 5, "lo": -2}),
    ),
    "lower_bound_strided": Program(
        "int n, int m, double A[n][n], double x[n]",
        """
        for (int i = m; i < n; i += 2)
          if (i >= 0)
            for (int j = i + 1; j < n; j += 3) {
              @U(i, j) A[i][j] = A[j][i] + 1;
              for (int l = j; l >= i; l -= 2)
                @V(i, j, l) x[l] += A[i][j] * l;
            }""",
        ({"n": 9, "m": 1}, {"n": 8, "m": -3}, {"n": 4, "m": 6}),
    ),
    "not_equal": Program(
        "int n, double x[n]",
        """
        for (int i = 0; i != n; ++i)
          for (int j = n - 1; j != i; j--)
            @N(i, j) x[j] = x[j] * x[i] - j;""",
        ({"n": 5}, {"n": 1}),
    ),
    "types": Program(
        "int n, float f[n], double d[n], int a[n], long b[n], float alpha, int c",
        """
        for (int i = 0; i < n; i++) {
          @F1(i) f[i] = f[i] * alpha + 0.1 * i;
          @F2(i) f[i] += sqrtf(fabsf(f[i])) * 1.1f;
          @D1(i) d[i] = sqrt(fabs(d[i])) + pow(1.5, i) + (float)d[i] / 3 + exp(f[i]);
          @I1(i) a[i] = a[i] * 2147483 + c / 3 - (int)d[i] + (a[i] > 0 && d[i] < 3 || !c);
          @L1(i) b[i] = b[i] * 1000003L + a[i] + (1L << i) - labs(b[i]) % 17;
          @I2(i) a[i] ^= b[i] & 0x7f | 'a';
          @L2(i) b[i] <<= 3;
          @I3(i) a[i] = fmin(d[i], alpha) + fmaxf(f[i], 2) + abs(a[i] >> 2);
          @I4(i) a[i]++;
          @F3(i) f[i] /= 7;
          @F4(i) f[i] -= 0.3f;
          @D2(i) d[i] = c > 0 ? a[i] : f[i];
          @D3(i) d[i] *= 16777217 * alpha;
        }""",
        ({"n": 7, "c": -7}, {"n": 2, "c": 5}),
    ),
    "locals": Program(
        "int n, double x[n], double y[n]",
        """
        for (int i = 0; i < n; i++) {
          int half = i / 2, next = i + 1;
          double total, row[4];
          @Z1(i) total = 0.5;
          for (int i = 0; i < 4; i++)
            @Z2(next - 1, i) row[i] = x[half] + i;
          for (int j = 0; j < 4; j++) {
            @Z3(i, j) total += row[3 - j] * half;
          }
          if (next < n)
            @Z4(i) y[next] = total;
          else
            @Z5(i) y[0] = -total;
        }""",
        ({"n": 5}, {"n": 1}),
    ),
    "inlined": Program(
        "int n, double x[n], double y[n]",
        """
        for (int i = 0; i < n; i++)
          @W(i) y[clamp(i - 2, n)] = blend(x[clamp(i + 1, n)], x[i]) + half(i + 0.75);""",
        ({"n": 6}, {"n": 1}),
        outside="""
static inline int clamp(int v, int n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }
static double blend(double a, float b) { return 0.75 * a + 0.25 * b; }
static int half(int v) { return v / 2; }
""",
    ),
    "six_deep": Program(
        "int n, double A[n][n], double x[n]",
        """
        for (int a = 0; a < n; a++)
          for (int b = a; b < n; b++) {
            @X1(a, b) A[a][b] += 1;
            for (int c = n - 1; c > b; c--)
              for (int d = 0; d < MIN(c, 2); d++) {
                for (int e = d; e <= d + 1; e++)
                  if (e < n)
                    for (int g = 0; g < 4; g += 2)
                      @X2(a, b, c, d, e, g) A[c][d] -= A[a][e] * 0.5 + g;
                @X3(a, b, c, d) x[c] = A[c][d] - x[b];
              }
          }
        @X4() x[0] *= 2;""",
        ({"n": 4}, {"n": 1}),
    ),
}
