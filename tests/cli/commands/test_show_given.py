"""`polygym show`: C for given sizes refuses others, and a file's mapping counts."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.invoke import call, call_json

DRIVER = """
#include <stdlib.h>
#include <stdio.h>
int main(int count, char **words) {
  int n = atoi(words[1]);
  double (*a)[n] = malloc(sizeof(double[n][n]));
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = i + 2 * j;
  FUNCTION(n, a);
  printf("%g\\n", a[n - 1][n - 1]);
  free(a);
}
"""

SHIFT = """void shift(int n, double a[n][n]) {
#pragma scop
  for (int i = 1; i < n; i++)
    for (int j = 0; j < n; j++)
      a[i][j] = a[i - 1][j] + 1;
#pragma endscop
}
"""


def run_with(tmp_path: Path, code: str, n: int) -> subprocess.CompletedProcess[str]:
    """Compile a function with a driver, and call it with a size."""
    file, binary = tmp_path / "all.c", tmp_path / "all"
    file.write_text(code + DRIVER.replace("FUNCTION", "shift"))
    flags = ["-O1", "-Wall", "-Werror", "-fopenmp", "-fsanitize=undefined"]
    subprocess.run(["gcc", *flags, str(file), "-o", str(binary), "-lm"], check=True)
    return subprocess.run([str(binary), str(n)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mapping", ["sequential", "default", "tile=32"])
def test_code_for_given_sizes_refuses_others(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mapping: str
) -> None:
    source = tmp_path / "shift.c"
    source.write_text(SHIFT)
    _, code, _ = call(capsys, "show", str(source), "-p", "n=64", "--mapping", mapping, "--c")
    ran = run_with(tmp_path, code, 64)
    assert (ran.returncode, ran.stdout) == (0, f"{2 * 63 + 63:g}\n")
    refused = run_with(tmp_path, code, 70)
    assert refused.returncode != 0
    assert refused.stdout == ""
    assert "shift: expected n = 64, found n = 70" in refused.stderr


def test_code_for_all_sizes_checks_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tmp_path / "shift.c"
    source.write_text(SHIFT)
    _, code, _ = call(capsys, "show", str(source), "--c")
    assert "abort" not in code
    for n in (5, 70):
        ran = run_with(tmp_path, code, n)
        assert (ran.returncode, ran.stdout) == (0, f"{3 * (n - 1):g}\n")


def test_the_mapping_of_a_file_counts_unless_one_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source, file = tmp_path / "shift.c", tmp_path / "best.json"
    source.write_text(SHIFT)
    original = call_json(capsys, "show", str(source))[1]["schedule"]
    file.write_text(json.dumps({"schedule": original, "mapping": "tile=16"}))
    shown = ["show", str(source), "--schedule", str(file)]
    assert call_json(capsys, *shown)[1]["mapping"] == "tile=16"
    assert call_json(capsys, *shown, "--mapping", "sequential")[1]["mapping"] == "sequential"
