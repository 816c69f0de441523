"""Scans go on whatever a file does, and find the same whatever the number of processes."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.scan import make_tree
from polygym.errors import InputError
from polygym.frontend.c.generated_text import MARK
from polygym.frontend.c.source.compile_flags import CompileFlags
from polygym.scan import pool
from polygym.scan.file_scan import ScanOptions, scan_file
from polygym.scan.headers import folder_of_header
from polygym.scan.results import FileScan, FileStatus, sorted_regions
from polygym.scan.sources import ScanSource, scan_sources

OPTIONS = ScanOptions(1024)
LOOP = "void f(int n, double x[n]) { for (int i = 0; i < n; i++) x[i] = 2 * x[i]; }\n"


def scanned(folder: Path, jobs: int = 2, seconds: float = 60.0) -> list[FileScan]:
    sources = scan_sources(folder)
    scans = list(pool.scan_files(sources, OPTIONS, seconds, jobs, lambda: False))
    assert sorted(scan.file for scan in scans) == sorted(source.path for source in sources)
    return sorted(scans, key=lambda scan: scan.file)


def test_each_file_of_a_varied_tree_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    make_tree(tmp_path, 60)
    scans = scanned(tmp_path)
    assert len(scans) == 60
    for scan in scans:
        assert bool(scan.reason) == (scan.status is FileStatus.REFUSED)
        assert "internal error" not in scan.reason
        if scan.status is FileStatus.READ and scan.loops:
            assert scan.regions or scan.refused, scan.file
    assert sum(scan.status is FileStatus.REFUSED for scan in scans) >= 5
    without_times = [replace(scan, seconds=0.0) for scan in scanned(tmp_path, jobs=1)]
    assert without_times == [replace(scan, seconds=0.0) for scan in scans]


def test_regions_are_sorted_by_benefit(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LOOP)
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[j][i] = 0;"
    deep = f"void g(int n, double A[n][n]) {{ {loops} }}"
    (tmp_path / "b.c").write_text(deep)
    rows = sorted_regions(scanned(tmp_path))
    assert [row.name for row in rows] == ["g", "f"]
    assert rows[0].benefit > rows[1].benefit


def test_files_that_polygym_wrote_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(LOOP)
    (tmp_path / "found").mkdir()
    best = tmp_path / "found" / "best.c"
    best.write_text(f"/* {MARK}: f */\n{LOOP}")
    (tmp_path / "b.c").write_text(f"/* not {MARK} */\n{LOOP}")
    scans = scanned(tmp_path)
    assert [(Path(scan.file).name, scan.status) for scan in scans] == [
        ("a.c", FileStatus.READ),
        ("b.c", FileStatus.READ),
        ("best.c", FileStatus.GENERATED),
    ]
    assert {row.file for row in sorted_regions(scans)} == {scans[0].file, scans[1].file}
    (named,) = scanned(best)
    assert [row.name for row in named.regions] == ["f"]


def test_a_file_that_crashes_or_hangs_does_not_end_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("crash", "fine", "hang", "raise", "well"):
        (tmp_path / f"{name}.c").write_text(LOOP)

    def odd(source: ScanSource, options: ScanOptions) -> FileScan:
        name = Path(source.path).stem
        if name == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "hang":
            time.sleep(60)
        if name == "raise":
            raise ZeroDivisionError("a defect")
        return scan_file(source, options)

    monkeypatch.setattr(pool, "scan_file", odd)
    monkeypatch.setattr(pool, "_FILES_OF_A_PROCESS", 5)
    scans = {Path(scan.file).stem: scan for scan in scanned(tmp_path, jobs=1, seconds=5.0)}
    assert len(scans["fine"].regions) == len(scans["well"].regions) == 1
    assert "ended without an answer" in scans["crash"].reason
    assert "gave up after 5 s" in scans["hang"].reason
    assert "a defect" in scans["raise"].reason


def test_a_scan_that_is_stopped_keeps_what_it_has(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.c").write_text(LOOP)
    done: list[FileScan] = []
    for scan in pool.scan_files(scan_sources(tmp_path), OPTIONS, 60.0, 1, lambda: len(done) >= 1):
        done.append(scan)
    assert 1 <= len(done) < 100


def test_sources_of_a_folder_with_a_database(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "inc").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("a.c", "b.c", "c.cpp", ".git/d.c", "e.txt"):
        (tmp_path / name).write_text(LOOP)
    entry = {"directory": str(tmp_path), "file": "a.c", "command": "cc -Iinc -DN=3 -c a.c"}
    database = tmp_path / "build" / "compile_commands.json"
    database.write_text(json.dumps([entry, entry]))
    sources = {Path(source.path).name: source for source in scan_sources(tmp_path)}
    assert set(sources) == {"a.c", "b.c", "c.cpp"}
    assert sources["a.c"].flags == CompileFlags((str(tmp_path / "inc"),), ("N=3",))
    assert sources["a.c"].has_command
    assert not sources["b.c"].has_command
    (only,) = scan_sources(database)
    assert only.flags == sources["a.c"].flags
    with pytest.raises(InputError, match="found none"):
        scan_sources(tmp_path / "nothing")


def test_a_header_is_looked_for_in_the_project(tmp_path: Path) -> None:
    for folder in ("include/fft", "other/fft", "src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "include/fft/plan.h").write_text("#define N 40\n")
    (tmp_path / "src/a.c").write_text('#include "fft/plan.h"\ndouble x[N];\n' + LOOP)
    (scan,) = scanned(tmp_path)
    assert scan.regions[0].flags == (f"-I{tmp_path}/include",)
    (tmp_path / "other/fft/plan.h").write_text("#define N 50\n")
    folder_of_header.__globals__["_headers"].cache_clear()
    (again,) = scanned(tmp_path)
    assert again.status is FileStatus.REFUSED, "two headers are as near as each other"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("int f(void) { return 1; }", FileStatus.NO_LOOPS),
        ("/* for while do */ int x;", FileStatus.NO_LOOPS),
        ("", FileStatus.NO_LOOPS),
        ("int f(void) { for (", FileStatus.REFUSED),
        ("#if\nfor", FileStatus.REFUSED),
        ("#define A A A\n#define B A A\nint f(void) { for (;;) B; }", FileStatus.READ),
        ("void f(void) {" + "for (;;) {" * 4000 + "}" * 4000 + "}", FileStatus.REFUSED),
        ("void f(void) { " + "if (1) " * 3000 + "for (;;) ; }", FileStatus.REFUSED),
    ],
    ids=["none", "comment", "empty", "open", "directive", "macro", "deep", "branches"],
)
def test_outcomes_of_files(tmp_path: Path, text: str, status: FileStatus) -> None:
    (tmp_path / "a.c").write_text(text)
    (scan,) = scanned(tmp_path)
    assert scan.status is status
    assert bool(scan.reason) == (status is FileStatus.REFUSED)
