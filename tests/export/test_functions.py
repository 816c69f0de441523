"""Functions of all kinds around a region: exported, they do what they did."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from polygym.errors import InputError, SourceError
from polygym.export.c_compiler import user_clang
from polygym.export.c_kernel import kernel_c_text
from polygym.export.exporting import ExportOptions, prepare_export
from polygym.export.writing import ExportKind, write_export
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program
from tests.export.against_source import GCC, check_like_source

_SIZES = ({"n": 40}, {"n": 39}, {"n": 1}, {"n": 64})

CASES = {
    "statements around the region": """
double f(int n, double a[n], double b[n]) {
  double s = 2, t = 0;
  for (int i = 0; i < n; i++) t += a[i];
  s = t + 1;
#pragma scop
  for (int i = 0; i < n; i++) b[i] = s * a[i];
#pragma endscop
  for (int i = 0; i < n; i++) t += b[i];
  return t;
}""",
    "numbers that the region sets": """
double f(int n, double s, int k, double a[n], int b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { s = s + a[i]; k = (k / 3) ^ (b[i] & 255); }
#pragma endscop
  return s * 2 + k;
}""",
    "a local variable that the region sets": """
int f(int n, int a[n]) {
  int most = 0;
#pragma scop
  for (int i = 0; i < n; i++) if (a[i] > most) most = a[i];
#pragma endscop
  return most;
}""",
    "statics and globals of the file": """
static double table[64] = {1, 2, 3};
double seen[64];
static int calls;
double f(int n, double a[n]) {
  assert(n <= 64);
  calls++;
#pragma scop
  for (int i = 0; i < n; i++) { seen[i] = seen[i] + a[i] * table[i]; table[i] = a[i]; }
#pragma endscop
  double total = calls;
  for (int i = 0; i < n; i++) total += table[i];
  return total;
}""",
    "names that the kernel might use": """
void f(int n, const int *restrict begin_code, unsigned char *restrict code, int chunk[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    int d = begin_code[i] - 3;
    code[i] = (unsigned char)d;
    chunk[i] = d + chunk[i];
  }
#pragma endscop
}""",
    "a constant table": """
static const double weights[3] = {0.25, 0.5, 0.125};
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 1; i < n - 1; i++)
    b[i] = weights[0] * a[i - 1] + weights[1] * a[i] + weights[2] * a[i + 1];
#pragma endscop
}""",
    "a static function": """
static inline void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = b[i] + 1;
#pragma endscop
}""",
    "a static function with a prototype": """
static void f(int n, double a[], double b[]);
void g(int n, double a[], double b[]) { f(n, a, b); }
static void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = b[i] + 1;
#pragma endscop
}""",
    "counters that other loops use": """
void f(int n, double a[n], double b[n]) {
  int i, j;
  for (i = 0; i < n; i++) b[i] = i;
#pragma scop
  for (i = 0; i < n; i++) for (j = 0; j <= i; j++) a[i] += b[j];
#pragma endscop
  for (i = 0; i < n; i++) for (j = 0; j < 1; j++) b[i] += a[i];
}""",
    "pointers to rows": """
void f(int n, double **a, double *b) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = a[i][j] + b[j];
#pragma endscop
}""",
    "a structure by its address": """
struct grid { int n; double scale; double v[64]; double w[64]; };
void f(struct grid *g, double a[64]) {
  int n = g->n;
  assert(n <= 64);
#pragma scop
  for (int i = 0; i < n; i++) g->w[i] = g->scale * g->v[i] + a[i];
#pragma endscop
}""",
    "a structure by its value": """
struct weights { double w[4]; };
void f(int n, double a[n], struct weights x) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = a[i] * x.w[i % 4];
#pragma endscop
}""",
    "arrays of structures": """
struct body { char tag; double x, v[3]; };
void f(int n, struct body p[n], double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    p[i].x = p[i].x + p[i].v[1] * a[i];
    for (int k = 0; k < 3; k++) p[i].v[k] = p[i].v[k] + p[i].x;
  }
#pragma endscop
}""",
    "a global array of structures": """
static struct { float x, y; } points[64];
float f(int n, float a[n]) {
  float sum = 0;
  assert(n <= 64);
#pragma scop
  for (int i = 0; i < n; i++) { points[i].x = a[i]; points[i].y = points[i].x + 1; }
#pragma endscop
  for (int i = 0; i < n; i++) sum += points[i].x * 3 + points[i].y;
  return sum;
}""",
    "a variable in a register": """
double f(int n, double a[n]) {
  register double s = 0;
#pragma scop
  for (int i = 0; i < n; i++) s = s + a[i];
#pragma endscop
  return s;
}""",
    "several regions": """
void f(int n, double a[n], double b[n]) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = a[i] + 1;
#pragma endscop
  if (n > 2) {
#pragma scop
    for (int i = 0; i < n; i++) b[i] = a[i] * 2;
#pragma endscop
  }
}""",
    "macros and a region in one line": """
#define LOOP(v, n) for (int v = 0; v < (n); v++)
#define BODY(x) do { (x) = (x) * 2; } while (0)
void f(int n, double a[n]) { _Pragma("scop") LOOP(i, n) BODY(a[i]); _Pragma("endscop") }""",
    "comments and strings": """
/* #pragma scop */
static const char *text = "#pragma scop";
int f(int n, double a[n]) { // #pragma endscop
  #pragma  scop  // here
  for (int i = 0; i < n; i++) /* } */ a[i] = 1; // {
  #pragma endscop
  return text[0];
}""",
    "bytes and shorts": """
void f(int n, unsigned char *a, short *b, unsigned short c[n], signed char d[n]) {
#pragma scop
  for (int i = 0; i < n; i++) { a[i] = a[i] * 3; b[i] = c[i] + d[i]; }
#pragma endscop
}""",
    "sizes of other types": """
void f(unsigned n, long m, unsigned char k, double *a) {
  assert(n == 40 || n == 39 || n == 1 || n == 64);
#pragma scop
  for (unsigned i = 0; i < n; i++) a[i] = a[i] + 1;
#pragma endscop
}""",
    "arrays of its own": """
void f(int n, double a[n][n], double x[n]) {
#pragma scop
  double t[n];
  double w[3] = {1, 2, 1};
  for (int i = 0; i < n; i++) { t[i] = 0; for (int j = 0; j < n; j++) t[i] += a[i][j] * x[j]; }
  w[1] = 3;
  for (int i = 0; i < n; i++) x[i] = t[i] * w[i % 3];
#pragma endscop
}""",
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [ExportKind.OBJECT, ExportKind.SHARED, ExportKind.C])
def test_a_function_does_what_it_did(name: str, kind: ExportKind, tmp_path: Path) -> None:
    function = "f:2" if name == "several regions" else None
    check_like_source(tmp_path, CASES[name], *_SIZES, kind=kind, function=function)


REFUSALS = {
    "a counter that is read behind the loops": (
        """
int f(int n, double a[n]) {
  int i;
#pragma scop
  for (i = 0; i < n; i++) a[i] = 1;
#pragma endscop
  return i;
}""",
        "i has a value after the region",
    ),
    "a pointer that moves before the region": (
        """
void f(int n, double *a) {
  a++;
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma endscop
}""",
        "the pointer a moves",
    ),
    "a pointer to a structure that moves before the region": (
        """
struct pair { double x[99], y[99]; };
void f(int n, struct pair *p) {
  assert(n <= 99);
  p++;
#pragma scop
  for (int i = 0; i < n; i++) p->x[i] = p->y[i];
#pragma endscop
}""",
        "the pointer p moves",
    ),
    "a pointer that is used behind its walk": (
        """
void f(int n, double *a) {
#pragma scop
  for (int i = 0; i < n; i++) *a++ = 1;
#pragma endscop
  *a = 2;
}""",
        "moves|value after the region",
    ),
    "a variable of the region": (
        """
double f(int n, double a[n]) {
#pragma scop
  double s = 0;
  for (int i = 0; i < n; i++) s = s + a[i];
#pragma endscop
  return s;
}""",
        "declared in the region",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_would_be_lost_is_refused(name: str, tmp_path: Path) -> None:
    text, message = REFUSALS[name]
    with pytest.raises(SourceError, match=message):
        check_like_source(tmp_path, text, {"n": 10})


def test_c_whose_sizes_alone_have_a_quotient(tmp_path: Path) -> None:
    """The comparison of arrays divides; the loops do not, and nothing else defines the division."""
    text = """
void f(int n, int m, float *a, float *b) {
#pragma scop
  for (int i = 2; i < n - m % 2; i++) a[(i - 2) / 2] += b[i];
#pragma endscop
}"""
    sizes = ({"n": 40, "m": 7}, {"n": 9, "m": 4})
    check_like_source(tmp_path, text, *sizes, kind=ExportKind.C, in_order=True)


_SUM = """
void f(int n, double *a, double *b) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = a[i] + 2 * b[i];
#pragma endscop
}"""


def _exported(tmp_path: Path, text: str, options: ExportOptions, **sizes: int) -> Path:
    """Export a text as object code; return the folder."""
    (tmp_path / "program.c").write_text(text)
    program = load_program(str(tmp_path / "program.c"), parameters=sizes)
    export = prepare_export(program, isl_schedule(program.scop), DEFAULT_MAPPING, options)
    write_export(export, ExportKind.OBJECT, tmp_path / "out", GCC)
    return tmp_path / "out"


def _output(folder: Path, main: str, *inputs: Path, compiler: str = "gcc") -> str:
    """Return what a program prints."""
    suffix = ".cpp" if compiler == "g++" else ".c"
    (folder / f"main{suffix}").write_text(main)
    command = [compiler, "-fopenmp", str(folder / f"main{suffix}"), *map(str, inputs)]
    done = subprocess.run([*command, "-lm", "-o", str(folder / "main")], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return subprocess.run(
        [folder / "main"], capture_output=True, text=True, check=True, timeout=60
    ).stdout


@pytest.mark.parametrize("shift", [0, 1, 3, -1])
def test_arrays_that_overlap_run_the_loops_of_the_source(shift: int, tmp_path: Path) -> None:
    folder = _exported(tmp_path, _SUM, ExportOptions(sizes=((("n", 32),),)), n=32)
    main = f"""#include <stdio.h>
#include "out/f.h"
int main(void) {{
  double x[40], y[40];
  for (int i = 0; i < 40; i++) x[i] = y[i] = i;
  double *a = x + 4, *b = a + {shift}, *c = y + 4, *d = c + {shift};
  f(32, a, b);
  for (int i = 0; i < 32; i++) c[i] = c[i] + 2 * d[i];
  for (int i = 0; i < 40; i++) if (x[i] != y[i]) return 1;
  puts("same");
}}"""
    assert _output(tmp_path, main, folder / "f.o") == "same\n"


@pytest.mark.parametrize("shift", [0, 1, 2, 200])
def test_structures_that_overlap_run_the_loops_of_the_source(shift: int, tmp_path: Path) -> None:
    text = """
struct pair { double x, y; };
void f(int n, struct pair *p, double *a) {
#pragma scop
  for (int i = 0; i < n; i++) p[i].x = p[i].y + a[i];
#pragma endscop
}"""
    folder = _exported(tmp_path, text, ExportOptions(sizes=((("n", 32),),)), n=32)
    main = f"""#include <stdio.h>
#include "out/f.h"
int main(void) {{
  double x[300], y[300];
  for (int i = 0; i < 300; i++) x[i] = y[i] = i;
  struct pair *q = (struct pair *)y;
  f(32, (struct pair *)x, x + {shift});
  for (int i = 0; i < 32; i++) q[i].x = q[i].y + y[{shift} + i];
  for (int i = 0; i < 300; i++) if (x[i] != y[i]) return 1;
  puts("same");
}}"""
    assert _output(tmp_path, main, folder / "f.o") == "same\n"


def test_a_parameter_in_memory_that_is_written_to(tmp_path: Path) -> None:
    text = """
int n;
void f(int *a) {
#pragma scop
  for (int i = 0; i < n; i++) a[i] = 1;
#pragma endscop
}"""
    folder = _exported(tmp_path, text, ExportOptions(), n=16)
    main = """#include <stdio.h>
#include "out/f.h"
extern int n;
int main(void) { n = 5; f(&n); printf("%d\\n", n); }"""
    assert _output(tmp_path, main, folder / "f.o") == "1\n"


def test_cplusplus_calls_it_and_two_kernels_stand_side_by_side(tmp_path: Path) -> None:
    folder = _exported(tmp_path, _SUM, ExportOptions(sizes=((("n", 32),),)), n=32)
    other = tmp_path / "second"
    other.mkdir()
    _exported(other, _SUM.replace("void f", "void g").replace("2 *", "3 *"), ExportOptions(), n=8)
    main = """#include <cstdio>
#include "out/f.h"
#include "second/out/g.h"
int main() {
  double a[32], b[32];
  for (int i = 0; i < 32; i++) a[i] = b[i] = i;
  f(32, a, b); g(32, a, b);
  std::printf("%g\\n", a[10]);
}"""
    printed = _output(tmp_path, main, folder / "f.o", other / "out" / "g.o", compiler="g++")
    assert printed == "60\n"


def test_another_name_stands_beside_the_source(tmp_path: Path) -> None:
    text = "double factor = 2;\nint other(void) { return 7; }\n" + _SUM.replace("2 *", "factor *")
    folder = _exported(tmp_path, text, ExportOptions(name="fast_f"), n=32)
    main = """#include <stdio.h>
#include "out/fast_f.h"
extern double factor; int other(void); void f(int, double *, double *);
int main(void) {
  double a[32], b[32], c[32];
  factor = 5;
  for (int i = 0; i < 32; i++) a[i] = b[i] = c[i] = i;
  f(32, a, c); fast_f(32, b, c);
  printf("%g %g %d\\n", a[10], b[10], other());
}"""
    assert _output(tmp_path, main, folder / "fast_f.o", tmp_path / "program.c") == "60 60 7\n"


def test_a_processor_without_the_instructions_runs_the_source(tmp_path: Path) -> None:
    """Where this machine has them, the kernel runs: the answer is the same."""
    options = ExportOptions(sizes=((("n", 32),),), cpus=("x86-64-v4",))
    folder = _exported(tmp_path, _SUM, options, n=32)
    main = """#include <stdio.h>
#include "out/f.h"
int main(void) {
  double a[32], b[32];
  for (int i = 0; i < 32; i++) a[i] = b[i] = i;
  f(32, a, b);
  printf("%g\\n", a[10]);
}"""
    assert _output(tmp_path, main, folder / "f.o") == "30\n"


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_a_level_of_this_machine_runs(level: str, tmp_path: Path) -> None:
    check_like_source(
        tmp_path, _SUM, *_SIZES, options=ExportOptions(sizes=((("n", 40),),), cpus=(level,))
    )


def test_no_vector_in_c_is_wider_than_registers(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text(_SUM, encoding="utf-8")
    program = load_program(str(file), parameters={"n": 40})
    wide = parse_mapping("vector_bits=512 S0:vector_bits=512 S0:vector_copies=2")
    options = ExportOptions(sizes=((("n", 40),),), cpus=("x86-64-v3",))
    export = prepare_export(program, isl_schedule(program.scop), wide, options)
    text = kernel_c_text(export)
    assert "vector_size(32)" in text
    assert "vector_size(64)" not in text


@pytest.mark.parametrize("kind", [ExportKind.C, ExportKind.OBJECT])
def test_names_that_threads_might_use(kind: ExportKind, tmp_path: Path) -> None:
    text = """
void f(int n, int first, const int *restrict last, unsigned char *restrict chunks,
       int *restrict chunk, int *restrict n_1) {
#pragma scop
  for (int i = 0; i < n; i++) {
    chunks[i] = (unsigned char)(last[i] - first);
    chunk[i] = last[i] + chunk[i];
    n_1[i] = chunk[i] * 2;
  }
#pragma endscop
}"""
    mapping = parse_mapping("threads=2")
    check_like_source(tmp_path, text, {"n": 200000}, {"n": 3}, mapping=mapping, kind=kind)


def test_an_unknown_processor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--cpu: expected native"):
        _exported(tmp_path, _SUM, ExportOptions(cpus=("z80",)), n=32)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_threads(threads: int, tmp_path: Path) -> None:
    text = """
void f(int n, double c[n][n], double a[n][n], double b[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    c[i][j] = 0;
    for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
  }
#pragma endscop
}"""
    mapping = parse_mapping(f"threads={threads}")
    check_like_source(tmp_path, text, {"n": 100}, {"n": 99}, {"n": 3}, mapping=mapping)


def test_loops_that_no_threads_share_need_no_openmp(tmp_path: Path) -> None:
    text = """
void f(int n, double a[n]) {
#pragma scop
  for (int i = 1; i < n; i++) a[i] = a[i] + a[i - 1] * a[i - 1];
#pragma endscop
}"""
    mapping = parse_mapping("threads=2")
    export = check_like_source(tmp_path, text, {"n": 100}, {"n": 3}, mapping=mapping)
    assert export.plan.threads == 1
    assert "omp_" not in export.llvm_ir()
    assert "fopenmp" not in " ".join(export.comment())


_PRODUCT = """
void f(int n, double c[n][n], double a[n][n], double b[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) {
    c[i][j] = 0;
    for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
  }
#pragma endscop
}"""
_CALLS = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "out/f.h"
enum { N = 300 };
static double a[N * N], b[N * N], expected[N * N];
static void *call(void *result) { f(N, result, a, b); return 0; }
static int differs(const double *result) {
  for (int k = 0; k < N * N; k++) if (result[k] != expected[k]) return 1;
  return 0;
}
int main(int count, char **arguments) {
  (void)arguments;
  for (int k = 0; k < N * N; k++) { a[k] = k % 7; b[k] = k % 5; }
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++)
    for (int k = 0; k < N; k++) expected[i * N + j] += a[i * N + k] * b[k * N + j];
  if (count > 1) {
    static double own[N * N];
    struct rlimit limit = {1, 1};
    setrlimit(RLIMIT_DATA, &limit);
    setrlimit(RLIMIT_AS, &limit);
    f(N, own, a, b);
    return differs(own);
  }
  pthread_t threads[6];
  double *results[6];
  for (int k = 0; k < 6; k++) {
    results[k] = malloc(sizeof a);
    pthread_create(&threads[k], 0, call, results[k]);
  }
  for (int k = 0; k < 6; k++) {
    pthread_join(threads[k], 0);
    if (differs(results[k])) return 2;
  }
  return 0;
}"""


@pytest.mark.parametrize("omp", [None, "1", "3"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("arguments", [[], ["without memory"]])
def test_calls_at_the_same_time_and_without_memory(
    threads: int, omp: str | None, arguments: list[str], tmp_path: Path
) -> None:
    """Threads call at the same time; without memory for copies the loops of the source run."""
    if arguments and threads > 1:
        pytest.skip("threads cannot be started without memory")
    (tmp_path / "program.c").write_text(_PRODUCT)
    program = load_program(str(tmp_path / "program.c"), parameters={"n": 300})
    export = prepare_export(
        program,
        isl_schedule(program.scop),
        parse_mapping(f"threads={threads} pack=on tile=64"),
        ExportOptions(sizes=(program.parameters,)),
    )
    write_export(export, ExportKind.OBJECT, tmp_path / "out", GCC)
    (tmp_path / "main.c").write_text(_CALLS)
    inputs = [str(tmp_path / "main.c"), str(tmp_path / "out" / "f.o")]
    command = ["gcc", "-fopenmp", "-pthread", *inputs, "-lm", "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True, timeout=120)
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    environment |= {} if omp is None else {"OMP_NUM_THREADS": omp}
    done = subprocess.run([tmp_path / "main", *arguments], env=environment, timeout=120)
    assert done.returncode == 0


_COUNTED = """#include <omp.h>
#include <stdio.h>
#include "out/f.h"
extern char **environ;
static int asked;
char *getenv(const char *name) {
  asked++;
  for (char **entry = environ; *entry; entry++) {
    const char *own = *entry, *wanted = name;
    while (*wanted && *own == *wanted) own++, wanted++;
    if (*wanted == 0 && *own == '=') return (char *)own + 1;
  }
  return 0;
}
static double a[300 * 300], b[300 * 300], c[300 * 300];
int main(void) {
  f(300, c, a, b);
  int before = asked;
  omp_set_num_threads(1);
  for (int k = 0; k < 5; k++) f(300, c, a, b);
  printf("%d %d", before, asked - before);
}"""


@pytest.mark.parametrize("omp", [None, "1"])
def test_the_environment_is_asked_once(omp: str | None, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(_PRODUCT)
    program = load_program(str(tmp_path / "program.c"), parameters={"n": 300})
    export = prepare_export(
        program, isl_schedule(program.scop), parse_mapping("threads=2"), ExportOptions()
    )
    write_export(export, ExportKind.OBJECT, tmp_path / "out", GCC)
    (tmp_path / "main.c").write_text(_COUNTED)
    inputs = [str(tmp_path / "main.c"), str(tmp_path / "out" / "f.o")]
    command = ["gcc", "-w", "-fopenmp", *inputs, "-lm", "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True, timeout=120)
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    environment |= {} if omp is None else {"OMP_NUM_THREADS": omp}
    done = subprocess.run(
        [tmp_path / "main"], env=environment, timeout=120, capture_output=True, text=True
    )
    first, later = map(int, done.stdout.split())
    assert first > 0
    assert later == 0


@pytest.mark.skipif(user_clang() is None, reason="clang is not installed")
@pytest.mark.rotates
@pytest.mark.parametrize("name", CASES)
def test_llvm_ir_has_the_function(name: str, tmp_path: Path) -> None:
    function = "f:2" if name == "several regions" else None
    check_like_source(
        tmp_path, CASES[name], *_SIZES, kind=ExportKind.LLVM, function=function, is_fast=None
    )


@pytest.mark.rotates
@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "c++17"])
@pytest.mark.parametrize("name", CASES)
def test_headers_compile(name: str, standard: str, tmp_path: Path) -> None:
    (tmp_path / "program.c").write_text(f"#include <assert.h>\n{CASES[name]}")
    function = "f:2" if name == "several regions" else None
    program = load_program(str(tmp_path / "program.c"), function=function)
    export = prepare_export(program, isl_schedule(program.scop), DEFAULT_MAPPING, ExportOptions())
    (tmp_path / "f.h").write_text(export.function_header())
    (tmp_path / "f_kernel.h").write_text(export.kernel_header())
    suffix = ".cpp" if "+" in standard else ".c"
    text = '#include "f.h"\n#include "f_kernel.h"\n#include "f.h"\n'
    (tmp_path / f"user{suffix}").write_text(text)
    command = ["g++" if "+" in standard else "gcc", f"-std={standard}", "-pedantic"]
    command += ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(tmp_path / f"user{suffix}")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
