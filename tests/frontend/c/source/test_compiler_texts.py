"""Texts as compilers have them: predefined macros, other encodings, included files, gcc -E."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.frontend.c.discovery.region_search import find_in_text, functions_of_text
from polygym.frontend.c.driver import parse_file, read_text
from polygym.frontend.c.source.compile_flags import CompileFlags, flags_of_arguments
from polygym.frontend.c.source.compiler_output import read_compiler_output
from polygym.frontend.c.source.predefined_macros import predefined_macros
from polygym.frontend.c.source.preprocessor import encode_as
from polygym.frontend.c.source.region_selection import RegionSelection
from polygym.mdp.problems.loading import source_digest
from polygym.programs import load_program

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")

LOOP = "void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 2 * x[i]; }\n"
HEADERS = (
    "stdio stdlib math string time pthread complex sys/time unistd omp stdint inttypes assert "
    "limits float stdbool errno signal fcntl sys/stat sys/mman"
).split()
# The version is a compiler's own.
VERSIONS = {"__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__", "__VERSION__"}


@needs_gcc
def test_predefined_macros_are_those_of_gcc() -> None:
    done = subprocess.run(
        ["gcc", "-std=gnu17", "-dM", "-E", "-"],
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    pattern = re.compile(r"(\w+(?:\(\w+\))?) ?(.*)")
    theirs = {
        match[1]: match[2]
        for line in done.stdout.splitlines()
        if (match := pattern.match(line.removeprefix("#define ")))
    }
    ours = {match[1]: match[2] for macro in predefined_macros() if (match := pattern.match(macro))}

    def plain(value: str) -> str:
        """Return a value with its number in decimal, without the cast of a long double."""
        value = re.sub(r"^\(\(double\)(.*)L\)$", r"\1", value)
        return re.sub(r"^0x([0-9a-f]+)", lambda match: str(int(match[1], 16)), value)

    compared = {name for name in ours if name not in VERSIONS}
    assert len(compared) > 100
    assert {n: ours[n] for n in compared} == {n: plain(theirs.get(n, "none")) for n in compared}


def test_a_macro_of_the_command_line_replaces_a_predefined_one(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("double x[__GNUC__];\nvoid f(void) { for (int i = 0; i < 3; i++) x[i] = 0; }\n")
    assert load_program(str(path)).scop.array("x").c_extents == ("4",)
    assert load_program(str(path), macros=["__GNUC__=7"]).scop.array("x").c_extents == ("7",)


@needs_gcc
@pytest.mark.parametrize("header", [*HEADERS, " ".join(HEADERS)])
def test_output_of_the_preprocessor_is_read(header: str, tmp_path: Path) -> None:
    includes = "".join(f"#include <{name}.h>\n" for name in header.split())
    calls = "double g(double v) { return v; }\n"
    done = subprocess.run(
        ["gcc", "-E", "-fopenmp", "-"],
        input=includes + calls + LOOP,
        capture_output=True,
        text=True,
        check=True,
    )
    path = tmp_path / "out.c"
    path.write_text(done.stdout)
    scop = load_program(str(path)).scop
    assert [statement.location.line for statement in scop.statements] == [
        done.stdout.split("\n").index(LOOP.rstrip()) + 1
    ]


def test_declarations_that_are_used_stay() -> None:
    text = (
        '# 1 "a.h" 1 3 4\ntypedef long T;\ntypedef T U;\nstruct s { U u; };\nint f(struct s *);\n'
        "enum e { A, B };\nextern int (*hook)(int);\nint unused(struct s *p) { return A; }\n"
        '# 2 "a.c" 2\nstruct s x; int y = B;\n'
    )
    kept = read_compiler_output(text)
    assert kept.count("\n") == text.count("\n")
    assert " ".join(kept.split()) == (
        "typedef long T; typedef T U; struct s { U u; }; enum e { A, B }; struct s x; int y = B;"
    )


def test_bytes_that_are_not_utf8_stay(tmp_path: Path) -> None:
    path = tmp_path / "latin.c"
    data = b'/* Andr\xe9 */ const char *who = "\xe9";\r\n' + LOOP.encode()
    path.write_bytes(data)
    assert len(load_program(str(path)).scop.statements) == 1
    text = read_text(path)
    assert encode_as(text, path) == data.replace(b"\r\n", b"\n")
    assert encode_as(text + "→", path).endswith(b"\\u2192")
    path.write_bytes("/* é → */\n".encode() + LOOP.encode())
    assert encode_as(read_text(path), path) == path.read_bytes()


def test_files_are_read_before_a_text(tmp_path: Path) -> None:
    (tmp_path / "config.h").write_text("#define N 12\ntypedef float real;\n")
    path = tmp_path / "a.c"
    path.write_text("real A[N];\nvoid f(void) {\n  for (int i = 0; i < N; i++)\n    A[i] = i;\n}\n")
    program = load_program(str(path), included_files=[tmp_path / "config.h"])
    assert program.scop.array("A").c_extents == ("12",)
    assert program.scop.statements[0].location.line == 4
    again = load_program(str(path), function=program.function)
    assert again.scop == program.scop
    with pytest.raises(InputError, match=r"--include .*nothing\.h: expected a file, found none"):
        load_program(str(path), included_files=[tmp_path / "nothing.h"])
    arguments = ["cc", "-include", "config.h", "-c", "a.c"]
    assert flags_of_arguments(arguments, tmp_path).arguments == (
        "-include",
        str(tmp_path / "config.h"),
    )


def test_a_function_that_is_not_read_is_reported_where_it_matters(tmp_path: Path) -> None:
    odd = "static int g(int k) { for (;;) { switch (k) { case 1 ... 3: return 1; } } }\n"
    path = tmp_path / "a.c"
    path.write_text(odd + LOOP)
    assert load_program(str(path)).scop.name == "f"
    with pytest.raises(InputError, match=r"a\.c:1:54: error: syntax error before '\.\.\.'"):
        load_program(str(path), function="g")
    with pytest.raises(InputError, match=r"a\.c:1:54"):
        load_program(f"{path}:1")
    path.write_text(odd)
    with pytest.raises(InputError, match=r"a\.c:1:54"):
        load_program(str(path))
    path.write_text("int x = ;\nint y = );\n")
    with pytest.raises(InputError, match=r"a\.c:1:9: error"):
        parse_file(path)


def test_a_declaration_that_is_not_read_is_no_guess() -> None:
    """The type of x is unknown: a region without a function must not take it for a double."""
    odd = "__attribute__((mode(DI))) int x[100];\n"
    region = "#pragma scop\nfor (i = 0; i < n; i++)\n  x[i] = 0;\n#pragma endscop\n"
    with pytest.raises(InputError, match="__attribute__ is not supported"):
        parse_text(odd + region)
    with pytest.raises(InputError, match="__attribute__ is not supported"):
        parse_text(odd + "void f(int n) { int i;\n" + region + "}\n")


def test_functions_of_a_header_that_is_read_first_are_its_own(tmp_path: Path) -> None:
    header, file = tmp_path / "config.h", tmp_path / "k.c"
    header.write_text("static int helper(int x) { return x + 1; }\n#define N 10\n")
    text = "\nvoid f(double *a) { for (int i = 0; i < N; i++) a[i] = 0; }\n"
    file.write_text(text)
    given = RegionSelection(None, flags=CompileFlags(included_files=(str(header),)))
    assert functions_of_text(text, str(file), given) == (("f", 2, 2),)
    (region,) = find_in_text(text, str(file), given).regions
    assert (region.first.file, region.first.line) == (str(file), 2)


def test_arguments_for_parts_of_clang_are_no_headers() -> None:
    words = "clang -Xclang -include-pch -Xclang p.pch -Xclang -include -Xclang c.h -DN a.c"
    flags = flags_of_arguments(words.split(), Path("/p"))
    assert flags == CompileFlags((), ("N",), ("/p/c.h",))


def test_headers_of_a_latin_1_file_are_in_its_digest(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text("#define N 10\n")
    file = tmp_path / "k.c"
    file.write_bytes('/* caf\u00e9 */\n#include "h.h"\nvoid f(void) {}\n'.encode("latin-1"))
    before = source_digest(file)
    (tmp_path / "h.h").write_text("#define N 20\n")
    assert source_digest(file) != before
