"""Samples are read, and joined with the regions that they are in."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygym.errors import SourceLocation
from polygym.profiling.gprof import profile_by_gprof
from polygym.profiling.perf import missing_perf_reason, parse_report, profile_by_perf
from polygym.profiling.regions import hot_places, source_paths
from polygym.profiling.samples import Profile, ProfilingTool, ProgramEnd, Sample
from polygym.scan.file_scan import ScanOptions, scan_file
from polygym.scan.results import FileScan, FileStatus
from polygym.scan.sources import scan_sources

PROGRAM = """#include <stdio.h>
static double A[200][200], B[200][200], C[200][200];
__attribute__((noinline)) void product(void) {
  for (int i = 0; i < 200; i++)
    for (int j = 0; j < 200; j++)
      for (int k = 0; k < 200; k++)
        C[i][j] += A[i][k] * B[k][j];
}
__attribute__((noinline)) int odd(int n) {
  int steps = 0;
  while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; steps++; }
  return steps;
}
int main(void) {
  int sum = 0;
  for (int t = 0; t < 40; t++) { product(); for (int n = 1; n < 9000; n++) sum += odd(n); }
  printf("%d %g\\n", sum, C[1][1]);
  return 3;
}
"""


def built(folder: Path, *flags: str) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (folder / "hot.c").write_text(PROGRAM)
    program = folder / "hot"
    subprocess.run(["gcc", "-O1", *flags, folder / "hot.c", "-o", program], check=True)
    return program


def check_places(profile: Profile, folder: Path) -> None:
    assert profile.end.code == 3
    assert source_paths(profile) == (str((folder / "hot.c").resolve()),)
    scans = [scan_file(source, ScanOptions(1024)) for source in scan_sources(folder / "hot.c")]
    places = hot_places(profile, scans)
    region = next(place for place in places if place.region is not None)
    assert region.region is not None
    assert region.region.name == "product"
    assert region.share > 0.2
    other = next(place for place in places if place.symbol == "odd")
    assert other.region is None
    assert "while loops are not supported" in other.reason
    assert sum(place.share for place in places) == pytest.approx(1.0)


def test_gprof(tmp_path: Path) -> None:
    program = built(tmp_path, "-g", "-pg")
    if shutil.which("gprof") is None:
        pytest.skip("no gprof")
    profile = profile_by_gprof([str(program)], output_to_stderr=True)
    assert profile is not None
    check_places(profile, tmp_path)


def test_a_program_without_instrumentation_has_no_samples_by_gprof(tmp_path: Path) -> None:
    assert profile_by_gprof([str(built(tmp_path))], output_to_stderr=True) is None


def test_perf(tmp_path: Path) -> None:
    if reason := missing_perf_reason():
        pytest.skip(reason)
    check_places(profile_by_perf([str(built(tmp_path, "-g"))], output_to_stderr=True), tmp_path)


def test_perf_without_debug_information_knows_functions(tmp_path: Path) -> None:
    if reason := missing_perf_reason():
        pytest.skip(reason)
    profile = profile_by_perf([str(built(tmp_path))], output_to_stderr=True)
    assert not profile.has_lines
    places = hot_places(profile, [])
    assert {"product", "odd"} <= {place.symbol for place in places}
    assert "compile with -g" in next(p for p in places if p.symbol == "odd").reason


def test_a_missing_perf_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "apt-get install linux-perf" in missing_perf_reason()


def test_reports_with_odd_rows() -> None:
    text = (
        "\n# x\n12 |a|b| [.] f|/x:3\nbad|row\n7  |p |[k] system |fun+0x3\n5|p|[.] g|/d/a.c:12 (d)\n"
    )
    rows = parse_report(text)
    assert [(row.count, row.file, row.line) for row in rows[-2:]] == [
        (7.0, None, None),
        (5.0, "/d/a.c", 12),
    ]


def test_samples_of_a_refused_file_say_why() -> None:
    sample = Sample(4.0, "p", "f", "/x/a.c", 3)
    place = SourceLocation("/x/a.c", 2, 1)
    scan = FileScan("/x/a.c", FileStatus.REFUSED, reason="syntax error", place=place)
    (hot,) = hot_places(Profile(ProfilingTool.PERF, (sample,), ProgramEnd(0)), [scan])
    assert hot.reason == "the file is refused: syntax error"
    assert hot.share == 1.0


SLEEPER = """import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, getattr(signal, sys.argv[1]))
open(sys.argv[2], "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("handler", "signals", "code"),
    [
        ("SIG_DFL", [signal.SIGINT], 130),
        ("SIG_DFL", [signal.SIGTERM], 143),
        ("SIG_IGN", [signal.SIGINT, signal.SIGINT], 130),
    ],
)
def test_a_signal_ends_the_program(
    tmp_path: Path, handler: str, signals: list[signal.Signals], code: int
) -> None:
    ready, temporary = tmp_path / "ready", tmp_path / "temporary"
    temporary.mkdir()
    words = ["profile", "--tool", "gprof", "--", sys.executable, "-c", SLEEPER, handler, str(ready)]
    with subprocess.Popen(
        [sys.executable, "-m", "polygym", *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 60
        while not ready.exists() or not ready.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.2)
        assert process.wait(60) == code
        assert process.stderr is not None
        assert "interrupted: the samples until then" in process.stderr.read()
    assert not Path("/proc", ready.read_text()).exists()
    assert not list(temporary.iterdir())
