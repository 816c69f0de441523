"""``--schedule auto``: what was chosen among what is said, run, checked, and may be run again."""

import json
from pathlib import Path

import pytest

from polygym.autoschedule.schedule_choice import choose_schedule
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly.schedule import parse_schedule
from polygym.programs import load_scop
from tests.cli.invoke import call, call_json

SIZES = {"m": 100, "n": 130}
MINI = ["-d", "mini", "--threads", "2", "--repeat", "1"]


@pytest.mark.parametrize("name", ["gramschmidt", "atax", "durbin", "gesummv"])
def test_run_says_what_it_was_chosen_among(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, data = call_json(capsys, "run", name, *MINI, "--schedule", "auto")
    assert (code, data["status"]) == (0, "ok")  # its output is the original's, bit for bit
    choice = data["choice"]
    ranked = {entry["strategy"]: entry for entry in choice["ranking"]}
    assert "isl" in ranked
    assert "original" in ranked
    assert data["schedule"] == ranked[choice["strategy"]]["schedule"]
    code_choice = choice["code"]  # one thread is a candidate as well
    assert data["mapping"] == code_choice["mapping"]
    assert (data["mapping"] == "sequential") == code_choice["is_source"]


def test_what_was_chosen_may_be_run_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, data = call_json(capsys, "run", "gesummv", *MINI, "--schedule", "auto")
    path = tmp_path / "result.json"
    path.write_text(json.dumps(data))
    alone = ["-d", "mini", "--repeat", "1"]
    _, again = call_json(capsys, "run", "gesummv", *alone, "--schedule", str(path))
    assert (again["schedule"], again["mapping"]) == (data["schedule"], data["mapping"])
    assert again["choice"] is None
    _, out, _ = call(capsys, "run", "gesummv", *MINI, "--schedule", "auto")
    count = len(data["choice"]["ranking"])
    assert f"that of `{data['choice']['strategy']}`, of {count} by a model of cost" in out


def test_bench_measures_it_beside_isl(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "bench", "gesummv", *MINI)
    assert code == 0
    choices = {entry["schedule"]: entry["choice"] for entry in data["entries"]}
    assert list(choices) == ["original", "isl", "auto"]
    assert choices["original"] is choices["isl"] is None
    assert choices["auto"]["strategy"] in ("isl", "isl fusion=minimum", "original")


def test_check_and_show_want_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    scop = load_scop("atax")
    sizes = ",".join(f"{name}={value}" for name, value in SIZES.items())
    for command in ("check", "show"):
        code, _, err = call(capsys, command, "atax", "--schedule", "auto", "-p", "m=100")
        assert code == 2
        assert "auto: expected sizes (-p), which the choice of the schedule needs" in err
    code, data = call_json(capsys, "check", "atax", "--schedule", "auto", "-p", sizes)
    assert (code, data["legal"]) == (0, True)
    schedules = {
        schedule.schedule for schedule in choose_schedule(scop, SIZES, DEFAULT_MAPPING).ranking
    }
    assert parse_schedule(data["schedule"], scop) in schedules


BLUR = """
void blur(int n, unsigned char *in, unsigned char *out) {
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < n - 1; j++) {
      int s = 0;
      for (int p = -1; p <= 1; p++)
        for (int q = -1; q <= 1; q++)
          s += in[(i + p) * n + j + q];
      out[i * n + j] = s / 9;
    }
}
"""


@pytest.mark.parametrize("name", ["gesummv", "gramschmidt", "blur"])
def test_show_prints_what_run_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    (tmp_path / "blur.c").write_text(BLUR)
    target = str(tmp_path / "blur.c") if name == "blur" else name
    options = ["--schedule", "auto", "--threads", "2"]
    _, data = call_json(capsys, "run", target, *options, "-d", "mini", "--repeat", "1")
    sizes = ",".join(f"{name}={value}" for name, value in data["parameters"].items())
    code, shown = call_json(capsys, "show", target, *options, "-p", sizes)
    assert code == 0
    parts = ("schedule", "mapping", "storage", "splitting")
    assert [shown[part] for part in parts] == [data[part] for part in parts]
