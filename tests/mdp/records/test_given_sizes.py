"""Sizes given beside a file are part of records, so that nothing is replayed with others."""

from __future__ import annotations

from pathlib import Path

from polygym.envs.schedule import ScheduleEnv
from polygym.mdp.records.record_checks import check_record
from tests.mdp.records.test_episode_record import finished

TEXT = """void gather(int n, double *y, double *x, int *from) {
#pragma scop
  for (int i = 0; i < n; i++)
    y[i] = x[from[i]];
#pragma endscop
}
"""


def test_a_record_has_the_sizes_with_which_it_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "gather.c"
    path.write_text(TEXT)
    env = ScheduleEnv(str(path), function="gather x[70]", reward="static", parameters="n=9")
    record = finished(env)
    assert record["program"]["function"] == "gather x[70]"
    program = check_record(record, "record.json").source.load()
    assert program.shape(program.scop.array("x")) == (70,)
