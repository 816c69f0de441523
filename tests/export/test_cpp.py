"""C++ files: the function of the user, exported under its own name, does what it did.

Each program is compiled by g++ with its sanitizers, and once more with the call of the kernel, in
which the loops of the source are replaced by an abort. Both print all that they compute.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from polygym.errors import InputError, SourceError
from polygym.export.applying import ApplyKind, apply_export, build_lines
from polygym.export.exporting import Export, ExportOptions, prepare_export
from polygym.export.writing import ExportKind, write_export
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from tests.export.against_source import GCC

_FLAGS = ("-O1", "-w", "-ffp-contract=off", "-fopenmp")
_SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_DUMP = """
#include <cstdio>
template <typename T> void dump(const T *p, int n) {
  for (int i = 0; i < n; i++) std::printf("%.17g\\n", (double)p[i]);
}
"""

PROGRAMS = {
    "names of the library without a scope": """
#include <vector>
#include <cmath>
#include <algorithm>
using namespace std;
using real = float;
static const real W[3] = {0.25f, 0.5f, 0.25f};
void f(const vector<real>& x, vector<real> &y, int reps = 1) {
  const size_t n = x.size();
  for (size_t i{1}; i < n - 1; ++i) {
    real s = 0;
    for (int k = -1; k <= 1; k++) s += W[k + 1] * x[i + k];
    y[i] = min(max(s, real(0.1)), 8.f) + sqrt(abs(x[i])) + pow(x[i], 2);
  }
}
int main() {
  vector<real> x(40), y(40, 0.f);
  for (int i = 0; i < 40; i++) x[i] = (i * 7 % 11) - 3.5f;
  f(x, y);
  dump(y.data(), 40);
}
""",
    "vectors that are swapped around the region": """
#include <vector>
#include <utility>
void f(int n, int steps, std::vector<double> &u) {
  std::vector<double> v(u);
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++) v[i] = 0.5 * (u[i - 1] + u[i + 1]);
    std::swap(u, v);
  }
}
int main() {
  std::vector<double> u(30); for(int i=0;i<30;i++)u[i]=i*i%13; f(30,4,u); dump(u.data(),30);} 
""",
    "truth values and characters": """
#include <cstdint>
void f(int n, const char *s, int *counts, bool *flags, std::uint8_t limit) {
  for (int i = 0; i < n; i++) {
    bool upper = s[i] >= 'A' && s[i] <= 'Z';
    flags[i] = upper or s[i] == '_';
    counts[i] += upper ? 2 : (limit > 200) + true;
  }
}
int main() {
  const char *s = "aB_cDe f-GH";
  int c[11] = {};
  bool fl[11] = {};
  f(11, s, c, fl, 210);
  dump(c, 11);
  dump(fl, 11);
}
""",
    "types that are not written": """
#include <algorithm>
void f(int n, float *a, const short *k) {
  for (auto i = 0; i < n; ++i) {
    const auto x = a[i] * 0.5f;
    auto y = x + k[i];
    auto &z = a[i];
    z = y > 1 ? y : -x;
    const auto least = std::min(x, y);
    a[i] += least;
  }
}
int main() {
  float a[21]; short k[21];
  for (int i = 0; i < 21; i++) { a[i] = 0.3f * i - 2; k[i] = i % 5; }
  f(21, a, k);
  dump(a, 21);
}""",
    "pointers, casts, references to numbers": """
namespace sim {
constexpr int N = 37;
const double alpha{0.5};
void f(const int &n, double *__restrict__ a, double &s) {
  for (auto i = 0; i < n; ++i) {
    a[i] = static_cast<double>(i) * alpha + double(n) * 0.25;
    s += a[i];
  }
}
}
int main() {
  double a[sim::N], s = 1;
  sim::f(sim::N, a, s);
  dump(a, sim::N); dump(&s, 1);
}""",
    "vectors by reference and their sizes": """
#include <vector>
void f(const std::vector<float> &x, std::vector<float> &y, float scale) {
  for (std::size_t i = 1; i + 1 < x.size(); ++i)
    y[i] = scale * (x[i - 1] + x[i + 1]);
}
int main() {
  std::vector<float> x(50), y(50, 1.0f);
  for (int i = 0; i < 50; i++) x[i] = i * 0.3f;
  f(x, y, 0.7f);
  dump(y.data(), 50);
}""",
    "vectors of the function's own": """
#include <vector>
double f(int n) {
  std::vector<double> u(n, 0.5), v(n);
  return 0;
}
double g(int n) {
  std::vector<double> u(n, 0.5);
  std::vector<double> v(n);
  double s = 0;
  for (int i = 0; i < n; i++) { v[i] = 2 * u[i] + i; s += v[i]; }
  return s;
}
int main() { double s = g(61); dump(&s, 1); }""",
    "arrays of the library, references to arrays": """
#include <array>
#include <algorithm>
void f(std::array<double, 40> &a, double (&b)[40][8]) {
  for (int i = 0; i < 40; i++)
    for (int j = 0; j < 8; j++)
      b[i][j] = std::max(b[i][j], a[i]) + std::min<double>(a[i], 3);
}
int main() {
  std::array<double, 40> a{};
  static double b[40][8];
  for (int i = 0; i < 40; i++) { a[i] = 0.1 * i * i; for (int j = 0; j < 8; j++) b[i][j] = i + j; }
  f(a, b);
  dump(&b[0][0], 320);
}""",
    "functions of the library by type": """
#include <cmath>
#include <cstdint>
void f(int n, const float *a, double *b, std::int32_t *c, float *d) {
  for (int i = 0; i < n; i++) {
    d[i] = std::sqrt(std::abs(a[i])) + std::exp(a[i] / 40);
    b[i] = std::pow(a[i], 2) + std::abs(b[i]) + std::fmax(a[i], b[i]);
    c[i] = std::abs(c[i]) + static_cast<int>(std::floor(a[i])) + (std::isnan(a[i]) ? 1 : 0);
  }
}
int main() {
  float a[33], d[33]; double b[33]; std::int32_t c[33];
  for (int i = 0; i < 33; i++) { a[i] = 1.7f * i - 20; b[i] = 9 - i; c[i] = i - 12; }
  f(33, a, b, c, d);
  dump(a, 33); dump(b, 33); dump(c, 33); dump(d, 33);
}""",
    "functions with references, inlined": """
static inline double clamp_to(const double &x, const double &most) { return x > most ? most : x; }
static void add(double &s, double x) { s += x; }
void f(int n, double *a, double *s) {
  for (int i = 0; i < n; i++) {
    a[i] = clamp_to(a[i], 2.5);
    add(s[i], a[i]);
  }
}
int main() {
  double a[30], s[30];
  for (int i = 0; i < 30; i++) { a[i] = i * 0.2; s[i] = 1; }
  f(30, a, s);
  dump(s, 30);
}""",
    "structures and enumerations": """
struct P { double x, y; double r2() const { return x * x + y * y; } };
enum class Kind { Up, Down };
enum { WIDTH = 16 };
void f(int n, P *p, bool both) {
  for (int i = 0; i < n; i++) {
    p[i].x = p[i].x * WIDTH + int(Kind::Down);
    if (both) p[i].y = -p[i].x;
  }
}
int main() {
  P p[20];
  for (int i = 0; i < 20; i++) p[i] = P{0.5 * i, 1.0};
  f(20, p, true);
  for (auto &q : p) { dump(&q.x, 1); dump(&q.y, 1); }
}""",
    "a local reference and a local pointer": """
void f(int n, double *a, const double *b) {
  for (int i = 0; i < n; i++) {
    const double &x = b[i];
    a[i] = x * x + x;
  }
}
int main() {
  double a[25], b[25];
  for (int i = 0; i < 25; i++) b[i] = i - 3.5;
  f(25, a, b);
  dump(a, 25);
}""",
    "linkage of C, new and delete, a number with separators": """
extern "C" {
void f(int n, double *a) {
  for (int i = 0; i < n; i++) a[i] = a[i] * 1'000 + 0x1'0;
}
}
int main() {
  double *a = new double[24]();
  f(24, a);
  dump(a, 24);
  delete[] a;
}""",
    "a global of another namespace": """
namespace consts { double scale = 3; double table[50]; }
namespace work {
void f(int n, double *a) {
  for (int i = 0; i < n; i++) a[i] = a[i] * consts::scale + consts::table[i];
}
}
int main() {
  double a[50];
  for (int i = 0; i < 50; i++) { a[i] = i; consts::table[i] = 0.5 * i; }
  work::f(50, a);
  dump(a, 50);
}""",
}


def _prepared(folder: Path, text: str, function: str = "f") -> Export:
    source = folder / "program.cpp"
    source.write_text(_DUMP + text)
    program = load_program(str(source), function=function)
    options = ExportOptions(sizes=(program.parameters,))
    return prepare_export(program, isl_schedule(program.scop), DEFAULT_MAPPING, options)


def _run(command: list[str], folder: Path) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0, (command, done.stderr[-3000:].decode())
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_exported_functions_do_what_they_did(name: str, tmp_path: Path) -> None:
    """The kernel runs, and all outputs are equal bit for bit."""
    text = PROGRAMS[name]
    export = _prepared(tmp_path, text, "g" if "double g(" in text else "f")
    (tmp_path / "kernel.o").write_bytes(export.object_code())
    unit = export.unit(export.kernel_header(), tmp_path)
    changed, count = re.subn(r"(_kernel\([^\n]*\) != 0\) \{)", r"\1 __builtin_abort();", unit)
    assert count == 1, unit
    (tmp_path / "fast.cpp").write_text(changed)
    _run(["g++", *_FLAGS, "fast.cpp", "kernel.o", "-o", "fast"], tmp_path)
    _run(["g++", *_FLAGS, *_SANITIZERS, "program.cpp", "-o", "slow"], tmp_path)
    assert _run(["./fast"], tmp_path) == _run(["./slow"], tmp_path) != b""


@pytest.mark.parametrize("kind", [ExportKind.OBJECT, ExportKind.STATIC, ExportKind.SHARED])
def test_objects_have_the_function_under_its_mangled_name(kind: ExportKind, tmp_path: Path) -> None:
    """Another C++ file includes the header, and calls the function in its namespace."""
    text = """
#include <vector>
namespace a { namespace b {
static inline double f(const std::vector<double> &x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
} }
"""
    export = _prepared(tmp_path, text)
    written = write_export(export, kind, tmp_path / "out", GCC)
    assert written.note == ""
    made = next(path for path in written.files if path.suffix in (".o", ".a", ".so"))
    (tmp_path / "caller.cpp").write_text(
        '#include "out/f.hpp"\n#include <cstdio>\n'
        'int main() { std::vector<double> x(9, 1.5); std::printf("%g", a::b::f(x, 9)); }\n'
    )
    rpath = f"-Wl,-rpath,{tmp_path}/out"
    _run(["g++", *_FLAGS, "caller.cpp", str(made), rpath, "-o", "caller"], tmp_path)
    assert _run(["./caller"], tmp_path) == b"13.5"


def test_objects_need_the_compiler_of_their_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A C++ file needs no C compiler; without a C++ compiler the parts are written."""
    export = _prepared(tmp_path, PROGRAMS["vectors by reference and their sizes"])
    written = write_export(export, ExportKind.OBJECT, tmp_path / "joined", None)
    assert written.note == ""
    assert "f.o" in {path.name for path in written.files}
    monkeypatch.setattr("polygym.export.writing.user_cpp_compiler", lambda: None)
    written = write_export(export, ExportKind.OBJECT, tmp_path / "parts", GCC)
    assert written.note.startswith("no C++ compiler was found")
    assert {path.name for path in written.files} == {"f.cpp", "f_kernel.h", "f_kernel.o"}


@pytest.mark.parametrize("kind", [ExportKind.C, ExportKind.OBJECT, ExportKind.SHARED])
def test_an_answer_that_is_the_source_is_the_file(kind: ExportKind, tmp_path: Path) -> None:
    """Where nothing is faster, no kernel is called, and the object is the file's own."""
    text = """
#include <vector>
namespace a {
static inline double f(const std::vector<double> &x, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += x[i];
  return s;
}
}
"""
    (tmp_path / "program.cpp").write_text(text)
    program = load_program(str(tmp_path / "program.cpp"))
    schedule = original_schedule(program.scop)
    export = prepare_export(program, schedule, SEQUENTIAL_MAPPING, ExportOptions())
    written = write_export(export, kind, tmp_path / "out", GCC)
    assert written.note == ""
    ending = {ExportKind.C: "cpp", ExportKind.OBJECT: "o", ExportKind.SHARED: "so"}[kind]
    assert {path.name for path in written.files} == {"f.hpp", f"f.{ending}"}
    if kind is ExportKind.C:
        external = text.replace("static inline double", "double")
        assert " ".join((tmp_path / "out" / "f.cpp").read_text().split()) == " ".join(
            external.split()
        )
    (tmp_path / "caller.cpp").write_text(
        '#include "out/f.hpp"\n#include <cstdio>\n'
        'int main() { std::vector<double> x(9, 1.5); std::printf("%g", a::f(x, 9)); }\n'
    )
    rpath = f"-Wl,-rpath,{tmp_path}/out"
    _run(["g++", *_FLAGS, "caller.cpp", f"out/f.{ending}", rpath, "-o", "caller"], tmp_path)
    assert _run(["./caller"], tmp_path) == b"13.5"


def test_c_is_written_as_two_files(tmp_path: Path) -> None:
    """The kernel is C, the function C++."""
    export = _prepared(tmp_path, PROGRAMS["vectors by reference and their sizes"])
    written = write_export(export, ExportKind.C, tmp_path / "out", GCC)
    assert sorted(path.name for path in written.files) == ["f.cpp", "f_kernel.c", "f_kernel.h"]
    assert "compile f_kernel.c as C, f.cpp as C++" in written.note


@pytest.mark.parametrize("kind", list(ApplyKind))
def test_changed_files_are_built_by_the_lines(kind: ApplyKind, tmp_path: Path) -> None:
    """The lines for the shell build the changed file."""
    export = _prepared(tmp_path, PROGRAMS["functions of the library by type"])
    folder = tmp_path / "out"
    names = {path.name for path in apply_export(export, kind, folder)}
    assert {"program.cpp", "f_kernel.h"} < names
    for line in build_lines(export, kind, folder)["Shell"].splitlines():
        _run(["sh", "-c", f"{line} -w" if line.startswith("g++") else line], tmp_path)
    _run(["g++", *_FLAGS, "program.cpp", "-o", "slow"], tmp_path)
    assert len(_run(["./a.out"], tmp_path)) == len(_run(["./slow"], tmp_path))


def test_a_function_that_no_other_file_sees_is_refused(tmp_path: Path) -> None:
    """A namespace without a name hides it; another name is for C alone."""
    text = "namespace { void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = i; } }\n"
    export = _prepared(tmp_path, text)
    with pytest.raises(InputError, match="namespace without a name"):
        write_export(export, ExportKind.OBJECT, tmp_path / "out", GCC)
    program = load_program(str(tmp_path / "program.cpp"), function="f")
    with pytest.raises(InputError, match="--name: expected a C file, found C"):
        prepare_export(
            program, isl_schedule(program.scop), DEFAULT_MAPPING, ExportOptions(name="g")
        )


def test_vectors_that_move_in_the_region_are_refused(tmp_path: Path) -> None:
    """The elements stand in other memory afterwards."""
    text = """
#include <vector>
void f(int n, std::vector<double> &a) {
  for (int t = 0; t < n; t++) { a.push_back(t); for (int i = 0; i < n; i++) a[i] = i; }
}
"""
    export = _prepared(tmp_path, text)
    assert export.embedding is not None
    assert export.embedding.text[export.embedding.first :].lstrip().startswith("for (int i")
    marked = text.replace("{\n  for", "{\n#pragma scop\n  for").replace(
        "i; }\n", "i; }\n#pragma endscop\n"
    )
    with pytest.raises(SourceError, match=r"push_back|a call through a pointer"):
        _prepared(tmp_path, marked)
